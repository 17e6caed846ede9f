"""Entry points of the page: its address, what the browser stored, and the guided tour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from hsd_viz.trace import Trace
from hsd_viz.views.address import Address, ignored_words, parameters, query_at_start, read, slug
from hsd_viz.views.controls import Controls
from hsd_viz.views.events import events_of
from hsd_viz.views.history import History
from hsd_viz.views.notice import Notice
from hsd_viz.views.session import KEPT, Session
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
    history: History

    @property
    def busy(self) -> bool: ...


class Guide:
    """Navigate the page by ``address`` or ``tour``; keep its form and runs in the browser (``session``)."""

    def __init__(self, page: GuidePage, names: Sequence[str]) -> None:
        self._page, self._names = page, list(names)
        #: Whether opening a recording fills the form; not during the tour.
        self.fills = True
        #: The run shown before the tour, and the tour's last recording.
        self._before: str | None = None
        self._toured = ""
        #: The address so far, if it has to wait for what the browser stored; whether it is being followed.
        self._query, self._depth = "", 0
        #: What the browser stored, until the address is known; the form of a run still to be read, with its menu value.
        self._stored: dict[str, Any] | None = None
        self._form: tuple[str, dict[str, Any]] | None = None
        guard = page.notice.guard
        self.session = Session(guard(self._arrived), page.history.list, guard(page.history.opened))
        self.address = Address(page.stream.group, guard(self._asked), guard(partial(self.follow, back=True)))
        self.tour = Tour(
            self, page.stream.group, self._names, guard=partial(guard, expected_title="The tour cannot start")
        )
        self._watch()

    def _watch(self) -> None:
        """Follow what the address and the browser's storage hold."""
        controls = self._page.controls
        more, menus = controls.more, (controls.rule, controls.device, controls.dtype, controls.beside)
        for field in (controls.prompt, controls.stack, *menus, more.chat, more.target, more.databases):
            field.observe(lambda _change: self._edited(), "value")
        for field in controls.numbers:
            field.observe(lambda _change: self._edited(), "text")
        self._page.tabs.strip.observe(lambda _change: self.changed(), "selected")

    def _edited(self) -> None:
        if self._form is not None and not self._depth:
            # An edit made while a run is read stays, too.
            self._form = (self._form[0], self._page.controls.state())
        self.changed()

    def changed(self) -> None:
        """Store the form, and write the address of the page as it is."""
        if self._depth:
            return
        controls = self._page.controls
        if self.session.ready and self._stored is None:
            self.session.form = {"form": controls.state(), "own": controls.own}
        state = parameters(controls.changed()) if self.fills else {}
        shown = self._page.history.name_of(controls.recording.value)
        if shown in [*self._names[1:], *self._kept()]:
            state["trace"] = shown
        if self._page.tabs.strip.selected:
            state["tab"] = slug(self._page.tabs.shown.title)
        self.address.state = state

    def _kept(self) -> list[str]:
        return [f"{KEPT}{name}" for name in self.session.runs]

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

    def _arrived(self, stored: dict[str, Any] | None) -> None:
        """Take what the browser stored, once the address is known."""
        self._stored = stored or {}
        if not self.address.waits:
            self._take_stored()

    def _asked(self, query: str) -> None:
        """Follow the address of a page whose kernel was started before it; the browser may have reported earlier."""
        self.follow(query)
        if self._stored is not None:
            self._take_stored()

    def _take_stored(self) -> None:
        """Show a kept run that the address names; restore the stored form unless the address has one."""
        stored, self._stored = self._stored or {}, None
        controls = self._page.controls
        form, own = stored.get("form"), stored.get("own")
        asked = read(self._query, [*self._names, *self._kept()])
        with self.followed():
            if KEPT.replace(":", "%3A") in self._query or KEPT in self._query:
                self.follow(self._query)
            if isinstance(form, dict) and asked.form:
                controls.remember({}, form)
            elif isinstance(form, dict):
                controls.remember(form, own if isinstance(own, dict) else None)
                self._await(form)

    def _await(self, form: dict[str, Any]) -> None:
        """Have ``form`` stay over the run that is shown, if that has still to be read from the browser."""
        value = self._page.controls.recording.value
        self._form = (value, form) if self._page.history.reads(value) else None

    def fill(self, value: str, meta: dict[str, Any]) -> None:
        """Fill the form from the run of a menu value; fields of an address or a stored form stay over it."""
        controls, waited = self._page.controls, self._form
        self._form = None
        if not self.fills:
            return
        own = controls.own
        controls.fill(meta)
        if waited is not None and waited[0] == value:
            controls.remember(waited[1], own)

    def follow(self, query: str, *, back: bool = False) -> None:
        """Apply a query string; report ignored parameters. ``back``: what it does not name is as on a new page."""
        page = self._page
        self._query = query
        # Kept runs are known once the browser has reported them.
        waits = not self.session.ready
        with self.followed():
            asked = read(query, [*self._names, *self._kept()], page.tabs.strip.titles)
            ignored = [words for words in asked.ignored if not (waits and "stored in this browser" in words)]
            recording = page.controls.recording
            if page.busy:
                raise ValueError("a run is in progress: cancel it or wait for its end")
            if asked.trace:
                recording.value = page.history.value_of(asked.trace)
            elif self._names and (back or not recording.value):
                recording.value = self._names[0]
            if asked.form:
                page.controls.remember(asked.form, page.controls.own)
            self._await(asked.form)
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
