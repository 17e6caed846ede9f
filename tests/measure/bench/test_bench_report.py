import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hsd_viz.measure.bench.block import FIGURES
from hsd_viz.measure.bench.figures import build_report, figures
from hsd_viz.measure.bench.output import Output, waits_between
from hsd_viz.measure.bench.report import read_report
from hsd_viz.measure.bench.result import BenchResult
from hsd_viz.measure.bench.runner import Measurement
from hsd_viz.measure.bench.sentences import warnings
from hsd_viz.measure.bench.settings import BenchSettings
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.results.plain_text import plain
from tests.rows import column

MACHINE = {"cpu": "some processor", "gpu": None}
ENGINE = {"device": "cpu", "dtype": "float32", "threads": 1, "target": "target"}


def output(tokens, seconds, forwards, drafted=0, accepted=0, drafting=(), prefill=1.0) -> Output:
    ids = tuple(tokens) if not isinstance(tokens, int) else tuple(range(tokens))
    # Two tokens after prefill, the others in one round.
    first = prefill + seconds / 2
    waits = waits_between([(first, 2), (prefill + seconds, len(ids) - 2)])
    return Output(
        token_ids=ids,
        seconds=seconds,
        timed_tokens=len(ids),
        prefill_seconds=prefill,
        target_forwards=forwards,
        drafted=drafted,
        accepted=accepted,
        draft_seconds=drafting,
        first_token_seconds=first,
        waits=waits,
    )


PLAIN = [output(10, 10.0, 10), output(30, 20.0, 30)]
FAST = [output(10, 2.0, 5, 8, 5, (1e-6, 3e-6)), output(30, 6.0, 6, 40, 24, (2e-6,))]


def test_figures_are_ratios_of_sums():
    expected = {
        "tokens_per_second": 40 / 8,
        "tokens_per_second_with_prefill": 40 / 10,
        "mean_acceptance_length": 40 / 11,
        "draft_seconds_per_round": 2e-6,
        "draft_seconds_p99": 3e-6,
        "speedup_over_plain": (40 / 8) / (40 / 30),
        "acceptance_rate": 29 / 48,
        "repetition_share": 0,
        "first_token_seconds": (2 + 4) / 2,
        # 8 tokens share one second, 28 share three.
        "inter_token_seconds_median": 3 / 28,
        "inter_token_seconds_p99": 1 / 8,
    }
    measured = figures(FAST, PLAIN)
    assert {name: measured.figure(name).value for name in FIGURES} == pytest.approx(expected)
    for name in FIGURES:
        low, high = measured.figure(name).ends
        assert low <= measured.figure(name).value <= high
    # Two prompts resampled: the extremes are each prompt alone.
    assert measured.mean_acceptance_length.ends == pytest.approx((2.0, 5.0))
    assert measured.speedup_over_plain.ends == pytest.approx((5 / 1.5, 5.0))
    assert measured.inter_token_seconds_median.ends == pytest.approx((3 / 28, 1 / 8))
    for name in FIGURES:
        assert measured.figure(name).interval is None, "two prompts are too few to show one"


def test_the_speed_up_is_paired_by_prompt():
    rng = np.random.default_rng(0)
    slow = [output(20, s, 20) for s in rng.uniform(1, 20, size=40)]
    fast = [output(20, o.seconds / 2, 10) for o in slow]
    measured = figures(fast, slow)
    assert measured.speedup_over_plain.interval == pytest.approx((2.0, 2.0))
    low, high = measured.tokens_per_second.ends
    assert high > 1.2 * low


def test_the_99th_percentile_is_over_rounds_not_prompts():
    drafting = tuple(map(float, range(1, 1001)))
    measured = figures([output(5, 1.0, 5, drafting=drafting)], [output(5, 1.0, 5)])
    assert measured.draft_seconds_p99.value == pytest.approx(990, abs=1)


@pytest.mark.parametrize(
    ("outputs", "plain", "unknown"),
    [
        ([], [], FIGURES),
        ([replace(FAST[0], first_token_seconds=None), FAST[1]], PLAIN, FIGURES[-3:]),
        (
            [Output((1,), 1.0, 1, 0.1, 1, 0, 0, None)],
            PLAIN[:1],
            [*FIGURES[3:5], "acceptance_rate", *FIGURES[-3:]],
        ),
    ],
)
def test_what_does_not_exist_is_none(outputs, plain, unknown):
    measured = figures(outputs, plain)
    assert {name for name in FIGURES if measured.figure(name).value is None} == set(unknown)
    for name in FIGURES:
        if measured.figure(name).value is None or len(outputs) == 1:
            assert measured.figure(name).ends is None


def measurement(greedy: bool = True, complete: bool = True) -> Measurement:
    prompts = (Prompt("a", "tables", "x"), Prompt("b", "prose", "y"))
    looping = output([7] * 30, 3.0, 3, 40, 27, (1e-6,))
    outputs = {"target": (PLAIN[0], output([7] * 30, 20.0, 30)), "db > target": (FAST[0], looping)}
    suite = Suite("small", {"tables": "Tables.", "prose": "Prose.", "unused": "None."}, prompts)
    temperature = 0.0 if greedy else 0.5
    settings = BenchSettings(max_new_tokens=30, temperature=temperature, repeats=1)
    return Measurement(suite, settings, prompts, outputs, complete)


BESIDE = {"state", "runtime", "profile"}
BLOCK = {"outputs", *FIGURES, *(f"{name}_ci" for name in FIGURES), "low_repetition"}


def test_the_report_keeps_its_contract():
    report = json.loads(json.dumps(build_report(measurement(), MACHINE, ENGINE).to_dict()))
    assert set(report) == {
        "machine",
        "suite",
        "settings",
        "command",
        "complete",
        "stacks",
        "hierarchy_gain",
    }
    assert report["suite"] == {
        "name": "small",
        "prompts": 2,
        "categories": {"tables": "Tables.", "prose": "Prose."},
    }
    assert {"max_new_tokens", "temperature", "top_k", "top_p", "seed", "repeats"} <= set(
        report["settings"]
    )
    assert {k: report["settings"][k] for k in ENGINE} == ENGINE
    assert column(report["stacks"], "stack") == ["target", "db > target"]
    for stack in report["stacks"]:
        assert set(stack) == {"stack", "by_category", "token_identical_to_plain", *BESIDE, *BLOCK}
        assert set(stack["by_category"]) == {"tables", "prose"}
        for block in stack["by_category"].values():
            assert set(block) == BLOCK
        assert stack["token_identical_to_plain"] == [2, 2]


def test_repetitive_outputs_are_left_out_of_the_second_view():
    plain, fast = build_report(measurement(), MACHINE, ENGINE).stacks
    # 22 of the 30 tokens of the looping output end an 8-gram seen before.
    assert plain.whole.repetition_share.value == pytest.approx(22 / 40)
    assert fast.low_repetition.outputs == 1
    assert fast.low_repetition.speedup_over_plain.value == pytest.approx(5.0)
    assert fast.by_category["prose"].low_repetition is None


def test_sampled_outputs_are_not_compared_with_plain_ones():
    _, fast = build_report(measurement(greedy=False), MACHINE, ENGINE).stacks
    assert fast.token_identical_to_plain is None


def test_an_output_at_the_bound_is_repetitive():
    """Of 20 tokens with a period of 9, four end an 8-gram seen before: a share of exactly 0.2."""
    plain = output([k % 9 for k in range(20)], 20.0, 20)
    given = replace(measurement(), outputs={"target": (PLAIN[0], plain)})
    (row,) = build_report(given, MACHINE, ENGINE).stacks
    assert row.low_repetition.outputs == 1


@pytest.mark.parametrize(
    ("device", "processor"), [("cpu", "some processor"), ("cuda:0", "some card")]
)
def test_the_processor_is_the_one_that_ran_the_models(device, processor):
    machine = {**MACHINE, "gpu": "some card"}
    report = build_report(measurement(), machine, {**ENGINE, "device": device})
    assert report.processor == processor


def test_the_table_shows_speed_length_and_categories():
    text = BenchResult(build_report(measurement(), MACHINE, ENGINE)).to_text()
    row = next(line for line in text.splitlines() if line.startswith("db > target"))
    assert "8.0" in row
    assert "5.00" in row
    assert "same as plain 2/2" in text
    # Two prompts are too few for an interval.
    assert "[" not in text.partition("speed-up by category")[0].partition("stack")[2]
    assert "whose plain output has less than 20% repetition" in text
    assert "outputs of each stack: " in text
    assert "speed-up by category" in text
    assert "cut short" not in text
    assert "cut short" in plain(
        BenchResult(build_report(measurement(complete=False), MACHINE, ENGINE)).parts()
    )
    assert "some processor, 1 thread, float32" in text
    assert "8500.00" in text
    assert "357.14" in text
    assert "625.00" in text


def test_a_bench_that_measured_nothing_still_has_a_report():
    empty = Measurement(
        Suite("none", {"all": "All."}, ()), BenchSettings(), (), {"target": ()}, False
    )
    report = read_report(json.dumps(build_report(empty, MACHINE, ENGINE).to_dict()), "x")
    assert report.stacks[0].whole.tokens_per_second.value is None
    assert "cut short" in BenchResult(report).to_text()


SAVED = Path(__file__).resolve().parents[3] / "docs" / "bench"


def saved_reports() -> list[Path]:
    """Every bench report among the project's measurements, and an old one."""
    reports = []
    for path in sorted(SAVED.glob("*.json")):
        if "stacks" in json.loads(path.read_text()):
            reports.append(path)
    return [
        *reports,
        *sorted((Path(__file__).parents[2] / "fixtures" / "reports").glob("bench*.json")),
    ]


@pytest.mark.parametrize("path", saved_reports(), ids=lambda path: path.stem)
def test_saved_reports_open_and_are_written_as_they_were(path):
    text = path.read_text(encoding="utf-8")
    report = read_report(text, path.name)
    data = json.loads(text)
    assert read_report(json.dumps(report.to_dict()), "x") == report
    assert BenchResult(report).to_text()
    assert "<html" in BenchResult(report).to_html()
    assert path.parent != SAVED or not any("plausible" in line for line in warnings(report))
    again = json.loads(json.dumps(report.to_dict()))
    for part in ("machine", "suite", "settings", "stacks"):
        assert again[part] == as_written_now(data[part], again[part])


#: Fields of earlier versions, which are read and not written.
GONE = {
    "memory",
    "baseline_settings",
    "rival_settings",
    "drafters",
    "padding",
    "decodes_from_earlier_runs",
    "gpus",
    "by_prompt",
}


def as_written_now(data, again):
    """JSON data of an earlier version without the fields that are gone, with the new ones of
    ``again``.
    """
    if isinstance(data, dict) and isinstance(again, dict):
        kept = {name: value for name, value in data.items() if name not in GONE}
        written = {name: as_written_now(value, again.get(name)) for name, value in kept.items()}
        return again | written
    if isinstance(data, list) and isinstance(again, list) and len(data) == len(again):
        return [as_written_now(*pair) for pair in zip(data, again, strict=True)]
    return data
