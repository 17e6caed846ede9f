"""The scripts of the page: built from js/, checked by vitest, with the recorded runs as Python has them."""

from __future__ import annotations

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
from hsd_viz.views import payload
from hsd_viz.views.events import events_of
from hsd_viz.views.scripts import STATIC
from hsd_viz.views.tabs import Tabs
from tests.views.make_trace import make_trace

JS = Path(__file__).parents[2] / "js"
NODE = shutil.which("node")
MODULES = [importlib.import_module(f"{views.__name__}.{found.name}") for found in pkgutil.iter_modules(views.__path__)]
#: Every view that has a script of its own, public or not.
SCRIPTED = {
    name: kind
    for module in MODULES
    for name, kind in vars(module).items()
    if isinstance(kind, type) and "_esm" in vars(kind)
}
#: Traits that a host sets.
HOSTED = ("layout", "tabbable", "tooltip", "comm")
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
    box, _lab = hsd_viz.dashboard(), views.RuleLab()  # the only view that is not on the dashboard
    tabs = next(w for w in _instances.values() if isinstance(w, Tabs) and w.model_id not in earlier)
    for place in range(len(tabs.panels)):
        tabs.strip.selected = place
    found: dict[str, list[dict]] = {}
    for widget in [w for model_id, w in _instances.items() if model_id not in earlier]:
        scripts = (vars(kind).get("_esm") for kind in type(widget).__mro__)
        script = next((s for s in scripts if hasattr(s, "_path")), None)
        if script is not None:
            state = {n: v for n, v in widget.get_state().items() if not n.startswith("_") and n not in HOSTED}
            found.setdefault(Path(script._path).stem, []).append(state)
    box.close()
    return found


@needs_tools
def test_the_scripts_do_what_their_tests_say(tmp_path):
    runs = {}
    for name, trace in {"made": make_trace(), **{r.name: load_bundled(r.name) for r in bundled()}}.items():
        events = [[e.kind, e.round, e.token, e.draft.node if e.draft else None] for e in events_of(trace)]
        assert len(events) > len(trace.token_rows) // 2
        runs[name] = {"run": name, "seq": 1, **payload.snapshot(trace), "events": events}
    states = dashboard_states()
    assert states.keys() == {path.stem for path in STATIC.glob("*.js") if not path.stem.startswith("page_")}
    snapshots = tmp_path / "snapshots.json"
    snapshots.write_text(json.dumps({"runs": runs, "states": states}), encoding="utf-8")
    run("node_modules/vitest/vitest.mjs", "run", HSD_SNAPSHOTS=str(snapshots))


@needs_tools
def test_the_built_files_are_those_of_the_sources():
    run("build.mjs", "--check")


@pytest.mark.parametrize("name", sorted(SCRIPTED))
def test_a_view_has_one_module_that_imports_nothing(name):
    script = str(SCRIPTED[name]._esm)
    assert len(re.findall(r"\bexport\s*\{[^}]*\bas default\b[^}]*\}", script)) == 1
    assert not re.search(r"\bimport\b(?!\(URL\.createObjectURL)", script)


def test_every_built_file_is_used():
    used = {
        Path(kind.__dict__[key]._path).name
        for kind in SCRIPTED.values()
        for key in ("_esm", "_css")
        if key in kind.__dict__
    }
    pages = {f"page_{name}.{kind}" for name in ("run", "versus", "lessons") for kind in ("js", "css")}
    assert {path.name for path in STATIC.iterdir()} == used | pages
