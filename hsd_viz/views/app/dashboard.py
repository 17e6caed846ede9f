"""The dashboard: a recorded run at once, live runs in a worker thread, every token of both inspectable.

The text and its player are at the top, tabs with further views below (:mod:`hsd_viz.views.sections`). All share one
cursor.

Opening it imports neither torch nor transformers and reads no weights: models load on the first run. Only the compiler
of the CPU runtime starts at once if it has not run before, so that the first run is not slowed down.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import ipywidgets as widgets

from hsd_viz.engine import Engine
from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.engine.replay import ReplayEngine, bundled, load_bundled
from hsd_viz.trace import Trace
from hsd_viz.views.app.server import ENGINE_TOKEN, ENGINE_URL
from hsd_viz.views.controls import LIVE, LIVE_TITLE, Controls, Prose, Request
from hsd_viz.views.doctor_card import DoctorCard
from hsd_viz.views.doors import Given, trace_of
from hsd_viz.views.files import Files
from hsd_viz.views.guide import Guide
from hsd_viz.views.lender import LADDER, Lender
from hsd_viz.views.notice import Notice
from hsd_viz.views.page_run import PageRun, replay_pace
from hsd_viz.views.readout import Readout
from hsd_viz.views.run_views import Staircase
from hsd_viz.views.sections import sections
from hsd_viz.views.session import Session
from hsd_viz.views.shell import Header
from hsd_viz.views.stream import TokenStream
from hsd_viz.views.tabs import Tabs

#: Menu value of an opened trace file.
OPENED = "opened file"


class Dashboard(widgets.VBox):
    """The whole page as one widget. Create it with :func:`dashboard`.

    ``engine`` replaces the one loaded on the first run. ``allow_models`` allows hub models and paths.
    """

    def __init__(self, engine: Engine | None = None, *, allow_models: bool = False) -> None:
        self.lender = Lender(engine, allow_models, lambda: self.controls.offer_cuda())
        self._run = PageRun(self)
        self.trace: Trace | None = None
        self.notice = Notice()
        self.readout = Readout()
        self.doctor = DoctorCard(self)
        self.stream = TokenStream()
        self.staircase = Staircase(group=self.stream.group)
        self.header = Header(group=self.stream.group, form=self.lender.live)
        self.tabs = Tabs(sections(self), "Views of the run", self.readout, self.doctor)
        self.foot = Prose()
        self.foot.add_class("hsd-foot")
        self.readout.observe(lambda change: setattr(self.foot, "value", "  ·  ".join(change.new["facts"])), "origin")
        live = self.lender.live
        recordings = self.notice.guard(bundled)() or []
        menu = [(r.label, r.name) for r in recordings]
        self.controls = Controls(menu, self.model_names, live, LADDER, self.lender.loads)
        self._blurbs = {r.name: r.blurb for r in recordings}
        self._opened: Trace | None = None
        #: The run decoded here.
        self.last: Trace | None = None
        self.files = Files(lambda: self.trace, self._on_opened, self.notice)
        self.controls.picker[-1].children += (self.files.open, self.files.save)
        self.blurb = Prose()
        self.blurb.add_class("hsd-lede")
        self.guide = Guide(self, [r.name for r in recordings])
        if recordings:
            self.controls.picker[-1].children += (self.guide.address, self.guide.tour.button)
        self._wire()
        self.stream.add_class("hsd-text-view")
        self.staircase.add_class("hsd-transport")
        main = widgets.VBox(
            [
                *(*self.controls.picker, self.blurb, self.notice, self.staircase, self.stream),
                *(self.tabs, self.foot),
            ]
        )
        main.add_class("hsd-main")
        layout = widgets.Box([self.controls, main] if live else [main])
        layout.add_class("hsd-layout" if live else "hsd-wide")
        super().__init__([self.header, layout, self.guide.tour, self.guide.session])
        self.add_class("hsd-app")
        if recordings:
            self.guide.arrive()
        else:
            self.readout.origin = {
                "kind": "none",
                "badge": "No run",
                "facts": ["no recordings are installed: press Run"],
            }

    @property
    def dark(self) -> bool:
        """Whether the page is dark, as reported by the browser."""
        return self.stream.dark

    @property
    def group(self) -> str:
        """The group of the page's linked views."""
        return self.stream.group

    @property
    def session(self) -> Session:
        """What the browser keeps of the page."""
        return self.guide.session

    @property
    def shows_own_run(self) -> bool:
        """Whether the run shown was decoded on this page."""
        return self.controls.recording.value == LIVE

    @property
    def busy(self) -> bool:
        """Whether a run is in progress."""
        return self.controls.run.disabled

    # --- :class:`hsd_viz.views.work_form.Host` ------------------------------------------------------------------------

    @property
    def can_measure(self) -> bool:
        """Whether a bench can run: if this page loads its own models."""
        return self.lender.loads

    @property
    def model_names(self) -> tuple[str, ...] | None:
        """The models allowed in stacks; ``None``: any."""
        return self.lender.model_names

    def hold(self) -> bool:
        """Block runs until :meth:`release`; return false during a run."""
        if self.busy:
            return False
        self.occupy(True)
        self.controls.cancel.disabled = True
        return True

    def release(self) -> None:
        """Allow runs again."""
        self.occupy(False)

    def occupy(self, busy: bool) -> None:
        """Disable starting, saving and opening during a run."""
        self.controls.busy(busy)
        self.files.busy = self.header.busy = busy

    def request(self) -> Request:
        """Return the form's values."""
        return self.controls.request()

    def lend_engine(self) -> Engine:
        """Return the engine, loading it if needed. Call from a worker thread."""
        return self.lender.lend(self.controls.machine())

    # --- callbacks ----------------------------------------------------------------------------------------------------

    def _wire(self) -> None:
        c, guard = self.controls, self.notice.guard
        c.recording.observe(guard(self._pick), "value")
        # An error is about the form as it was.
        for field in (c.stack, c.prompt):
            field.observe(lambda _change: self.notice.clear(), "value")
        for field in c.numbers:
            field.observe(lambda _change: self.notice.clear(), "text")
        c.run.on_click(guard(self._on_run))
        c.replay.on_click(guard(self._on_replay))
        c.cancel.on_click(guard(self._on_cancel))
        self.stream.observe(guard(lambda _change: self.tabs.refresh()), "dark")

    def _pick(self, _change: Any) -> None:
        name = self.controls.recording.value
        if not name or self.busy or self.controls.lists:
            return
        trace = self._recording(name)
        if trace is None:
            return
        self.notice.clear()
        with self.guide.followed():
            self.show(trace, "live" if self.shows_own_run else "recording")
            self.guide.shows(name)
            self.blurb.value = self._blurbs.get(name, "")
            self.guide.fill(trace.meta)
            self.controls.busy(False)

    def _recording(self, name: str) -> Trace | None:
        if name == LIVE:
            return self.last
        return self._opened if name == OPENED and self._opened is not None else load_bundled(name)

    def add_trace(self, trace: Trace) -> None:
        """Add a trace to the menu and show it."""
        self._on_opened(trace, trace.stack or "trace")

    def _on_opened(self, trace: Trace, name: str) -> None:
        """Add an opened file to the menu, replacing the previous one, and show it."""
        menu = self.controls.recording
        self._opened = trace
        self._blurbs[OPENED] = f"Opened from {name}."
        with self.controls.listing():
            menu.options = [option for option in menu.options if option[1] != OPENED] + [
                (f"{name} (your file)", OPENED)
            ]
        menu.value = OPENED
        # Its stack may not be allowed here, which matters only for a new run.
        self.notice.clear()

    def _on_run(self, _button: Any) -> None:
        if self.busy:
            return
        self.notice.clear()
        request = self.controls.request()
        self._run.start(lambda: self.lender.decode(request), "live", "starting")

    def _on_replay(self, _button: Any) -> None:
        if self.busy or self.controls.recording.value in (None, LIVE):
            return
        self.notice.clear()
        trace = self._recording(self.controls.recording.value)
        if trace is None:
            return
        self.blurb.value = self._blurbs.get(self.controls.recording.value, "")
        self.readout.show(trace, "replay")
        pace = replay_pace(trace)
        self._run.start(lambda: ReplayEngine(pace=pace).replay(trace), "replay", "replaying a recording", pace)

    def _on_cancel(self, _button: Any) -> None:
        if self.busy:
            self._run.cancel()

    def decoded(self, trace: Trace | None) -> None:
        """See :class:`~hsd_viz.views.page_run.RunPage`."""
        self.offer_last(trace)
        self.controls.recording.value = LIVE
        self.guide.shows("")
        self.blurb.value = ""
        if trace is not None:
            self.session.keep(trace)
            self.guide.changed()

    def offer_last(self, trace: Trace | None) -> None:
        """Make ``trace`` the run decoded here (``None``: one is in progress), first in the menu."""
        self.last, menu = trace, self.controls.recording
        if LIVE not in [value for _, value in menu.options]:
            shown = menu.value
            with self.controls.listing():
                menu.options = [(LIVE_TITLE, LIVE), *menu.options]
                menu.value = shown

    # --- showing ------------------------------------------------------------------------------------------------------

    def show(self, trace: Trace, kind: str = "recording") -> None:
        """Show a whole trace. ``kind`` is ``recording`` or ``live``."""
        self.trace = trace
        self.stream.show(trace)
        self.readout.show(trace, kind)
        # Tabs are refreshed in a thread to show the text first.
        threading.Thread(target=self.notice.guard(self.tabs.refresh), name="hsd-viz tabs", daemon=True).start()


def dashboard(
    shown: Given | Engine | None = None, *, engine: Engine | None = None, allow_models: bool = False
) -> Dashboard:
    """Create the dashboard widget; as the last line of a notebook cell it is displayed.

    ``shown`` is a trace, or the path of its file, to open in it; an engine there is the same as ``engine``. ``engine``
    replaces the one loaded on the first run. ``allow_models`` allows hub models and paths in stacks;
    otherwise only ladder names are allowed. A served page may be configured to use the engine of a server
    (:func:`hsd_viz.views.app.server.command`).
    """
    if shown is not None and not isinstance(shown, Trace | str | os.PathLike):
        if not hasattr(shown, "decode"):
            raise TypeError(f"dashboard() shows a trace or the path of its file, not {type(shown).__name__}")
        shown, engine = None, shown
    if engine is None and (url := os.environ.get(ENGINE_URL)):
        engine = RemoteEngine(url, os.environ.get(ENGINE_TOKEN) or None)
    page = Dashboard(engine, allow_models=allow_models)
    if shown is not None:
        page.add_trace(trace_of(shown))
    return page
