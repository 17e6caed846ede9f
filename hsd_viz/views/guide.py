"""Entry points of the page: its address and the guided tour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hsd_viz.trace import Trace
from hsd_viz.views.address import Address, ignored_words, query_at_start, read
from hsd_viz.views.controls import Controls
from hsd_viz.views.events import events_of
from hsd_viz.views.notice import Notice
from hsd_viz.views.stream import TokenStream
from hsd_viz.views.tabs import Tabs
from hsd_viz.views.tour import Tour
from hsd_viz.words import counted


class GuidePage(Protocol):
    """The page; ``busy`` during a run."""

    trace: Trace | None
    notice: Notice
    controls: Controls
    stream: TokenStream
    tabs: Tabs

    @property
    def busy(self) -> bool: ...


class Guide:
    """Navigate the page by ``address`` or ``tour``."""

    def __init__(self, page: GuidePage, names: Sequence[str]) -> None:
        self._page, self._names = page, list(names)
        #: Whether opening a recording fills the form; not during the tour.
        self.fills = True
        #: The run shown before the tour, and the tour's last recording.
        self._before: str | None = None
        self._toured = ""
        self.address = Address(page.stream.group, page.notice.guard(self.follow))
        self.tour = Tour(self, page.stream.group, self._names, guard=page.notice.guard)

    def arrive(self) -> None:
        """Show the run named by the address, else the first recording."""
        self.follow(query_at_start() or "")

    def follow(self, query: str) -> None:
        """Apply a query string; report ignored parameters."""
        asked = read(query, self._names)
        ignored = list(asked.ignored)
        recording = self._page.controls.recording
        if asked.trace:
            recording.value = asked.trace
        elif self._names and not recording.value:
            recording.value = self._names[0]
        trace = self._page.trace
        if asked.step is not None and trace is not None:
            events = events_of(trace)
            if asked.step <= len(events):
                # The text view has its own pin, which must match.
                self._page.stream.pinned = events[asked.step - 1].token
                self.address.go(self._page.stream.data["run"], asked.step - 1)
            else:
                ignored.append(f"step {asked.step} is out of range: the run has {counted(len(events), 'event')}")
        if asked.tour is not None:
            try:
                self.tour.open_at(asked.tour)
            except ValueError as error:
                ignored.append(str(error))
        if ignored:
            self._page.notice.error(ValueError(ignored_words(ignored)), "Part of the address was ignored")

    def shows(self, name: str) -> None:
        """Set the recording on the page; "" for a run without an address."""
        self.address.name = name if name in self._names else ""

    # --- tour callbacks -----------------------------------------------------------------------------------------------

    def open_recording(self, name: str) -> str:
        """See :class:`~hsd_viz.views.tour.TourPage`."""
        page = self._page
        if page.busy:
            raise ValueError("a run is in progress: cancel it or wait for its end")
        shown = page.controls.recording.value
        if shown != name:
            if self._before is None:
                self._before = shown
            self._open(name)
        self._toured = name
        return page.stream.data["run"]

    def close(self) -> None:
        """See :class:`~hsd_viz.views.tour.TourPage`."""
        before, self._before = self._before, None
        # Keep a run that was decoded or opened since.
        if before is not None and not self._page.busy and self._page.controls.recording.value == self._toured:
            self._open(before)

    def _open(self, name: str) -> None:
        self.fills = False
        try:
            self._page.controls.recording.value = name
        finally:
            self.fills = True

    def open_tab(self, title: str) -> None:
        """See :class:`~hsd_viz.views.tour.TourPage`."""
        strip = self._page.tabs.strip
        if title in strip.titles:
            strip.selected = strip.titles.index(title)
