"""What the browser keeps: the form over a reload and a chosen recording, the last runs, and the address of the page."""

from __future__ import annotations

import pytest
from make_trace import make_trace

from hsd_viz.engine.replay import ReplayEngine, bundled
from hsd_viz.trace import Trace
from hsd_viz.views.address import parameters, read, slug
from hsd_viz.views.app.dashboard import Dashboard
from hsd_viz.views.controls import LIVE
from hsd_viz.views.session import KEPT, MOST_HELD

NAMES = [r.name for r in bundled()]


class Engine:
    def decode(self, prompt, stack, **options):
        return ReplayEngine(pace=0).replay(make_trace(prompt=prompt))


@pytest.fixture
def page():
    made = Dashboard(engine=Engine())
    made.sent = []
    made.session.send = lambda content, buffers=None: made.sent.append((content, buffers))
    return made


def tell(page, **content):
    page.session._on_message(page.session, content, content.pop("buffers", []))


def run(page, prompt="go"):
    page.controls.prompt.value = prompt
    page.controls.run.click()
    assert page._run.join(20)


def test_a_stored_form_comes_back_unless_the_address_has_one(page):
    form = {**page.controls.state(), "prompt": "mine", "seed": "9", "device": "no such", "beside": False, "x": 1}
    tell(page, kind="stored", form={"form": form, "own": None}, runs=[])
    assert (page.controls.prompt.value, page.controls.seed.text, page.controls.device.value) == ("mine", "9", "")
    assert page.controls.beside.value is False and page.session.form["form"]["prompt"] == "mine"
    other = Dashboard(engine=Engine())
    other.guide.follow("?stack=nano:4 > target&seed=3")
    tell(other, kind="stored", form={"form": form}, runs=[])
    assert (other.controls.stack.value, other.controls.seed.text) == ("nano:4 > target", "3")
    assert other.controls.prompt.value != "mine"
    other.controls.undo.click()
    assert other.controls.prompt.value == "mine", "what the link replaced can be restored"


@pytest.mark.parametrize("form", [None, [], "x", {"form": 3}, {"form": {"prompt": 7, "stack": None, "seed": [1]}}])
def test_a_broken_stored_form_changes_nothing(page, form):
    before = page.controls.state()
    tell(page, kind="stored", form=form, runs="none")
    assert page.controls.state() == before and page.notice.message == ""


def test_choosing_a_recording_offers_to_restore_what_was_written(page):
    assert page.controls.undo.layout.display == "none"
    page.controls.recording.value = NAMES[1]
    assert page.controls.undo.layout.display == "none", "nothing was written yet"
    page.controls.prompt.value, page.controls.seed.text = "mine", "5"
    page.controls.recording.value = NAMES[2]
    assert page.controls.prompt.value != "mine" and page.controls.undo.layout.display is None
    page.controls.recording.value = NAMES[3]
    page.controls.undo.click()
    assert (page.controls.prompt.value, page.controls.seed.text) == ("mine", "5")
    assert page.controls.undo.layout.display == "none"


def test_runs_are_kept_and_can_be_chosen_again(page):
    tell(page, kind="stored", form=None, runs=[])
    run(page, "one")
    run(page, "two")
    kept = [(content["run"], buffers) for content, buffers in page.sent if content["kind"] == "keep"]
    assert len(kept) == 2 and Trace.from_bytes(kept[0][1][0]).meta["prompt"] == "one"
    menu = [value for _, value in page.controls.recording.options]
    assert menu[:2] == [LIVE, f"{KEPT}{kept[0][0]['id']}"] and menu[2:] == NAMES
    page.controls.recording.value = menu[1]
    assert page.trace.meta["prompt"] == "one" and page.readout.origin["kind"] == "finished"
    assert page.controls.prompt.value == "one"
    page.controls.recording.value = LIVE
    assert page.trace.meta["prompt"] == "two"


def test_a_kept_run_is_read_from_the_browser_and_may_be_gone(page):
    tell(page, kind="stored", form=None, runs=[{"id": "a", "label": "earlier"}, {"id": "b", "label": "gone"}, 7])
    assert page.controls.recording.options[:2] == (("earlier", f"{KEPT}a"), ("gone", f"{KEPT}b"))
    assert page.controls.recording.value == NAMES[0], "the list of runs changes nothing that is shown"
    page.controls.recording.value = f"{KEPT}a"
    assert page.sent[-1][0] == {"kind": "fetch", "id": "a"} and page.readout.origin["kind"] == "recording"
    tell(page, kind="run", id="a", buffers=[make_trace(prompt="stored").to_bytes()])
    assert page.trace.meta["prompt"] == "stored"
    page.controls.recording.value = f"{KEPT}b"
    tell(page, kind="gone", id="b")
    assert page.notice.message == "the run is no longer stored in this browser"
    tell(page, kind="run", id="b", buffers=[b"no trace"])
    tell(page, kind="run", id="unknown", buffers=[make_trace(prompt="other").to_bytes()])
    assert page.trace.meta["prompt"] == "stored"


def test_the_kernel_holds_few_runs(page):
    for k in range(MOST_HELD + 2):
        page.session.keep(make_trace(prompt=str(k)), str(k))
    assert len(page.session._held) == MOST_HELD


def test_the_address_has_the_recording_the_tab_and_what_was_changed(page):
    state = lambda: dict(page.guide.address.state)
    assert state() == {}, "as on a new page"
    page.controls.recording.value = NAMES[1]
    assert state() == {"trace": NAMES[1]}
    page.tabs.strip.selected = page.tabs.strip.titles.index("Timeline")
    page.controls.seed.text = "8"
    assert state() == {"trace": NAMES[1], "tab": "timeline", "seed": "8"}
    page.controls.prompt.value = "x" * 5000
    assert state() == {"trace": NAMES[1], "tab": "timeline"}, "a long prompt is stored in the browser alone"
    run(page, "short")
    assert state()["trace"] == f"{KEPT}{page.history.last_id}"


def test_back_returns_to_what_an_address_names(page):
    page.controls.recording.value = NAMES[1]
    page.guide.address._on_message(None, {"kind": "back", "query": "?tab=timeline&stack=nano:2 > target&seed=4"}, [])
    assert page.controls.recording.value == NAMES[0] and page.tabs.shown.title == "Timeline"
    assert (page.controls.stack.value, page.controls.seed.text) == ("nano:2 > target", "4")
    page.guide.address._on_message(None, {"kind": "back", "query": ""}, [])
    assert page.tabs.shown.title == "Round" and page.notice.message == ""


def test_an_address_of_a_kept_run_waits_for_the_browser(page):
    page.guide.follow(f"?trace={KEPT}a")
    assert page.controls.recording.value == NAMES[0] and page.notice.message == ""
    tell(page, kind="stored", form=None, runs=[{"id": "a", "label": "earlier"}])
    assert page.controls.recording.value == f"{KEPT}a"
    other = Dashboard(engine=Engine())
    other.guide.follow(f"?trace={KEPT}z")
    tell(other, kind="stored", form=None, runs=[])
    assert "no longer stored in this browser" in other.notice.message


EARLIER = [{"id": "a", "label": "earlier"}]


def form_of(page, **fields):
    return {"form": {**page.controls.state(), **fields}, "own": None}


@pytest.mark.parametrize(
    ("query", "stored", "expected"),
    [
        (f"?trace={KEPT}a", {"prompt": "mine", "seed": "7"}, ("mine", "7")),
        (f"?trace={KEPT}a&prompt=asked", {"prompt": "mine", "seed": "7"}, ("asked", "3")),
        (f"?trace={KEPT}a", None, ("stored", "3")),
    ],
)
def test_a_form_stays_over_a_run_that_is_read_later(page, query, stored, expected):
    page.guide.follow(query)
    tell(page, kind="stored", form=stored and form_of(page, **stored), runs=EARLIER)
    tell(page, kind="run", id="a", buffers=[make_trace(prompt="stored", sampling={"seed": 3}).to_bytes()])
    assert page.trace.meta["prompt"] == "stored"
    assert (page.controls.prompt.value, page.controls.seed.text) == expected
    assert page.session.form["form"]["prompt"] == expected[0]
    if stored and stored["prompt"] != expected[0]:
        page.controls.undo.click()
        assert page.controls.prompt.value == "mine", "what the address replaced can be restored"
    else:
        assert page.controls.undo.layout.display == "none", "there is nothing to restore"


def test_what_is_written_while_a_run_is_read_stays(page):
    page.guide.follow(f"?trace={KEPT}a&prompt=asked")
    tell(page, kind="stored", form=None, runs=EARLIER)
    page.controls.prompt.value = "written"
    tell(page, kind="run", id="a", buffers=[make_trace(prompt="stored").to_bytes()])
    assert page.controls.prompt.value == "written"


def test_a_form_stays_over_no_other_run(page):
    page.guide.follow(f"?trace={KEPT}a&prompt=asked")
    tell(page, kind="stored", form=None, runs=EARLIER)
    page.controls.recording.value = NAMES[1]
    assert page.controls.prompt.value == page.trace.meta["prompt"]
    tell(page, kind="run", id="a", buffers=[make_trace(prompt="stored").to_bytes()])
    assert page.controls.prompt.value == page.trace.meta["prompt"] != "stored"


@pytest.mark.parametrize("first", ["query", "stored"])
def test_the_stored_form_and_the_address_may_arrive_in_any_order(monkeypatch, first):
    monkeypatch.setenv("VOILA_PREHEAT", "True")
    page = Dashboard(engine=Engine())
    stored = lambda: tell(page, kind="stored", form=form_of(page, prompt="mine"), runs=[])
    asked = lambda: page.guide.address._on_message(None, {"kind": "query", "query": f"?trace={NAMES[1]}"}, [])
    for message in (stored, asked) if first == "stored" else (asked, stored):
        message()
    assert page.controls.recording.value == NAMES[1]
    assert page.controls.prompt.value == "mine" == page.session.form["form"]["prompt"]


def test_a_return_is_answered_with_its_number(page):
    page.guide.address._on_message(None, {"kind": "back", "query": "?tab=timeline", "number": 4}, [])
    assert page.guide.address.returned == 4 and page.guide.address.state == {"tab": "timeline"}


def test_parameters_of_a_form_are_read_as_they_are_written():
    form = {"prompt": "a b&c", "stack": "db > target", "temperature": "0.5", "length": "64", "device": "cpu"}
    written = parameters(form)
    assert written == {"prompt": "a b&c", "stack": "db > target", "temperature": "0.5", "tokens": "64"}
    assert read("prompt=a+b%26c&stack=db+%3E+target&temperature=0.5&tokens=64", NAMES).form == {
        name: value for name, value in form.items() if name != "device"
    }
    asked = read("tab=my-tab", NAMES, ["My tab"])
    assert asked.tab == "My tab" and slug("My tab") == "my-tab"
    assert "no tab is named 'other'" in read("tab=other", NAMES, ["My tab"]).ignored[0]
