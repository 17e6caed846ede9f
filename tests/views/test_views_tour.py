"""The guided tour: every stop is a place of its recording, every value is the trace's, and the card goes through all of it."""

from __future__ import annotations

import re
import string

import pytest

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.views.events import events_of
from hsd_viz.views.tour import STOPS, Tour, values_at

NAMES = [r.name for r in bundled()]
#: A text may speak of one thing, and of none; any larger number would be a claim.
NUMBER_WORDS = re.compile(
    r"\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twice|thrice|half|third|quarter|double|hundred|thousand|million|percent)\b",
    re.IGNORECASE,
)
TOPICS = (
    *("draft", "verification", "accepted", "rejected", "correction", "database", "locality", "hierarchy"),
    *("acceptance rate", "mean acceptance length", "latency", "lossless"),
)
#: What each stop shows: the kind of its event, and the verdict of the event's draft token.
EVENTS = {
    "verification": ("draft", None),
    "rejected": ("verdict", "rejected"),
    "chance": ("verdict", "rejected"),
    "databases": ("verdict", "accepted"),
    "hierarchy": ("verdict", "accepted"),
    "measures": ("draft", None),
    "latency": ("draft", None),
    "lossless": ("verdict", None),
}


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


def place(key: str):
    """A stop's recording, event and values."""
    stop = next(stop for stop in STOPS if stop["key"] == key)
    trace = load_bundled(stop["recording"])
    return trace, events_of(trace)[stop["step"]], values_at(trace, stop["step"])


def numbers(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)]


def test_the_tour_has_at_most_eight_stops_and_a_lesson_each():
    assert len(STOPS) <= 8 and len({stop["key"] for stop in STOPS}) == len({stop["lesson"] for stop in STOPS}) == 8
    words = " ".join(word for stop in STOPS for word in (stop["title"], *stop["text"])).lower()
    assert [topic for topic in TOPICS if topic not in words] == []


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop["key"])
def test_a_stop_is_at_its_event_and_claims_no_number_of_its_own(stop):
    _, event, values = place(stop["key"])
    kind, verdict = EVENTS[stop["key"]]
    assert event.kind in (kind, "token") if stop["key"] == "lossless" else event.kind == kind
    assert verdict is None or event.draft.verdict == verdict
    for paragraph in (stop["title"], *stop["text"]):
        own = "".join(literal for literal, *_ in string.Formatter().parse(paragraph))
        assert not re.search(r"\d", own) and not NUMBER_WORDS.search(own), own
        assert not re.search(r"[{}]|\bNone\b|\bnan\b", paragraph.format_map(values))


def test_values_of_a_draft_and_its_verification():
    trace, event, told = place("verification")
    rows = trace.drafts[trace.drafts["round"] == event.round]
    calls = trace.calls[trace.calls["round"] == event.round]
    assert numbers(told["drafted"]) == [len(rows)] and told["source"] == rows["source"].iloc[0]
    accepted = (rows["verdict"] == "accepted").sum()
    assert numbers(told["accepted"]) == [accepted, len(rows)] and 0 < accepted < len(rows)
    for kind, name in (("verify", "verifying"), ("draft", "drafting")):
        spent = calls[calls["kind"] == kind]["duration_ns"].sum() / 1e6
        (value,) = numbers(told[name])
        assert value / (1 if told[name].endswith("ms") else 1000) == pytest.approx(spent, abs=0.06)
    assert numbers(told["fed"]) == [calls[calls["kind"] == "verify"]["fed"].iloc[0]]


@pytest.mark.parametrize("key", ["rejected", "chance"])
def test_values_of_a_rejection(key):
    trace, event, told = place(key)
    row, token = event.draft, trace.token_rows[event.token]
    assert token.kind == "correction" and token.round == event.round
    if key == "rejected":
        rest = [d for d in trace.draft_rows if d.round == event.round and d.verdict == "unreached"]
        assert numbers(told["unreached"]) == [len(rest)] != [0] and told["p_token"] == f"{token.p:.0%}"
        assert told["temperature"] == "0"
    else:
        assert float(told["temperature"]) == trace.meta["sampling"]["temperature"] > 0
        assert (float(told["u"]), float(told["q"]), float(told["p"])) == pytest.approx((row.u, row.q, row.p), abs=6e-4)
        assert float(told["uq"]) >= float(told["p"]), "the comparison is visible in the figures shown"
        assert float(told["q"]) >= 0.5, "the text calls the draft token likely"


def test_values_of_the_copy_and_the_hierarchy():
    trace, event, told = place("databases")
    ids = [*trace.meta["prompt_ids"], *(t.token_id for t in trace.token_rows)]
    assert event.draft.source == "context" and event.draft.key_length >= 2
    assert ids[int(told["position"])] == trace.token_rows[event.token].token_id
    assert sum(numbers(told["sources"])) == len(trace) == numbers(told["length"])[0]

    trace, event, told = place("hierarchy")
    assert trace.token_rows[event.token].source == told["source"] == event.draft.source == "small"
    steps = trace.calls[trace.calls["kind"] != "prefill"].groupby("name")["steps"].sum()
    assert told["passes"] == ", ".join(f"{steps[name]} of {name}" for name in ("nano", "small", "target"))


def test_values_of_the_run_and_of_the_same_text():
    trace, _, told = place("measures")
    top = trace.rounds[trace.rounds["parent"].isna()]
    drafted, accepted = int(top["drafted"].sum()), int(top["accepted"].sum())
    shown = (told["run_drafted"], told["run_accepted"], told["rate"])
    assert shown == (str(drafted), str(accepted), f"{accepted / drafted:.0%}")
    assert told["mean_length"] == f"{len(trace) / len(top):.2f}"
    assert told["rounds"] == f"{len(top)} forward passes"
    own = trace.calls.groupby("name")["duration_ns"].sum()
    shares = dict(re.findall(r"(\S+) ([\d.]+)%", told["shares"]))
    assert set(shares) == set(own.index)
    for name, share in shares.items():
        assert float(share) == pytest.approx(100 * own[name] / trace.meta["wall_ns"], abs=0.51)

    trace, _, told = place("lossless")
    plain = next(t for t in map(load_bundled, NAMES) if not t.draft_rows and t.meta["prompt"] == trace.meta["prompt"])
    assert plain.token_ids == trace.token_ids
    assert len(plain.round_rows) == len(plain) and told["rounds"] == f"{len(trace.round_rows)} forward passes"


# --- the card -----------------------------------------------------------------------------------------------------------


def press(tour: Tour, kind: str, **more) -> None:
    tour._on_message(tour, {"kind": kind, **more}, [])


def test_the_tour_goes_through_all_steps_and_ends(page):
    tour = Tour(page)
    assert tour.at is None and tour.button.description == "Take the tour"
    tour.button.click()
    for number, step in enumerate(STOPS):
        assert tour.at == number and tour.place["title"] == step["title"]
        assert tour.place["run"] == f"run of {step['recording']}" and page.shown == step["recording"]
        assert not step["tab"] or page.tab == step["tab"]
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
        tour.place == {} and tour.button.description == f"Resume the tour (3/{len(STOPS)})" and not tour.button.disabled
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
    press(tour, "kept", key=STOPS[4]["key"])
    tour.start()
    assert tour.at == 4
    press(tour, "kept", key=STOPS[0]["key"])
    assert tour.kept == STOPS[4]["key"], "a tour that goes on knows better"
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
