"""Small multiples: the panels, their values and axes, and what cannot be shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hsd_viz import figures
from hsd_viz.bench.report import read_report
from hsd_viz.bench.verdict import fastest_of_kind

SAVED = Path(__file__).resolve().parents[2] / "docs" / "bench" / "heldout-greedy-cpu.json"


@pytest.fixture
def data():
    found = json.loads(SAVED.read_text())
    for k, stack in enumerate(found["stacks"]):
        stack["by_prompt"] = {"one": [40, 2 / (k + 1)], "two": [30, 1.0]}
    return found


def bars(figure) -> dict[tuple[str, str], float]:
    """The values of the bars, by panel and stack."""
    return {(bar.customdata[0].split(":")[0], bar.legendgroup): bar.x[0] for bar in figure.data}


def test_one_panel_per_category_on_the_same_axes():
    report = read_report(SAVED.read_text(), "x")
    assert all(s.by_prompt for s in report.stacks)
    shown = fastest_of_kind(report)
    drawn = figures.small_multiples(report, by="category")
    assert [a.text for a in drawn.layout.annotations] == list(report.suite.categories)
    assert bars(drawn) == {
        (name, s.stack): s.by_category[name].speedup_over_plain.value
        for name in report.suite.categories
        for s in report.stacks
        if s.stack in shown
    }
    axes = [axis for axis in drawn.select_xaxes()]
    assert len({axis.range for axis in axes}) == 1 and axes[0].range[1] > max(bars(drawn).values())
    assert drawn.layout.meta["table"][0] == ["category", *shown]
    assert sum(bool(bar.showlegend) for bar in drawn.data) == len(shown)


def test_one_panel_per_prompt_where_the_report_has_their_times(data):
    names = [s["stack"] for s in data["stacks"]]
    plain = names.index("target")
    drawn = figures.small_multiples(data, stacks=["db > target"])
    assert bars(drawn) == {
        ("one", "db > target"): pytest.approx((names.index("db > target") + 1) / (plain + 1)),
        ("two", "db > target"): pytest.approx(1.0),
    }
    assert "One prompt each" in drawn.layout.meta["text"]
    assert len(figures.small_multiples(data, by="category").layout.annotations) == 6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"by": "word"}, "use 'prompt' or 'category'"),
        ({"by": "prompt"}, "no times of its prompts"),
        ({"stacks": ["db > nano"]}, "no stack 'db > nano' in the report: use"),
        ({"stacks": []}, "no speed-up to show"),
    ],
)
def test_what_cannot_be_shown_is_one_line(data, options, words):
    for stack in data["stacks"]:
        del stack["by_prompt"]
    with pytest.raises(ValueError, match=words) as caught:
        figures.small_multiples(data, **options)
    assert "\n" not in str(caught.value)
