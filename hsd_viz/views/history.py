"""The runs decoded on the page: the last one, and earlier ones that the browser keeps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from hsd_viz.trace import Trace
from hsd_viz.views.controls import LIVE, LIVE_TITLE, Controls
from hsd_viz.views.notice import Notice
from hsd_viz.views.run_verdict import speedup
from hsd_viz.views.session import KEPT, Session
from hsd_viz.words import counted


class HistoryPage(Protocol):
    """The page; :meth:`show` shows a run."""

    controls: Controls
    notice: Notice

    @property
    def session(self) -> Session: ...


class History:
    """The entries of decoded runs in the page's menu. ``shown()`` is called when the chosen run has been read."""

    def __init__(self, page: HistoryPage, shown: Callable[[], None]) -> None:
        self._page, self._shown = page, shown
        #: The last run decoded here, and its identifier.
        self.last: Trace | None = None
        self.last_id = ""

    def decoded(self, trace: Trace | None) -> None:
        """Make ``trace`` the run decoded here, and keep it; ``None``: one is in progress."""
        self.last, self.last_id = trace, ""
        if trace is not None:
            self.last_id = self._page.session.keep(trace, label(trace))
        self.list(chosen=LIVE)

    def list(self, chosen: str | None = None) -> None:
        """Set the menu: the run decoded here, earlier ones, then all others. ``chosen`` is then selected."""
        menu = self._page.controls.recording
        keep = menu.value if chosen is None else chosen
        others = [o for o in menu.options if o[1] != LIVE and not str(o[1]).startswith(KEPT)]
        live = [(LIVE_TITLE, LIVE)] if chosen == LIVE or LIVE in [value for _, value in menu.options] else []
        runs = self._page.session.runs
        earlier = [(words, f"{KEPT}{name}") for name, words in runs.items() if name != self.last_id]
        options = [*live, *earlier, *others]
        if options != list(menu.options):
            with self._page.controls.listing():
                menu.options = options
                if chosen is None:
                    menu.value = keep
        menu.value = keep

    def trace_of(self, value: str) -> Trace | None:
        """Return the run of a menu value; ``None`` while a kept one is read from the browser."""
        return self.last if value == LIVE else self._page.session.get(value.removeprefix(KEPT))

    def reads(self, value: Any) -> bool:
        """Whether the run of a menu value has still to be read from the browser."""
        name = str(value or "")
        return name.startswith(KEPT) and not self._page.session.holds(name.removeprefix(KEPT))

    def opened(self, name: str, trace: Trace | None) -> None:
        """Show a kept run that has been read, if it is still chosen; ``None``: it is no longer stored."""
        if trace is None:
            self._page.notice.error(ValueError("the run is no longer stored in this browser"), "Open failed")
        elif self._page.controls.recording.value == f"{KEPT}{name}":
            self._shown()

    def name_of(self, value: Any) -> str:
        """Return the name of a menu value in an address."""
        return f"{KEPT}{self.last_id}" if value == LIVE else str(value or "")

    def value_of(self, name: str) -> str:
        """Return the menu value of a name in an address."""
        return LIVE if self.last_id and name == f"{KEPT}{self.last_id}" else name


def label(trace: Trace) -> str:
    """Return a decoded run's menu entry: time, stack, tokens and speed-up."""
    found = speedup(trace)
    gain = f", {found.value:.2f}×" if found is not None and not found.impossible else ""
    stack = trace.stack
    return f"{datetime.now():%H:%M}  {stack}, {counted(len(trace.token_rows), 'token')}{gain}"
