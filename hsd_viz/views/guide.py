"""Entry points of the page: its address, what the browser stored, and the guided tour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from hsd_viz.trace import Trace
from hsd_viz.views.address import HERE, Address, ignored_words, parameters, query_at_start, read, slug
from hsd_viz.views.controls import LIVE, Controls
from hsd_viz.views.events import events_of
from hsd_viz.views.notice import Notice
from hsd_viz.views.session import Session
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
    #: The run decoded here.
    last: Trace | None

    @property
    def busy(self) -> bool: ...

    def offer_last(self, trace: Trace | None) -> None: ...


class Guide:
    """Navigate the page by ``address`` or ``tour``; keep its form and run in the browser (``session``)."""

    def __init__(self, page: GuidePage, names: Sequence[str]) -> None:
        self._page, self._names = page, list(names)
        #: Whether opening a recording fills the form; not during the tour.
        self.fills = True
        #: The run shown before the tour, and the tour's last recording.
        self._before: str | None = None
        self._toured = ""
        #: The address so far, if it has to wait for what the browser stored; whether it is being followed.
        self._query, self._depth = "", 0
        #: The form and the run that the browser stored, until the address is known.
        self._stored: tuple[dict[str, Any], Trace | None] | None = None
        guard = page.notice.guard
        self.session = Session(guard(self._arrived))
        self.address = Address(page.stream.group, guard(self._asked), guard(partial(self.follow, back=True)))
        self.tour = Tour(self, page.stream.group, guard=partial(guard, expected_title="The tour cannot start"))
        self._watch()

    def _watch(self) -> None:
        """Follow what the address and the browser's storage hold."""
        controls = self._page.controls
        more, menus = controls.more, (controls.rule, controls.device, controls.dtype, controls.beside)
        for field in (controls.prompt, controls.stack, *menus, more.chat, more.target, more.databases):
            field.observe(lambda _change: self.changed(), "value")
        for field in controls.numbers:
            field.observe(lambda _change: self.changed(), "text")
        self._page.tabs.strip.observe(lambda _change: self.changed(), "selected")

    def changed(self) -> None:
        """Store the form, and write the address of the page as it is."""
        if self._depth:
            return
        controls = self._page.controls
        if self.session.ready and self._stored is None:
            self.session.form = {"form": controls.state(), "own": controls.own}
        state = parameters(controls.changed()) if self.fills else {}
        shown = controls.recording.value
        if shown == LIVE:
            state = {**parameters(controls.state()), "trace": HERE}
        elif shown in self._names[1:]:
            state["trace"] = shown
        if self._page.tabs.strip.selected:
            state["tab"] = slug(self._page.tabs.shown.title)
        self.address.state = state

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Write several changes of the page as one."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self.changed()

    def arrive(self) -> None:
        """Show the run named by the address, else the first recording."""
        self.follow(query_at_start() or "")

    def _arrived(self, form: dict[str, Any] | None, trace: Trace | None) -> None:
        """Take what the browser stored, once the address is known."""
        self._stored = (form or {}, trace)
        if not self.address.waits:
            self._take_stored()

    def _asked(self, query: str) -> None:
        """Follow the address of a page whose kernel was started before it; the browser may have reported earlier."""
        self.follow(query)
        if self._stored is not None:
            self._take_stored()

    def _take_stored(self) -> None:
        """Show the stored run if the address names it; restore the stored form unless the address has one."""
        (stored, trace), self._stored = self._stored or ({}, None), None
        controls = self._page.controls
        form, own = stored.get("form"), stored.get("own")
        asked = read(self._query, [*self._names, HERE])
        with self.followed():
            if trace is not None and self._page.last is None and not self._page.busy:
                self._page.offer_last(trace)
            if asked.trace == HERE:
                self.follow(self._query)
            if isinstance(form, dict) and asked.form and (trace is None or asked.trace != HERE):
                controls.remember({}, form)
            elif isinstance(form, dict):
                controls.remember(form, own if isinstance(own, dict) else None)

    def fill(self, meta: dict[str, Any]) -> None:
        """Fill the form from the run shown."""
        if self.fills:
            self._page.controls.fill(meta)

    def follow(self, query: str, *, back: bool = False) -> None:
        """Apply a query string; report ignored parameters. ``back``: what it does not name is as on a new page."""
        page = self._page
        self._query = query
        with self.followed():
            asked = read(query, [*self._names, HERE], page.tabs.strip.titles)
            ignored = list(asked.ignored)
            recording = page.controls.recording
            if page.busy:
                raise ValueError("a run is in progress: cancel it or wait for its end")
            # The stored run is known once the browser has reported it.
            missing = asked.trace == HERE and page.last is None
            if missing and self.session.ready:
                ignored.append("the run is no longer stored in this browser: press Run to decode it again")
            if asked.trace and not missing:
                recording.value = LIVE if asked.trace == HERE else asked.trace
            elif self._names and (back or not recording.value):
                recording.value = self._names[0]
            if asked.form:
                page.controls.remember(asked.form, page.controls.own)
            if asked.tab or back:
                page.tabs.strip.selected = page.tabs.strip.titles.index(asked.tab) if asked.tab else 0
        trace = page.trace
        if asked.step is not None and trace is not None:
            events = events_of(trace)
            if asked.step <= len(events):
                # The text view has its own pin, which must match.
                page.stream.pinned = events[asked.step - 1].token
                self.address.go(page.stream.data["run"], asked.step - 1)
            else:
                ignored.append(f"step {asked.step} is out of range: the run has {counted(len(events), 'event')}")
        if asked.tour is not None:
            try:
                self.tour.open_at(asked.tour)
            except ValueError as error:
                ignored.append(str(error))
        if ignored:
            page.notice.error(ValueError(ignored_words(ignored)), "Part of the address was ignored")

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
