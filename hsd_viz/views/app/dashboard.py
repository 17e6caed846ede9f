"""The page as one widget: the browser shows it (``js/app``), Python answers its requests and
streams columns.

Opening it imports neither torch nor transformers and reads no weights: models load on the first
run. Messages are those of ``js/host/kernel.ts``; each is answered in a thread of its own, which
reports as it goes.
"""

from __future__ import annotations

import os
import threading
import traceback
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import traitlets

from hsd_viz.decoding.engine import DecodeCall, Engine
from hsd_viz.engine import prepare
from hsd_viz.engine.access import Access
from hsd_viz.engine.live import batches, decode_beside_plain
from hsd_viz.engine.options import EngineOptions
from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.engine.replay import load_bundled
from hsd_viz.errors import UserError, is_debugging, parsing, report_fault, visitor_message
from hsd_viz.figures.pictures import CARTESIAN, packed
from hsd_viz.figures.theme import Given, trace_of
from hsd_viz.models.families import DEFAULT, find_family
from hsd_viz.options import settings
from hsd_viz.ranges import check_range
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace
from hsd_viz.views import run_data
from hsd_viz.views.app import answers
from hsd_viz.views.app.question import PageRequest
from hsd_viz.views.app.server import ENGINE_URL, engine_token
from hsd_viz.views.opened import run_of_file
from hsd_viz.views.page_data import ABOUT, MACHINE, about, family_form, recorded_runs
from hsd_viz.views.view import BundleWidget, registered

#: Seconds between messages with new steps: 12 per second look continuous.
FLUSH = 0.08
#: Runs that are kept for questions about them.
MOST_RUNS = 8
#: Requests of a page that are answered at a time.
MOST_REQUESTS = 16
GIVEN = "given"
#: Messages, each with a method of its name.
KINDS = ("recording", "open", "knows", "take", "decode", "ask", "file", "plotly")
OPTIONS = (*settings(), "chat")


class App(BundleWidget):
    """The whole page. ``engine`` replaces the one loaded on the first run; ``allow_models`` allows
    hub models and paths in stacks; ``shown`` is a trace, or the path of its file, to open. Create
    it with :func:`dashboard`.
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
        self._engine = engine
        #: Whether the page loads its engine itself.
        self._own = engine is None
        self._access = Access.of(allow_models)
        # Any object that decodes may be an engine, also one that does not name its family.
        self._family = find_family(getattr(engine, "family", family))
        self._machine: EngineOptions | None = None
        self._loading = threading.Lock()
        self._cancels: dict[str, threading.Event] = {}
        self._runs: dict[str, Trace] = {}
        self._recordings: dict[str, Callable[[], Trace]] = {**recorded_runs()}
        self._widget: Any = None
        page = about() | family_form(self._family) | {"tabs": list(registered())}
        if allow_models:
            page["models"] = None
        if self._own:
            prepare()
            page |= MACHINE
        else:
            page["families"] = [one for one in page["families"] if one["name"] == self._family.name]
        if shown is not None:
            trace = trace_of(shown)
            self._recordings[GIVEN] = partial(trace_of, trace)
            self._keep(trace, GIVEN)
            recording = {"name": GIVEN, "title": trace.stack or "trace", "blurb": "As given."}
            page["recordings"].insert(0, recording)
        super().__init__(about=page, can=["decode", *answers.TOPICS, *registered()])

    @property
    def trace(self) -> Trace | None:
        """The run that was last shown, opened or decoded; ``None`` before the first."""
        return next(reversed([*self._runs.values()]), None)

    def _on_message(self, widget: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict) or not isinstance(content.get("id"), str):
            return super()._on_message(widget, content, buffers)
        key = content["id"]
        if content.get("kind") == "cancel":
            if running := self._cancels.get(key):
                running.set()
            return
        if len(self._cancels) >= MOST_REQUESTS:
            busy = f"this page has {MOST_REQUESTS} requests in progress: wait for one to end"
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
        """Answer a request, also one that cannot be read, and if a library panics."""
        try:
            asked = self._request(key, content, buffers, cancelled)
            reply = getattr(self, f"_{content['kind']}")(asked)
            answer, files = reply if isinstance(reply, tuple) else (reply, None)
            self.send({"id": key, "kind": "done", **answer}, files)
        except BaseException as error:
            self._fail(key, error, content)
        finally:
            self._cancels.pop(key, None)

    def _request(
        self, key: str, content: dict[str, Any], buffers: Any, cancelled: threading.Event
    ) -> PageRequest:
        """Return a message as a request.

        Raises:
            UserError: if it is not one.
        """
        kind = content.get("kind")
        if kind not in KINDS:
            raise UserError(f"the page knows no request {kind!r:.40}")

        def send(kind: str, **content: Any) -> None:
            self.send({"id": key, "kind": kind, **content})

        with parsing("the request"):
            names = [str(name) for name in content.get("names") or []]
            contents = [bytes(buffer) for buffer in buffers or []]
            options = dict(content.get("options") or {})
        return PageRequest(
            message=content,
            about=str(content.get("about")),
            options=options,
            files=list(zip(names, contents, strict=False)),
            send=send,
            run=self._runs.get(str(content.get("run"))),
            access=self._access,
            cancelled=cancelled,
        )

    def _fail(self, key: str, error: BaseException, content: dict[str, Any]) -> None:
        """Answer that a request failed. A visitor reads one line; the server's log has the rest."""
        if not isinstance(error, UserError | ModuleNotFoundError):
            report_fault(error)
        message = visitor_message(error, str(content))
        details = "".join(traceback.format_exception(error)) if is_debugging() else ""
        self.send({"id": key, "kind": "failed", "message": message, "details": details[-8000:]})

    def _keep(self, trace: Trace, run: str | None = None) -> str:
        run = run or uuid.uuid4().hex
        self._runs.pop(run, None)
        self._runs[run] = trace
        for old in [*self._runs][:-MOST_RUNS]:
            self._runs.pop(old, None)
        return run

    def _recording(self, asked: PageRequest) -> tuple[dict[str, Any], list[bytes]]:
        # Names from the browser are looked up and never become paths.
        name = str(asked.message.get("name"))
        known = self._runs.get(name) or self._recordings.get(name, partial(load_bundled, name))()
        return {}, [msgspec.json.encode(run_data.snapshot(known, self._keep(known, name)))]

    def _knows(self, asked: PageRequest) -> dict[str, Any]:
        if asked.run is not None:
            self._keep(asked.run, str(asked.message["run"]))
        return {"known": asked.run is not None}

    def _plotly(self, _asked: PageRequest) -> tuple[dict[str, Any], list[bytes]]:
        return {}, [packed(CARTESIAN)]

    def _take(self, asked: PageRequest) -> dict[str, Any]:
        with parsing("the run"):
            kept = asked.message["snapshot"]
            trace = run_data.trace_from(kept)
            run = str(kept["run"])
        self._keep(trace, run)
        return {}

    def _open(self, asked: PageRequest) -> tuple[dict[str, Any], list[bytes]]:
        if not asked.files:
            raise UserError("no file was sent")
        name, content = asked.files[0]
        trace = run_of_file(content, name)
        return {}, [msgspec.json.encode(run_data.snapshot(trace, self._keep(trace)))]

    def _ask(self, asked: PageRequest) -> dict[str, Any]:
        if asked.about not in registered():
            return {"answer": answers.answer(asked)}
        if self._widget is not None:
            self._widget.close()
        part, self._widget = answers.tab(asked)
        return {"answer": {"parts": [part]}}

    def _file(self, asked: PageRequest) -> tuple[dict[str, Any], list[bytes]]:
        name, kind, content = answers.file(asked)
        return {"name": name, "type": kind}, [content]

    def _decode(self, asked: PageRequest) -> dict[str, Any]:
        request = _decode_request(asked.message.get("request"))
        run = uuid.uuid4().hex
        seq = 0
        trace = Trace({})
        for batch in batches(lambda: self._events(request), asked.cancelled, FLUSH):
            steps = []
            for event in batch:
                match event:
                    case Step():
                        trace.append(event)
                        steps.append(event)
                    case Stage():
                        asked.send("stage", text=event.text, done=event.done, total=event.total)
                    case Started():
                        trace = Trace(event.meta, event.pieces)
                        begun = run_data.snapshot(trace, run, 0)
                        # The meta of an unfinished run says "cancelled", in case no more steps
                        # come.
                        prefill = begun["meta"]["prefill_ns"] or None
                        begun["meta"] |= {
                            "cancelled": False,
                            "wall_ns": None,
                            "prefill_ns": prefill,
                        }
                        asked.send("begin", run=begun)
                    case Finished():
                        trace = event.trace
            if steps:
                asked.send("append", steps=run_data.append(run, seq + 1, steps))
                seq += len(steps)
        if parent := _parent_of(request):
            trace.meta["parent"] = parent
        self._keep(trace, run)
        return {"head": {"run": run, "seq": seq, **run_data.head(trace.meta)}}

    def _events(self, request: dict[str, Any]) -> Iterator[Event]:
        from hsd_viz.engine.local import LocalEngine

        folder = request.get("databases") or None
        if folder is not None:
            folder = self._access.check("databases", str(folder))
        machine = EngineOptions(
            target=str(request.get("target") or "target"),
            family=find_family(str(request.get("family") or self._family.name)).name,
            device=request.get("device") or None,
            dtype=request.get("dtype") or None,
            # The page and the browser need the other cores, and small models do not profit from
            # more.
            threads=min(8, max(1, (os.cpu_count() or 2) // 2)),
            databases=folder,
            allow_models=self._access.models is None,
        )
        if not self._own and machine.family != self._family.name:
            raise UserError(
                f"the engine of this page decodes the family {self._family.name}, "
                f"not {machine.family}"
            )
        with self._loading:
            if self._own and (self._engine is None or machine != self._machine):
                yield Stage("loading the models")
                self._engine = None  # frees the previous models
                self._engine = LocalEngine.of(machine)
                self._machine = machine
            engine = self._engine
        assert engine is not None
        options: Any = {name: request[name] for name in OPTIONS if name in request}
        call = DecodeCall(str(request["prompt"]), str(request["stack"]), options)
        if request.get("beside_plain"):
            yield from decode_beside_plain(engine, call)
        else:
            yield from call.events(engine)


def _decode_request(request: Any) -> dict[str, Any]:
    """Return the request of a decode.

    Raises:
        UserError: if it is not one, or above the limits.
    """
    limits = ABOUT["limits"]
    if not isinstance(request, dict):
        raise UserError("the request has no settings of a decode")
    for name in ("prompt", "stack"):
        if not isinstance(request.get(name), str):
            raise UserError(f"the {name} is {request.get(name)!r:.40}: expected a text")
    if len(request["prompt"]) > limits["prompt"]:
        raise UserError(f"a page decodes prompts of up to {limits['prompt']} characters")
    check_range("max_new_tokens", request.get("max_new_tokens"), 1, limits["tokens"])
    return request


def _parent_of(request: dict[str, Any]) -> dict[str, Any] | None:
    """Return the run that a request continues, and where; ``None`` if it continues none."""
    parent = request.get("parent")
    if parent is None:
        return None
    if not isinstance(parent, dict) or not isinstance(parent.get("token"), int):
        raise UserError(f"the parent is {parent!r:.40}: expected a run and the number of a token")
    return {
        "run": str(parent.get("run"))[:200],
        "token": parent["token"],
        "text": str(parent.get("text"))[:200],
    }


def dashboard(
    shown: Given | Engine | None = None,
    *,
    engine: Engine | None = None,
    allow_models: bool = False,
    family: str = DEFAULT,
) -> App:
    """Create the dashboard widget; as the last line of a notebook cell it is displayed.

    ``shown`` is a trace, or the path of its file, to open in it; an engine there is the same as
    ``engine``. ``engine`` replaces the one loaded on the first run (on a served page possibly that
    of a server: :func:`hsd_viz.views.app.server.command`). ``allow_models`` allows hub models and
    paths, too. ``family`` is the one that the form has at first.
    """
    if shown is not None and not isinstance(shown, Trace | str | os.PathLike):
        if not hasattr(shown, "decode"):
            raise TypeError(
                f"dashboard() shows a trace or the path of its file, not {type(shown).__name__}"
            )
        engine = shown
        shown = None
    if engine is None and (url := os.environ.get(ENGINE_URL)):
        engine = RemoteEngine(url, engine_token())
    return App(engine, allow_models=allow_models, shown=shown, family=family)
