"""The scripts of the page: checked by vitest, with the recorded runs as Python has them. That they
are those of js/ is checked by ``make views-check``.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hsd_viz.views.page_data import BUNDLE, STATIC
from tests.js.references import references
from tests.rows import column

JS = Path(__file__).parents[2] / "js"
NODE = shutil.which("node")
MISSING = (
    "node or js/node_modules is missing, so the page is not tested: install node 20 or newer, "
    "for example with apt-get install nodejs npm, then run npm ci in js/"
)


def run(*arguments: str, **environment: str) -> None:
    """Run node in js/. A test that needs it fails without it: figures of the page are tested
    nowhere else.
    """
    assert NODE is not None, MISSING
    assert (JS / "node_modules").is_dir(), MISSING
    done = subprocess.run(
        [NODE, *arguments],
        cwd=JS,
        env={**os.environ, **environment, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_the_scripts_do_what_their_tests_say(tmp_path):
    snapshots = tmp_path / "snapshots.json"
    snapshots.write_text(json.dumps(references()), encoding="utf-8")
    run("node_modules/vitest/vitest.mjs", "run", HSD_SNAPSHOTS=str(snapshots))


def test_the_price_of_a_token_on_a_gpu_is_the_measured_one():
    """Of the slider of the game: what 8 tokens take beside 1, for each token more."""
    bench = JS.parent / "docs" / "bench" / "gpu-h100.json"
    steps = json.loads(bench.read_text(encoding="utf-8"))["b"]["parts"]
    ms = steps["steps/1B/compiled"]["width_ms"]
    score = (JS / "game" / "score.ts").read_text(encoding="utf-8")
    [price] = re.findall(r"GPU_PRICE = ([\d.]+);", score)
    assert float(price) == round((ms["8"] / ms["1"] - 1) / 7, 3)


@pytest.mark.parametrize("missing", ["NODE", "JS"])
def test_without_node_or_its_packages_the_tests_of_the_page_fail(missing, monkeypatch, tmp_path):
    monkeypatch.setitem(globals(), missing, {"NODE": None, "JS": tmp_path}[missing])
    with pytest.raises(AssertionError, match="the page is not tested: install node"):
        run("--version")


def test_the_module_imports_nothing_and_is_small():
    exports = re.findall(r"\bexport\s*\{([^}]*)\}", BUNDLE)
    assert len(exports) == 1
    assert {
        "widgetOf",
        "groups",
        "linkedWidget",
        "openPage",
        "createStore",
        "metricsOf",
    } <= {name.split(" as ")[-1].strip() for name in exports[0].split(",")}
    assert not re.search(r"\bimport\b(?!\(URL\.createObjectURL)", BUNDLE)
    # The game of the first screen takes about 12 kB of it, as it can be read in other languages;
    # the sentences with which the tabs begin take 1 kB. Names of states, layouts and steps, which
    # a reader of the views and the page needs and no minifier shortens, take about 10 kB; bars on a
    # phone 0.6 kB. The results of a pass, the players beside each other, and a dart board that can
    # be read in other languages take 2 kB; the line from a copy to its source, the strip of rounds
    # and the menu of the run 4.5 kB.
    assert len(gzip.compress(BUNDLE.encode())) <= 140_000


def test_every_built_file_is_used():
    files = {"hsd-viz.js", "loader.js", "page.css", "page_lessons.css", "page_lessons.js"}
    of_pages = {"elements.js", "first_boards.html", "show_board.js", "site.css", "site.js"}
    of_pages.add("tab-worker.js")
    assert files <= set(column(STATIC.iterdir(), "name")) <= files | of_pages


def test_the_elements_are_one_small_module_that_asks_for_files_only():
    module = (STATIC / "elements.js").read_text(encoding="utf-8")
    assert len(gzip.compress(module.encode())) <= 60_000
    # No other module, no code in texts; files are fetched in one place.
    assert not re.search(r"\bimport\b(?!\(URL\.createObjectURL)", module)
    assert not re.search(r"\beval\b|new Function|XMLHttpRequest|WebSocket|sendBeacon", module)
    assert len(re.findall(r"(?<![.\w])fetch\(", module)) == 1
