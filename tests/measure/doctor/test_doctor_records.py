"""What the doctor reads: traces, records of engines, and decodes on this machine."""

from __future__ import annotations

import json

import pytest

from hsd_viz.engine.recordings import SIDE_BY_SIDE, load_bundled
from hsd_viz.measure.doctor.api import doctor
from hsd_viz.measure.doctor.observe_runs import from_trace
from hsd_viz.measure.doctor.profile import read_profile
from hsd_viz.measure.doctor.verdict import diagnose
from hsd_viz.trace import Trace
from tests.engine_records import RECORDS, written_by_engines


def test_a_trace_is_read_with_its_own_times():
    trace = load_bundled("hierarchy", SIDE_BY_SIDE / "greedy")
    seen = from_trace(trace, "run")
    figures = trace.metrics()
    assert sum(seen.rounds.values()) == figures["rounds"]
    assert sum(a * n for (_, a), n in seen.rounds.items()) == figures["accepted"]
    assert seen.verify + seen.draft + seen.overhead == pytest.approx(seen.round)
    diagnosis = diagnose(seen)
    noted = trace.meta["plain"]
    if "speedups" not in noted:
        assert diagnosis.speedup.value == pytest.approx(
            figures["tokens_per_second"] / noted["tokens_per_second"]
        )
    assert diagnosis.observed.stack == str(seen.stack)
    assert "hsd-viz" in diagnosis.flags
    database = from_trace(load_bundled("databases", SIDE_BY_SIDE / "greedy"), "run")
    assert database.method == "lookup"


def test_a_saved_decode_has_a_plain_step_and_is_explained(tmp_path, cli):
    saved = tmp_path / "run.json.gz"
    words = [
        "decode",
        "--stack",
        "nano:4 > target",
        "--prompt",
        "class Node:",
        "--max-new-tokens",
        "24",
    ]
    cli(*words, "--save", saved)
    assert Trace.load(saved).meta["plain"]["tokens_per_second"] > 0
    out = cli("doctor", saved)
    assert "Settings to paste" in out
    assert "not observed" not in out
    assert cli("doctor", saved) == out


def test_a_stack_is_measured_on_this_machine(cli):
    out = cli("doctor", "--stack", "nano:3 > target")
    assert "Verdict" in out
    assert '--stack "' in out
    assert "not observed" not in out
    assert "nano:3 > target (present)" in out


@pytest.mark.parametrize("record", written_by_engines(), ids=lambda path: path.name)
def test_what_import_reads_doctor_reads(record, cli):
    out = cli("import", record) + cli("doctor", record)
    assert "at most" in out
    assert "Settings to paste" not in out


def test_a_record_of_another_engine_with_given_times(cli, tmp_path):
    record = str(RECORDS / "sglang-0.5.9.jsonl")
    out = tmp_path / "out.json"
    times = ["--step-ms", "10", "--verify-ms", "11", "--draft-ms", "5", "--overhead-ms", "0"]
    printed = cli("doctor", record, *times, "--json", out, "--html", tmp_path / "out.html")
    data = json.loads(out.read_text())
    assert "Verdict: speculation loses" in printed
    assert "leave out --speculative-config" in printed
    assert data["length"] == pytest.approx(1 + 10 / 43)
    assert data["cause"] == "acceptance"
    assert data["by_position"] == [[4, 43], [3, 43], [3, 43]]
    assert "<script" not in (tmp_path / "out.html").read_text()
    assert "Acceptance by position" in cli("doctor", RECORDS / "vllm-0.32.0.log")


def test_a_damaged_or_mixed_record_is_one_line(tmp_path, cli):
    path = tmp_path / "x.jsonl"
    spec = {"num_spec_steps": 8, "num_accepted_draft_tokens": 9, "num_draft_tokens": 23}
    for changed, words in (
        ({"num_accepted_draft_tokens": float("nan")}, "damaged: accepted is nan"),
        ({"acceptance_histogram": {"99999999": 1}}, "the longest draft 99999999 is out of range"),
    ):
        path.write_text(json.dumps({"metrics": {"speculative_decoding": spec | changed}}))
        assert words in cli("doctor", path, code=2)
    names = ("vllm-0.32.0-detailed.jsonl", "sglang-0.5.9.jsonl")
    path.write_text("".join((RECORDS / name).read_text() for name in names))
    assert "several engines (sglang, vllm): choose one of them" in cli("doctor", path, code=2)
    spec = {"numDraftTokens": 2, "numAcceptedTokens": 3, "numRequestsWithDraftTokens": 1}
    for changed, words in (
        (spec, "impossible: 3 accepted of 2 draft tokens"),
        (spec | {"numDraftTokens": "x"}, "not valid"),
    ):
        path.write_text(json.dumps({"iter": 1, "specDecodingStats": changed}))
        assert words in cli("doctor", path, code=2)
        assert words in cli(
            *"predict --gpu H100 --models llama-8b,mtp --records".split(), path, code=2
        )


def test_a_profile_is_written_and_predicts(tmp_path, cli):
    record = str(RECORDS / "llama.cpp-f5e85d4.log")
    out = tmp_path / "profile.json"
    cli("doctor", record, "--profile", out)
    assert read_profile(out)["marginal_accept_rates"] == pytest.approx(
        (0.805, 0.632, 0.483), abs=0.01
    )
    assert json.loads(out.read_text())["method"] == "eagle3"
    models = ["predict", "--gpu", "H100", "--models", "llama-8b,eagle3"]
    assert cli(*models, "--profile", out) == cli(*models, "--records", record)
    cli(*models, "--records", record, "--acceptance", "0.5", code=2)
    assert "only its mean" in cli(
        *"doctor --acceptance 0.6 --lookahead 3 --profile".split(), out, code=2
    )


def vllm_log(path, *intervals):
    """Write a log with lines of (running requests, tokens/s of all requests)."""
    lines = []
    for k, (running, speed) in enumerate(intervals):
        clock = f"11-20 09:{k // 60:02}:{k % 60:02}"
        lines.append(
            f"INFO {clock} [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg "
            f"generation throughput: {speed} tokens/s, Running: {running} reqs, Waiting: 0 reqs"
        )
        lines.append(
            f"INFO {clock} [metrics.py:1] SpecDecoding metrics: Mean acceptance length: 2.00, "
            "Accepted throughput: 10.00 tokens/s, Drafted throughput: 30.00 tokens/s, Accepted: "
            "100 tokens, Drafted: 300 tokens, Per-position acceptance rate: 0.600, 0.300, 0.100, "
            "Avg Draft acceptance rate: 33.3%"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_batches_of_a_record_are_as_recorded(tmp_path):
    """1 request at 90, 100 and 110 tokens/s; 3 or 4 at 80 each; two lines with 8 are too few."""
    one = [(1, 90), (1, 100), (1, 110)]
    four = [(4, 320), (3, 240), (4, 320)]
    diagnosis = doctor(vllm_log(tmp_path / "server.log", *one, *four, (8, 400), (8, 400)))
    speeds = [(row.requests, row.lines, row.tokens_per_second.value) for row in diagnosis.batches]
    assert speeds == [("1", 3, pytest.approx(100)), ("3–4", 3, pytest.approx(80))]
    low, high = diagnosis.batches[0].tokens_per_second.ends
    assert 90 <= low < 100 < high <= 110
    assert "What if: another batch: the record has no other batches" in diagnosis.to_text()


def test_a_record_of_one_batch_says_nothing_of_another(tmp_path):
    diagnosis = doctor(vllm_log(tmp_path / "server.log", *[(2, 100)] * 5))
    assert len(diagnosis.batches) == 1
    assert "another batch" not in diagnosis.to_text()


def test_a_remark_of_a_record_is_made_once(tmp_path):
    path = tmp_path / "both.txt"
    scrapes = ("scrape-before.txt", "scrape-after.txt")
    path.write_text("".join((RECORDS / name).read_text() for name in scrapes))
    notes = [line for line in doctor(path).lines() if "scrapes of one server" in line]
    assert len(notes) == 1


def test_where_drafted_tokens_are_not_reported_nothing_is_said_of_them(tmp_path):
    """SGLang's batch benchmark has a length of 3.0 and no number of draft tokens."""
    path = tmp_path / "result.jsonl"
    path.write_text('{"batch_size": 1, "last_gen_throughput": 200.0, "acc_length": 3.0}\n')
    diagnosis = doctor(path)
    text = diagnosis.to_text()
    assert "does not report how many tokens were drafted" in text
    assert "drafted not reported" in text
    assert not diagnosis.findings
    assert "everything" not in text


def test_accepted_tokens_past_the_end_of_a_reply_are_not_emitted():
    """mlx-vlm counts them: 2 and 111 tokens of 1 and 30 rounds are 111 after two prefills."""
    diagnosis = doctor(RECORDS / "mlx-vlm.jsonl")
    assert diagnosis.length.value == pytest.approx(111 / 31)
    assert "7 accepted tokens were past the ends of replies" in " ".join(diagnosis.lines())
    whole = doctor(RECORDS / "lmdeploy-metrics.txt")
    assert "past the ends" not in " ".join(whole.lines())
