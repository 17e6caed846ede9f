"""Scrapes of ``/metrics``: each sample and each refusal has the line of its own scrape."""

from __future__ import annotations

import pytest

from hsd_viz.records.read import read
from hsd_viz.records.sample import Sample
from hsd_viz.records.series import pooled

LENGTH = 'sglang:spec_accept_length{{model_name="{model}"}} {length}\n'


def counters(drafts: int, drafted: int, accepted: int) -> str:
    """Return a scrape of vLLM's counters."""
    counts = {"drafts": drafts, "draft_tokens": drafted, "accepted_tokens": accepted}
    lines = []
    for name, count in counts.items():
        lines.append(f'vllm:spec_decode_num_{name}_total{{model_name="m"}} {count}\n')
    return "".join(lines)


def test_a_gauge_has_the_line_of_its_scrape_where_others_lack_the_model(tmp_path):
    """Model b is missing in the first and in the third of four scrapes."""
    text = ""
    for models in ("a", "ab", "a", "ab"):
        for model in models:
            text += LENGTH.format(model=model, length=2.5)
    path = tmp_path / "metrics.txt"
    path.write_text(text)
    series = {series_of_model.model: series_of_model for series_of_model in read(path).series}
    assert [sample.line for sample in series["a"].samples] == [1, 2, 4, 5]
    assert [sample.line for sample in series["b"].samples] == [2, 5]


def test_a_damaged_scrape_is_refused_once_with_its_line(tmp_path):
    """The second scrape has more accepted than draft tokens."""
    path = tmp_path / "metrics.txt"
    path.write_text(counters(10, 20, 5) + counters(20, 40, 50) + counters(30, 60, 15))
    reading = read(path)
    assert reading.refused == ((4, "impossible: 50 accepted of 40 draft tokens"),)
    (series,) = reading.series
    assert series.pooled().drafted == 40


def test_an_earlier_copy_alone_is_nothing_that_was_counted_since(tmp_path):
    """The only scrape after the earlier copy is damaged."""
    before = tmp_path / "before.txt"
    before.write_text(counters(10, 20, 5))
    after = tmp_path / "after.txt"
    after.write_text(counters(20, 40, 50) + LENGTH.format(model="m", length=2.5))
    reading = read(after, since=before)
    assert [series.engine for series in reading.series] == ["sglang"]


def test_counts_between_scrapes_have_the_line_of_the_later_one(tmp_path):
    path = tmp_path / "metrics.txt"
    path.write_text(counters(10, 20, 5) + counters(20, 40, 15) + counters(30, 60, 20))
    (series,) = read(path).series
    assert [sample.line for sample in series.samples] == [4, 7]


@pytest.mark.parametrize(
    ("is_counted_since", "between", "number"),
    [
        pytest.param(True, 0, 2, id="the earlier copy is of another file"),
        pytest.param(False, 3, 3, id="the second scrape lacks the counters"),
    ],
)
def test_a_restart_is_named_by_the_scrape_of_the_file(is_counted_since, between, number, tmp_path):
    before = tmp_path / "before.txt"
    before.write_text(counters(10, 20, 5))
    after = tmp_path / "after.txt"
    other = LENGTH.format(model="other", length=2.5) * between
    after.write_text(counters(20, 40, 15) + other + counters(5, 10, 5))
    reading = read(after, since=before if is_counted_since else None)
    (series,) = [series for series in reading.series if series.engine == "vllm"]
    assert f"the counters were reset before scrape {number}: " in " ".join(series.remarks)


def test_printed_rates_are_averaged_by_draft_tokens_or_by_requests():
    few = Sample(engine_rate=0.2, drafted=10, running=9, speed=100.0)
    many = Sample(engine_rate=0.8, drafted=30, running=1, speed=300.0)
    whole = pooled([few, many, Sample()])
    assert whole.engine_rate == (0.2 * 10 + 0.8 * 30) / 40
    assert whole.speed == 200.0
    uncounted = Sample(engine_rate=0.8, running=1)
    assert pooled([few, uncounted]).engine_rate == (0.2 * 9 + 0.8) / 10
