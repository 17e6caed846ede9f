"""The guided tour: steps through recordings, each at a place found by a rule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import ipywidgets as widgets
import traitlets

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.views.linked import LinkedView
from hsd_viz.views.scripts import STATIC
from hsd_viz.views.tour_places import Found, Load
from hsd_viz.views.tour_steps import LESSONS, STEPS, TourStep, locate
from hsd_viz.words import did_you_mean


class TourPage(Protocol):
    """The page of the tour."""

    def open_recording(self, name: str) -> str:
        """Show a recording and return its run name in the browser. Raises: ValueError: if a run is in progress."""
        ...

    def close(self) -> None:
        """Restore the run shown before the tour."""
        ...

    def open_tab(self, title: str) -> None:
        """Select a tab, if it exists."""
        ...


class Tour(LinkedView):
    """A card at the bottom of the page, hidden until :meth:`start`. ``button`` starts and resumes the tour.

    ``place`` is the current step: number, count, heading, paragraphs, the run and event of the cursor, and the element
    to outline. ``kept`` is the key of the last step, stored by the browser for the session. ``guard`` wraps browser
    callbacks.
    """

    _esm = STATIC / "tour.js"
    _css = STATIC / "tour.css"

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
        self.button = widgets.Button(tooltip="Learn the page step by step on recorded runs")
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
        """The current step, from 0; ``None`` outside the tour."""
        return self.place["number"] - 1 if self.place else None

    def start(self) -> None:
        """Start or resume; an open card takes the keyboard focus."""
        if self.place:
            self.send({"kind": "here"})
            return
        keys = [s.key for s in self._steps]
        self._go(keys.index(self.kept) if self.kept in keys else 0, 1)

    def leave(self) -> None:
        """Hide the card; :meth:`start` resumes from here."""
        self.place = {}
        self._page.close()

    def move(self, by: int) -> None:
        """Move to the next step (1) or the previous one (-1); the tour ends after the last."""
        if self.at is None:
            return
        if self.at + by >= len(self._steps):
            self.kept = ""
            self.leave()
        elif self.at + by >= 0:
            self._go(self.at + by, by)

    def _go(self, number: int, by: int) -> None:
        """Show step ``number``, or the next one in direction ``by`` with a place in the recordings."""
        while 0 <= number < len(self._steps) and self._locate(number) is None:
            number += by
        found = self._locate(number) if 0 <= number < len(self._steps) else None
        if found is None:
            raise ValueError("the installed recordings have no place for any step of the tour")
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
            "lesson": _lesson_label(step.key),
        }
        self.kept = step.key
        # Show the card before the tab is drawn.
        if step.tab:
            self._page.open_tab(step.tab)

    def open_at(self, key: str) -> None:
        """Start at a step. Raises: ValueError: if there is no such step."""
        keys = [s.key for s in self._steps]
        if key not in keys:
            raise ValueError(f"the tour has no step '{key}' (use {', '.join(keys)}){did_you_mean(key, keys)}")
        self._go(keys.index(key), 1)

    def _send_lesson(self) -> None:
        """Send the page of the step's lesson to the browser, which has opened a window for it."""
        from hsd_viz.views.lessons import page

        if self.at is not None:
            self.send({"kind": "lesson", "html": page(_lesson_of(self._steps[self.at].key))})

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
            "lesson": self._send_lesson,
        }
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind in actions:
            actions[kind]()
        elif kind == "kept" and not self.place and content.get("key") in [s.key for s in self._steps]:
            self.kept = content["key"]


def _lesson_of(key: str) -> Path:
    from hsd_viz.exercises import editions

    return next(path for path in editions.masters() if int(path.stem[0]) == LESSONS[key])


def _lesson_label(key: str) -> str:
    """Return the lesson about a step as the label of its button; "" for a step without one."""
    if key not in LESSONS:
        return ""
    with _lesson_of(key).open(encoding="utf-8") as master:
        return f"Lesson {master.readline().strip('# ').strip()}"
