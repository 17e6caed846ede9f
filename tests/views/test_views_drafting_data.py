"""An ablation's rows are the sums of its traces, and a file of them reads as the traces do."""

from __future__ import annotations

from statistics import median

import pytest

import hsd_viz as hsd
from benchmarks.ablation import ablation_stacks, build, row_of
from hsd_viz.bench.output import draft_seconds
from hsd_viz.figures.drafting_data import study_of
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.stack import DATABASES, parse


def test_all_subsets_in_all_orders_once():
    stacks = ablation_stacks()
    assert len(set(stacks)) == len(stacks)
    assert all(str(parse(s)) == s for s in stacks)
    for name in ("db", "hd"):
        orders = [parse(s).bottom.items for s in stacks if s.startswith(f"{name}[")]
        assert len(orders) == len(set(orders)) == 3 + 6 + 6
        assert all(set(o) <= set(DATABASES) for o in orders)


def test_a_file_of_sums_reads_as_the_traces_do():
    traces = [hsd.load_bundled("databases"), hsd.load_bundled("copied")]
    row = row_of("db > target", 0.7, [("one", traces[0]), ("other", traces[1])])
    suite = Suite(
        "made",
        {"one": "One.", "other": "Other.", "unused": "No prompt."},
        (Prompt("1", "one", "a"), Prompt("2", "other", "b")),
    )
    machine = {"cpu": "A processor", "gpu": None, "load_average": 1.25, "load_average_at_end": 2.5}
    data = build([row], machine, suite, {"device": "cpu", "threads": 1, "max_new_tokens": 8})
    assert list(data["suite"]["categories"]) == ["one", "other"]
    (read,), (counted,) = study_of(data).rows, study_of(traces).rows
    assert read.categories["one"][0] == pytest.approx(traces[0].metrics()["mean_acceptance_length"])
    assert read.accepted == pytest.approx(counted.accepted)
    for name in ("length", "ratio", "speed"):
        assert getattr(read, name) == pytest.approx(getattr(counted, name))
    assert read.draft == median(second for trace in traces for second in draft_seconds(trace))
    assert (
        "A processor, 1 thread; drafting latency is the median over rounds, with a load average of 1.2 to 2.5"
        in study_of(data).source
    )
