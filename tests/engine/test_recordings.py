"""The bundled traces: valid, from the shipped weights, recorded by the command."""

from __future__ import annotations

import json

import pytest

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.ladder.load import model_path, weights_hash
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import check
from tools import record

NAMES = [r.name for r in bundled()]


def test_all_recipes_were_recorded():
    assert [r.name for r in record.RECIPES] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_bundled_trace(name):
    trace = load_bundled(name)
    check(trace)
    recipe = next(r for r in record.RECIPES if r.name == name)
    assert (trace.meta["stack"], trace.meta["prompt"]) == (recipe.stack, recipe.prompt)
    # The reference: plain decoding of the same prompt, interleaved with it.
    assert ("plain" in trace.meta) == (recipe.stack != "target")
    for model in trace.meta["models"]:
        assert model["weights"] == weights_hash(model_path(model["model"])), (
            "recorded with other weights: run `hsd-viz traces record`"
        )


def test_recording_writes_checked_traces_and_an_index(tmp_path):
    lines = []
    paths = record.record_traces(tmp_path, tokens=6, repeats=1, progress=lines.append)
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in paths} and len(lines) == len(record.RECIPES)
    index = json.loads((tmp_path / "index.json").read_text())
    for entry in index:
        trace = Trace.load(tmp_path / entry["file"])
        assert len(trace.token_rows) == 6 and trace.meta["threads"] == 1
