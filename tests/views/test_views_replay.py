"""Recorded traces come back as they were recorded: the same rows, in steps, at the recorded pace, without torch."""

from __future__ import annotations

import json
import time

import pytest
from make_trace import STEPS, make_trace

from hsd_viz.engine.replay import ReplayEngine, bundled, load_bundled, steps
from hsd_viz.trace import Finished, Stage, Started, Step, Trace, TraceError

SAMPLING = {"temperature": 0.8, "top_k": 40, "top_p": 0.9, "seed": 7}


@pytest.fixture
def folder(tmp_path):
    make_trace().save(tmp_path / "one.json.gz")
    row = {"name": "one", "file": "one.json.gz", "title": "One", "blurb": "A small one.", "stack": "db > nano > target"}
    (tmp_path / "index.json").write_text(json.dumps([row]))
    return tmp_path


def test_the_index_is_read(folder, tmp_path_factory):
    (recording,) = bundled(folder)
    assert (recording.name, recording.title) == ("one", "One")
    assert bundled(tmp_path_factory.mktemp("empty")) == []


@pytest.mark.parametrize("text", ["{", "[1]", '[{"name": "x"}]', "3"])
def test_a_broken_index_is_one_sentence(folder, text):
    (folder / "index.json").write_text(text)
    with pytest.raises(TraceError, match="list of recorded traces"):
        bundled(folder)


def test_names_are_names_and_never_paths(folder):
    assert load_bundled("one", folder).to_dict() == make_trace().to_dict()
    for name in ("two", "../one", "one.json.gz", ""):
        with pytest.raises(TraceError, match="no recorded trace"):
            load_bundled(name, folder)
    index = json.loads((folder / "index.json").read_text())
    index[0]["file"] = "../../one.json.gz"
    (folder / "index.json").write_text(json.dumps(index))
    assert load_bundled("one", folder).token_ids == make_trace().token_ids


def test_steps_are_the_recorded_ones():
    taken = steps(make_trace())
    assert [s.columns for s in taken] == [s.columns for s in STEPS]
    assert steps(Trace({})) == []


def test_a_replay_is_the_run_event_by_event(folder):
    events = list(ReplayEngine(folder, pace=0).decode("def f", "db > nano > target", **SAMPLING))
    assert [type(e) for e in events] == [Stage, Started, Step, Step, Finished]
    again = Trace(events[1].meta)
    for event in events[2:4]:
        again.append(event)
    assert again.to_dict() == events[-1].trace.to_dict() == make_trace().to_dict()
    assert ReplayEngine(folder).run("def f", "db > nano > target", **SAMPLING).token_ids == make_trace().token_ids


def test_what_was_not_recorded_is_refused_with_the_way_out(folder):
    engine = ReplayEngine(folder, pace=0)
    known = "db > nano > target"
    for prompt, stack, options in (("other", known, SAMPLING), ("def f", "target", SAMPLING), ("def f", known, {})):
        with pytest.raises(ValueError, match="hsd-viz\\[models\\]"):
            engine.decode(prompt, stack, **options)


def test_the_pace_is_that_of_the_recording():
    begun = time.perf_counter()
    list(ReplayEngine(pace=0.1).replay(make_trace()))
    spent = time.perf_counter() - begun
    assert 0.15 <= spent < 1.5  # 15 ms were recorded
    with pytest.raises(ValueError, match="pace"):
        ReplayEngine(pace=-1)
