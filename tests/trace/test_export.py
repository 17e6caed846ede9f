"""The Chrome trace: the trace's own times, lanes that never overlap, rounds that nest, counters
that end at the totals.
"""

from __future__ import annotations

import csv
import json

import pytest

from hsd_viz.engine.recordings import bundled, load_bundled
from hsd_viz.trace import Trace
from hsd_viz.trace.export import aiperf_record, chrome_trace, write_csv
from tests.rows import column, keyed, select
from tests.trace.samples import sample_trace


def events(trace: Trace, **wanted) -> list[dict]:
    """The events whose entries are as ``wanted``, out of what a reader of the file gets."""
    read = json.loads(json.dumps(chrome_trace(trace)))
    return [event for event in read["traceEvents"] if wanted.items() <= event.items()]


each_recording = pytest.mark.parametrize("name", column(bundled(), "name"))


def nanoseconds(spans: list[dict]) -> list[tuple[int, int]]:
    """Return the start and the duration of slices, in order."""
    times = []
    for span in spans:
        times.append((round(1000 * span["ts"]), round(1000 * span["dur"])))
    return sorted(times)


def recorded(rows) -> list[tuple[int, int]]:
    """Return the start and the duration of calls or rounds, in order."""
    return sorted(zip(column(rows, "start_ns"), column(rows, "duration_ns"), strict=True))


@each_recording
def test_times_are_those_of_the_trace(name):
    trace = load_bundled(name)

    assert nanoseconds(events(trace, ph="X", cat="call")) == recorded(trace.call_rows)
    assert nanoseconds(events(trace, ph="X", cat="round")) == recorded(trace.round_rows)


@each_recording
def test_slices_of_a_thread_nest_or_follow_one_another(name):
    spans = events(load_bundled(name), ph="X")

    for tid in set(column(spans, "tid")):
        open_until: list[float] = []
        for span in sorted(select(spans, tid=tid), key=lambda span: (span["ts"], -span["dur"])):
            begin = span["ts"]
            end = begin + span["dur"]
            # Microseconds are fractions: a slice that starts where another ends may differ in the
            # last digit.
            while open_until and open_until[-1] <= begin + 1e-6:
                open_until.pop()
            assert not open_until or end <= open_until[-1]
            open_until.append(end)
            assert len(open_until) == 1 or span["cat"] == "round"


@pytest.mark.parametrize("table", ["tokens", "drafts", "rounds", "calls"])
def test_a_table_is_written_with_every_digit(table, tmp_path):
    trace = load_bundled("sampled")
    paths = keyed(write_csv(trace, tmp_path), "stem")
    with open(paths[table], encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for name, values in trace.columns[table].items():
        assert [read(row[name], value) for row, value in zip(rows, values, strict=True)] == list(
            values
        ), name


def read(cell: str, value: object) -> object:
    """A cell as a value of the type of ``value``: lists are JSON, absent values empty."""
    if value is None:
        return None if cell == "" else cell
    if isinstance(value, list | tuple):
        return json.loads(cell)
    if isinstance(value, bool):
        return cell == "True"
    if isinstance(value, int):
        return int(float(cell))
    return type(value)(cell)


def test_a_line_for_aiperf_by_hand():
    line = aiperf_record(sample_trace(), number=3)
    assert line["spec_decode_acceptance"] == {
        "engine": "hsd_viz",
        # Two steps that accepted one token each of three and of one.
        "mean_acceptance_length": 2.0,
        "draft_acceptance_rate": 2 / 4,
        "acceptance_histogram": {"1": 2},
        "num_accepted_draft_tokens": 2,
        "num_draft_tokens": 4,
        "num_spec_steps": 2,
        "num_spec_tokens": 3,
        "completion_tokens": 4,
        "per_step_accepted": [1, 1],
        "per_step_drafted": [3, 1],
    }
    assert line["metrics"] == {
        "input_sequence_length": {"value": 1, "unit": "tokens"},
        "output_sequence_length": {"value": 4, "unit": "tokens"},
        "time_to_first_token": {"value": 0.0005, "unit": "ms"},
        "request_latency": {"value": 0.0045, "unit": "ms"},
    }
    assert line["metadata"]["session_num"] == 3
    assert line["metadata"]["request_end_ns"] == 4_500


def test_lanes_are_threads_with_names_the_target_first():
    trace = load_bundled("both")
    named = {e["tid"]: e["args"]["name"] for e in events(trace, name="thread_name")}
    assert list(dict(sorted(named.items())).values()) == ["rounds", "target", "small", "nano", "db"]
    assert {named[e["tid"]] for e in events(trace, name="nano verify")} == {"nano"}


def test_counters_end_at_the_totals_and_rounds_say_what_they_emitted():
    trace = sample_trace()
    counts = events(trace, ph="C", name="tokens emitted")
    assert [(e["ts"], e["args"]["tokens"]) for e in counts] == [(1.8, 2), (2.8, 4)]
    assert column(events(trace, ph="C", name="draft tokens"), "args") == [
        {"accepted": 1, "not accepted": 2},
        {"accepted": 1, "not accepted": 0},
    ]
    assert [e["args"]["emitted"] for e in events(trace, cat="round")] == [
        "def\\xe2\\x9c",
        "\\x93 <b>",
    ]
    assert events(Trace({}), ph="X") == []
