"""The guided tour: eight stops in the bundled recordings (``tour.json``), with the values of the recording shown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import ipywidgets as widgets
import traitlets

from hsd_viz.engine.replay import load_bundled
from hsd_viz.trace import Trace
from hsd_viz.views.events import events_of
from hsd_viz.views.linked import LinkedView
from hsd_viz.words import counted, did_you_mean

#: The stops: key, title, paragraphs with ``{values}`` of :func:`values_at`, recording, event (from 0), lesson of the
#: course, tab, and the CSS selectors of the outlined element (the first visible one).
STOPS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "tour.json").read_text(encoding="utf-8"))


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

    view = traitlets.Unicode("tour").tag(sync=True)

    place = traitlets.Dict().tag(sync=True)
    kept = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        page: TourPage,
        group: str | None = None,
        stops: Sequence[dict[str, Any]] = STOPS,
        guard: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda callback: callback,
    ) -> None:
        self._page = page
        self._stops = list(stops)
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
        keys = [stop["key"] for stop in self._stops]
        self._go(keys.index(self.kept) if self.kept in keys else 0)

    def leave(self) -> None:
        """Hide the card; :meth:`start` resumes from here."""
        self.place = {}
        self._page.close()

    def move(self, by: int) -> None:
        """Move to the next step (1) or the previous one (-1); the tour ends after the last."""
        if self.at is None:
            return
        if self.at + by >= len(self._stops):
            self.kept = ""
            self.leave()
        elif self.at + by >= 0:
            self._go(self.at + by)

    def _go(self, number: int) -> None:
        stop = self._stops[number]
        try:
            run = self._page.open_recording(stop["recording"])
        except ValueError as error:
            if not self.place:
                raise
            self.place = {**self.place, "trouble": str(error)}
            return
        values = values_at(load_bundled(stop["recording"]), stop["step"])
        self.place = {
            "key": stop["key"],
            "number": number + 1,
            "count": len(self._stops),
            "title": stop["title"],
            "text": [paragraph.format_map(values) for paragraph in stop["text"]],
            "run": run,
            "step": stop["step"],
            "targets": stop["targets"],
            "trouble": "",
            "lesson": _lesson_label(stop["lesson"]),
        }
        self.kept = stop["key"]
        # Show the card before the tab is drawn.
        if stop["tab"]:
            self._page.open_tab(stop["tab"])

    def open_at(self, key: str) -> None:
        """Start at a step. Raises: ValueError: if there is no such step."""
        keys = [stop["key"] for stop in self._stops]
        if key not in keys:
            raise ValueError(f"the tour has no step '{key}' (use {', '.join(keys)}){did_you_mean(key, keys)}")
        self._go(keys.index(key))

    def _send_lesson(self) -> None:
        """Send the page of the step's lesson to the browser, which has opened a window for it."""
        from hsd_viz.views.lessons import page

        if self.at is not None:
            self.send({"kind": "lesson", "html": page(_lesson_of(self._stops[self.at]["lesson"]))})

    def _label(self) -> None:
        keys = [stop["key"] for stop in self._stops]
        resumes = self.kept in keys and keys.index(self.kept) > 0
        self.button.description = (
            f"Resume the tour ({keys.index(self.kept) + 1}/{len(keys)})" if resumes else "Take the tour"
        )

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        actions: dict[str, Callable[[], None]] = {
            "next": lambda: self.move(1),
            "back": lambda: self.move(-1),
            "leave": self.leave,
            "restart": lambda: self._go(0),
            "lesson": self._send_lesson,
        }
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind in actions:
            actions[kind]()
        elif kind == "kept" and not self.place and content.get("key") in [stop["key"] for stop in self._stops]:
            self.kept = content["key"]


def _lesson_of(number: int) -> Path:
    from hsd_viz.exercises import editions

    return next(path for path in editions.masters() if int(path.stem[0]) == number)


def _lesson_label(number: int) -> str:
    """Return the title of a lesson as the label of its button."""
    with _lesson_of(number).open(encoding="utf-8") as master:
        return f"Lesson {master.readline().strip('# ').strip()}"


def values_at(trace: Trace, step: int) -> dict[str, str]:
    """Return the values of a run, and of one of its events and its round, as text."""
    event, m, row = events_of(trace)[step], trace.metrics(), events_of(trace)[step].draft
    drafts = [d for d in trace.draft_rows if d.round == event.round]
    calls = [c for c in trace.call_rows if c.round == event.round]
    own = next((t for t in trace.token_rows if t.round == event.round and t.depth == 0), None)
    spent = lambda kind: _duration(sum(c.duration_ns for c in calls if c.kind == kind))
    speed, plain = m["tokens_per_second"], (trace.meta.get("plain") or {}).get("tokens_per_second")
    wall = trace.meta.get("wall_ns") or 1
    shares: Counter[str] = Counter()
    passes: Counter[str] = Counter()
    for call in sorted(trace.call_rows, key=lambda c: -c.level):
        shares[call.name] += call.duration_ns
        passes[call.name] += call.steps if call.kind in ("draft", "verify") else 0
    found = {
        "stack": trace.stack,
        "temperature": f"{(trace.meta.get('sampling') or {}).get('temperature') or 0:g}",
        "length": counted(m["tokens"], "token"),
        "rounds": counted(m["target_forwards"], "forward pass"),
        "mean_length": f"{m['mean_acceptance_length']:.2f}",
        "run_accepted": str(m["accepted"]),
        "run_drafted": str(m["drafted"]),
        "rate": f"{m['acceptance_rate'] or 0:.0%}",
        "speed": f"{speed:.0f}",
        "against": f"this run reached {speed:.0f} tokens/s"
        + (f", plain decoding {plain:.0f}: {speed / plain:.2f} times the speed" if plain else ""),
        "sources": ", ".join(f"{n} {name}" for name, n in m["emitted_by_source"].items()),
        "shares": ", ".join(f"{name} {ns / wall:.0%}" for name, ns in shares.items()),
        "passes": ", ".join(f"{n} of {name}" for name, n in reversed(passes.items()) if n),
        "drafted": counted(len(drafts), "token"),
        "tokens": ", ".join(_quoted(d.text) for d in drafts),
        "accepted": f"{sum(d.verdict == 'accepted' for d in drafts)} of {len(drafts)}",
        "unreached": counted(sum(d.verdict == "unreached" for d in drafts), "token"),
        "fed": counted(sum(c.fed for c in calls if c.kind == "verify"), "token"),
        **{name: spent(kind) for name, kind in (("drafting", "draft"), ("verifying", "verify"), ("lookup", "lookup"))},
        "source": (row or drafts[0]).source if drafts else trace.token_rows[event.token].source,
    }
    if own is not None:
        found |= {"token": _quoted(own.text), "p_token": f"{own.p or 0:.0%}"}
    if row is not None:
        numbers = {"p": row.p, "q": row.q, "u": row.u, "uq": (row.u or 0) * (row.q or 0)}
        found |= {name: f"{value or 0:.3f}" for name, value in numbers.items()}
        found |= {
            "draft": _quoted(row.text),
            "key": counted(row.key_length or 0, "token"),
            "position": str(row.position),
        }
    return found


def _quoted(text: str) -> str:
    """Quote a token with visible blanks."""
    shown = text.replace(" ", "␣").replace("\t", "⇥").replace("\n", "↵")
    return f"“{shown}”"


def _duration(ns: float) -> str:
    """Format nanoseconds: 12.3 ms, 45.0 µs."""
    value, unit = (ns / 1e6, "ms") if ns >= 1e6 else (ns / 1e3, "µs")
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"
