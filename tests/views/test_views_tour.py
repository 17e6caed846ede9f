"""The guided tour: every rule finds its place, every figure is the trace's, and the card goes through all of it."""

from __future__ import annotations

import re
import string

import pytest

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.views.events import events_of
from hsd_viz.views.tour import Tour
from hsd_viz.views.tour_places import Found
from hsd_viz.views.tour_steps import STEPS, TourStep, locate

NAMES = [r.name for r in bundled()]
#: A text may speak of one thing, and of none; any larger number would be a claim.
NUMBER_WORDS = re.compile(
    r"\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twice|thrice|half|third|quarter|double|hundred|thousand|million|percent)\b",
    re.IGNORECASE,
)
TOPICS = (
    *("draft", "verification", "accepted", "rejected", "correction", "bonus", "database", "locality", "hierarchy"),
    *("acceptance rate", "mean acceptance length", "latency", "lossless"),
)


class Page:
    """A page that writes down what the tour asks of it."""

    def __init__(self) -> None:
        self.shown, self.tab, self.busy, self.closed = "", "", False, 0

    def open_recording(self, name: str) -> str:
        if self.busy:
            raise ValueError("a run is in progress: cancel it or wait for its end")
        assert name in NAMES
        self.shown = name
        return f"run of {name}"

    def open_tab(self, title: str) -> None:
        self.tab = title

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def page() -> Page:
    return Page()


def test_the_tour_teaches_what_it_should_in_eight_to_twelve_steps():
    assert 8 <= len(STEPS) <= 12
    told = " ".join(word for step in STEPS for word in (step.title, *step.text)).lower()
    assert [topic for topic in TOPICS if topic not in told] == []
    assert len({step.key for step in STEPS}) == len(STEPS)


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.key)
def test_a_rule_finds_its_place_in_its_own_recording(step):
    name, found = locate(step, NAMES, load_bundled)
    assert name == step.recording
    trace = load_bundled(name)
    assert 0 <= found.step < len(events_of(trace))
    for paragraph in step.text:
        words = paragraph.format_map(found.figures)
        assert "{" not in words and words.endswith(".")
    assert all(value and not re.search(r"\b(None|nan)\b", value) for value in found.figures.values())


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.key)
def test_no_text_claims_a_number_of_its_own(step):
    _, found = locate(step, NAMES, load_bundled)
    used = set()
    for paragraph in (step.title, *step.text):
        parts = list(string.Formatter().parse(paragraph))
        used |= {field for _, field, _, _ in parts if field}
        own = "".join(literal for literal, *_ in parts)
        assert not re.search(r"\d", own), own
        assert not NUMBER_WORDS.search(own), own
    assert used <= set(found.figures)


# --- the figures, counted once more from the rows -------------------------------------------------------------------------


def figures(key: str):
    step = next(s for s in STEPS if s.key == key)
    name, found = locate(step, NAMES, load_bundled)
    trace = load_bundled(name)
    return trace, events_of(trace)[found.step], found.figures


def numbers(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)]


def milliseconds(text: str) -> float:
    """A time as the tour writes it, "1.3 ms" or "504 µs"."""
    (value,) = numbers(text)
    unit = text.split()[-1]
    assert unit in ("ms", "µs"), text
    return value if unit == "ms" else value / 1000


def test_figures_of_the_first_draft_and_its_verification():
    trace, event, told = figures("verification")
    rows = trace.drafts[trace.drafts["round"] == event.round]
    calls = trace.calls[trace.calls["round"] == event.round]
    assert numbers(told["drafted"]) == [len(rows)]
    assert numbers(told["accepted"]) == [(rows["verdict"] == "accepted").sum(), len(rows)]
    assert milliseconds(told["verifying"]) == pytest.approx(
        calls[calls["kind"] == "verify"]["duration_ns"].sum() / 1e6, abs=0.06
    )
    assert milliseconds(told["drafting"]) == pytest.approx(
        calls[calls["kind"] == "draft"]["duration_ns"].sum() / 1e6, abs=0.06
    )
    assert numbers(told["fed"]) == [calls[calls["kind"] == "verify"]["fed"].iloc[0]]
    first = trace.rounds[
        (trace.rounds["drafted"] > 0) & trace.rounds["accepted"].between(1, trace.rounds["drafted"] - 1)
    ].iloc[0]
    assert event.round == first["id"]


@pytest.mark.parametrize("key", ["rejected", "chance"])
def test_figures_of_a_rejection(key):
    trace, event, told = figures(key)
    row = event.draft
    assert row.verdict == "rejected"
    token = trace.token_rows[event.token]
    assert token.kind == "correction" and token.round == event.round
    if key == "rejected":
        rest = [d for d in trace.draft_rows if d.round == event.round and d.verdict == "unreached"]
        assert numbers(told["unreached"]) == [len(rest)] and told["p"] == f"{token.p:.0%}"
    else:
        assert float(told["temperature"]) == trace.meta["sampling"]["temperature"] > 0
        assert (float(told["u"]), float(told["q"]), float(told["p"])) == pytest.approx((row.u, row.q, row.p), abs=6e-4)
        assert float(told["uq"]) >= float(told["p"]), "what is said must be seen in the figures that are shown"


def test_figures_of_the_bonus_the_copy_and_the_hierarchy():
    trace, event, told = figures("bonus")
    emitted = [t for t in trace.token_rows if t.round == event.round]
    assert trace.token_rows[event.token].kind == "bonus" and numbers(told["emitted"]) == [len(emitted)] == [
        int(told["drafted"]) + 1
    ]

    trace, event, told = figures("databases")
    ids = [*trace.meta["prompt_ids"], *(t.token_id for t in trace.token_rows)]
    assert ids[int(told["position"])] == trace.token_rows[event.token].token_id, (
        "the place it was copied from holds the same token"
    )
    kept = sum(numbers(told["stored"])) + int(told["target"])
    assert kept == len(trace.token_rows) == numbers(told["tokens"])[0]

    trace, event, told = figures("hierarchy")
    assert trace.token_rows[event.token].source == told["middle"] and event.draft.source == told["middle"]
    steps = trace.calls[trace.calls["kind"] != "prefill"].groupby("name")["steps"].sum()
    assert told["passes"] == ", ".join(f"{steps[name]} of {name}" for name in ("nano", "small", "target"))


def test_figures_of_the_measures_and_of_the_same_text():
    trace, _, told = figures("measures")
    top = trace.rounds[trace.rounds["parent"].isna()]
    drafted, accepted = int(top["drafted"].sum()), int(top["accepted"].sum())
    assert (told["drafted"], told["accepted"], told["rate"]) == (
        str(drafted),
        str(accepted),
        f"{accepted / drafted:.0%}",
    )
    assert (
        told["length"] == f"{len(trace.token_rows) / len(top):.2f}" and told["rounds"] == f"{len(top)} forward passes"
    )
    own = trace.calls.groupby("name")["duration_ns"].sum()
    shares = dict(re.findall(r"(\S+) ([\d.]+)%", told["shares"]))
    assert set(shares) == set(own.index)
    for name, share in shares.items():
        assert float(share) == pytest.approx(100 * own[name] / trace.meta["wall_ns"], abs=0.51)

    trace, _, told = figures("lossless")
    plain = next(t for t in map(load_bundled, NAMES) if not t.draft_rows and t.meta["prompt"] == trace.meta["prompt"])
    assert [t.token_id for t in plain.token_rows] == [t.token_id for t in trace.token_rows]
    assert (told["plain"], told["passes"]) == (
        f"{len(plain.round_rows)} forward passes",
        f"{len(trace.round_rows)} forward passes",
    )


# --- the card -----------------------------------------------------------------------------------------------------------


def press(tour: Tour, kind: str, **more) -> None:
    tour._on_message(tour, {"kind": kind, **more}, [])


def test_the_tour_goes_through_all_steps_and_ends(page):
    tour = Tour(page)
    assert tour.at is None and tour.button.description == "Take the tour"
    tour.button.click()
    for number, step in enumerate(STEPS):
        assert tour.at == number and tour.place["title"] == step.title
        assert tour.place["run"] == f"run of {step.recording}" and page.shown == step.recording
        assert not step.tab or page.tab == step.tab
        press(tour, "next")
    assert tour.place == {} and tour.kept == "" and tour.button.description == "Take the tour"


def test_who_leaves_comes_back_to_the_same_step(page):
    tour = Tour(page)
    tour.start()
    press(tour, "back")
    assert tour.at == 0, "there is nothing before the first step"
    press(tour, "next")
    press(tour, "next")
    press(tour, "leave")
    assert (
        tour.place == {} and tour.button.description == f"Resume the tour (3/{len(STEPS)})" and not tour.button.disabled
    )
    tour.start()
    assert tour.at == 2
    press(tour, "back")
    assert tour.at == 1
    press(tour, "restart")
    assert tour.at == 0


def test_what_the_browser_kept_is_believed_only_where_it_is_a_step(page):
    tour = Tour(page)
    for bad in ("no step", None, 3, "<b>"):
        press(tour, "kept", key=bad)
        assert tour.kept == ""
    press(tour, "kept", key=STEPS[4].key)
    tour.start()
    assert tour.at == 4
    press(tour, "kept", key=STEPS[0].key)
    assert tour.kept == STEPS[4].key, "a tour that goes on knows better"
    tour._on_message(tour, "nonsense", [])


def test_a_page_that_is_busy_says_so_on_the_card(page):
    tour = Tour(page)
    tour.start()
    page.busy = True
    press(tour, "next")
    assert tour.at == 0 and "a run is in progress" in tour.place["trouble"]
    page.busy = False
    press(tour, "next")
    assert tour.at == 1 and tour.place["trouble"] == ""
    press(tour, "leave")
    page.busy = True
    with pytest.raises(ValueError, match="a run is in progress"):
        tour.start()


def test_steps_without_a_place_are_left_out(page):
    nowhere = TourStep("x", "Nowhere", ("No.",), NAMES[0], lambda *_: None, ())
    here = TourStep("y", "Here", ("Yes, {n}.",), "no such recording", lambda *_: Found(0, {"n": "1"}), ())
    tour = Tour(page, steps=(nowhere, here, nowhere))
    tour.start()
    assert tour.place["title"] == "Here" and tour.place["text"] == ["Yes, 1."] and page.shown == NAMES[0]
    with pytest.raises(ValueError, match="no place for any step"):
        Tour(page, steps=(nowhere,)).start()
    with pytest.raises(ValueError, match="no place for any step"):
        Tour(page, names=[]).start()
