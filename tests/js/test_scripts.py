"""The scripts of the page: built from js/, checked by vitest, with the recorded runs as Python
has them.
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

import hsd_viz as hsd
from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled
from hsd_viz.stack import StackError, parse
from hsd_viz.views import run_data
from hsd_viz.views.page_data import BUNDLE, STATIC, about, offered, recorded_runs
from tests.rows import column
from tests.views.make_trace import make_trace

JS = Path(__file__).parents[2] / "js"
NODE = shutil.which("node")
#: Traits that a host sets.
HOSTED = ("bundle", "layout", "tabbable", "tooltip", "comm")
MISSING = (
    "node or js/node_modules is missing, so the page is not tested: install node 20 or newer, "
    "for example with apt-get install nodejs npm, then run npm ci in js/"
)


def run(*arguments: str, **environment: str) -> None:
    """Run node in js/. A test that needs it fails without it: figures of the page are tested
    nowhere else.
    """
    assert NODE is not None and (JS / "node_modules").is_dir(), MISSING
    done = subprocess.run(
        [NODE, *arguments],
        cwd=JS,
        env={**os.environ, **environment, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def own_state(view) -> dict:
    """The synchronized traits of a view but for those of its host."""
    state = {}
    for name, value in view.get_state().items():
        if not name.startswith("_") and name not in HOSTED:
            state[name] = value
    return state


def states() -> dict[str, list[dict]]:
    """The synchronized traits of every public view, linked where they can be, by the name of its
    script.
    """
    trace = load_bundled("both")
    basis = hsd.views.recorded()
    stream = hsd.views.TokenStream(trace)
    linked = ("DraftGame", "LocalityMap", "Panels", "RoundInspector", "Staircase", "Timeline")
    made = [stream, *(getattr(hsd.views, name)(group=stream.group) for name in linked)]
    made += [hsd.views.HierarchyGraph(basis), hsd.views.OneDraftWhatIf(basis), hsd.views.RuleLab()]
    made.append(hsd.views.Chart(hsd.figures.acceptance(trace)))
    made.append(
        hsd.views.Versus(
            [load_bundled(name, SIDE_BY_SIDE / "greedy") for name in ("plain", "databases")]
        )
    )
    states_by_view = {view.view: [own_state(view)] for view in made}
    assert len(states_by_view) == len(made)
    return states_by_view


def games() -> list[dict]:
    """The texts of the game, with their recorded runs in place of the runs' names."""
    runs = recorded_runs()
    played = []
    for game in about()["games"]:
        shown = {}
        for player, name in game["runs"].items():
            shown[player] = run_data.snapshot(runs[name](), name)
        played.append(game | {"runs": shown})
    return played


#: Texts that are stacks and that are not, between bars.
STACKS = """
target | db>nano:4 > target | db[ context ]>nano:auto > target | hd[model,context] > target |
auto > target | auto[db,nano] > target | lookup[original] > target | a/b:3 > ./my model |
"my model":2 > target | x > y > z |  | > | db | db > | > target | target:4 | nano:0 > target |
nano:65 > target | nano > db > target | db[] > target | db[x] > target |
db[context,context] > target | nano > nano > target | auto > nano > target | db:4 > target |
nano" > target | sam[x] > target | auto[target] > target | nano:x > target | a b > target |
nano:8?0.4 > target | nano ? .25 > small:auto?0.5 > target | nano:8?1 > target | nano?x > target |
target?0.4 | db?0.4 > target | auto[nano?0.4] > target | "./a?0.4":2?0.001 > target |
./a?b > target | nano?0.4:8 > target | target[int8]:6 > target |
nano>target[ bfloat16 ]?0.5 > target | "./a b" [float32] > target | auto[db,x[int8]] > target |
target[int4] > target | nano > target[int8] | x[int8] > x[int8] > target | "./a[int8]" > target |
target[int8 > target | target[int8]] > target | auto[x[int8]:2] > target | nano:2[int8] > target |
db[int8] > target | target[] > x""".split("|")


def printed(text: str) -> str | None:
    try:
        return str(parse(text))
    except StackError:
        return None


def test_the_scripts_do_what_their_tests_say(tmp_path):
    traces = {"made": make_trace()}
    for name in offered():
        traces[name] = recorded_runs()[name]()
    shown = {}
    metrics = {}
    for name, trace in traces.items():
        shown[name] = run_data.snapshot(trace, name)
        metrics[name] = trace.metrics()
    content = {
        "runs": shown,
        "metrics": metrics,
        "states": states(),
        "about": about(),
        "games": games(),
        "stacks": [[text, printed(text)] for text in map(str.strip, STACKS)],
    }
    snapshots = tmp_path / "snapshots.json"
    snapshots.write_text(json.dumps(content), encoding="utf-8")
    run("node_modules/vitest/vitest.mjs", "run", HSD_SNAPSHOTS=str(snapshots))


def test_the_price_of_a_token_on_a_gpu_is_the_measured_one():
    """Of the slider of the game: what 8 tokens take beside 1, for each token more."""
    bench = JS.parent / "docs" / "bench" / "gpu-h100.json"
    steps = json.loads(bench.read_text(encoding="utf-8"))["b"]["parts"]
    ms = steps["steps/1B/compiled"]["width_ms"]
    score = (JS / "game" / "score.ts").read_text(encoding="utf-8")
    [price] = re.findall(r"GPU_PRICE = ([\d.]+);", score)
    assert float(price) == round((ms["8"] / ms["1"] - 1) / 7, 3)


def test_the_built_files_are_those_of_the_sources():
    run("build.mjs", "--check")


@pytest.mark.parametrize("missing", ["NODE", "JS"])
def test_without_node_or_its_packages_the_tests_of_the_page_fail(missing, monkeypatch, tmp_path):
    monkeypatch.setitem(globals(), missing, {"NODE": None, "JS": tmp_path}[missing])
    with pytest.raises(AssertionError, match="the page is not tested: install node"):
        run("--version")


def test_the_module_imports_nothing_and_is_small():
    exports = re.findall(r"\bexport\s*\{([^}]*)\}", BUNDLE)
    assert len(exports) == 1 and {
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
    files = {"hsd-viz.js", "loader.js", "page.css", "page_lessons.css"}
    of_pages = {"elements.js", "site.css", "site.js", "tab-worker.js"}
    assert files <= set(column(STATIC.iterdir(), "name")) <= files | of_pages


def test_the_elements_are_one_small_module_that_asks_for_files_only():
    module = (STATIC / "elements.js").read_text(encoding="utf-8")
    assert len(gzip.compress(module.encode())) <= 60_000
    # No other module, no code in texts; files are fetched in one place.
    assert not re.search(r"\bimport\b(?!\(URL\.createObjectURL)", module)
    assert not re.search(r"\beval\b|new Function|XMLHttpRequest|WebSocket|sendBeacon", module)
    assert len(re.findall(r"(?<![.\w])fetch\(", module)) == 1
