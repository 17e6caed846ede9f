"""Bars of tables on pages without scripts."""

import re

import pytest

from hsd_viz.results import Estimate, Table
from hsd_viz.results.bar_chart import bar_chart
from hsd_viz.results.page import page
from hsd_viz.results.table import RatioColumn

SPEED_UP = RatioColumn("speed-up")


def table_of(*speeds, kinds=()):
    rows = [[f"row {place}", speed] for place, speed in enumerate(speeds)]
    return Table("Speeds", [["stack", "speed-up"], *rows], kinds=kinds)


def test_bars_have_one_axis_from_0_to_just_above_the_largest_end():
    chart = bar_chart(table_of(2.0, 1.0, Estimate(1.5, 1.0, 4.0, 8)), SPEED_UP)
    length = 1.02 * 4
    assert [bar.end for bar in chart.bars] == [2 / length, 1 / length, 1.5 / length]
    assert (chart.bars[2].low, chart.bars[2].high) == (1 / length, 4 / length)
    assert chart.one == 1 / length


def test_values_below_1_leave_room_for_the_line_at_1():
    chart = bar_chart(table_of(0.5, None), SPEED_UP)
    assert chart.one == 1 / 1.02
    assert [bar.end for bar in chart.bars] == [0.5 / 1.02, 0.0]
    assert [bar.value for bar in chart.bars] == ["0.50×", "-"]


@pytest.mark.parametrize(
    ("largest", "ticks"),
    [
        (1.0, ["0", "0.5", "1"]),
        (1.9, ["0", "0.5", "1", "1.5"]),
        (3.5, ["0", "1", "2", "3"]),
        (40.0, ["0", "20", "40"]),
    ],
)
def test_an_axis_has_few_round_numbers(largest, ticks):
    chart = bar_chart(table_of(largest), SPEED_UP)
    assert [text for text, _ in chart.ticks] == ticks
    assert chart.ticks[1][1] == chart.step


def test_an_interval_is_drawn_and_written_from_five_prompts_on():
    of_four, of_five = bar_chart(
        table_of(Estimate(1.5, 1.25, 1.75, 4), Estimate(1.5, 1.25, 1.75, 5)), SPEED_UP
    ).bars
    assert of_four.interval == ""
    assert of_five.interval == "[1.25, 1.75]"


def test_a_stack_has_the_name_and_the_colour_of_its_drafters():
    rows = [["stack", "speed-up"], ["db > target", 2.0], ["suffix > target", 1.0]]
    table = Table("Speeds", rows, kinds=("database", "baseline"))
    chart = bar_chart(table, SPEED_UP)
    names = [(bar.name, bar.colour) for bar in chart.bars]
    assert names == [("databases", "database"), ("copying (suffix tree)", "copying")]
    assert chart.key == {"database": "databases", "copying": "copying"}


def test_the_key_of_a_page_has_each_colour_of_its_bars_once():
    stacks = ["hf-generate", "hf-lookup", "nano > target"]
    rows = [["stack", "speed-up"], *([stack, 1.0] for stack in stacks)]
    table = Table("Speeds", rows, kinds=("hf", "hf", "models"), chart=SPEED_UP)
    shown = page("Title", [], [table])
    assert "<b>transformers: prompt lookup</b>" in shown
    [key] = re.findall(r'<p class="key">.*?</p>', shown)
    assert re.findall(r"var\(--bar-(\w+)\)\"></i>([^<]+)", key) == [
        ("hf", "transformers&#39; own loops"),
        ("models", "draft models"),
    ]


def test_a_page_draws_the_column_of_a_table_and_names_what_is_1():
    table = Table(
        "Runs",
        [["stack", "times"], ["a", 1.0], ["<b>", 2.0]],
        chart=RatioColumn("times", reference="the first run"),
        compared=("times",),
    )
    shown = page("Title", [], [table])
    assert "the first run, 1×" in shown
    assert "&lt;b&gt;</span>" in shown
    assert '<td data-head="times"><b>2.0</b></td>' in shown


@pytest.mark.parametrize(
    ("columns", "is_wide"),
    [(["0.12"] * 7, False), (["0.12"] * 9, True), (["5220.5 [5100.1, 5300.2]"] * 4, True)],
)
def test_a_table_that_a_phone_cannot_show_side_by_side_is_listed(columns, is_wide):
    head = ["stack", *(f"c{place}" for place in range(len(columns)))]
    shown = page("Title", [], [Table("T", [head, ["a", *columns]])])
    assert ('class="scroll wide"' in shown) is is_wide


def test_a_page_of_a_site_links_to_its_other_pages():
    shown = page("Title", [], [], links=[("../index.html", "All pages")])
    assert '<nav aria-label="Site"><a href="../index.html">All pages</a></nav>' in shown
    assert "<nav" not in page("Title", [], [])
