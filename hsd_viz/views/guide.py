"""Ways into the page: what its address asks for, and the guided tour."""

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


class GuidePage(Protocol):
    """The page that is entered; ``busy`` while a run goes on."""

    trace: Trace | None
    notice: Notice
    controls: Controls
    stream: TokenStream
    tabs: Tabs

    @property
    def busy(self) -> bool: ...


class Guide:
    """Brings people to a place on the page: ``address`` is the way in from outside, ``tour`` the way round."""

    def __init__(self, page: GuidePage, names: Sequence[str]) -> None:
        self._page, self._names = page, list(names)
        #: Whether the recording that is opened next fills the form: what people wrote there is theirs while the tour goes on.
        self.fills = True
        #: What was on the page before the tour showed recordings of its own, and the last of these.
        self._before: str | None = None
        self._toured = ""
        self.address = Address(page.stream.group, page.notice.guard(self.follow))
        self.tour = Tour(self, page.stream.group, self._names, guard=page.notice.guard)

    def arrive(self) -> None:
        """Show what the page was opened for, else the first recording."""
        self.follow(query_at_start() or "")

    def follow(self, query: str) -> None:
        """Show what a query string asks for. What it asks in vain is said in one sentence."""
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
                # The text has its own idea of what is pinned, which must be the same.
                self._page.stream.pinned = events[asked.step - 1].token
                self.address.go(self._page.stream.data["run"], asked.step - 1)
            else:
                ignored.append(f"the run has {len(events)} events, and no event {asked.step}")
        if ignored:
            self._page.notice.error(ValueError(ignored_words(ignored)), "Part of the address was ignored")

    def shows(self, name: str) -> None:
        """The recording ``name`` is on the page; what is none of the package's has no address."""
        self.address.name = name if name in self._names else ""

    # --- what the tour asks for ----------------------------------------------------------------------------------------

    def open_recording(self, name: str) -> str:
        """See :class:`~hsd_viz.views.tour.TourPage`."""
        page = self._page
        if page.busy:
            raise ValueError("a run is going on: cancel it, or wait for its end")
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
        # What was run or opened since is what people want to see.
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
