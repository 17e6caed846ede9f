"""Records of other engines, written by hand after their documentation: what is exact, derived
and not observed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hsd_viz.cli import main
from hsd_viz.engine.recordings import load_bundled
from hsd_viz.measure.doctor.observe import observe
from hsd_viz.records.engine_settings import batch_costs
from hsd_viz.records.imported import import_records
from hsd_viz.records.traces import series_of, trace_of_series
from hsd_viz.trace import Trace, TraceError
from hsd_viz.trace.export import aiperf_record
from hsd_viz.views.run_data import read_trace
from tests.rows import column

RECORDS = Path(__file__).resolve().parents[1] / "fixtures" / "records"


@dataclass(frozen=True)
class Observed:
    """What a record must be read as.

    Attributes:
        engine: that wrote it.
        exact: counts that it has or that follow from it.
        length: mean acceptance length.
        derived: counts that are not in the record itself.
        missing: what it does not have.
    """

    engine: str
    exact: dict[str, Any]
    length: float | None = None
    derived: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


CASES = {
    "vllm-0.32.0-detailed.jsonl": Observed(
        "vllm",
        {"tokens": 18, "drafted": 23, "accepted": 9, "verifications": 8},
        length=2,
    ),
    "vllm-0.32.0-summary.jsonl": Observed(
        "vllm",
        {"tokens": 18, "drafted": 23, "accepted": 9},
        length=2,
        missing=("time", "rounds"),
    ),
    "vllm-0.32.0-metrics.txt": Observed(
        "vllm",
        {"verifications": 43, "drafted": 129, "accepted": 10, "by_position": [4, 3, 3]},
        missing=("tokens", "forwards", "time", "rounds"),
    ),
    "vllm-0.32.0.log": Observed(
        "vllm",
        {"drafted": 518, "accepted": 323, "by_position": [65, 60, 52, 48, 40, 33, 25]},
        derived=("verifications", "by_position"),
        missing=("tokens",),
    ),
    "sglang-0.5.9.jsonl": Observed(
        "sglang",
        {"tokens": 54, "verifications": 43, "drafted": 129, "accepted": 10},
        length=54 / 44,
        missing=("time", "rounds"),
    ),
    "llama.cpp-f5e85d4.jsonl": Observed(
        "llama.cpp",
        {"tokens": 200, "drafted": 347, "accepted": 65},
        length=200 / 135,
        missing=("verifications", "by_position", "rounds"),
    ),
    "llama.cpp-f5e85d4.log": Observed(
        "llama.cpp",
        {"tokens": 256, "drafted": 259, "accepted": 167},
        length=256 / 89,
        derived=("verifications",),
        missing=("rounds",),
    ),
    "tensorrt-llm-1.2.jsonl": Observed(
        "tensorrt-llm",
        {"verifications": 3, "drafted": 12, "accepted": 6},
        missing=("tokens", "forwards", "time"),
    ),
    "aiperf-0.13.0.jsonl": Observed(
        "aiperf",
        {"tokens": 411, "verifications": 128, "drafted": 640, "accepted": 278},
        length=411 / 133,
        missing=("rounds",),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_record_says_what_it_observed(name, tmp_path):
    expected = CASES[name]
    exact = expected.exact
    (trace,) = import_records(RECORDS / name)
    about = trace.meta["imported"]
    counts = trace.meta["counts"]
    assert about["engine"] == expected.engine
    assert about["version"]
    assert {key: counts[key] for key in exact} == exact
    assert set(exact) <= {*about["exact"], *about["derived"]}
    assert set(expected.derived) <= set(about["derived"])
    assert set(expected.missing) <= set(about["not_observed"])
    assert not set(about["exact"]) & {*about["derived"], *about["not_observed"]}
    figures = trace.metrics()
    if expected.length is None:
        assert figures["mean_acceptance_length"] is None
    else:
        assert figures["mean_acceptance_length"] == pytest.approx(expected.length)
    assert figures["acceptance_rate"] == pytest.approx(exact["accepted"] / exact["drafted"])
    assert figures["tokens"] == exact.get("tokens")
    assert figures["draft_seconds_per_round"] is None
    assert (figures["seconds"] is None) == ("time" in about["not_observed"])
    loaded = Trace.load(trace.save(tmp_path / "run.json.gz"))
    assert loaded.metrics() == figures
    assert repr(loaded) == repr(trace)


def test_rounds_from_arrays_per_step_are_exact():
    (trace,) = import_records(RECORDS / "vllm-0.32.0-detailed.jsonl")
    rows = trace.round_rows
    assert [(r.drafted, r.accepted) for r in rows] == list(
        zip([3] * 7 + [2], [3, 0, 1, 0, 3, 2, 0, 0], strict=True)
    )
    assert column(rows, "outcome")[:3] == ["bonus", "correction", "correction"]
    assert rows[0].start_ns is None
    assert trace.rounds["duration_ns"].isna().all()
    assert trace.metrics()["levels"][0]["accepted_histogram"] == [4, 1, 1, 2]
    assert trace.metrics()["tokens_per_second"] == pytest.approx(18 / 0.2405)
    (timed,) = import_records(RECORDS / "tensorrt-llm-1.2.jsonl")
    expected = [(4, 2, 20_000_000), (4, 0, 19_500_000), (4, 4, 21_000_000)]
    assert [(r.drafted, r.accepted, r.duration_ns) for r in timed.round_rows] == expected


#: Printed by llama-server 0c1e570 for the shipped ladder as GGUF files.
LOG = """2.54.072.160 I slot print_timing: id  0 | task 923 | \
prompt eval time =     332.73 ms /    61 tokens (  5.45 ms)
2.54.072.160 I slot print_timing: id  0 | task 923 | \
       eval time =    1172.52 ms /    40 tokens (   30.06 ms)
2.54.072.160 I slot print_timing: id  0 | task 923 | \
draft acceptance = 0.51020 (   25 accepted /    49 generated), mean len =  2.92
"""
SPEC = {
    "numDraftTokens": 8,
    "numAcceptedTokens": 3,
    "numRequestsWithDraftTokens": 2,
    "acceptanceLength": 2.5,
}


def test_another_version_of_llama_server_and_iterations_of_several_requests(tmp_path):
    path = tmp_path / "record"
    path.write_text(LOG)
    (trace,) = import_records(path)
    expected = {"tokens": 40, "drafted": 49, "accepted": 25, "verifications": 13, "forwards": 15}
    assert {name: trace.meta["counts"][name] for name in expected} == expected
    assert "verifications" in trace.meta["imported"]["derived"]
    assert trace.meta["decode_ns"] == 1_172_520_000
    path.write_text(json.dumps([{"iter": 1, "iterLatencyMS": 9.0, "specDecodingStats": SPEC}]))
    (trace,) = import_records(path)
    assert not trace.round_rows
    assert trace.meta["counts"]["length_drafts"] == 2.5
    assert "rounds" in trace.meta["imported"]["not_observed"]


def test_a_run_of_ours_is_exported_to_aiperf_and_read_back(tmp_path, capsys):
    trace = load_bundled("sampled")
    target = max(column(trace.round_rows, "level"))
    rounds = []
    for r in trace.round_rows:
        if r.level == target and r.drafted:
            rounds.append((r.drafted, r.accepted))
    record = aiperf_record(trace)
    assert record["spec_decode_acceptance"]["num_spec_steps"] == len(rounds) > 0
    saved = trace.save(tmp_path / "run.json.gz")
    out = tmp_path / "profile_export.jsonl"
    assert main(["export", str(saved), str(saved), "--aiperf", str(out)]) == 0
    one, _ = import_records(out, "aiperf")
    assert [(r.drafted, r.accepted) for r in one.round_rows] == rounds
    assert one.metrics()["tokens"] == trace.metrics()["tokens"]
    assert one.meta["wall_ns"] == pytest.approx(trace.meta["wall_ns"], abs=2)


def test_the_command_prints_what_was_observed_and_saves(tmp_path, capsys):
    both = tmp_path / "both.jsonl"
    both.write_text((RECORDS / "vllm-0.32.0-detailed.jsonl").read_text() * 2)
    assert main(["import", str(both), "--save", str(tmp_path / "run.json.gz")]) == 0
    out = capsys.readouterr().out
    assert "2 records of vllm (form seen in 0.32.0), model m" in out
    assert "not observed:" in out
    (one,) = import_records(RECORDS / "vllm-0.32.0-detailed.jsonl")
    whole = Trace.load(tmp_path / "run.json.gz").metrics()
    part = one.metrics()
    assert column(tmp_path.glob("run*"), "name") == ["run.json.gz"]
    assert part["tokens"] == 18
    for name in ("tokens", "drafted", "accepted"):
        assert whole[name] == 2 * part[name]
    rate = part["acceptance_rate"]
    length = part["mean_acceptance_length"]
    assert f"acceptance rate {rate:.1%}, {length:.2f} tokens per forward pass" in out
    assert whole["acceptance_rate"] == rate
    assert whole["mean_acceptance_length"] == length


def test_requests_are_added_up_and_what_one_lacks_is_not_observed():
    (rounds,) = import_records(RECORDS / "vllm-0.32.0-detailed.jsonl")
    (sums,) = import_records(RECORDS / "vllm-0.32.0-summary.jsonl")
    whole = trace_of_series(series_of([rounds, sums]))
    accepted = [trace.meta["counts"]["accepted"] for trace in (rounds, sums)]
    assert whole.meta["counts"]["accepted"] == sum(accepted)
    assert not whole.round_rows
    assert "rounds" in whole.meta["imported"]["not_observed"]
    (other,) = import_records(RECORDS / "sglang-0.5.9.jsonl")
    with pytest.raises(ValueError, match=r"several engines \(sglang, vllm\): choose one of them"):
        series_of([rounds, other])


@pytest.mark.parametrize(
    "content",
    ["", "hello\nworld\n", '{"choices": []}\n', '[{"metrics": 3}]', "\x00\xff" * 100, "[" * 2000],
)
def test_a_file_without_a_record_is_one_line(tmp_path, capsys, content):
    path = tmp_path / "x"
    path.write_bytes(content.encode("latin-1"))
    assert main(["import", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "no record of speculative decoding by a known engine" in err
    assert main(["import", str(tmp_path / "missing")]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert main(["import", str(RECORDS / "sglang-0.5.9.jsonl"), "--engine", "vllm"]) == 2
    assert "by vllm" in capsys.readouterr().err


def test_an_imported_trace_is_exported_only_where_it_can_be(tmp_path, capsys):
    (with_rounds,) = import_records(RECORDS / "vllm-0.32.0-detailed.jsonl")
    (sums,) = import_records(RECORDS / "sglang-0.5.9.jsonl")
    one = with_rounds.save(tmp_path / "one.json.gz")
    two = sums.save(tmp_path / "two.json.gz")
    assert main(["export", str(one), "--perfetto", str(tmp_path / "x")]) == 2
    assert "without calls: use --html, --csv or --aiperf" in capsys.readouterr().err
    assert main(["export", str(two), "--html", str(tmp_path / "x")]) == 2
    assert "has no run to show: use `hsd-viz doctor`" in capsys.readouterr().err
    with pytest.raises(TraceError, match="a record of sglang without the draft of each"):
        read_trace(sums.to_bytes(), "run.json.gz")
    assert (
        main(
            [
                "export",
                str(one),
                "--csv",
                str(tmp_path / "tables"),
                "--aiperf",
                str(tmp_path / "a.jsonl"),
            ]
        )
        == 0
    )
    record = json.loads((tmp_path / "a.jsonl").read_text())["spec_decode_acceptance"]
    assert record["engine"] == "vllm"
    assert record["per_step_accepted"] == [3, 0, 1, 0, 3, 2, 0, 0]
    assert main(["export", str(two), "--aiperf", str(tmp_path / "b.jsonl")]) == 2
    assert "has no single verifications" in capsys.readouterr().err
    assert not (tmp_path / "b.jsonl").exists()


@pytest.mark.parametrize(("steps", "drafted", "accepted"), [(4, 12, 6), (4, 12, 0), (5, 12, 5)])
def test_the_depth_and_the_mean_of_imported_sums(tmp_path, steps, drafted, accepted):
    """Of 4 verifications with 12 drafted tokens, each draft had 3 tokens; 5 with 12 had several
    lengths, at least 3.
    """
    path = tmp_path / "metrics"
    counts = {"drafts": steps, "draft_tokens": drafted, "accepted_tokens": accepted}
    path.write_text(
        "".join(f"vllm:spec_decode_num_{name}_total {n}\n" for name, n in counts.items())
    )
    seen = observe(path).seen
    one_length = drafted % steps == 0
    assert seen.deepest == 3
    assert seen.total == steps
    assert seen.by_mean == one_length
    assert seen.length == pytest.approx(1 + accepted / steps)


RUNS = Path(__file__).parents[2] / "hsd_viz" / "traces" / "side_by_side" / "sampled"


def test_costs_are_written_as_llama_cpp_takes_them(tmp_path, capsys):
    assert batch_costs((2.0, 3.0, 4.5)) == "GGML_BATCH_COSTS=1.0000,0.7500,0.7500"
    out = tmp_path / "costs.txt"
    runs = [str(RUNS / f"{name}.json.gz") for name in ("plain", "hierarchy")]
    assert main(["export", *runs, "--costs", str(out)]) == 0
    name, _, costs = out.read_text().partition("=")
    each = list(map(float, costs.split(",")))
    # The hierarchy's widest verification is of 13 tokens; a batch is never cheaper than a smaller
    # one.
    assert name == "GGML_BATCH_COSTS"
    assert each[0] == 1
    assert len(each) == 13
    totals = [n * cost for n, cost in enumerate(each, 1)]
    for a, b in pairwise(totals):
        assert b > a - 0.01
    assert capsys.readouterr().out == f"{out}\n"


def test_costs_need_timed_runs_of_one_target(tmp_path, capsys):
    (served,) = import_records(RECORDS / "vllm-0.32.0-detailed.jsonl")
    served.save(tmp_path / "served.json.gz")
    assert main(["export", str(tmp_path / "served.json.gz"), "--costs", str(tmp_path / "x")]) == 2
    assert "needs timed runs of one target: these are without times" in capsys.readouterr().err
    wide = Trace.load(RUNS / "plain.json.gz").to_dict()
    wide["calls"]["fed"] = [4] * len(wide["calls"]["fed"])
    Trace.from_dict(wide).save(tmp_path / "wide.json.gz")
    assert main(["export", str(tmp_path / "wide.json.gz"), "--costs", str(tmp_path / "x")]) == 2
    assert "add a trace of plain decoding (--stack target)" in capsys.readouterr().err
