"""Five cases made to fail in five known ways, each with the right verdict; and the files the doctor reads."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from hsd_viz.cli import main
from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled
from hsd_viz.logs.doctor import FLAGS, batch_limit, diagnose, flags
from hsd_viz.logs.observe import Observation, from_traces, observe

RECORDS = Path(__file__).parent / "records"


def rounds(acceptance, depth=4, number=4000):
    """Return rounds of chains whose tokens are accepted independently."""
    draw = random.Random(0)
    found = Counter()
    for _ in range(number):
        accepted = 0
        while accepted < depth and draw.random() < acceptance:
            accepted += 1
        found[depth, accepted] += 1
    return found


HEALTHY = Observation("case", rounds(0.9), step=10.0, verify=10.8, draft=1.0, overhead=0.2)
CASES = {
    "drafting": replace(HEALTHY, draft=40.0),
    "acceptance": replace(HEALTHY, rounds=rounds(0.1)),
    "verification": replace(HEALTHY, verify=40.0),
    "overhead": replace(HEALTHY, overhead=40.0),
    "batch": replace(HEALTHY, batch=256),
}


@pytest.mark.parametrize("cause", CASES)
def test_a_case_that_fails_in_a_known_way_gets_its_verdict(cause):
    found = diagnose(CASES[cause])
    assert found.cause == cause and found.shares[cause] > 0.5
    assert sum(found.shares.values()) == pytest.approx(1) and found.doubt < 0.05
    assert found.speedup.value < 1.1 and found.speedup.interval[0] < found.speedup.value < found.speedup.interval[1]
    assert set(found.flags) == {f"{engine} {version}" for engine, (version, _) in FLAGS.items()}
    if cause in ("verification", "batch", "acceptance"):
        # No longer draft helps where tokens are expensive or rejected.
        assert found.best == "target" or found.gain < 0.35
    else:
        assert found.verdict.split(" (")[0].endswith(("too slow", "drafting"))


def test_what_works_is_said_to_work():
    found = diagnose(HEALTHY)
    assert found.speedup.value == pytest.approx(found.length.value * 10 / 12)
    assert found.verdict.startswith("speculation pays: 3.") and found.best.startswith("draft:")
    assert "num_speculative_tokens" in found.flags["vllm 0.32.0"]


def test_the_shares_are_the_parts_of_the_loss():
    found = diagnose(replace(HEALTHY, draft=10.0, verify=10.0, overhead=0.0))
    # A round takes 2 steps: the time's part is log 2.
    from math import log

    lost = log(5 / found.speedup.value)
    assert found.shares["drafting"] == pytest.approx(log(2) / lost)
    assert found.shares["acceptance"] == pytest.approx(log(5 / found.length.value) / lost)
    assert found.shares["verification"] == found.shares["overhead"] == found.shares["batch"] == 0


def test_the_limit_of_the_batch_follows_from_the_slope():
    assert batch_limit(replace(HEALTHY, verify=10.0)) is None
    steep, flat = batch_limit(replace(HEALTHY, verify=14.0)), batch_limit(replace(HEALTHY, verify=10.1))
    assert 1 < steep < flat
    # At the limit nothing pays, below it a draft does.
    seen = replace(HEALTHY, verify=14.0)
    assert diagnose(replace(seen, batch=steep)).best == "target"
    assert diagnose(replace(seen, batch=steep - 1)).best != "target"
    said = lambda seen: " ".join(diagnose(seen).lines())
    assert f"stops paying from batch size {steep} (" in said(seen)
    assert "still pays at batch size" in said(replace(seen, verify=10.0))
    assert "pays at no batch size" in said(replace(seen, verify=40.0, draft=40.0))


def test_what_was_not_observed_is_named_and_gets_no_share():
    found = diagnose(Observation("case", rounds(0.3)))
    assert found.shares == {"acceptance": 1.0} and found.speedup.value is None and found.best is None
    assert any("Not observed: drafting, verification, batch, overhead" in line for line in found.lines())
    assert found.to_dict()["not_observed"] == ["drafting", "verification", "batch", "overhead"]


def test_a_trace_is_read_with_its_own_times():
    trace = load_bundled("hierarchy", SIDE_BY_SIDE / "greedy")
    seen = from_traces([trace], "run")
    target = max(r.level for r in trace.round_rows)
    figures = trace.metrics()
    assert sum(seen.rounds.values()) == figures["rounds"]
    assert sum(a * n for (_, a), n in seen.rounds.items()) == figures["accepted"]
    whole = (seen.verify + seen.draft + seen.overhead) * figures["rounds"] / 1e3
    assert whole == pytest.approx(figures["seconds"], rel=0.01)
    assert seen.step <= seen.verify and target > 0
    assert diagnose(seen).best is not None
    database = from_traces([load_bundled("databases", SIDE_BY_SIDE / "greedy")], "run")
    assert database.database and diagnose(database).length.value == pytest.approx(
        load_bundled("databases", SIDE_BY_SIDE / "greedy").metrics()["mean_acceptance_length"], rel=0.05
    )


def test_a_record_of_another_engine_with_given_times(capsys, tmp_path):
    record, out = str(RECORDS / "sglang-0.5.9.jsonl"), tmp_path / "out.json"
    times = ["--step-ms", "10", "--verify-ms", "11", "--draft-ms", "5", "--overhead-ms", "0"]
    assert main(["doctor", record, *times, "--json", str(out), "--html", str(tmp_path / "out.html")]) == 0
    printed, data = capsys.readouterr().out, json.loads(out.read_text())
    assert "Verdict: the acceptance is low" in printed and "--speculative-config" in printed
    assert data["length"] == pytest.approx(1 + 10 / 43) and data["cause"] == "acceptance"
    assert data["by_position"] == [[4, 43], [3, 43], [3, 43]]
    assert "<script" not in (tmp_path / "out.html").read_text()
    assert main(["doctor", str(RECORDS / "vllm-0.32.0-metrics.txt")]) == 0
    assert main(["doctor", str(RECORDS / "vllm-0.32.0.log")]) == 0
    assert "Acceptance by position" not in capsys.readouterr().out.split("Verdict")[-1]


def test_a_bench_report_is_read_by_row(tmp_path, capsys):
    rows = [
        {"stack": "target", "tokens_per_second": 100.0, "mean_acceptance_length": 1.0, "acceptance_rate": None},
        {"stack": "db > target", "tokens_per_second": 90.0, "mean_acceptance_length": 1.2, "acceptance_rate": 0.5}
        | {"draft_seconds_per_round": 0.0001},
        {"stack": "nano:4 > target", "tokens_per_second": 50.0, "mean_acceptance_length": 3.0, "acceptance_rate": 0.5},
    ]
    rows.append({**rows[-1], "stack": "nano:4 > small:4 > target"})
    parts = {"forward target": 12_000.0, "forward nano": 45_000.0, "drafting": 500.0, "rest": 2_500.0}
    rows[2]["profile"] = {"parts": {name: {"mean_us": us, "median_us": us, "share": 0.1} for name, us in parts.items()}}
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"stacks": rows}))
    seen = observe(path)
    assert seen.step == 10.0 and seen.draft == pytest.approx(0.1) and not seen.exact
    assert seen.verify == pytest.approx(1200 / 90 - 0.1)
    slow = diagnose(observe(path, "nano:4 > target"))
    assert slow.cause == "drafting" and slow.speedup.value == pytest.approx(0.5) and slow.speedup.interval is None
    assert main(["doctor", str(path), "--stack", "nano:4 > small:4 > target"]) == 2
    assert "has no profile" in capsys.readouterr().err
    assert main(["doctor", str(path), "--stack", "lookup > target"]) == 2
    assert "has no row 'lookup > target'" in capsys.readouterr().err


def test_a_quick_measurement_of_a_pair(capsys, monkeypatch):
    monkeypatch.setattr("hsd_viz.logs.observe.PROMPTS", 1)
    monkeypatch.setattr("hsd_viz.logs.observe.TOKENS", 12)
    assert main(["doctor", "--measure", "nano:3 > target"]) == 0
    out = capsys.readouterr().out
    assert "Verdict: " in out and "Best by the law: " in out and "share of the loss" in out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ([], "give a FILE or --measure STACK"),
        (["missing"], "is not a trace, a bench report or a record"),
        (["x.json"], "is not a trace, a bench report or a record"),
        (["x.json", "--batch", "0"], "argument --batch"),
        (["--measure", "target"], "there is nothing to explain"),
    ],
)
def test_bad_input_is_one_line(tmp_path, monkeypatch, capsys, words, part):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hsd_viz.logs.observe.TOKENS", 4)
    (tmp_path / "x.json").write_text("{}")
    assert main(["doctor", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and part in err


def test_flags_name_the_number_of_tokens():
    for text in flags("draft", 5).values():
        assert "5" in text
    assert "--speculative-num-draft-tokens 6" in flags("draft", 5)["sglang 0.5.9"]
    assert json.loads(flags("suffix", 8)["vllm 0.32.0"].split("'")[1])["method"] == "suffix"
    assert flags("suffix", 8)["llama.cpp 0c1e570"] == flags("lookup", 8)["llama.cpp 0c1e570"]
