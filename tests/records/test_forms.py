"""Forms of records: each line, response and metric gives the counts that were computed by hand."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from hsd_viz.errors import BadFile, UserError
from hsd_viz.records.engines.registry import PATTERNS
from hsd_viz.records.engines.vllm_bench import bench_json
from hsd_viz.records.engines.vllm_lines import drafts_of
from hsd_viz.records.entries import BrokenEntry
from hsd_viz.records.forms import FORMS
from hsd_viz.records.lines import MAX_OTHERS, documents
from hsd_viz.records.read import read
from hsd_viz.records.sample import Sample, with_fixed_length
from hsd_viz.records.series import pooled
from tests.records.test_engines import CASES as documented_records
from tests.rows import column

FILES = Path(__file__).resolve().parents[1] / "fixtures" / "records"
CASES = json.loads((FILES / "cases.json").read_text())


def write(tmp_path, text):
    path = tmp_path / "record"
    path.write_text(text)
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_a_record_of_a_public_thread_gives_the_counts_by_hand(case):
    reading = read(FILES / case["file"])
    series = reading.series[case.get("series", 0)]
    whole = series.pooled()
    assert series.engine == case["engine"]
    assert series.form == case["form"]
    assert len(reading.series) == case.get("number_of_series", 1)
    assert len(series.samples) == case["samples"]
    for name, value in case["pooled"].items():
        figure = getattr(whole, name)
        if isinstance(value, list):
            assert list(figure) == pytest.approx(value), name
        else:
            assert figure == (None if value is None else pytest.approx(value, rel=1e-4)), name
    for name in ("method", "model", "draft_model"):
        assert name not in case or getattr(series, name) == case[name]
    notes = " ".join(reading.notes())
    for words in case.get("notes", ()):
        assert words in notes


def test_every_form_has_a_record_of_its_own():
    read_forms = {(case["engine"], case["form"]) for case in CASES}
    for name in documented_records:
        read_forms |= {(series.engine, series.form) for series in read(FILES / name).series}
    assert {(form.engine, form.name) for form in FORMS} <= read_forms


def test_every_form_names_its_versions_and_its_source():
    for form in FORMS:
        assert form.seen_in
        assert form.sample
        assert form.reports
        assert form.source.startswith("https://")
    for pattern in PATTERNS:
        assert pattern.form is None or pattern.form in FORMS


@pytest.mark.parametrize(
    ("accepted", "drafted", "length", "rates", "drafts"),
    [
        # 300 / 3 = 100 drafts, and 1 + 163 / 100 = 2.63: drafts of one length.
        (163, 300, 2.63, (0.72, 0.53, 0.38), 100),
        # 30 000 / 3; by the rates, which are rounded down, it would be 16 300 / 1.629 = 10 006.
        (16_300, 30_000, 2.63, (0.720, 0.530, 0.379), 10_000),
        # 300 / 3 would be 100 drafts, but 1 + 120 / 100 is not 1.60: 120 / (0.5 + 0.1) = 200.
        (120, 300, 1.60, (0.5, 0.1, 0.0), 200),
        # Nothing accepted: the lengths of drafts are the positions.
        (0, 300, 1.0, (0.0, 0.0, 0.0), 100),
    ],
)
def test_the_number_of_drafts_of_an_interval_by_hand(accepted, drafted, length, rates, drafts):
    assert drafts_of(accepted, drafted, length, rates) == drafts


def test_intervals_of_different_lengths_are_pooled_by_their_own_drafts():
    """100 drafts of 3 and 100 of 5: positions 4 and 5 are over the 100 drafts that had them."""
    three = Sample(drafts=100, drafted=300, accepted=180, by_position=(80, 60, 40))
    five = Sample(drafts=100, drafted=500, accepted=210, by_position=(80, 60, 40, 20, 10))
    whole = pooled([with_fixed_length(three), with_fixed_length(five)])
    assert whole.by_position == (160, 120, 80, 20, 10)
    assert whole.reached == (200, 200, 200, 100, 100)


def test_lengths_that_vary_are_unknown():
    adaptive = Sample(drafts=1000, drafted=3600, accepted=1100, by_position=(700, 300, 80, 20))
    assert with_fixed_length(adaptive).reached is None


def test_one_cut_draft_of_a_request_is_told_apart():
    """8 drafts of 3 are 24 tokens; 23 were drafted: the last draft of the request had 2."""
    from hsd_viz.records.sample import RecordedRequest

    request = Sample(
        drafts=8, drafted=23, accepted=9, by_position=(4, 3, 2), request=RecordedRequest()
    )
    assert with_fixed_length(request).reached == (8, 8, 7)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (partial(Sample, drafted=78, accepted=90), "impossible: 90 accepted of 78 draft tokens"),
        (partial(Sample, drafted=-1), "damaged: drafted is -1"),
        (partial(Sample, accepted=float("nan")), "damaged: accepted is nan"),
        (partial(Sample, tokens=10, passes=20), "impossible: 10 tokens of 20 forward passes"),
        (partial(Sample, drafts=50, drafted=20), "impossible: 50 drafts of 20 tokens"),
        (partial(Sample, engine_rate=1.15), "impossible: an acceptance rate of 115.0%"),
        (partial(Sample, length=0.4), "impossible: 0.4 tokens per verification"),
    ],
)
def test_impossible_numbers_are_refused(fields, words):
    with pytest.raises(BadFile, match=words):
        fields()


GOOD = (
    "INFO 11-20 09:00:08 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: 2.80, "
    "Accepted throughput: 18.00 tokens/s, Drafted throughput: 30.00 tokens/s, Accepted: 180 "
    "tokens, Drafted: 300 tokens, Per-position acceptance rate: 0.800, 0.600, 0.400, Avg Draft "
    "acceptance rate: 60.0%\n"
)


def test_an_impossible_line_is_refused_with_its_number_and_the_others_are_read(tmp_path):
    bad = GOOD.replace("Accepted: 180", "Accepted: 380")
    reading = read(write(tmp_path, GOOD + bad + GOOD))
    assert len(reading.series[0].samples) == 2
    assert reading.refused == ((2, "impossible: 380 accepted of 300 draft tokens"),)
    with pytest.raises(BadFile, match="line 1: impossible: 380 accepted of 300"):
        read(write(tmp_path, bad))


def test_an_unknown_line_is_counted_and_shown(tmp_path):
    unknown = "INFO SpecDecode summary: 180 of 300 draft tokens accepted\n"
    reading = read(write(tmp_path, GOOD + unknown + "INFO: GET /health 200\n"))
    assert reading.unknown == ((2, unknown.strip()),)
    assert reading.other == 1
    assert "unknown form, skipped: line 2: INFO SpecDecode summary" in " ".join(reading.notes())


def test_a_refusal_lists_what_was_looked_for(tmp_path):
    with pytest.raises(BadFile) as error:
        read(write(tmp_path, "hello 1 2 3\n"))
    for form in FORMS:
        assert form.name in str(error.value)


def test_two_models_are_two_series_and_a_choice_is_asked_for():
    reading = read(FILES / "two-models.txt")
    rates = {series.model: series.pooled().rate for series in reading.series}
    assert rates == {"small-code": pytest.approx(0.5), "large-chat": pytest.approx(0.125)}
    with pytest.raises(UserError, match=r"small-code \(50.0% accepted\), large-chat \(12.5%"):
        reading.one()
    assert reading.one("large-chat").model == "large-chat"
    with pytest.raises(UserError, match="did you mean 'large-chat'"):
        reading.one("large-chap")


def test_the_engines_of_one_service_are_added(tmp_path):
    """Two data-parallel engines of one model: 40 + 60 drafts, 30 + 20 accepted of 120 + 180."""
    counts = {"drafts": (40, 60), "draft_tokens": (120, 180), "accepted_tokens": (30, 20)}
    text = ""
    for name, pair in counts.items():
        for engine, count in enumerate(pair):
            labels = f'engine="{engine}",model_name="m"'
            text += f"vllm:spec_decode_num_{name}_total{{{labels}}} {count}\n"
    whole = read(write(tmp_path, text)).series[0].pooled()
    assert whole.drafts == 100
    assert whole.drafted == 300
    assert whole.accepted == 50


def test_counters_are_counted_since_an_earlier_copy(tmp_path):
    before = FILES / "scrape-before.txt"
    after = FILES / "scrape-after.txt"
    whole = read(after, since=before).series[0].pooled()
    # 700 - 500 drafts, 1400 - 1000 draft tokens, 640 - 600 accepted.
    assert whole.drafts == 200
    assert whole.drafted == 400
    assert whole.accepted == 40
    assert whole.by_position == (30, 10)
    both = write(tmp_path, before.read_text() + after.read_text())
    series = read(both).series[0]
    assert series.pooled().accepted == 40
    assert "60.0% accepted" in series.remarks[0]


def test_a_counter_that_falls_was_reset(tmp_path):
    """The server restarted: the later copy is what it counted since then."""
    text = (FILES / "scrape-after.txt").read_text() + (FILES / "scrape-before.txt").read_text()
    series = read(write(tmp_path, text)).series[0]
    assert series.pooled().accepted == 600
    assert "the counters were reset before scrape 2" in " ".join(series.remarks)


def test_since_needs_two_copies_of_metrics(tmp_path):
    log = write(tmp_path, GOOD)
    with pytest.raises(BadFile, match="is not a copy of /metrics"):
        read(FILES / "scrape-after.txt", since=log)
    with pytest.raises(BadFile, match="`since` is for counters"):
        read(log, since=FILES / "scrape-before.txt")


@pytest.mark.parametrize(
    "line",
    [
        "engine args were read; accepted 12 of 40 draft tokens",
        "spec decode: 3.1 tokens per pass, targets 12",
        "num_accepted_tokens 41",
        "draft acceptance of arguments: 0.61",
        "[worker] accept rate 0.61",
    ],
)
def test_a_line_that_may_be_a_record_is_reported(tmp_path, line):
    reading = read(write(tmp_path, f"{GOOD}{line}\n"))
    assert [text for _, text in reading.unknown] == [line]


@pytest.mark.parametrize(
    "line",
    [
        "non-default args: {'speculative_config': {'num_speculative_tokens': 3}, 'accept': 1}",
        "server_args=ServerArgs(speculative_num_draft_tokens=4, accept_threshold=1.0)",
        "accepted connection from 10.0.0.1:4242",
        "accepting requests on port 8000",
        "INFO: 10.0.0.1 POST /v1/accept 200",
        "Capturing draft tokens 16",
        "# HELP vllm:spec_decode_num_accepted_tokens_total 2",
    ],
)
def test_a_line_of_settings_is_not_reported(tmp_path, line):
    reading = read(write(tmp_path, f"{GOOD}{line}\n"))
    assert reading.unknown == ()


def test_speed_and_running_requests_are_those_of_the_line_before(tmp_path):
    """Two engines report 140 and 60 tokens/s of 2 and 1 requests at the same time."""
    engines = "".join(
        f"INFO 11-20 09:00:08 [loggers.py:310] Engine 00{k}: Avg prompt throughput: 2.5 tokens/s, "
        f"Avg generation throughput: {speed} tokens/s, Running: {running} reqs, Waiting: 0 reqs\n"
        for k, (speed, running) in enumerate([(140.0, 2), (60.0, 1)])
    )
    (sample,) = read(write(tmp_path, engines + GOOD)).series[0].samples
    assert sample.speed == 200.0
    assert sample.running == 3.0
    later = engines + GOOD + GOOD.replace("09:00:08", "09:00:18")
    first, second = read(write(tmp_path, later)).series[0].samples
    assert first.speed == 200.0
    assert second.speed is None


def test_the_draft_length_of_sglang_follows_from_length_and_rate(tmp_path):
    """Older: rate = length / (n + 1); newer: rate = (length - 1) / n. Both are of 3 draft
    tokens.
    """
    line = (
        "[2026-11-20 10:27:2{k} TP0] Decode batch. #running-req: 1, #token: 2100, token usage: "
        "0.00, accept len: {length:.2f}, accept rate: {rate:.2f}, cuda graph: True, gen throughput "
        "(token/s): 180.00, #queue-req: 0, \n"
    )
    for older in (True, False):
        rates = [(x, x / 4 if older else (x - 1) / 3) for x in (2.17, 1.95, 1.80, 2.05)]
        text = "".join(
            line.format(k=k, length=length, rate=rate) for k, (length, rate) in enumerate(rates)
        )
        whole = read(write(tmp_path, text)).series[0].pooled()
        assert whole.draft_length == 3
        assert whole.length == pytest.approx(1.9925)


def test_an_array_of_numbers_is_not_read_to_its_end(tmp_path):
    numbers = write(tmp_path, "[" + "0," * 20_000 + "0]")
    entries = list(documents(numbers))
    assert len(entries) == MAX_OTHERS + 1
    assert entries[-1] == BrokenEntry(10_001, "after 10000 elements other than objects")


@pytest.mark.parametrize(
    ("metrics", "why"),
    [
        pytest.param(
            {"accepted_tokens": 9, "rejected_tokens": 1, "accepted_tokens_per_head": [5, 3]},
            "impossible: 9 accepted tokens, 8 over the heads",
            id="heads that do not add up",
        ),
        pytest.param(
            {"accepted_tokens": 9, "accepted_tokens_per_head": [5, "4"]},
            r"damaged: accepted_tokens_per_head is \[5, '4'\]",
            id="text in a list",
        ),
        pytest.param(
            {"accepted_tokens": "9"}, "damaged: accepted_tokens is '9'", id="text as a count"
        ),
    ],
)
def test_damaged_counts_of_choices_are_refused(tmp_path, metrics, why):
    answer = {"choices": [{"speculate_metrics": metrics}]}
    with pytest.raises(BadFile, match=why):
        read(write(tmp_path, json.dumps(answer)))


def test_prediction_tokens_beside_the_figures_of_an_engine_are_not_counted_again(tmp_path):
    value = json.loads((FILES / "trtllm-response.json").read_text())
    value["usage"]["completion_tokens_details"] = {
        "accepted_prediction_tokens": 45,
        "rejected_prediction_tokens": 45,
    }
    (series,) = read(write(tmp_path, json.dumps(value))).series
    assert series.engine == "tensorrt-llm"
    assert series.pooled().drafted == 90


def test_numbers_in_brackets_are_an_array_without_text_behind_them(tmp_path):
    line = (FILES / "llama-statistics-old.log").read_text()
    reading = read(write(tmp_path, f"[17]  {line}[17]\t{line}"))
    # Counts since the start: the same line again adds nothing.
    assert reading.lines == 2
    assert len(reading.series[0].samples) == 1
    with pytest.raises(BadFile, match="no record of speculative decoding"):
        read(write(tmp_path, "[17]\n"))


def test_statistics_count_from_one_line_to_the_next(tmp_path):
    """The time of a router's instance counts too: a collapse in it is found in time."""
    lines = []
    for number in range(1, 41):
        accepted = 60 * min(number, 20)
        lines.append(
            f"[8081] 0.{number:02}.000.000 I statistics draft-mtp: #calls(b,g,a) = {number} "
            f"{40 * number} {40 * number}, #gen drafts = {40 * number}, #acc drafts = 0, "
            f"#gen tokens = {80 * number}, #acc tokens = {accepted}, "
            f"dur(b,g,a) = 0.0, {number}.0, 0.0 ms"
        )
    (series,) = read(write(tmp_path, "\n".join(lines))).series
    rates = column(series.samples, "rate")
    assert rates == [pytest.approx(0.75)] * 20 + [0.0] * 20
    assert column(series.samples[:2], "clock") == ["0.01.000.000", "0.02.000.000"]


# --- results of vllm bench ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rates", "accepted"),
    [
        ([0.72, 0.48], 1200),
        ([72.0, 48.0], 1200),
        # Percent of a draft that hardly accepts anything.
        ([0.9, 0.3], 12),
        # One that accepts everything at its first place.
        ([1.0, 0.5], 1500),
    ],
)
def test_rates_by_position_are_shares_or_percent_by_the_accepted_tokens(rates, accepted):
    result = {
        "spec_decode_num_drafts": 1000,
        "spec_decode_draft_tokens": 2000,
        "spec_decode_accepted_tokens": accepted,
        "spec_decode_per_position_acceptance_rates": rates,
    }
    sample = bench_json(result)
    assert sample is not None
    assert sum(sample.by_position) == pytest.approx(accepted)
