"""Recordings of one prompt with several stacks: valid, from the shipped weights, recorded by the command."""

from __future__ import annotations

import json

import pytest

from hsd_viz.engine.replay import SIDE_BY_SIDE, bundled, load_bundled
from hsd_viz.ladder.load import model_path, weights_hash
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import check
from tools import record


@pytest.mark.parametrize("group", record.GROUPS)
@pytest.mark.parametrize("name", [name for name, *_ in record.SIDES])
def test_recorded(group, name):
    folder = SIDE_BY_SIDE / group
    trace = load_bundled(name, folder)
    check(trace)
    prompt, options = record.GROUPS[group]
    (recording,) = [r for r in bundled(folder) if r.name == name]
    assert (trace.meta["stack"], trace.meta["prompt"], trace.meta["threads"]) == (recording.stack, prompt, 1)
    assert trace.meta["sampling"]["temperature"] == options.get("temperature", 0.0)
    for model in trace.meta["models"]:
        assert model["weights"] == weights_hash(model_path(model["model"])), (
            "recorded with other weights: run `python -m training rebuild side-by-side`"
        )


def test_recording_saves_one_run_of_each_stack(tmp_path):
    paths = record.record_side_by_side(tmp_path, tokens=4, repeats=1)
    assert {p for p in tmp_path.rglob("*") if p.is_file()} == set(paths)
    for group in record.GROUPS:
        index = json.loads((tmp_path / group / "index.json").read_text())
        assert [entry["stack"] for entry in index] == [stack for *_, stack in record.SIDES]
        assert all(len(Trace.load(tmp_path / group / entry["file"]).token_rows) == 4 for entry in index)
    with pytest.raises(ValueError, match="repeats 0 is out of range"):
        record.record_side_by_side(tmp_path, repeats=0)
