"""The bundled traces: valid, from the shipped weights, recorded by the command."""

from __future__ import annotations

import json

import pytest

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.ladder.load import model_path, weights_hash
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import check
from hsd_viz.views.presets import TEMPERATURE
from tools import record
from tools.selection import facts, opening, speedup

NAMES = [r.name for r in bundled()]
SELECTED = {one.name: one for one in (record.MIXED, *record.PARTS)}


def test_all_recipes_were_recorded():
    assert sorted([*SELECTED, *(r.name for r in record.RECIPES)]) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_bundled_trace(name):
    trace = load_bundled(name)
    check(trace)
    if name in SELECTED:
        stacks, prompts = SELECTED[name].stacks, [record.PRESETS[p] for p in SELECTED[name].prompts]
        assert trace.meta["sampling"]["temperature"] == TEMPERATURE
    else:
        recipe = next(r for r in record.RECIPES if r.name == name)
        stacks, prompts = [recipe.stack], [recipe.prompt]
    assert trace.meta["stack"] in stacks and trace.meta["prompt"] in prompts
    # The reference: plain decoding of the same prompt, interleaved with it.
    assert ("plain" in trace.meta) == (trace.meta["stack"] != "target")
    (recording,) = [r for r in bundled() if r.name == name]
    assert recording.stack == trace.meta["stack"]
    assert recording.speedup == (None if recording.stack == "target" else pytest.approx(speedup(trace), abs=1e-3))
    for model in trace.meta["models"]:
        assert model["weights"] == weights_hash(model_path(model["model"])), (
            "recorded with other weights: run `hsd-viz traces record`"
        )


def test_the_first_recording_shows_the_point():
    shown = {name: facts(load_bundled(name)) for name in NAMES}
    assert opening(shown.items()) == NAMES[0] and not shown[NAMES[0]].missing
    assert load_bundled(NAMES[0]).meta["sampling"]["temperature"] == TEMPERATURE


def test_slower_runs_stay_in_the_list_and_are_labelled():
    slower = [r for r in bundled() if r.speedup is not None and r.speedup < 1]
    assert slower and all("slower than plain decoding" in r.label for r in slower)
    assert not any("slower" in r.label for r in bundled() if r not in slower)


def test_each_database_does_its_part():
    copied, idioms, new = (facts(load_bundled(name)) for name in ("copied", "idioms", "new"))
    context = lambda f: f.shares.get("context", 0.0)
    stored = lambda f: f.shares.get("model", 0.0) + f.shares.get("statistics", 0.0)
    assert context(copied) > max(context(idioms), context(new))
    assert stored(idioms) > max(stored(copied), stored(new))
    assert new.own > copied.own


def test_recording_writes_checked_traces_and_an_index(tmp_path):
    lines = []
    paths = record.record_traces(tmp_path, tokens=6, repeats=1, seeds=[1], progress=lines.append)
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in paths}
    assert {p.name.split(".")[0] for p in paths} == {*NAMES, "index"} and lines
    index = json.loads((tmp_path / "index.json").read_text())
    for entry in index:
        trace = Trace.load(tmp_path / entry["file"])
        assert len(trace.token_rows) == 6 and trace.meta["threads"] == 1
