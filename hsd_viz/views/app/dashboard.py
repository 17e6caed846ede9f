"""The page as a widget: the browser draws it (``js/app``), Python answers its requests and streams
the columns of runs.

Opening the page imports neither torch nor transformers and reads no weights: models load on the
first run. Each message (:mod:`hsd_viz.views.app.messages`) is answered in a separate thread, which
reports its progress.
"""

from __future__ import annotations

import os
import threading
import traceback
import uuid
from dataclasses import dataclass
from typing import Any

import traitlets

from hsd_viz.decoding.engine import Engine
from hsd_viz.engine import prepare
from hsd_viz.engine.access import Access
from hsd_viz.engine.event_batches import batches
from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.errors import BadFile, UserError, is_debugging, report_fault, visitor_message
from hsd_viz.figures.pictures import CARTESIAN, packed
from hsd_viz.figures.theme import Given, as_trace
from hsd_viz.models.families import DEFAULT
from hsd_viz.trace import Finished, Stage, Started, Step, Trace
from hsd_viz.views import run_data
from hsd_viz.views.app import answers
from hsd_viz.views.app.kept_runs import KeptRuns
from hsd_viz.views.app.messages import (
    AskQuestion,
    DecodePrompt,
    KnowsRun,
    LoadPlotly,
    Message,
    OpenFile,
    PageDecode,
    SaveFile,
    ShowRecording,
    TakeRun,
    decode_request,
    read_message,
)
from hsd_viz.views.app.page_engine import PageEngine
from hsd_viz.views.app.question import PageRequest, Send
from hsd_viz.views.app.server import ENGINE_URL, engine_token
from hsd_viz.views.opened import run_of_file
from hsd_viz.views.page_data import MACHINE, about, family_form
from hsd_viz.views.view import BundleWidget, registered

#: Seconds between messages with new steps: 12 per second look continuous.
FLUSH = 0.08
#: Maximum number of concurrent requests of a page.
MAX_REQUESTS = 16
#: Name of the trace that :func:`dashboard` is given.
GIVEN = "given"


@dataclass(frozen=True, slots=True)
class _Reply:
    """The last message that answers a request.

    Attributes:
        content: the fields of the message.
        files: the binary buffers sent with it.
    """

    content: dict[str, Any]
    files: list[bytes] | None = None


class App(BundleWidget):
    """The widget of the complete page; create it with :func:`dashboard`.

    Args:
        engine: the engine. ``None``: load one on the first run.
        allow_models: whether stacks may name hub models and paths.
        shown: a trace, or the path of its file, to open.
        family: the initial family of the form.
    """

    view = traitlets.Unicode("app").tag(sync=True)
    about = traitlets.Dict().tag(sync=True)
    can = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self,
        engine: Engine | None = None,
        *,
        allow_models: bool = False,
        shown: Given | None = None,
        family: str = DEFAULT,
    ) -> None:
        self._access = Access.of(allow_models)
        self._engine = PageEngine(engine, self._access, family)
        self._cancels: dict[str, threading.Event] = {}
        self._runs = KeptRuns()
        #: The widget of the view last shown, which requests in several threads replace.
        self._widget: Any = None
        self._replacing = threading.Lock()
        own_family = self._engine.family
        page = about() | family_form(own_family) | {"tabs": list(registered())}
        if allow_models:
            page["models"] = None
        if self._engine.is_own:
            prepare()
            page |= MACHINE
        else:
            page["families"] = [row for row in page["families"] if row["name"] == own_family.name]
        if shown is not None:
            trace = as_trace(shown)
            self._runs.add_recording(GIVEN, trace)
            recording = {"name": GIVEN, "title": trace.stack or "trace", "blurb": "As given."}
            page["recordings"].insert(0, recording)
        super().__init__(about=page, can=["decode", *answers.TOPICS, *registered()])

    @property
    def trace(self) -> Trace | None:
        """The run last shown, opened or decoded; ``None`` before the first one."""
        return self._runs.last

    # --- messages

    def _on_message(self, widget: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict) or not isinstance(content.get("id"), str):
            return super()._on_message(widget, content, buffers)
        key = content["id"]
        if content.get("kind") == "cancel":
            if running := self._cancels.get(key):
                running.set()
            return
        if len(self._cancels) >= MAX_REQUESTS:
            busy = f"this page has {MAX_REQUESTS} requests in progress: wait for one to end"
            self._fail(key, UserError(busy), content)
            return
        self._cancels[key] = cancelled = threading.Event()
        work = threading.Thread(
            target=self._work, args=(key, content, buffers, cancelled), daemon=True
        )
        work.start()

    def _work(
        self, key: str, content: dict[str, Any], buffers: Any, cancelled: threading.Event
    ) -> None:
        """Answer a request, even if it is invalid or a library panics."""

        def send(kind: str, **content: Any) -> None:
            self.send({"id": key, "kind": kind, **content})

        try:
            message = read_message(content)
            files = list(zip(message.names or [], map(bytes, buffers or []), strict=False))
            reply = self._reply(message, files, send, cancelled)
            self.send({"id": key, "kind": "done", **reply.content}, reply.files)
        except BaseException as error:
            self._fail(key, error, content)
        finally:
            self._cancels.pop(key, None)

    def _reply(
        self,
        message: Message,
        files: list[tuple[str, bytes]],
        send: Send,
        cancelled: threading.Event,
    ) -> _Reply:
        """Answer a message.

        Args:
            message: the message.
            files: the names and contents of the attached files.
            send: called with messages of progress.
            cancelled: an event that is set when the visitor cancels the request.
        """
        match message:
            case ShowRecording(name=name):
                return _Reply({}, [self._runs.snapshot(self._runs.recording(name), name)])
            case OpenFile():
                return self._open(files)
            case KnowsRun(run=run):
                return self._knows(run)
            case TakeRun(snapshot=snapshot):
                return self._take(snapshot)
            case DecodePrompt(request=request):
                return self._decode(decode_request(request), send, cancelled)
            case AskQuestion():
                return self._ask(self._question(message, files, send, cancelled))
            case SaveFile():
                name, kind, content = answers.file(self._question(message, files, send, cancelled))
                return _Reply({"name": name, "type": kind}, [content])
            case LoadPlotly():
                return _Reply({}, [packed(CARTESIAN)])

    def _question(
        self,
        message: AskQuestion | SaveFile,
        files: list[tuple[str, bytes]],
        send: Send,
        cancelled: threading.Event,
    ) -> PageRequest:
        """Convert a message to a question about a run. The arguments are those of
        :meth:`_reply`.
        """
        return PageRequest(
            about=message.about,
            options=message.options or {},
            files=files,
            send=send,
            run=self._runs.find(message.run),
            access=self._access,
            cancelled=cancelled,
        )

    def _fail(self, key: str, error: BaseException, content: dict[str, Any]) -> None:
        """Report that a request failed: in one line to the visitor, in full to the server's log."""
        if not isinstance(error, UserError | ModuleNotFoundError):
            report_fault(error)
        message = visitor_message(error, str(content))
        details = "".join(traceback.format_exception(error)) if is_debugging() else ""
        self.send({"id": key, "kind": "failed", "message": message, "details": details[-8000:]})

    # --- answers

    def _open(self, files: list[tuple[str, bytes]]) -> _Reply:
        if not files:
            raise UserError("no file was sent")
        name, content = files[0]
        return _Reply({}, [self._runs.snapshot(run_of_file(content, name))])

    def _knows(self, run: str) -> _Reply:
        trace = self._runs.find(run)
        if trace is not None:
            # A question about this run follows, so that it is dropped last.
            self._runs.keep(trace, run)
        return _Reply({"known": trace is not None})

    def _take(self, snapshot: dict[str, Any]) -> _Reply:
        trace = run_data.trace_from(snapshot)
        if not isinstance(snapshot.get("run"), str):
            raise BadFile("the run has no name")
        self._runs.keep(trace, snapshot["run"])
        return _Reply({})

    def _ask(self, request: PageRequest) -> _Reply:
        if request.about not in registered():
            return _Reply({"answer": answers.answer(request)})
        part, widget = answers.tab(request)
        with self._replacing:
            before, self._widget = self._widget, widget
        if before is not None and before is not widget:
            before.close()
        return _Reply({"answer": {"parts": [part]}})

    def _decode(self, request: PageDecode, send: Send, cancelled: threading.Event) -> _Reply:
        """Decode a prompt, and send its steps as they are emitted."""
        run = uuid.uuid4().hex
        seq = 0
        trace = Trace({})
        for batch in batches(lambda: self._engine.events(request), cancelled, FLUSH):
            steps = []
            for event in batch:
                match event:
                    case Step():
                        trace.append(event)
                        steps.append(event)
                    case Stage():
                        send("stage", text=event.text, done=event.done, total=event.total)
                    case Started():
                        trace = Trace(event.meta, event.pieces)
                        send("begin", run=_begun(trace, run))
                    case Finished():
                        trace = event.trace
            if steps:
                send("append", steps=run_data.append(run, seq + 1, steps))
                seq += len(steps)
        if request.parent is not None:
            trace.meta["parent"] = request.parent.to_dict()
        self._runs.keep(trace, run)
        return _Reply({"head": {"run": run, "seq": seq, **run_data.head(trace.meta)}})


def _begun(trace: Trace, run: str) -> dict[str, Any]:
    """Return the snapshot of a run that has just begun."""
    begun = run_data.snapshot(trace, run, 0)
    # The meta of an unfinished run has "cancelled" set, in case no more steps follow.
    prefill = begun["meta"]["prefill_ns"] or None
    begun["meta"] |= {"cancelled": False, "wall_ns": None, "prefill_ns": prefill}
    return begun


def dashboard(
    shown: Given | None = None,
    *,
    engine: Engine | None = None,
    allow_models: bool = False,
    family: str = DEFAULT,
) -> App:
    """Create the dashboard widget. A notebook displays it as the last line of a cell.

    Args:
        shown: a trace, or the path of its file, to open.
        engine: the engine. ``None``: load one on the first run, or on a served page use that of
            its server (:func:`hsd_viz.views.app.server.command`).
        allow_models: whether stacks may also name hub models and paths.
        family: the initial family of the form.

    Raises:
        TypeError: if ``shown`` is not a trace or a path.
    """
    if shown is not None and not isinstance(shown, Trace | str | os.PathLike):
        is_engine = hasattr(shown, "decode")
        hint = "; give an engine by name: dashboard(engine=engine)" if is_engine else ""
        raise TypeError(
            f"dashboard() shows a trace or the path of its file, not {type(shown).__name__}{hint}"
        )
    if engine is None and (url := os.environ.get(ENGINE_URL)):
        engine = RemoteEngine(url, engine_token())
        engine.family = family
    return App(engine, allow_models=allow_models, shown=shown, family=family)
