"""The report as a page: whole, safe, and readable without a network."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from hsd_viz.bench.page import page
from hsd_viz.bench.report import KINDS, Report, kind, read_report

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
        self.open += [tag] if tag not in VOID else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone(report):
    text = page(report)
    assert len(text.encode()) < 1_500_000
    tags = Tags(text).seen
    assert not {"script", "link", "iframe", "img", "object"} & {tag for tag, _ in tags}
    assert not any({"src", "href"} & set(attributes) for _, attributes in tags)
    assert "url(" not in text and "@import" not in text and not re.search("https?:", text)
    assert set(re.findall(r"var\((--[a-z-]+)", text)) <= set(re.findall(r"(--[a-z-]+):", text))


def test_it_shows_every_stack_and_figure(report):
    text = page(report)
    for stack in report.stacks:
        name = stack["stack"].replace(">", "&gt;")
        # In the tables of all outputs, of those with little repetition, and of categories; profile where measured.
        measured = stack.get("profile") is not None
        assert text.count(f'<th scope="row">{name}<') >= 3 + measured
        assert f"{stack['speedup_over_plain']:.2f}" in text
    low, high = report.stacks[1]["speedup_over_plain_ci"]
    assert f"[{low:.2f}, {high:.2f}]" in text
    best = report.ranked[0]
    fastest = f"Fastest: <strong>{best['stack'].replace('>', '&gt;')}</strong>, {best['speedup_over_plain']:.2f}×"
    assert fastest in text
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
    shown = page(msgspec.convert(data, Report))
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


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stacks": 1}', '{"stacks": [{}], "suite": {"prompts": 1}}'])
def test_anything_else_is_not_a_report(text):
    with pytest.raises(ValueError, match=r"\Ax.json is not a report of hsd-viz bench --json\Z"):
        read_report(text, "x.json")
