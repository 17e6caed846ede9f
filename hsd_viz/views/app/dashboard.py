"""The dashboard: a recorded decode at once, live decodes in a worker thread, every token of both to look into.

The text and its player stand above; tabs below look into the same run, and further (:mod:`hsd_viz.views.sections`). All follow one
cursor.

Opening it imports neither torch nor transformers and reads no weights: models load when Run is pressed. Only the compiler of the
CPU runtime starts at once, where it has not run before, so that the first run need not be a slow one.
"""

from __future__ import annotations

import threading
from typing import Any

import ipywidgets as widgets

from hsd_viz.engine import Engine
from hsd_viz.engine.replay import ReplayEngine, bundled, load_bundled
from hsd_viz.trace import Trace
from hsd_viz.views.controls import LIVE, Controls, Prose, Request
from hsd_viz.views.files import Files
from hsd_viz.views.guide import Guide
from hsd_viz.views.lender import LADDER, Lender
from hsd_viz.views.notice import Notice
from hsd_viz.views.page_run import PageRun
from hsd_viz.views.player import Player
from hsd_viz.views.readout import Readout
from hsd_viz.views.sections import sections
from hsd_viz.views.shell import header
from hsd_viz.views.stream import TokenStream
from hsd_viz.views.tabs import Tabs

#: The recorded run that is a file of the reader's own.
OPENED = "file of your own"


class Dashboard(widgets.VBox):
    """All of the page as one widget. Use :func:`dashboard` to make one.

    ``engine`` decodes instead of the one loaded on the first run. ``allow_models`` lets people name hub models and paths.
    """

    def __init__(self, engine: Engine | None = None, *, allow_models: bool = False) -> None:
        self.lender = Lender(engine, allow_models, lambda: self.controls.offer_cuda())
        self._run = PageRun(self)
        self.trace: Trace | None = None
        #: The last run that was decoded here.
        self._decoded: Trace | None = None
        self.notice = Notice()
        self.readout = Readout()
        self.stream = TokenStream()
        self.player = Player(group=self.stream.group)
        self.tabs = Tabs(sections(self), "Look into the run")
        live = self.lender.live
        recordings = self.notice.guard(bundled)() or []
        self.controls = Controls([(r.title, r.name) for r in recordings], self.model_names, live, LADDER)
        self._blurbs = {r.name: r.blurb for r in recordings}
        self._opened: Trace | None = None
        self._listing = False
        self.files = Files(lambda: self.trace, self._on_opened, self.notice)
        self.controls.picker[-1].children += (self.files.open, self.files.save)
        self.blurb = Prose()
        self.blurb.add_class("hsd-lede")
        self.guide = Guide(self, [r.name for r in recordings])
        if recordings:
            self.controls.picker[-1].children += (self.guide.address, self.guide.tour.button)
        self._wire()
        self.stream.add_class("hsd-text-view")
        self.player.add_class("hsd-transport")
        main = widgets.VBox(
            [*self.controls.picker, self.blurb, self.notice, self.readout, self.stream, self.player, self.tabs]
        )
        main.add_class("hsd-main")
        layout = widgets.Box([self.controls, main] if live else [main])
        layout.add_class("hsd-layout" if live else "hsd-wide")
        super().__init__([header(), layout, self.guide.tour])
        self.add_class("hsd-app")
        if recordings:
            self.guide.arrive()
        else:
            self.readout.origin = {
                "kind": "none",
                "badge": "Nothing to show yet",
                "facts": ["no recorded runs are installed: press Run"],
            }

    @property
    def dark(self) -> bool:
        """Whether the page is dark, as the browser said."""
        return self.stream.dark

    @property
    def group(self) -> str:
        """The group of the linked views on the page."""
        return self.stream.group

    @property
    def busy(self) -> bool:
        """Whether a run goes on."""
        return self.controls.run.disabled

    # --- what a bench on the page asks for (:class:`hsd_viz.views.work_form.Host`) ----------------------------------------

    @property
    def can_measure(self) -> bool:
        """Whether a bench can run here: where this page loads its own models."""
        return self.lender.loads

    @property
    def model_names(self) -> tuple[str, ...] | None:
        """The models that stacks may name; ``None``: any."""
        return self.lender.model_names

    def hold(self) -> bool:
        """Start no run until :meth:`release`, while a bench has the models; false where a run goes on."""
        if self.busy:
            return False
        self.occupy(True)
        self.controls.cancel.disabled = True
        return True

    def release(self) -> None:
        """Runs may start again."""
        self.occupy(False)

    def occupy(self, busy: bool) -> None:
        """While something is decoded nothing else is started, saved or opened."""
        self.controls.busy(busy)
        self.files.busy = busy

    def request(self) -> Request:
        """What stands in the form."""
        return self.controls.request()

    def lend_engine(self) -> Engine:
        """The engine that runs use, loaded where it is not there yet; of a worker thread."""
        return self.lender.lend()

    # --- what people do ------------------------------------------------------------------------------------------------

    def _wire(self) -> None:
        c, guard = self.controls, self.notice.guard
        c.recording.observe(guard(self._pick), "value")
        c.stack.observe(guard(self._check), "value")
        c.run.on_click(guard(self._on_run))
        c.replay.on_click(guard(self._on_replay))
        c.cancel.on_click(guard(self._on_cancel))
        self.stream.observe(guard(lambda _change: self.tabs.refresh()), "dark")

    def _pick(self, _change: Any) -> None:
        name = self.controls.recording.value
        trace = self._decoded if name == LIVE else self._recording(name) if name else None
        if trace is None or self.busy or self._listing:
            return
        self.notice.clear()
        self.show(trace, "live" if name == LIVE else "recording")
        self.guide.shows(name)
        self.blurb.value = self._blurbs.get(name, "")
        if self.guide.fills:
            self.controls.fill(trace.meta)
        self.controls.busy(False)

    def _recording(self, name: str) -> Trace:
        return self._opened if name == OPENED and self._opened is not None else load_bundled(name)

    def _on_opened(self, trace: Trace, name: str) -> None:
        """A reader's own file becomes one of the recorded runs, in the place of the one opened before, and is shown."""
        menu = self.controls.recording
        self._opened = trace
        self._blurbs[OPENED] = f"Opened from {name}."
        # New options choose the first of them, which nobody asked for.
        self._listing = True
        menu.options = [option for option in menu.options if option[1] != OPENED] + [(f"{name} (your file)", OPENED)]
        self._listing = False
        menu.value = OPENED
        # What it ran may not be allowed here, which matters only when somebody runs it.
        self.notice.clear()

    def _check(self, _change: Any) -> None:
        # What is wrong with the stack is said at its blocks.
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
        self.blurb.value = self._blurbs.get(self.controls.recording.value, "")
        self.readout.show(trace, "replay")
        self._run.start(lambda: ReplayEngine().replay(trace), "replay", "replaying a recording")

    def _on_cancel(self, _button: Any) -> None:
        if self.busy:
            self._run.cancel()

    def decoded(self, trace: Trace | None) -> None:
        """See :class:`~hsd_viz.views.page_run.RunPage`."""
        self._decoded = trace
        self.controls.name_live()
        self.guide.shows("")
        self.blurb.value = ""

    # --- showing -------------------------------------------------------------------------------------------------------

    def show(self, trace: Trace, kind: str = "recording") -> None:
        """Show a whole trace. ``kind`` is ``recording`` or ``live``."""
        self.trace = trace
        self.stream.show(trace)
        self.readout.show(trace, kind)
        # The text need not wait for the tabs.
        threading.Thread(target=self.notice.guard(self.tabs.refresh), name="hsd-viz tabs", daemon=True).start()


def dashboard(engine: Engine | None = None, *, allow_models: bool = False) -> Dashboard:
    """The dashboard as a widget; in a notebook the last line of a cell shows it.

    ``engine`` decodes instead of the one that the first run would load. ``allow_models`` lets the stack name hub models and
    paths; else it takes the ladder's names only.
    """
    return Dashboard(engine, allow_models=allow_models)
