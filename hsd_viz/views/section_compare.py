"""The tab that sets runs of one prompt side by side: recordings, or decoded here with what stands in the form."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Protocol

import ipywidgets as widgets

from hsd_viz import views
from hsd_viz.stack import parse
from hsd_viz.trace import Finished, Stage, Trace
from hsd_viz.views.bench_run import Host
from hsd_viz.views.controls import Prose, Request, allowed
from hsd_viz.views.notice import Notice
from hsd_viz.views.sections import Page, Section, titled
from hsd_viz.views.versus import OPENING, SIDES, decode_each
from hsd_viz.views.versus_data import MOST


class CompareHost(Host, Protocol):
    """A page that lends its engine and says what stands in its form."""

    def request(self) -> Request: ...


class Compare(Section):
    title = "Compare"
    words = (
        "Runs of one prompt and seed, aligned by place in the text and raced on one clock, with the times that were recorded: what a stack "
        "saves is seen in how few forwards of the target it needed to get as far as the others."
    )

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.form: CompareRun | None = None

    def build(self) -> None:
        self.versus = views.Versus()
        if getattr(self.page, "can_measure", False):
            self.form = CompareRun(self.page, self.versus.show)
            self.add(titled("Compare on this page", self.form))
        self.add(self.versus)

    def depends_on(self) -> tuple:
        return ()


def read_stacks(text: str, names: Sequence[str] | None) -> list[str]:
    """The two or three stacks of ``text``, one a line. Raises ``ValueError`` with one sentence."""
    written = [line.strip() for line in text.splitlines() if line.strip()]
    if not 2 <= len(written) <= MOST:
        raise ValueError(f"two or {MOST} stacks can stand side by side: write one a line, not {len(written)}")
    for line in written:
        allowed(parse(line), names)
    return written


class CompareRun(widgets.VBox):
    """The form, its buttons and what it says. ``show(traces)`` is called, from the worker thread, when all have decoded."""

    def __init__(self, host: CompareHost, show: Callable[[Sequence[Trace]], None]) -> None:
        self._host, self._show = host, show
        self._stop = threading.Event()
        self.thread: threading.Thread | None = None
        self.notice = Notice()
        self.stacks = widgets.Textarea("\n".join(SIDES[name] for name in OPENING), description="Stacks, one a line", rows=MOST)
        self.stacks.add_class("hsd-code")
        self.stacks.add_class("hsd-lines")
        self.start = widgets.Button(description="Decode and compare", tooltip="Decode the form's prompt with each stack in turn")
        self.start.add_class("hsd-primary")
        self.cancel = widgets.Button(description="Cancel", tooltip="Stop after the token in progress", disabled=True)
        self.said = Prose()
        buttons = widgets.Box([self.start, self.cancel])
        buttons.add_class("hsd-buttons")
        words = Prose("Prompt, sampling and number of tokens are those of the form; each stack decodes a few tokens first, off the clock.")
        super().__init__([words, self.stacks, buttons, self.said, self.notice])
        for name in ("hsd-form", "hsd-measure"):
            self.add_class(name)
        self.start.on_click(self.notice.guard(self._on_start))
        self.cancel.on_click(self.notice.guard(self._on_cancel))

    def _on_start(self, _button: Any) -> None:
        self.notice.clear()
        stacks = read_stacks(self.stacks.value, self._host.model_names)
        request = self._host.request()
        if not self._host.hold():
            raise ValueError("a run goes on: compare when it has ended")
        self._stop.clear()
        self._going(True)
        self.said.value = "loading the models"
        self.thread = threading.Thread(target=self._work, args=(stacks, request), name="hsd-viz compare", daemon=True)
        self.thread.start()

    def _on_cancel(self, _button: Any) -> None:
        self._stop.set()
        self.said.value = "cancelling"

    def _work(self, stacks: list[str], request: Request) -> None:
        said, traces = "Cancelled: what was shown before stays.", []
        try:
            with closing(decode_each(self._host.lend_engine(), request.prompt, stacks, **request.options)) as events:
                for which, event in events:
                    if self._stop.is_set():
                        break
                    if isinstance(event, Stage):
                        self.said.value = f"{stacks[which]}: {event.text}"
                    elif isinstance(event, Finished):
                        traces.append(event.trace)
            if len(traces) == len(stacks):
                self._show(traces)
                said = "Decoded just now, on this machine."
        except Exception as error:  # shown as a card: nobody else hears of it
            said = ""
            self.notice.error(error, "These cannot be compared")
        finally:
            self.said.value = said
            self._going(False)
            self._host.release()

    def _going(self, going: bool) -> None:
        self.start.disabled, self.cancel.disabled = going, not going
