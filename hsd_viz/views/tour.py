"""The guided tour: steps through recordings that teach what the page shows, each at a place found by a rule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import ipywidgets as widgets
import traitlets

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.views.linked import LinkedView, css, esm
from hsd_viz.views.tour_places import Found, Load
from hsd_viz.views.tour_steps import STEPS, TourStep, locate


class TourPage(Protocol):
    """What the tour asks of the page it is on."""

    def open_recording(self, name: str) -> str:
        """Show a recording, unless it is there; the name of the run as the browser knows it. Raises ``ValueError`` where that cannot be."""
        ...

    def close(self) -> None:
        """The tour is over, or left: what was on the page before it comes back."""
        ...

    def open_tab(self, title: str) -> None:
        """Bring a tab to the front; nothing where there is no such tab."""
        ...


class Tour(LinkedView):
    """A card at the foot of the page that leads through it; nothing is seen of it until :meth:`start`. ``button`` starts and resumes it.

    ``place`` is the step shown: its number and how many there are, heading, paragraphs, the run and event to put the cursor on, what to
    point at. ``kept`` is the key of the step where a reader was; the browser keeps it for as long as its tab is open. ``guard`` wraps
    what the browser calls.
    """

    _esm = esm("tour.js")
    _css = css("tour.css")

    place = traitlets.Dict().tag(sync=True)
    kept = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        page: TourPage,
        group: str | None = None,
        names: Sequence[str] | None = None,
        load: Load = load_bundled,
        steps: Sequence[TourStep] = STEPS,
        guard: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda callback: callback,
    ) -> None:
        self._page = page
        self._names = [r.name for r in bundled()] if names is None else list(names)
        self._load: Load = functools.cache(load)
        self._steps = list(steps)
        self._found: dict[str, tuple[str, Found] | None] = {}
        self.button = widgets.Button(tooltip="Learn what the page shows, step by step, on recorded runs")
        self.button.add_class("hsd-quiet")
        self.button.add_class("hsd-tour-button")
        super().__init__(group=group)
        self.add_class("hsd-tour-dock")
        self.button.on_click(guard(lambda _button: self.start()))
        self.on_msg(guard(self._on_message))
        self.observe(lambda _change: self._label(), ["kept", "place"])
        self._label()

    @property
    def at(self) -> int | None:
        """The step shown, from 0; ``None`` while there is no tour."""
        return self.place["number"] - 1 if self.place else None

    def start(self) -> None:
        """Begin, or go on where the reader was; the card that is there takes the keyboard."""
        if self.place:
            self.send({"kind": "here"})
            return
        keys = [s.key for s in self._steps]
        self._go(keys.index(self.kept) if self.kept in keys else 0, 1)

    def leave(self) -> None:
        """Put the card away; :meth:`start` goes on from here."""
        self.place = {}
        self._page.close()

    def move(self, by: int) -> None:
        """The next step (1), or the one before (-1). After the last one the tour is over."""
        if self.at is None:
            return
        if self.at + by >= len(self._steps):
            self.kept = ""
            self.leave()
        elif self.at + by >= 0:
            self._go(self.at + by, by)

    def _go(self, number: int, by: int) -> None:
        """Show step ``number``, or the next in the direction of ``by`` whose place the recordings have."""
        while 0 <= number < len(self._steps) and self._locate(number) is None:
            number += by
        found = self._locate(number) if 0 <= number < len(self._steps) else None
        if found is None:
            raise ValueError("the recorded runs that are installed have no place for the tour to show")
        step, (name, where) = self._steps[number], found
        try:
            run = self._page.open_recording(name)
        except ValueError as error:
            if not self.place:
                raise
            self.place = {**self.place, "trouble": str(error)}
            return
        self.place = {
            "key": step.key,
            "number": number + 1,
            "count": len(self._steps),
            "title": step.title,
            "text": [paragraph.format_map(where.figures) for paragraph in step.text],
            "run": run,
            "step": where.step,
            "targets": list(step.targets),
            "trouble": "",
        }
        self.kept = step.key
        # The card need not wait for what a tab has to draw.
        if step.tab:
            self._page.open_tab(step.tab)

    def _locate(self, number: int) -> tuple[str, Found] | None:
        step = self._steps[number]
        if step.key not in self._found:
            self._found[step.key] = locate(step, self._names, self._load)
        return self._found[step.key]

    def _label(self) -> None:
        keys = [s.key for s in self._steps]
        resumes = self.kept in keys and keys.index(self.kept) > 0
        self.button.description = (
            f"Resume the tour ({keys.index(self.kept) + 1}/{len(keys)})" if resumes else "Take the tour"
        )

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        actions: dict[str, Callable[[], None]] = {
            "next": lambda: self.move(1),
            "back": lambda: self.move(-1),
            "leave": self.leave,
            "restart": lambda: self._go(0, 1),
        }
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind in actions:
            actions[kind]()
        elif kind == "kept" and not self.place and content.get("key") in [s.key for s in self._steps]:
            self.kept = content["key"]
