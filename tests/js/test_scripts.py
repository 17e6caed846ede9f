"""The scripts of the page: built from js/, checked by vitest, with the recorded runs as Python has them."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import pkgutil
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ipywidgets.widgets.widget import _instances

import hsd_viz
from hsd_viz import views
from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.views import run_data
from hsd_viz.views.events import events_of
from hsd_viz.views.scripts import BUNDLE, STATIC, Part
from hsd_viz.views.tabs import Tabs
from tests.views.make_trace import make_trace

JS = Path(__file__).parents[2] / "js"
NODE = shutil.which("node")
MODULES = [importlib.import_module(f"{views.__name__}.{found.name}") for found in pkgutil.iter_modules(views.__path__)]
#: The names of all views, public or not.
DRAWN = {
    kind.view.default_value
    for module in MODULES
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Part) and kind.view.default_value
}
#: Traits that a host sets.
HOSTED = ("bundle", "layout", "tabbable", "tooltip", "comm")
needs_tools = pytest.mark.skipif(
    NODE is None or not (JS / "node_modules").is_dir(),
    reason="node or js/node_modules is missing; to install them: apt-get install nodejs npm, then npm ci in js/",
)


def run(*arguments: str, **environment: str) -> None:
    done = subprocess.run(
        [str(NODE), *arguments],
        cwd=JS,
        env={**os.environ, **environment, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=540,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def dashboard_states() -> dict[str, list[dict]]:
    """The synchronized traits of every view of the dashboard with all its tabs open, by the name of its script."""
    earlier = set(_instances)  # widgets of other tests in this process
    box = hsd_viz.dashboard()
    tabs = next(w for w in _instances.values() if isinstance(w, Tabs) and w.model_id not in earlier)
    for place in range(len(tabs.panels)):
        tabs.strip.selected = place
    found: dict[str, list[dict]] = {}
    for widget in [w for model_id, w in list(_instances.items()) if model_id not in earlier]:
        if isinstance(widget, Part) and widget.view:
            state = {n: v for n, v in widget.get_state().items() if not n.startswith("_") and n not in HOSTED}
            found.setdefault(widget.view, []).append(state)
    box.close()
    return found


@needs_tools
def test_the_scripts_do_what_their_tests_say(tmp_path):
    runs = {}
    for name, trace in {"made": make_trace(), **{r.name: load_bundled(r.name) for r in bundled()}}.items():
        events = [[e.kind, e.round, e.token, e.draft.node if e.draft else None] for e in events_of(trace)]
        assert len(events) > len(trace) // 2
        runs[name] = {"run": name, "seq": 1, **run_data.snapshot(trace), "events": events}
    states = dashboard_states()
    assert states.keys() == DRAWN
    snapshots = tmp_path / "snapshots.json"
    snapshots.write_text(json.dumps({"runs": runs, "states": states}), encoding="utf-8")
    run("node_modules/vitest/vitest.mjs", "run", HSD_SNAPSHOTS=str(snapshots))


@needs_tools
def test_the_built_files_are_those_of_the_sources():
    run("build.mjs", "--check")


def test_the_module_imports_nothing_and_is_small():
    exports = re.findall(r"\bexport\s*\{([^}]*)\}", BUNDLE)
    assert len(exports) == 1 and {"widgetOf", "groups", "linkedWidget", "provide"} <= {
        name.split(" as ")[-1].strip() for name in exports[0].split(",")
    }
    assert not re.search(r"\bimport\b(?!\(URL\.createObjectURL)", BUNDLE)
    assert len(gzip.compress(BUNDLE.encode())) <= 110_000


def test_every_view_is_in_the_module_and_every_built_file_is_used():
    listed = re.search(r"const VIEWS = \{(.*?)\}", (JS / "hsd-viz.ts").read_text(encoding="utf-8"), re.DOTALL)
    assert set(re.findall(r"\w+", listed[1])) == DRAWN
    files = {"hsd-viz.js", "loader.js", "page.css", "page_lessons.css", "page_lessons.js"}
    assert {path.name for path in STATIC.iterdir()} == files
