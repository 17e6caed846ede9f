"""What the browser keeps: the form over a reload and a chosen recording, the run decoded here, and the address of the page."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from make_trace import make_trace

from hsd_viz.engine.replay import ReplayEngine, bundled
from hsd_viz.trace import Trace
from hsd_viz.views.address import parameters, read, slug
from hsd_viz.views.app.dashboard import Dashboard
from hsd_viz.views.controls import LIVE

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
    tell(page, kind="stored", form={"form": form, "own": None})
    assert (page.controls.prompt.value, page.controls.seed.text, page.controls.device.value) == ("mine", "9", "")
    assert page.controls.beside.value is False and page.session.form["form"]["prompt"] == "mine"
    other = Dashboard(engine=Engine())
    other.guide.follow("?stack=nano:4 > target&seed=3")
    tell(other, kind="stored", form={"form": form})
    assert (other.controls.stack.value, other.controls.seed.text) == ("nano:4 > target", "3")
    assert other.controls.prompt.value != "mine"
    other.controls.undo.click()
    assert other.controls.prompt.value == "mine", "what the link replaced can be restored"


@pytest.mark.parametrize("form", [None, [], "x", {"form": 3}, {"form": {"prompt": 7, "stack": None, "seed": [1]}}])
def test_a_broken_stored_form_changes_nothing(page, form):
    before = page.controls.state()
    tell(page, kind="stored", form=form)
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


def test_the_run_decoded_here_is_kept_and_comes_back_after_a_reload(page):
    tell(page, kind="stored", form=None)
    run(page, "one")
    run(page, "two")
    files = [buffers[0] for content, buffers in page.sent if content["kind"] == "keep"]
    assert [Trace.from_bytes(file).meta["prompt"] for file in files] == ["one", "two"]
    assert [value for _, value in page.controls.recording.options] == [LIVE, *NAMES]
    query = urlencode(page.guide.address.state)
    assert "trace=here" in query
    other = Dashboard(engine=Engine())
    other.guide.follow(query)
    assert other.controls.recording.value == NAMES[0] and other.notice.message == "", "it waits for the browser"
    tell(other, kind="stored", form=form_of(page, seed="77"), buffers=[files[1]])
    assert (other.trace.meta["prompt"], other.controls.recording.value) == ("two", LIVE)
    assert other.readout.origin["kind"] == "finished" and other.controls.seed.text == "77"
    other.controls.recording.value = NAMES[1]
    other.controls.recording.value = LIVE
    assert other.trace.meta["prompt"] == "two"


@pytest.mark.parametrize("file", [[], [b"no trace"]])
def test_a_run_that_is_not_stored_is_reported_and_its_form_filled(page, file):
    page.guide.follow("?trace=here&prompt=asked&seed=4")
    tell(page, kind="stored", form=form_of(page, prompt="mine"), buffers=file)
    assert "no longer stored in this browser" in page.notice.message and page.controls.recording.value == NAMES[0]
    assert (page.controls.prompt.value, page.controls.seed.text) == ("asked", "4")
    page.controls.undo.click()
    assert page.controls.prompt.value == "mine", "what the address replaced can be restored"


def test_a_stored_run_is_offered_but_not_shown_where_the_address_names_another(page):
    page.guide.follow(f"?trace={NAMES[1]}")
    tell(page, kind="stored", form=None, buffers=[make_trace(prompt="stored").to_bytes()])
    assert page.controls.recording.value == NAMES[1]
    page.controls.recording.value = LIVE
    assert page.trace.meta["prompt"] == "stored"


def form_of(page, **fields):
    return {"form": {**page.controls.state(), **fields}, "own": None}


def test_the_address_has_the_recording_the_tab_and_what_was_changed(page):
    state = lambda: dict(page.guide.address.state)
    assert state() == {}, "as on a new page"
    page.controls.recording.value = NAMES[1]
    assert state() == {"trace": NAMES[1]}
    page.tabs.strip.selected = page.tabs.strip.titles.index("Time")
    page.controls.seed.text = "8"
    assert state() == {"trace": NAMES[1], "tab": "time", "seed": "8"}
    page.controls.prompt.value = "x" * 5000
    assert state() == {"trace": NAMES[1], "tab": "time"}, "a long prompt is stored in the browser alone"
    run(page, "short")
    assert state() | {"trace": "here", "prompt": "short"} == state()


def test_back_returns_to_what_an_address_names(page):
    page.controls.recording.value = NAMES[1]
    page.guide.address._on_message(None, {"kind": "back", "query": "?tab=time&stack=nano:2 > target&seed=4"}, [])
    assert page.controls.recording.value == NAMES[0] and page.tabs.shown.title == "Time"
    assert (page.controls.stack.value, page.controls.seed.text) == ("nano:2 > target", "4")
    page.guide.address._on_message(None, {"kind": "back", "query": ""}, [])
    assert page.tabs.shown.title == "Watch" and page.notice.message == ""


@pytest.mark.parametrize("first", ["query", "stored"])
def test_the_stored_form_and_the_address_may_arrive_in_any_order(monkeypatch, first):
    monkeypatch.setenv("VOILA_PREHEAT", "True")
    page = Dashboard(engine=Engine())
    stored = lambda: tell(page, kind="stored", form=form_of(page, prompt="mine"))
    asked = lambda: page.guide.address._on_message(None, {"kind": "query", "query": f"?trace={NAMES[1]}"}, [])
    for message in (stored, asked) if first == "stored" else (asked, stored):
        message()
    assert page.controls.recording.value == NAMES[1]
    assert page.controls.prompt.value == "mine" == page.session.form["form"]["prompt"]


def test_a_return_is_answered_with_its_number(page):
    page.guide.address._on_message(None, {"kind": "back", "query": "?tab=time", "number": 4}, [])
    assert page.guide.address.returned == 4 and page.guide.address.state == {"tab": "time"}


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
