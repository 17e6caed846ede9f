"""The pure parts of the page's scripts, by node's own test runner (``*.test.mjs`` beside this file)."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import shutil
import subprocess
from pathlib import Path

import pytest

from hsd_viz import views
from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.views import payload

HERE = Path(__file__).parent
NODE = shutil.which("node")
MODULES = [importlib.import_module(f"{views.__name__}.{found.name}") for found in pkgutil.iter_modules(views.__path__)]
#: Every view that has a script of its own, public or not.
SCRIPTED = {
    name: kind
    for module in MODULES
    for name, kind in vars(module).items()
    if isinstance(kind, type) and "_esm" in vars(kind)
}


@pytest.mark.skipif(NODE is None, reason="node is missing; to install it: apt-get install nodejs")
@pytest.mark.parametrize("script", sorted(path.name for path in HERE.glob("*.test.mjs")))
def test_scripts(script, tmp_path):
    runs = {r.name: {"run": r.name, "seq": 1, **payload.snapshot(load_bundled(r.name))} for r in bundled()}
    snapshots = tmp_path / "snapshots.json"
    snapshots.write_text(json.dumps(runs), encoding="utf-8")
    environment = {**os.environ, "HSD_SNAPSHOTS": str(snapshots)}
    done = subprocess.run(
        [NODE, "--test", str(HERE / script)], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.skipif(NODE is None, reason="node is missing; to install it: apt-get install nodejs")
@pytest.mark.parametrize("name", sorted(SCRIPTED))
def test_a_view_s_script_is_one_module(name, tmp_path):
    # Its parts are joined: no two of them may use a name for something of their own.
    script = tmp_path / "view.mjs"
    script.write_text(str(SCRIPTED[name]._esm), encoding="utf-8")
    done = subprocess.run([NODE, "--check", str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
