"""What a report answers in words, what it warns of, and its page: whole, safe, and readable
without a network.
"""

import gzip
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hsd_viz.measure.bench.block import impossible
from hsd_viz.measure.bench.report import BenchReport, read_report
from hsd_viz.measure.bench.result import COLUMNS, ONCE, BenchResult, tables
from hsd_viz.measure.bench.sentences import answer, loss, tally, warnings
from hsd_viz.results.bar_chart import bar_chart
from hsd_viz.results.drafter_names import stack_name
from hsd_viz.results.kinds import StackKind, kind_of
from hsd_viz.results.table import RatioColumn, Table
from tests.rows import column, find

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "reports"
SAVED = FIXTURES.parents[2] / "docs" / "bench" / "heldout-greedy-cpu.json"
VOID = {"meta", "wbr", "br", "hr", "img", "input", "link"}


@pytest.fixture
def report():
    """A report whose figures do not change when the published ones are measured again."""
    return read_report(
        gzip.decompress((FIXTURES / "heldout-greedy.json.gz").read_bytes()).decode(), "x"
    )


def words(report) -> str:
    return "".join(text for text, _ in answer(report))


def test_the_answer_names_the_fastest_and_who_may_be_as_fast(report):
    best, second, third = report.ranked[:3]
    speeds = [stack.whole.speedup_over_plain.value for stack in (best, second, third)]
    assert speeds[2] < best.whole.speedup_over_plain.low < speeds[1]
    said = words(report)
    low = best.low_repetition
    assert said.startswith(f"Fastest: {best.stack}, {speeds[0]:.2f}×")
    assert f"on the {low.outputs} prompts" in said
    assert f"{low.speedup_over_plain.value:.2f}×" in said
    assert second.stack in said
    assert third.stack not in said
    assert [text for text, strong in answer(report) if strong] == [best.stack]


def test_the_answer_says_when_nothing_is_faster(report):
    report = replace(
        report,
        stacks=tuple(
            s for s in report.stacks if kind_of(s.stack) in (StackKind.PLAIN, StackKind.HF)
        ),
    )
    assert words(report).startswith(
        "Nothing measured is faster than plain decoding; the fastest that drafts: hf-"
    )
    assert answer(replace(report, stacks=report.stacks[:1])) == []


def test_a_tally_counts_the_methods_that_are_faster_and_why_others_lose(report):
    drafting = [s for s in report.stacks if kind_of(s.stack) is not StackKind.PLAIN]
    speeds = [s.whole.speedup_over_plain for s in drafting]
    faster = [speed for speed in speeds if speed.value > 1]
    clear = [speed for speed in faster if speed.low > 1]
    beginning = f"{len(faster)} of {len(drafting)} methods beat plain decoding here"
    assert tally(report) == f"{beginning}, {len(clear)} of them clearly"
    slower = [s for s in drafting if s.whole.speedup_over_plain.value < 1]
    longest = max(slower, key=lambda s: s.whole.mean_acceptance_length.value)
    length = longest.whole.mean_acceptance_length.value
    cost = length / longest.whole.speedup_over_plain.value
    assert f"({longest.stack}) has {length:.2f} tokens per pass" in loss(report)
    assert f"{cost:.1f} plain ones" in loss(report)
    plain_and_best = replace(report, stacks=report.ranked[:1])
    assert (tally(plain_and_best), loss(plain_and_best)) == ("", "")


def test_a_busy_machine_and_impossible_speed_ups_are_warned_of_everywhere(report):
    assert list(warnings(report)) == []
    quiet = report
    data = report.to_dict()
    data["machine"]["load_average"] = data["machine"]["cores"] + 1.5
    slow = find(data["stacks"], stack="lookup > target")
    slow["speedup_over_plain"] = slow["mean_acceptance_length"] * 1.2
    report = BenchReport.from_dict(data)
    busy, wrong = warnings(report)
    rows = {row[0]: row[1] for row in next(iter(tables(report))).cells()}
    assert rows["lookup > target"] == "-" != rows["db > target"]
    assert "2 cores (load average 3.5" in busy
    assert "lookup > target" in wrong
    assert "db > target" not in wrong
    for shown in (BenchResult(report).to_html(), BenchResult(report).to_text()):
        assert "Not plausible" in shown or "not plausible" in shown
        assert "load average 3.5" in shown
    assert "plausible" not in BenchResult(quiet).to_html()


def test_no_draft_is_faster_than_its_acceptance_length():
    assert impossible(2.07, 1.80)
    assert impossible(5.75, 3.43)
    for pair in ((1.02, 1.00), (1.0, 1.0), (None, 2.0), (2.0, None)):
        assert not impossible(*pair)


def test_rows_stand_by_speed_up_and_columns_by_importance(report):
    first = next(iter(tables(report)))
    assert tuple(first.rows[0]) == (
        "stack",
        *(name for name in COLUMNS if name not in ("repetition", "same as plain")),
    )
    speeds = [float(row[1].split(" [")[0]) for row in first.cells()[1:]]
    assert speeds == sorted(speeds, reverse=True)
    assert list(first.kinds) == [kind_of(row[0]).value for row in first.rows[1:]]
    assert {
        "plain",
        "hf",
    } < set(first.kinds)


def test_what_is_the_same_for_all_is_noted_once(report):
    first = next(iter(tables(report)))
    assert first.note == "the same for all stacks: repetition 52%, same as plain 24/24"
    rows = [
        ["stack", "repetition", "runtime", "n"],
        ["a", 0.51, "native", 1],
        ["b", 0.52, "native", 1],
    ]
    rows.append(["c", None, None, None])
    shown = Table("", rows, formats={"repetition": ("{:.0%}", 1.0)})
    assert shown.dense(ONCE).cells() == shown.cells()
    assert shown.cells()[3] == ["c", "-", "-", "-"]
    assert Table("", rows[:3]).dense(ONCE).rows == [
        ["stack", "repetition", "n"],
        ["a", 0.51, 1],
        ["b", 0.52, 1],
    ]


def test_an_impossible_speed_up_is_neither_the_answer_nor_a_bar(report):
    data = report.to_dict()
    best = max(data["stacks"], key=lambda s: s["speedup_over_plain"] or 0)
    best["speedup_over_plain"] = best["mean_acceptance_length"] * 2
    disturbed = BenchReport.from_dict(data)
    assert best["stack"] in words(report)
    assert best["stack"] not in words(disturbed)
    chart = bar_chart(next(tables(disturbed)), RatioColumn("speed-up"))
    bars = {bar.label: bar.end for bar in chart.bars}
    assert bars.pop(best["stack"]) == 0
    assert max(bars.values()) <= 1
    assert min(bars.values()) > 0
    for stack in data["stacks"]:
        stack["speedup_over_plain"] = stack["mean_acceptance_length"] * 2
    assert "every one measured is impossible" in words(BenchReport.from_dict(data))


def test_no_interval_is_shown_for_few_prompts(report):
    data = report.to_dict()
    for stack in data["stacks"]:
        stack["outputs"] = 4
    few = BenchReport.from_dict(data)
    assert "[" in words(report)
    assert "[" not in words(few)
    assert "cannot show how far" in words(few)
    assert few.to_dict() == data, "the file keeps what was measured"


@pytest.fixture
def saved():
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


def test_the_page_stands_alone(saved):
    text = BenchResult(saved).to_html()
    assert len(text.encode()) < 1_500_000
    tags = Tags(text).seen
    assert not {"script", "link", "iframe", "img", "object"} & {tag for tag, _ in tags}
    for _, attributes in tags:
        assert not {"src", "href"} & set(attributes)
    assert "url(" not in text
    assert "@import" not in text
    assert not re.search("https?:", text)
    assert set(re.findall(r"var\((--[a-z-]+)", text)) <= set(re.findall(r"(--[a-z-]+):", text))


def test_it_shows_every_stack_and_figure(saved):
    text = BenchResult(saved).to_html()
    for stack in saved.stacks:
        name = stack.stack.replace(">", "&gt;")
        # In the tables of all outputs, of those with little repetition, and of categories; profile
        # where measured.
        measured = stack.profile is not None
        assert text.count(f'<th scope="row">{name}<') >= 3 + measured
        assert f"{stack.whole.speedup_over_plain.value:.2f}" in text
    low, high = saved.stacks[1].whole.speedup_over_plain.ends
    assert f"[{low:.2f}, {high:.2f}]" in text
    best = saved.ranked[0]
    stack = best.stack.replace(">", "&gt;")
    speed = best.whole.speedup_over_plain.value
    assert f"Fastest: <strong>{stack}</strong>, {speed:.2f}×" in text
    for word in ("Speed-up by category", "What the figures mean", saved.machine.cpu):
        assert word in text


def test_what_a_report_says_is_never_markup(saved):
    evil = "<script>alert(1)</script>\"'&"
    text = json.dumps(saved.to_dict())
    for name in ("target", "db > target", "rewrite", saved.machine.cpu):
        text = text.replace(json.dumps(name)[1:-1], json.dumps(evil + name)[1:-1])
    data = json.loads(text)
    data["command"] = data["suite"]["name"] = data["settings"]["padding"] = evil
    # Names of stacks are parsed to find their kinds; other text has a colour, too.
    shown = BenchResult(BenchReport.from_dict(data)).to_html()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    Tags(shown)


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("target", "plain decoding"),
        ("db > target", "databases"),
        ("db[context] > target", "copying"),
        ("db[model] > nano > target", "model database, then nano"),
        ("db[context,model] > target", "databases"),
        ("hd > target", "Hierarchy Drafting"),
        ("db > nano:2 > small > target", "databases, then nano, then small"),
        ("db > target[int8]:5 > target", "databases, then a copy of the target"),
        ("suffix > target", "copying (suffix tree)"),
        ("recycling > target (warm)", "token recycling"),
        ("hf-generate", "transformers: plain decoding"),
        ("hf-lookup (best)", "transformers: prompt lookup"),
        ("hf-assistant[nano]", "transformers: nano"),
        ("unknown[x] > target", "baseline look-ups"),
    ],
)
def test_a_stack_has_the_name_of_its_drafters(row, name):
    assert stack_name(row) == name


def test_kinds_of_stacks():
    kinds = {
        "target": "plain",
        "db[context] > target": "database",
        "nano:4 > target": "models",
        "db > nano:4 > target": "both",
        "auto > target": "auto",
        "suffix > target (warm)": "baseline",
        "hf-lookup (best)": "hf",
        "hf-assistant[nano]": "hf",
    }
    assert {name: kind_of(name).value for name in kinds} == kinds
    assert set(kinds.values()) == set(column(StackKind, "value"))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"stacks": 1}', '{"stacks": [{}], "suite": {"prompts": 1}}']
)
def test_anything_else_is_not_a_report(text):
    with pytest.raises(ValueError, match=r"\Ax.json is not a report of hsd-viz bench --json\Z"):
        read_report(text, "x.json")


def of_a_profile() -> dict:
    """A report of two stacks, the second one with a profile."""
    data = json.loads(SAVED.read_text(encoding="utf-8"))
    profile = {"rounds": 1, "round_us": 9.0, "parts": {"rest": {"median_us": 9.0, "share": 1.0}}}
    return data | {"stacks": [data["stacks"][0], data["stacks"][1] | {"profile": profile}]}


def test_a_profile_is_shown():
    report = read_report(json.dumps(of_a_profile()), "x.json")
    assert "9 (100%)" in BenchResult(report).to_html()


class Missing:
    """Stands for a value that is left out."""

    def __str__(self) -> str:
        return "missing"


MISSING = Missing()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("profile", "round_us"), MISSING),
        (("profile", "round_us"), "9"),
        (("profile", "parts"), MISSING),
        (("profile", "parts", "rest", "share"), MISSING),
        (("profile", "parts", "rest", "median_us"), None),
        (("token_identical_to_plain",), 7),
        (("token_identical_to_plain",), [1, 2, 3]),
        (("runtime",), ["numpy"]),
        (("state",), {}),
        (("stack",), 1),
        (("outputs",), "many"),
        (("acceptance_rate",), MISSING),
        (("acceptance_rate",), "all"),
        (("low_repetition", "outputs"), MISSING),
        (("low_repetition", "draft_seconds_per_round"), MISSING),
        (("by_category",), {}),
        (("tokens_per_second",), 10**400),
        (("tokens_per_second_ci",), [1]),
        (("tokens_per_second_ci",), [1, 10**400]),
    ],
    ids=str,
)
def test_a_stack_with_a_wrong_value_is_not_a_report(place, value):
    """What a table shows is checked when a report is read, not when it is shown."""
    data = of_a_profile()
    *folders, last = place
    part = data["stacks"][1]
    for name in folders:
        part = part[name]
    if value is MISSING:
        del part[last]
    else:
        part[last] = value
    with pytest.raises(ValueError, match=r"x\.json is not a report"):
        read_report(json.dumps(data), "x.json")


def test_a_report_without_stacks_is_none():
    with pytest.raises(ValueError, match=r"x\.json is not a report"):
        read_report(json.dumps(of_a_profile() | {"stacks": []}), "x.json")


@pytest.mark.parametrize(
    ("settings", "command", "model"),
    [
        ({}, None, "Python model"),
        ({}, "hsd-viz bench --family smollm2", "SmolLM2-135M-Instruct"),
        ({"family": "smollm2"}, None, "SmolLM2-135M-Instruct"),
        ({"family": "of a later version"}, None, "of a later version"),
        ({"family": "code", "target": "org/model"}, None, "org/model"),
    ],
)
def test_a_report_names_its_model(saved, settings, command, model):
    report = replace(saved, settings=replace(saved.settings, **settings), command=command)
    assert report.model == model
    assert f": {model} on " in BenchResult(report).title


def test_a_page_has_the_chart_first_and_folds_what_is_below(saved):
    page = BenchResult(saved).to_html()
    assert page.count('<figure class="chart"') == 1
    assert page.index("<figure") < page.index("<table")
    assert page.count("<details open>") == 1
    assert page.count("<details>") >= 4


def test_a_page_beside_a_chart_has_no_chart_and_folds_nothing(saved):
    page = BenchResult(saved).to_html(has_chart=False)
    assert "<figure" not in page
    assert "<details" not in page
