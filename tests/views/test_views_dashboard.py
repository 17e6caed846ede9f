"""The dashboard without a browser: what its buttons do, how runs end, and that no error is lost."""

from __future__ import annotations

import threading
import time

import pytest
from make_trace import make_trace

from hsd_viz.engine.beside import PAIRS
from hsd_viz.engine.replay import ReplayEngine, bundled
from hsd_viz.stack import parse
from hsd_viz.trace import Finished, Stage
from hsd_viz.views.app.dashboard import Dashboard
from hsd_viz.views.controls import GREEDY, LIVE, MAX_PROMPT, Controls
from hsd_viz.views.notice import Notice
from hsd_viz.views.presets import PROMPTS, STACKS, TEMPERATURE
from hsd_viz.views.runner import Run


class Engine:
    """An engine whose runs replay one trace, wait at a gate, or fail, as its prompt says."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked: list[tuple] = []
        self.closed = False

    def decode(self, prompt, stack, **options):
        self.asked.append((prompt, stack, options))
        if prompt == "refuse":
            raise ValueError("the prompt is refused: write another one")
        return self._events(prompt)

    def _events(self, prompt):
        try:
            for event in ReplayEngine(pace=0).replay(make_trace()):
                if isinstance(event, Finished) and prompt == "break":
                    raise RuntimeError("a wheel came off")
                yield event
                if prompt == "wait" and not isinstance(event, Stage):
                    self.gate.wait(20)
        finally:
            self.closed = True


@pytest.fixture
def page():
    return Dashboard(engine=Engine())


def press(page, prompt="go"):
    page.controls.prompt.value = prompt
    page.controls.run.click()


def wait(page):
    assert page._run.join(20)


def test_a_run_goes_to_the_engine_and_onto_the_page(page):
    c = page.controls
    c.stack.value, c.temperature.value, c.top_k.value, c.seed.value, c.length.value = (
        "db > nano > target",
        0.8,
        40,
        7,
        4,
    )
    press(page)
    wait(page)
    options = {"max_new_tokens": 4, "temperature": 0.8, "top_k": 40, "top_p": 1.0, "seed": 7, "rule": "token"}
    # Then plainly, to say how much faster the stack is, and again in pairs, for the spread.
    pair = [("go", "db > nano > target", options), ("go", parse("target"), options)]
    assert page.lender.engine.asked == pair * PAIRS
    assert len(page.stream.data["tokens"]["index"]) == 3 and not page.stream.live
    assert page.readout.origin["kind"] == "finished" and page.readout.origin["badge"] == "Finished run"
    assert page.readout.stage["text"] == "" and not c.run.disabled and c.cancel.disabled
    assert page.notice.message == ""
    page.tabs.strip.selected = page.tabs.strip.titles.index("Why")
    page.tabs.refresh()
    assert all(chart.drawn for chart in page.tabs.shown.parts[-1].charts.values())


def test_it_opens_on_the_first_recording_and_lists_all_with_their_speed_ups(page):
    recordings = bundled()
    assert page.controls.recording.value == recordings[0].name
    assert [label for label, _ in page.controls.recording.options] == [r.label for r in recordings]
    assert page.trace.meta["sampling"]["temperature"] == TEMPERATURE == page.controls.temperature.value


def test_the_form_starts_at_the_usual_temperature_and_says_what_greedy_decoding_does():
    form = Controls([], None, True)
    assert form.request().options["temperature"] == TEMPERATURE and form.greedy.value == ""
    for text, hint in (("0", GREEDY), ("0.0", GREEDY), ("-1", ""), ("1", "")):
        form.temperature.text = text
        assert form.greedy.value == hint, text
    assert "loop" in GREEDY


def test_the_menu_of_recordings_names_none_of_them_once_a_run_was_decoded_here(page):
    menu = page.controls.recording
    recorded = menu.value
    assert LIVE not in [value for _, value in menu.options], "there is no such run yet"
    press(page)
    wait(page)
    assert menu.value == LIVE and page.controls.replay.disabled and page.blurb.value == ""
    live = page.trace
    menu.value = recorded
    assert page.readout.origin["kind"] == "recording" and not page.controls.replay.disabled
    menu.value = LIVE
    assert (
        page.trace is live
        and page.readout.origin["kind"] == "finished"
        and page.controls.prompt.value == live.meta["prompt"]
    )


def test_a_run_that_cannot_begin_leaves_the_recording_and_its_name(page):
    menu, shown = page.controls.recording, page.trace
    before = menu.value
    page.controls.temperature.text = "1000"
    press(page)
    assert page.notice.message == "Temperature must be a number from 0 to 100, not 1000"
    assert (menu.value, page.trace) == (before, shown) and page.lend_engine().asked == []


def test_what_was_on_the_page_comes_back_after_the_tour(page):
    press(page)
    wait(page)
    live, written = page.trace, (page.controls.prompt.value, page.controls.stack.value)
    page.guide.tour.start()
    assert page.trace is not live and page.readout.origin["kind"] == "recording"
    page.guide.tour.leave()
    assert page.trace is live and page.controls.recording.value == LIVE
    assert (page.controls.prompt.value, page.controls.stack.value) == written
    # What is run in the midst of the tour stays.
    page.guide.tour.start()
    press(page)
    wait(page)
    second = page.trace
    page.guide.tour.leave()
    assert page.trace is second is not live


def test_plain_decoding_beside_it_can_be_left_out(page):
    page.controls.beside.value = False
    press(page)
    wait(page)
    assert [stack for _, stack, _ in page.lender.engine.asked] == [page.controls.stack.value]


def test_while_a_run_goes_on_only_cancel_can_be_pressed(page):
    page.tabs.strip.selected = page.tabs.strip.titles.index("Why")
    page.tabs.refresh()
    (row,) = page.tabs.shown.parts[-1].of_run
    press(page, "wait")
    assert page.controls.run.disabled and page.controls.recording.disabled and not page.controls.cancel.disabled
    page._on_run(None)
    assert len(page.lender.engine.asked) == 1
    until = time.monotonic() + 10
    while "hsd-stale" not in row._dom_classes and time.monotonic() < until:
        time.sleep(0.01)
    # What is shown while it goes on is this run's, and the charts of the run before say that they are.
    assert page.readout.origin["kind"] == "live" and "hsd-stale" in row._dom_classes
    page.controls.cancel.click()
    assert page.readout.stage["text"] == "cancelling"
    page.lender.engine.gate.set()
    wait(page)
    assert "hsd-stale" not in row._dom_classes
    assert page.lender.engine.closed, "closing the generator is what cancels the decode"
    assert not page.controls.run.disabled and page.notice.message == ""


@pytest.mark.parametrize(
    ("prompt", "words", "details"), [("refuse", "is refused", False), ("break", "a wheel came off", True)]
)
def test_an_error_is_a_card_and_the_next_run_works(page, prompt, words, details):
    press(page, prompt)
    wait(page)
    assert words in page.notice.message
    assert bool(page.notice.details) == details
    assert not page.controls.run.disabled and page.controls.cancel.disabled and page.readout.stage["text"] == ""
    press(page)
    wait(page)
    assert page.notice.message == "" and len(page.stream.data["tokens"]["index"]) == 3


def test_what_was_decoded_before_an_error_stays(page):
    press(page, "break")
    wait(page)
    assert len(page.stream.data["tokens"]["index"]) == 3


def test_bad_stack_text_never_reaches_the_engine(page):
    page.controls.stack.value = "db > > target"
    assert "is empty" in page.controls.blocks.error and page.notice.message == ""
    page.controls.run.click()
    assert page.lender.engine.asked == []
    assert "is empty" in page.notice.message
    page.controls.stack.value = "target"
    assert page.notice.message == ""


def test_only_ladder_names_unless_models_are_allowed():
    closed, opened = Dashboard(engine=Engine()), Dashboard(engine=Engine(), allow_models=True)
    for page in (closed, opened):
        page.controls.stack.value = "some/model > target"
        page.controls.run.click()
    assert (
        "not allowed on this page" in closed.notice.message
        and "not allowed on this page" in closed.controls.blocks.error
    )
    assert opened.notice.message == "" and opened.controls.blocks.error == ""


def test_recordings_are_picked_and_replayed(page):
    names = [name for _, name in page.controls.recording.options if name]
    assert page.controls.recording.value == names[0]
    for name in names[1:3]:
        page.controls.recording.value = name
        assert page.readout.origin["kind"] == "recording"
        assert page.controls.prompt.value == page.stream.data["prompt"]
        parse(page.controls.stack.value)
    assert page.notice.message == ""


def test_presets_fill_the_form_and_are_readable():
    controls = Controls([], None, True)
    for place, preset in enumerate(PROMPTS):
        controls.preset.value = place
        assert (controls.prompt.value, controls.blurb.value) == (preset.prompt, preset.blurb)
    for stack, _ in STACKS:
        assert str(parse(stack)) == stack
        controls.stacks.value = stack
        assert controls.stack.value == stack
    controls.prompt.value = "written by hand"
    assert controls.preset.value == -1 and controls.blurb.value == "", "nor does the list of prompts"
    controls.prompt.value = PROMPTS[1].prompt
    assert controls.preset.value == 1
    controls.stack.value = "small:2 > target"
    assert controls.stacks.value == "", "the list no longer says what is written"


def test_a_prompt_too_long_for_the_page_is_one_sentence():
    controls = Controls([], None, True)
    controls.prompt.value = "x" * (MAX_PROMPT + 1)
    with pytest.raises(ValueError, match="the maximum is 20000"):
        controls.request()


def test_without_torch_the_page_says_so_and_offers_no_run(monkeypatch):
    monkeypatch.setattr("hsd_viz.views.lender.can_decode", lambda: False)
    page = Dashboard()

    def shown(widget):
        yield widget
        for child in getattr(widget, "children", ()):
            yield from shown(child)

    everything = list(shown(page))
    assert (
        page.controls.run not in everything
        and page.controls.replay in everything
        and page.controls.cancel in everything
    )
    assert any("replays recordings" in str(getattr(w, "value", "")) for w in everything)


def test_steps_are_flushed_at_most_twenty_times_a_second():
    class Watcher:
        def __init__(self):
            self.flushes, self.steps, self.ends = [], 0, []

        def on_stage(self, stage): ...
        def on_started(self, started): ...

        def on_steps(self, steps, trace):
            self.flushes.append(time.monotonic())
            self.steps += len(steps)

        def on_end(self, trace, error):
            self.ends.append((trace, error))

    def events():
        _stage, started, step, *_ = ReplayEngine(pace=0).replay(make_trace())
        yield started
        for _ in range(300):
            time.sleep(0.001)
            yield step

    watcher = Watcher()
    assert Run(events, watcher).join(30)
    assert watcher.steps == 300
    # All but the last flush, which empties what is waiting, keep their distance.
    assert min(b - a for a, b in zip(watcher.flushes[:-1], watcher.flushes[1:-1], strict=False)) >= 0.045
    ((trace, error),) = watcher.ends
    assert error is None and len(trace.round_rows) == 600


def test_a_guarded_callback_shows_what_it_raises():
    notice = Notice()
    assert notice.guard(lambda: 1 / 0)() is None
    assert "ZeroDivisionError" in notice.title and "Traceback" in notice.details
    notice.clear()
    assert notice.message == ""
    assert notice.guard(lambda x: x + 1)(2) == 3
