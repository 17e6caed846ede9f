"""The report as a page: whole, safe, and readable without a network."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hsd_viz.bench.page import page
from hsd_viz.bench.report import KINDS, Report, kind, read_report
from hsd_viz.intervals import Estimate
from hsd_viz.tables import Bar, Bars, ticks
from hsd_viz.tables import page as shared_page

SAVED = Path(__file__).resolve().parents[2] / "docs" / "bench" / "heldout-greedy-cpu.json"
VOID = {"meta", "br", "hr", "img", "input", "link"}


@pytest.fixture
def report():
    return read_report(SAVED.read_text(encoding="utf-8"), SAVED.name)


class Tags(HTMLParser):
    """Checks that elements are closed in the order in which they were opened, and collects them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone(report):
    text = page(report)
    assert len(text.encode()) < 1_500_000
    tags = Tags(text).seen
    assert not {"script", "link", "iframe", "img", "object"} & {tag for tag, _ in tags}
    assert not any({"src", "href"} & set(attributes) for _, attributes in tags)
    assert "url(" not in text and "@import" not in text and not re.search("https?:", text)


def test_every_colour_that_its_styles_name_is_there(report):
    styles = page(report)
    assert set(re.findall(r"var\((--[a-z-]+)", styles)) <= set(re.findall(r"(--[a-z-]+):", styles))


def test_it_shows_every_stack_and_figure(report):
    text = page(report)
    for stack in report.stacks:
        name = stack.stack.replace(">", "&gt;")
        # In the tables of all outputs, of those with little repetition, and of categories; profile where measured.
        measured = stack.profile is not None
        assert text.count(f'<th scope="row">{name}<') >= 3 + measured
        assert f"{stack.speedup_over_plain.value:.2f}×" in text
    low, high = report.stacks[1].speedup_over_plain.interval
    assert f"[{low:.2f}, {high:.2f}]" in text
    best = max(report.stacks, key=lambda stack: stack.speedup_over_plain.value)
    assert f"Fastest: <strong>{best.stack.replace('>', '&gt;')}</strong>, {best.speedup_over_plain.value:.2f}×" in text
    for word in ("Speed-up by category", "What the figures mean", report.machine.cpu):
        assert word in text


def test_what_a_report_says_is_never_markup(report):
    evil = "<script>alert(1)</script>\"'&"
    text = json.dumps(report.to_dict())
    for name in ("target", "db > target", "rewrite", report.machine.cpu):
        text = text.replace(json.dumps(name)[1:-1], json.dumps(evil + name)[1:-1])
    data = json.loads(text)
    data["command"] = data["suite"]["name"] = data["settings"]["padding"] = evil
    # Names of stacks are parsed to find their kinds; other text has a colour, too.
    shown = page(Report.from_dict(data))
    assert "<script" not in shown and "&lt;script&gt;" in shown
    Tags(shown)


def test_kinds_of_stacks():
    found = {
        "target": "plain",
        "db[context] > target": "database",
        "nano:4 > target": "models",
        "db > nano:4 > target": "both",
        "auto > target": "auto",
        "suffix > target (warm)": "baseline",
        "hf-lookup (best)": "hf",
        "hf-assistant[nano]": "hf",
    }
    assert {name: kind(name) for name in found} == found and set(found.values()) == set(KINDS)


def styles(html: str, kind: str) -> list[dict[str, float]]:
    """The positions of the elements of a class, in percent."""
    found = [dict(a) for tag, a in Tags(html).seen if kind in (a.get("class") or "").split()]
    return [{n: float(v) for n, v in re.findall(r"(left|width):([\d.]+)%", a["style"])} for a in found]


def test_bars_are_as_long_as_their_values():
    rows = [Bar("a > b & c", "database", Estimate(2.0, 1.0, 3.0), Estimate(1.0)), Bar("d", "plain", Estimate(1.0))]
    bars = lambda most=0.0: shared_page("x", [], [Bars("speed", rows, most=most)], kinds=KINDS)
    html = bars()
    first, second, last = (style["width"] for style in styles(html, "bar"))
    assert first == pytest.approx(2 * last, abs=0.02) and second == pytest.approx(last, abs=0.02)
    # The lines at 1 are where bars of 1 end.
    assert all(style["left"] == last for style in styles(html, "reference"))
    # The interval from 1 to 3 fills the scale; values follow it, or the bar.
    (whisker,) = styles(html, "whisker")
    assert whisker["left"] == pytest.approx(last, abs=0.02) and whisker["left"] + whisker["width"] == pytest.approx(100)
    assert [style["left"] for style in styles(html, "value")] == [100, last]
    assert "a &gt; b &amp; c" in html and "2.00×" in html
    assert styles(bars(6.0), "bar")[0]["width"] == pytest.approx(first / 2, abs=0.02)


def test_axes_have_round_marks():
    assert ticks(3.2) == [0, 1, 2, 3] and ticks(0.9) == [0, 0.2, 0.4, 0.6, 0.8]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stacks": 1}', '{"stacks": [{}], "suite": {"prompts": 1}}'])
def test_anything_else_is_not_a_report(text):
    with pytest.raises(ValueError, match=r"\Ax.json is not a report of hsd-viz bench --json\Z"):
        read_report(text, "x.json")
