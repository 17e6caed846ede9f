"""The Compare tab: runs of one prompt side by side, recorded or decoded here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Protocol

import ipywidgets as widgets

from hsd_viz.machine import busy_words
from hsd_viz.stack import parse
from hsd_viz.trace import Finished, Stage, Trace
from hsd_viz.views.controls import Prose, Request, allowed
from hsd_viz.views.notice import Notice
from hsd_viz.views.save import Save
from hsd_viz.views.save_forms import VERSUS_FORMS, saved_versus
from hsd_viz.views.section import Page, Section, titled
from hsd_viz.views.versus import OPENING, SIDES, Versus, decode_each, side, words
from hsd_viz.views.versus_data import MOST
from hsd_viz.views.work_form import Host, WorkForm

#: Buttons that add or remove a stack: label and name in :data:`hsd_viz.views.versus.SIDES`.
PRESETS = (
    ("Plain", "plain"),
    ("HD", "published"),
    ("Databases", "databases"),
    ("HSD", "hierarchy"),
    ("Databases + HSD", "both"),
)


class CompareHost(Host, Protocol):
    """A page that lends its engine and reads its form."""

    def request(self) -> Request: ...


class CompareSection(Section):
    follows = False
    words = (
        "Runs of one prompt and seed, aligned by output position, with their recorded times: a faster stack needs "
        "fewer target forward passes for the same position."
    )

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.form: CompareRun | None = None

    def build(self) -> None:
        self.versus = Versus()
        if getattr(self.page, "can_measure", False):
            self.form = CompareRun(self.page, self.versus.show)
            self.add(titled("Compare on this page", self.form))
        # Saves the runs shown: recordings, or runs decoded here.
        notice = Notice()
        self.save = Save(
            VERSUS_FORMS,
            lambda form: saved_versus(self.versus.data, form),
            lambda error: notice.error(error, "Save failed"),
            "Save as a page",
        )
        row = widgets.Box([self.save], layout={"justify_content": "flex-end"})
        self.add(row, notice, self.versus)
        self.versus.observe(lambda _change: self._can_save(), "data")
        self._can_save()

    def _can_save(self) -> None:
        self.save.disabled = not self.versus.data

    def depends_on(self) -> tuple:
        return ()


def read_stacks(text: str, names: Sequence[str] | None) -> list[str]:
    """Parse two or three stacks, one per line, by name or in full.

    Raises: ValueError: for another number or an invalid stack.
    """
    written = _lines(text)
    if not 2 <= len(written) <= MOST:
        raise ValueError(f"write two or three stacks, one per line, not {len(written)}")
    for line in written:
        allowed(parse(line), names)
    return written


def _lines(text: str) -> list[str]:
    return [side(line.strip()) for line in text.splitlines() if line.strip()]


class CompareRun(WorkForm):
    """The form of the Compare tab. ``show(traces)`` is called from the worker thread after all stacks have decoded."""

    START = ("Decode and compare", "Decode the form's prompt with each stack in turn (Ctrl+Enter)")
    CANCEL = ("Stop after the current token", "cancelling")
    TAKEN = "a run is in progress: compare after it ends"
    FAILED = "Comparison failed"

    def __init__(self, host: CompareHost, show: Callable[[Sequence[Trace]], None]) -> None:
        super().__init__(host, [SIDES[name] for name in OPENING], "Stacks, one per line", rows=MOST)
        self._show = show
        note = Prose(
            "Uses the form's prompt, sampling and number of tokens; each stack first decodes a few untimed tokens. "
            "HD: Hierarchy Drafting. HSD: Hierarchical Speculative Decoding."
        )
        self.presets = [
            widgets.ToggleButton(description=label, tooltip=f"{words(SIDES[name])}: {SIDES[name]}")
            for label, name in PRESETS
        ]
        choices = widgets.Box(self.presets)
        choices.add_class("hsd-presets")
        self.lay_out(note, choices, self.stacks)
        self._on_text()
        self.stacks.observe(self.notice.guard(lambda _change: self._on_text()), "value")
        for button, (_, name) in zip(self.presets, PRESETS, strict=True):
            button.observe(
                self.notice.guard(lambda change, stack=SIDES[name]: self._on_preset(stack, change.new)), "value"
            )

    def _on_text(self) -> None:
        """Update the buttons from the text."""
        written = _lines(self.stacks.value)
        for button, (_, name) in zip(self.presets, PRESETS, strict=True):
            button.value = SIDES[name] in written

    def _on_preset(self, stack: str, on: bool) -> None:
        if on == (stack in _lines(self.stacks.value)):
            return
        kept = [line for line in self.stacks.value.splitlines() if line.strip() and (on or side(line.strip()) != stack)]
        self.stacks.value = "\n".join([*kept, stack] if on else kept)

    def prepare(self) -> Callable[[], str]:
        return partial(self._compare, read_stacks(self.stacks.value, self._host.model_names), self._host.request())

    def _compare(self, stacks: list[str], request: Request) -> str:
        traces = []
        with closing(decode_each(self._host.lend_engine(), request.prompt, stacks, **request.options)) as events:
            for which, event in events:
                if self.cancelled():
                    break
                if isinstance(event, Stage):
                    self.said.value = f"{stacks[which]}: {event.text}"
                elif isinstance(event, Finished):
                    traces.append(event.trace)
        if len(traces) < len(stacks):
            return "Cancelled. The previous comparison is unchanged."
        self._show(traces)
        return f"Decoded now on this machine. {busy_words()}".rstrip()
