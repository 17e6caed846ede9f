"""The page's address: ``?trace=NAME&step=N&theme=dark`` opens a bundled recording at an event, ``?tour=KEY`` the tour
at a step; a button copies the link.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import traitlets

from hsd_viz.views.linked import LinkedView
from hsd_viz.views.scripts import STATIC

THEMES = ("light", "dark")
#: Maximum characters read from a query, and shown from an invalid value.
MOST_QUERY, MOST_SHOWN = 2_000, 40


@dataclass(frozen=True, slots=True)
class Asked:
    """A parsed address: recording, event number (from 1, as in the player), a message per ignored parameter, and a
    step of the tour by its key."""

    trace: str | None = None
    step: int | None = None
    ignored: tuple[str, ...] = ()
    tour: str | None = None


def read(query: str, names: Sequence[str]) -> Asked:
    """Parse a query string. Only recordings in ``names`` can be opened, never a path."""
    fields = parse_qs(query[:MOST_QUERY].lstrip("?"), errors="replace")
    trace, step, ignored = None, None, []
    if "trace" in fields:
        trace = fields["trace"][-1]
        if trace not in names:
            ignored.append(f"no recording is named {_short(trace)}")
            trace = None
    if "step" in fields:
        number = fields["step"][-1]
        if number.isascii() and number.isdigit() and 0 < len(number) <= 9 and int(number) > 0:
            step = int(number)
        else:
            ignored.append(f"the step {_short(number)} is not a whole number from 1")
    if "theme" in fields and fields["theme"][-1] not in THEMES:
        ignored.append(f"the theme {_short(fields['theme'][-1])} is not 'light' or 'dark'")
    if step is not None and "trace" in fields and trace is None:
        # A step of another run would be the wrong place.
        step = None
    return Asked(trace, step, tuple(ignored), fields["tour"][-1][:MOST_SHOWN] if "tour" in fields else None)


def ignored_words(ignored: Sequence[str]) -> str:
    """Return one message for the ignored parameters."""
    words = "; ".join(ignored)
    return f"{words[:1].upper()}{words[1:]}."


def served() -> bool:
    """Whether Voilà serves this page, so that its address belongs to the dashboard."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila/") or "VOILA_PREHEAT" in os.environ


def query_at_start() -> str | None:
    """Return Voilà's query; ``None`` if not known yet (preheated kernel) or not served by Voilà."""
    if not served() or os.environ.get("VOILA_PREHEAT") == "True":
        return None
    return os.environ.get("QUERY_STRING", "")


class Address(LinkedView):
    """A button that copies the link to the event under the cursor. ``name`` is the recording shown, or "".

    :meth:`go` moves the page to an event. In a preheated kernel, ``asked(query)`` is called when the browser sends its
    query."""

    _esm = STATIC / "address.js"
    _css = STATIC / "address.css"

    name = traitlets.Unicode().tag(sync=True)
    #: {run, step}: cursor target, applied once that run is shown.
    start = traitlets.Dict().tag(sync=True)
    served = traitlets.Bool(False).tag(sync=True)
    waits = traitlets.Bool(False).tag(sync=True)

    def __init__(self, group: str | None = None, asked: Callable[[str], None] | None = None) -> None:
        self._asked = asked
        here = served()
        super().__init__(group=group, served=here, waits=here and query_at_start() is None)
        self.on_msg(self._on_message)

    def go(self, run: str, step: int) -> None:
        """Move the cursor to an event (from 0) of a run, once it is shown."""
        self.start = {"run": run, "step": step}

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not self.waits or not isinstance(content, dict) or content.get("kind") != "query":
            return
        self.waits = False
        if self._asked is not None and isinstance(content.get("query"), str):
            self._asked(content["query"])


def _short(value: str) -> str:
    return f"{value[:MOST_SHOWN]!r}{' …' if len(value) > MOST_SHOWN else ''}"
