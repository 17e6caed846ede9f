"""The doctor: known cases get their verdict, unknown costs stay unknown, and the observed
setting is what it was.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from functools import partial
from inspect import getdoc, signature
from math import log
from pathlib import Path

import pytest

from hsd_viz.declare import settings_of
from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled
from hsd_viz.errors import UserError
from hsd_viz.measure.doctor.advice import if_extended
from hsd_viz.measure.doctor.api import doctor
from hsd_viz.measure.doctor.assumed_hardware import with_hardware
from hsd_viz.measure.doctor.case import Case, HardwareModel, KnownFigures
from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.observe import from_figures, with_figures
from hsd_viz.measure.doctor.observe_runs import from_trace
from hsd_viz.measure.doctor.profile import read_profile
from hsd_viz.measure.doctor.tables import options_table
from hsd_viz.measure.doctor.verdict import diagnose
from hsd_viz.measure.doctor.what_if import Option
from hsd_viz.measure.predict.api import predict
from hsd_viz.records.settings import METHODS, method_of, settings
from hsd_viz.trace import Trace
from tests.rows import column, find, select

RECORDS = Path(__file__).parents[2] / "records" / "files"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "records"
H100 = HardwareModel(gpu="H100", models=("llama-8b",))


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
SICK = {
    "drafting": replace(HEALTHY, draft=40.0),
    "acceptance": replace(HEALTHY, rounds=rounds(0.1), draft=3.0),
    "verification": replace(HEALTHY, verify=50.0),
    "overhead": replace(HEALTHY, overhead=40.0),
    "round": replace(HEALTHY, verify=None, draft=None, overhead=None, round=90.0),
}
WELL = {
    "long drafts": HEALTHY,
    "one token": replace(HEALTHY, rounds=rounds(0.8, 1)),
    "n-grams": replace(
        HEALTHY, rounds=rounds(0.6, 8) + Counter({(0, 0): 2000}), method="lookup", draft=0.1
    ),
    "a batch": replace(HEALTHY, batch=32, verify=13.0),
    "a slow draft": replace(HEALTHY, draft=6.0),
}


def test_the_time_of_a_round_beyond_its_passes_is_printed_as_predict_takes_it():
    """In ms per round, whatever a step takes: 0.2 of the healthy run are 200 µs."""
    shares = diagnose(HEALTHY).tables()[0]
    printed = {row[0]: row[-1] for row in shares.rows[1:]}
    assert shares.rows[0][-1] == "ms per round"
    assert printed == {
        "rejected drafts": "-",
        "drafting": "1.00",
        "verification": "0.80",
        "overhead": "0.20",
    }
    models = ("llama-8b", "llama-1b")
    round_ms = float(printed["overhead"])
    used = predict("H100", models, acceptance=0.8, databases=False, round_ms=round_ms)
    (assumed,) = select(used.assumptions, name="further time of a round")
    assert (assumed.value, assumed.kind) == ("200 µs", "measured")


def test_settings_of_one_drafter_are_in_the_order_of_their_draft_lengths():
    """As in the table of lengths; of several drafters they are ranked."""

    def stacks(*options: Option) -> list[str]:
        table = options_table(options, None, None)
        assert table is not None
        return [str(row[0]) for row in table.rows[1:]]

    three = Option("3 draft tokens", "draft", 3, 1.5)
    seven = Option("7 draft tokens", "draft", 7, 1.2)
    four = Option("4 draft tokens", "draft", 4, 1.6)
    off = Option("off", "plain", 0, 1.0)
    assert stacks(seven, off, four, three) == [
        off.stack,
        three.stack,
        four.stack,
        seven.stack,
    ]
    other = Option("lookup", "lookup", 5, 1.3)
    assert stacks(seven, other, four) == [four.stack, other.stack, seven.stack]


#: Further records for the table of words: what a person reads of ten sick and ten healthy ones.
MORE_SICK = {
    "few drafts": replace(
        HEALTHY, rounds=Counter({(0, 0): 3600, (4, 4): 380, (4, 3): 20}), verify=10.2
    ),
    "nothing accepted": replace(HEALTHY, rounds=rounds(0.02)),
    "only the first": replace(HEALTHY, rounds=Counter({(4, 0): 1600, (4, 1): 2400})),
    "everything accepted": replace(HEALTHY, rounds=Counter({(4, 4): 4000}), sampled=True),
    "a plain step measured too slow": replace(
        HEALTHY, verify=None, draft=None, overhead=None, step=50.0, round=12.0
    ),
}
MORE_WELL = {
    "sampled": replace(HEALTHY, rounds=rounds(0.75), sampled=True),
    "a measured round": replace(HEALTHY, verify=None, draft=None, overhead=None, round=16.0),
    "a parallel head": replace(HEALTHY, method="dflash", rounds=rounds(0.85, 7), draft=2.0),
    "repeated pairs": replace(HEALTHY, speedups=(3.3, 3.5, 3.45, 3.4)),
    "a suffix tree": replace(
        HEALTHY, rounds=rounds(0.9, 16) + Counter({(0, 0): 900}), method="suffix", draft=0.2
    ),
}


@pytest.mark.parametrize("cause", SICK)
def test_a_case_that_fails_in_a_known_way_gets_its_verdict(cause):
    found = diagnose(SICK[cause])
    assert found.cause == cause
    assert found.shares[cause] > 0.5
    assert sum(found.shares.values()) == pytest.approx(1)
    assert found.verdict.startswith("speculation loses")
    assert found.speedup.interval[1] < 1
    # What is advised is better than what was observed, by the same figures.
    assert found.advised != found.observed
    assert found.advised.speedup > found.observed.speedup
    same = select(found.options, method=found.advised.method)
    assert found.advised == max(same, key=lambda option: option.speedup)


@pytest.mark.parametrize("name", WELL)
def test_what_works_is_said_to_work_and_is_kept_at_its_speed(name):
    seen = WELL[name]
    found = diagnose(seen)
    assert found.verdict.startswith("speculation pays")
    assert found.speedup.interval[0] > 1
    assert (
        found.observed.speedup
        == found.speedup.value
        == pytest.approx(seen.length * 10 / (seen.whole() * 10))
    )
    assert found.observed in found.options
    assert found.advised.method == seen.method
    assert found.advised.tokens
    assert found.advised.speedup >= found.observed.speedup


def words_of(records):
    """Return the lines of each record but those of its file, as the table has them."""
    words = {}
    for name, seen in records.items():
        lines = [line for line in diagnose(seen).lines() if not line.startswith("Record:")]
        words[name] = " ".join(lines)
    return words


def test_twenty_records_have_the_words_of_the_table_each_of_two_times():
    """``twenty-records.md``: ten sick and ten healthy records, with the doctor's words."""
    text = (Path(__file__).parent / "twenty-records.md").read_text()
    rows = []
    for line in text.splitlines():
        if line.startswith("|"):
            rows.append(line.strip("| ").split(" | "))
    written = dict(rows[2:])
    records = {**SICK, **MORE_SICK, **WELL, **MORE_WELL}
    assert len(records) == 20
    assert len(SICK) + len(MORE_SICK) == 10
    for _ in range(2):
        assert words_of(records) == written
    for seen in records.values():
        assert diagnose(seen).to_dict() == diagnose(seen).to_dict()


def test_a_speed_up_above_the_tokens_per_pass_is_capped_and_changes_no_setting():
    """A plain step of 50 ms beside a round of 12 ms: 4.1 / 0.24 = 17, but a round emits 4.1
    tokens.
    """
    found = diagnose(MORE_SICK["a plain step measured too slow"])
    assert found.speedup.value == found.speedup.high == found.at_most
    assert found.at_most == pytest.approx(found.length.value)
    assert not found.decided
    assert "the plain step was measured too slow" in " ".join(found.lines())
    assert found.advised == found.observed
    assert not found.findings


def test_the_shares_are_the_parts_of_the_loss():
    found = diagnose(replace(HEALTHY, draft=10.0, verify=10.0, overhead=0.0))
    # A round takes 2 steps: the time's part is log 2.
    lost = log(5 / found.speedup.value)
    assert found.shares["drafting"] == pytest.approx(log(2) / lost)
    assert found.shares["acceptance"] == pytest.approx(log(5 / found.length.value) / lost)
    assert found.shares["verification"] == found.shares["overhead"] == 0


@pytest.mark.parametrize(
    ("observation", "drafting"),
    [
        (Observation("case", rounds(0.9)), 0),
        (Observation("case", rounds(0.9), step=10.0), 0),
        (Observation("case", rounds(0.9), step=10.0, draft=1.0), 0.1),
        (Observation("case", rounds(0.9), verify=11.0, draft=1.0), 0),
    ],
    ids=["neither", "a step", "a step and a draft", "no step"],
)
def test_an_unknown_cost_is_unknown(observation, drafting):
    found = diagnose(observation)
    assert found.speedup.value is None
    assert found.advised is None
    assert not found.flags
    assert not found.shares
    assert found.at_most == pytest.approx(found.length.value / (1 + drafting))
    assert found.verdict.startswith("undecided")
    assert "at most" in found.verdict
    assert found.to_dict()["not_observed"]


def test_what_is_known_of_the_speed_is_said():
    """A bound below 1 is a verdict, a round that was not divided has a speed-up, and nothing
    accepted has no NaN.
    """
    found = diagnose(Observation("case", rounds(0.1), step=10.0, verify=13.0))
    assert found.verdict.startswith("speculation loses: at most 0.8")
    assert not found.flags
    found = diagnose(
        with_figures(Observation("case", rounds(0.9)), KnownFigures(speed=20.0, plain_speed=10.0))
    )
    assert found.speedup.value == pytest.approx(2)
    assert set(found.shares) == {"acceptance", "round"}
    assert column(found.options, "stack") == [
        "4 draft tokens",
        "off",
    ]
    assert found.advised == found.observed
    found = diagnose(
        with_figures(
            from_figures([0.0, 0.0]),
            KnownFigures(step=10.0, verify=12.0, draft=0.0, overhead=0.0),
        )
    )
    assert found.cause == "acceptance"
    assert not found.advised.tokens
    assert "NaN" not in json.dumps(found.to_dict())


def test_noise_does_not_decide_and_the_error_of_the_level_is_not_used_for_a_ratio():
    """Whether 4 draft tokens pay is undecided; that 1 is better than 4 is certain, by the same
    times.
    """
    seen = replace(HEALTHY, rounds=rounds(0.5, 4, 60), draft=6.0)
    found = diagnose(seen)
    low, high = found.speedup.interval
    assert low < 1 < high
    assert found.verdict.startswith("undecided")
    assert found.advised.tokens == 1
    assert found.advised.speedup > 1.05 * found.observed.speedup
    assert "whether speculation pays at all is undecided" in found.lines()[1]
    assert found.more.endswith("more rounds")
    assert f"to decide, {found.more}." in " ".join(found.lines())


def test_more_rounds_narrow_the_interval_and_repetitions_are_asked_for_where_they_spread():
    seen = replace(HEALTHY, rounds=rounds(0.5, 4, 60), draft=6.0)
    low, high = diagnose(seen).speedup.interval
    more = {kind: 100 * n for kind, n in seen.rounds.items()}
    many = diagnose(replace(seen, rounds=Counter(more)))
    assert many.speedup.interval[1] - many.speedup.interval[0] < high - low
    spread = diagnose(replace(HEALTHY, draft=25.0, speedups=(0.6, 1.8, 0.7, 1.5)))
    assert not spread.decided
    assert spread.advised == spread.observed
    assert spread.more.endswith("more times")


def test_a_busy_machine_is_reported_and_changes_no_setting():
    quiet = diagnose(SICK["drafting"])
    busy = diagnose(replace(SICK["drafting"], busy="load average 9.0 on 2 cores"))
    assert quiet.advised != quiet.observed
    assert busy.advised == busy.observed
    assert "The machine was busy" in " ".join(busy.lines())


def test_a_signature_of_slow_rounds_needs_a_certain_loss_on_a_quiet_machine():
    slow = replace(HEALTHY, verify=30.0, draft=18.0, overhead=1.0)
    lost = replace(slow, verify=45.0)
    assert [one.sign.name for one in diagnose(lost).findings] == ["verification not memory-bound"]
    assert not diagnose(replace(lost, busy="load average 9.0 on 2 cores")).findings
    undecided = diagnose(replace(slow, speedups=(0.7, 1.1, 0.8, 1.05)))
    assert undecided.speedup.value < 0.97
    assert undecided.verdict.startswith("undecided")
    assert not undecided.findings


def test_longer_drafts_use_the_pooled_acceptance_after_the_first_position():
    # Position 1 is accepted in half of the rounds; of these, everything after it.
    seen = Observation("case", {(2, 0): 500, (2, 2): 500}, 10.0, 10.1, 0.1, 0.0)
    four = find(diagnose(seen).options, tokens=4)
    assert four.speedup == pytest.approx(3.0 / 1.04, rel=1e-3)
    # The second position alone is no base for longer ones.
    assert longest_option(replace(seen, rounds={(1, 0): 500, (1, 1): 500})) == 1
    # An n-gram draft ends where its match ends, a mean has no positions.
    assert longest_option(replace(seen, method="suffix")) == 2
    figures = from_figures([0.6], 5)
    times = KnownFigures(step=10.0, verify=11.0, draft=1.0, overhead=0.0)
    assert longest_option(with_figures(figures, times)) == 5


def longest_option(seen):
    """Return the longest draft that is advised or compared."""
    return max(column(diagnose(seen).options, "tokens"))


def test_acceptance_is_read_as_engines_print_it():
    for given, length in (([0.6], 4.0), ([4.0], 4.0), ([0.8, 0.6, 0.4, 0.2, 0.1], 3.1)):
        assert from_figures(given, 5).length == pytest.approx(length)
    assert from_figures([0.8, 0.6]).survival()[1] == [0.8, 0.6]
    for given, words in (
        ([0.6], "--lookahead"),
        ([7.0], "needs the number"),
        ([0.5, 0.6], "must not rise"),
    ):
        with pytest.raises(ValueError, match=words):
            from_figures(given)
    with pytest.raises(ValueError, match="not possible with 3 draft tokens"):
        from_figures([5.0], 3)


@pytest.mark.parametrize("method", METHODS)
def test_the_drafter_is_kept(method):
    found = diagnose(replace(HEALTHY, method=method, draft=6.0))
    assert found.advised.method == method
    assert set(found.flags) == set(settings(method, found.advised.tokens))
    n = found.advised.tokens
    for text in found.flags.values():
        assert str(n) in text or str(n + 1) in text


def test_a_hardware_model_fills_in_times_at_the_batch_of_the_run():
    given = with_figures(
        from_figures([0.8, 0.62, 0.48, 0.38, 0.3]), KnownFigures(batch=32, method="EAGLE-3")
    )
    found = diagnose(given, with_hardware(given, H100))
    assert found.predicted == ("step", "verify", "draft", "overhead")
    assert found.verdict.startswith("predicted: ")
    assert (
        json.loads(found.flags["vllm 0.32.0"].split("'")[1])["num_speculative_tokens"]
        == found.advised.tokens
    )
    # A larger batch has less room for draft tokens; observed times stay.
    one = with_hardware(replace(given, batch=1), H100)
    many = with_hardware(replace(given, batch=256), H100)
    assert one.verify / one.step < many.verify / many.step
    assert one.draft < many.draft
    known = with_hardware(replace(given, step=40.0, verify=60.0), H100)
    assert (known.step, known.verify) == (40.0, 60.0)
    assert known.draft > 2 * one.draft
    assert with_hardware(replace(given, method="suffix"), H100).draft == 0


def test_measured_speeds_are_not_called_predicted_and_fire_no_signature_of_predicted_times():
    def of(speed):
        given = with_figures(
            from_figures([0.6], 5),
            KnownFigures(speed=speed, plain_speed=83.0, batch=32, method="eagle3"),
        )
        return diagnose(given, with_hardware(given, H100))

    lost = of(61.0)
    near = of(85.0)
    assert lost.verdict.startswith("speculation loses: 0.73")
    assert not lost.findings
    assert not lost.advised.tokens
    assert lost.speedup.value == pytest.approx(61 / 83)
    assert lost.speedup.interval[1] < 0.8
    assert set(lost.predicted) == {"verify", "draft", "overhead"}
    assert near.verdict.startswith("undecided")
    assert near.advised == near.observed


@pytest.mark.parametrize("batch", [1, 256])
@pytest.mark.parametrize("ratio", [0.5, 0.9, 1.0, 1.1, 2.4])
def test_verdict_advice_and_settings_agree(ratio, batch):
    seen = with_figures(
        from_figures([0.7, 0.5, 0.3]),
        KnownFigures(speed=25 * ratio, plain_speed=25.0, batch=batch, method="eagle3"),
    )
    found = diagnose(seen, with_hardware(seen, H100))
    low, high = found.speedup.interval
    if low > 1:
        said = "pays"
    elif high < 1:
        said = "loses"
    else:
        said = "undecided"
    assert said in found.verdict
    assert found.advised.speedup >= found.observed.speedup
    assert (found.advised.tokens == 0) == ("leave out" in found.flags["vllm 0.32.0"])
    assert found.observed.speedup >= 1 or "keep" not in found.lines()[1]
    assert not (low > 1 and found.advised.tokens == 0)


def test_a_trace_is_read_with_its_own_times():
    trace = load_bundled("hierarchy", SIDE_BY_SIDE / "greedy")
    seen = from_trace(trace, "run")
    figures = trace.metrics()
    assert sum(seen.rounds.values()) == figures["rounds"]
    assert sum(a * n for (_, a), n in seen.rounds.items()) == figures["accepted"]
    assert seen.verify + seen.draft + seen.overhead == pytest.approx(seen.round)
    found = diagnose(seen)
    noted = trace.meta["plain"]
    if "speedups" not in noted:
        assert found.speedup.value == pytest.approx(
            figures["tokens_per_second"] / noted["tokens_per_second"]
        )
    assert found.observed.stack == str(seen.stack)
    assert "hsd-viz" in found.flags
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
    out = cli("doctor", "--measure", "nano:3 > target")
    assert "Verdict" in out
    assert '--stack "' in out
    assert "not observed" not in out
    assert "nano:3 > target (present)" in out


@pytest.mark.parametrize("record", sorted(RECORDS.iterdir()), ids=lambda path: path.name)
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


def test_a_rare_long_draft_does_not_set_the_length_of_an_n_gram_drafter():
    seen = replace(
        HEALTHY, rounds={(0, 0): 500, (5, 4): 480, (24, 24): 20}, method="lookup", draft=0.1
    )
    found = diagnose(seen)
    assert found.advised.tokens == 24
    assert '"num_speculative_tokens": 5' in found.flags["vllm 0.32.0"]


def test_flags_name_the_number_of_tokens_and_the_verified_token_of_sglang():
    for method in METHODS:
        for text in settings(method, 5).values():
            assert "5" in text or "6" in text
    for method in ("draft", "eagle3", "lookup"):
        assert "--speculative-num-draft-tokens 6" in settings(method, 5)["sglang 0.5.9"]
    assert json.loads(settings("suffix", 8)["vllm 0.32.0"].split("'")[1])["method"] == "suffix"
    assert len(settings("plain", 0)) == 5
    assert method_of("EAGLE-3") == "eagle3"


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
    found = doctor(vllm_log(tmp_path / "server.log", *one, *four, (8, 400), (8, 400)))
    speeds = [(row.requests, row.lines, row.tokens_per_second.value) for row in found.batches]
    assert speeds == [("1", 3, pytest.approx(100)), ("3–4", 3, pytest.approx(80))]
    low, high = found.batches[0].tokens_per_second.ends
    assert 90 <= low < 100 < high <= 110
    assert "What if: another batch: the record has no other batches" in found.text()


def test_a_record_of_one_batch_says_nothing_of_another(tmp_path):
    found = doctor(vllm_log(tmp_path / "server.log", *[(2, 100)] * 5))
    assert len(found.batches) == 1
    assert "another batch" not in found.text()


def test_a_hardware_model_says_what_another_batch_brings():
    found = doctor(
        acceptance=(0.6, 0.3, 0.1), gpu="H100", models=("llama-8b",), method="eagle", context=128
    )
    assert column(found.batches, "requests") == ["1", "4", "16", "64", "256"]
    speedups = [row.speedup.value for row in found.batches]
    assert speedups[0] > speedups[-1]
    for value in speedups:
        assert value <= 2.0
    speeds = [row.tokens_per_second.value for row in found.batches]
    assert speeds == sorted(speeds, reverse=True)
    assert "batches of the hardware model are predicted" in found.text()


def test_a_remark_of_a_record_is_made_once(tmp_path):
    path = tmp_path / "both.txt"
    scrapes = ("scrape-before.txt", "scrape-after.txt")
    path.write_text("".join((FIXTURES / name).read_text() for name in scrapes))
    notes = [line for line in doctor(path).lines() if "scrapes of one server" in line]
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("batch", "advice"), [(1, "use a machine or kernel"), (32, "use fewer draft tokens while many")]
)
def test_expensive_verification_is_advised_about_by_batch(batch, advice):
    found = diagnose(replace(HEALTHY, verify=50.0, batch=batch))
    assert found.advice.startswith(advice)


@pytest.mark.parametrize(
    ("present", "longer", "words"),
    [
        (2, 3, "if position 3 is accepted as position 2 is"),
        (2, 4, "if positions 3-4 are accepted as position 2 is"),
        (4, 5, "if position 5 is accepted as positions 2-4 are"),
    ],
)
def test_a_longer_draft_is_advised_under_its_assumption(present, longer, words):
    assert if_extended(present, longer) == words


def test_where_drafted_tokens_are_not_reported_nothing_is_said_of_them(tmp_path):
    """SGLang's batch benchmark has a length of 3.0 and no number of draft tokens."""
    path = tmp_path / "result.jsonl"
    path.write_text('{"batch_size": 1, "last_gen_throughput": 200.0, "acc_length": 3.0}\n')
    found = doctor(path)
    text = found.text()
    assert "does not report how many tokens were drafted" in text
    assert "drafted not reported" in text
    assert not found.findings
    assert "everything" not in text


def test_accepted_tokens_past_the_end_of_a_reply_are_not_emitted():
    """mlx-vlm counts them: 2 and 111 tokens of 1 and 30 rounds are 111 after two prefills."""
    found = doctor(FIXTURES / "mlx-vlm.jsonl")
    assert found.length.value == pytest.approx(111 / 31)
    assert "7 accepted tokens were past the ends of replies" in " ".join(found.lines())
    whole = doctor(FIXTURES / "lmdeploy-metrics.txt")
    assert "past the ends" not in " ".join(whole.lines())


@pytest.mark.parametrize(
    "given",
    [
        partial(doctor),
        partial(doctor, measure="nano:3 > target", acceptance=(0.5,)),
        partial(doctor, record="record.log", acceptance=(0.5,)),
    ],
)
def test_exactly_one_thing_is_diagnosed(given):
    with pytest.raises(UserError, match="give one of a record, measure and acceptance"):
        given()


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (
            partial(doctor, acceptance=(0.6,), lookahead=3, speed=0.0),
            "the speed 0.0 is out of range: expected a number from 1e-06",
        ),
        (
            partial(doctor, acceptance=(0.6,), lookahead=3, plain_speed=-1.0),
            "the speed without speculation -1.0 is out of range",
        ),
        (
            partial(doctor, acceptance=(0.6,), lookahead=3, step=float("nan")),
            "the step time nan is not valid",
        ),
        (partial(doctor, acceptance=(0.6,), lookahead=3, batch=0), "the batch 0 is out of range"),
    ],
)
def test_figures_out_of_range_are_refused_as_on_the_command_line(figure, words):
    with pytest.raises(UserError, match=words):
        figure()


def test_the_declared_figures_are_the_parameters_and_their_help():
    parameters = signature(doctor).parameters
    positional = [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY]

    assert positional == ["record"]
    assert list(parameters) == list(settings_of(Case))
    assert parameters["plain_speed"].annotation == "float | None"
    assert "    lookahead: draft tokens per round, with ``acceptance``.\n" in getdoc(doctor)


def test_a_wrong_keyword_names_the_function_and_the_nearest_parameter():
    with pytest.raises(TypeError, match=r"doctor\(\) has no argument 'plain_sped'; did you mean"):
        doctor(acceptance=(0.6,), lookahead=3, plain_sped=3.0)


def test_models_without_a_card_are_not_ignored():
    with pytest.raises(UserError, match="gpu and models belong together"):
        doctor(acceptance=(0.6,), lookahead=3, models=("llama-70b", "llama-8b"))
