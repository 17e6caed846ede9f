"""The page as one widget: the browser shows it (``js/app``), Python answers its requests and streams columns.

Opening it imports neither torch nor transformers and reads no weights: models load on the first run. Messages are those
of ``js/host/kernel.ts``; each is answered in a thread of its own, which reports as it goes.
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

from hsd_viz.engine import Engine, prepare
from hsd_viz.engine.live import batches, decode_beside_plain
from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.engine.replay import load_bundled
from hsd_viz.errors import UserError, fault_message
from hsd_viz.figures.pictures import CARTESIAN, packed
from hsd_viz.figures.theme import Given, trace_of
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace
from hsd_viz.views import run_data
from hsd_viz.views.app import answers
from hsd_viz.views.app.answers import Request
from hsd_viz.views.app.server import ENGINE_TOKEN, ENGINE_URL
from hsd_viz.views.page_data import ABOUT, MACHINE, about, recorded_runs
from hsd_viz.views.view import Part, registered

#: Seconds between messages with new steps: 12 per second look continuous.
FLUSH = 0.08
#: Runs that are kept for questions about them.
MOST_RUNS = 8
GIVEN = "given"
#: Messages, each with a method of its name.
KINDS = ("recording", "open", "knows", "take", "decode", "ask", "file", "plotly")
OPTIONS = ("max_new_tokens", "temperature", "top_k", "top_p", "seed", "rule", "chat")


class App(Part):
    """The whole page. ``engine`` replaces the one loaded on the first run; ``allow_models`` allows hub models and paths
    in stacks; ``shown`` is a trace, or the path of its file, to open. Create it with :func:`dashboard`.
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
    ) -> None:
        self._engine, self._own, self._allow = engine, engine is None, allow_models
        self._machine: dict[str, Any] = {}
        self._loading = threading.Lock()
        self._cancels: dict[str, threading.Event] = {}
        self._runs: dict[str, Trace] = {}
        self._recordings: dict[str, Callable[[], Trace]] = {**recorded_runs()}
        self._widget: Any = None
        page = about(tabs=list(registered())) | ({"models": None} if allow_models else {})
        if self._own:
            prepare()
            page |= MACHINE
        if shown is not None:
            trace = trace_of(shown)
            self._recordings[GIVEN] = lambda: trace
            self._keep(trace, GIVEN)
            page["recordings"].insert(
                0, {"name": GIVEN, "title": trace.stack or "trace", "blurb": "As given."}
            )
        super().__init__(about=page, can=["decode", *answers.TOPICS, *registered()])

    @property
    def trace(self) -> Trace | None:
        """The run that was last shown, opened or decoded; ``None`` before the first."""
        return next(reversed([*self._runs.values()]), None)

    def _on_message(self, widget: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict) or not isinstance(content.get("id"), str):
            return super()._on_message(widget, content, buffers)
        key, kind = content["id"], content.get("kind")
        if kind == "cancel" and (running := self._cancels.get(key)):
            running.set()
        if kind not in KINDS:
            return
        names = content.get("names") or []
        files = [(str(name), bytes(buffer)) for name, buffer in zip(names, buffers, strict=False)]
        tell = lambda kind, **content: self.send({"id": key, "kind": kind, **content})
        about, options, run = (
            str(content.get("about")),
            content.get("options") or {},
            str(content.get("run")),
        )
        asked = Request(content, about, options, files, tell, self._runs.get(run))
        self._cancels[key] = asked.cancelled
        threading.Thread(
            target=self._work, args=(key, getattr(self, f"_{kind}"), asked), daemon=True
        ).start()

    def _work(self, key: str, handler: Callable[[Request], Any], asked: Request) -> None:
        try:
            found = handler(asked)
            answer, buffers = found if isinstance(found, tuple) else (found, None)
            self.send({"id": key, "kind": "done", **answer}, buffers)
        except Exception as error:
            # Bad input is a one-line message; a fault has its traceback, too.
            message = str(error).strip()
            details = ""
            if not isinstance(error, UserError | ImportError | OSError):
                message = fault_message(error)
                details = "".join(traceback.format_exception(error))
            asked.tell("failed", message=message[:2000], details=details[-8000:])
        finally:
            self._cancels.pop(key, None)

    def _keep(self, trace: Trace, run: str | None = None) -> str:
        run = run or uuid.uuid4().hex
        self._runs.pop(run, None)
        self._runs[run] = trace
        for old in [*self._runs][:-MOST_RUNS]:
            self._runs.pop(old, None)
        return run

    def _recording(self, asked: Request) -> tuple[dict[str, Any], list[bytes]]:
        # Names from the browser are looked up and never become paths.
        name = str(asked.message.get("name"))
        known = self._runs.get(name) or self._recordings.get(name, partial(load_bundled, name))()
        return {}, [msgspec.json.encode(run_data.snapshot(known, self._keep(known, name)))]

    def _knows(self, asked: Request) -> dict[str, Any]:
        if asked.run is not None:
            self._keep(asked.run, str(asked.message["run"]))
        return {"known": asked.run is not None}

    def _plotly(self, _asked: Request) -> tuple[dict[str, Any], list[bytes]]:
        return {}, [packed(CARTESIAN)]

    def _take(self, asked: Request) -> dict[str, Any]:
        kept = asked.message["snapshot"]
        self._keep(run_data.trace_from(kept), str(kept["run"]))
        return {}

    def _open(self, asked: Request) -> tuple[dict[str, Any], list[bytes]]:
        if not asked.files:
            raise UserError("no file was sent")
        name, content = asked.files[0]
        trace = run_data.read_trace(content, name)
        return {}, [msgspec.json.encode(run_data.snapshot(trace, self._keep(trace)))]

    def _ask(self, asked: Request) -> dict[str, Any]:
        if asked.about not in registered():
            return {"answer": answers.answer(asked)}
        if self._widget is not None:
            self._widget.close()
        part, self._widget = answers.tab(asked)
        return {"answer": {"parts": [part]}}

    def _file(self, asked: Request) -> tuple[dict[str, Any], list[bytes]]:
        name, kind, content = answers.file(asked)
        return {"name": name, "type": kind}, [content]

    def _decode(self, asked: Request) -> dict[str, Any]:
        request, limits = asked.message["request"], ABOUT["limits"]
        if (
            len(str(request["prompt"])) > limits["prompt"]
            or not 1 <= request["max_new_tokens"] <= limits["tokens"]
        ):
            most = f"{limits['tokens']} tokens of a prompt of up to {limits['prompt']} characters"
            raise UserError(f"a page decodes up to {most}")
        run, seq, trace = uuid.uuid4().hex, 0, Trace({})
        for batch in batches(lambda: self._events(request), asked.cancelled, FLUSH):
            steps = []
            for event in batch:
                match event:
                    case Step():
                        trace.append(event)
                        steps.append(event)
                    case Stage():
                        asked.tell("stage", text=event.text, done=event.done, total=event.total)
                    case Started():
                        trace = Trace(event.meta, event.pieces)
                        begun = run_data.snapshot(trace, run, 0)
                        # The meta of an unfinished run says "cancelled", in case no more steps come.
                        prefill = begun["meta"]["prefill_ns"] or None
                        begun["meta"] |= {
                            "cancelled": False,
                            "wall_ns": None,
                            "prefill_ns": prefill,
                        }
                        asked.tell("begin", run=begun)
                    case Finished():
                        trace = event.trace
            if steps:
                asked.tell("append", steps=run_data.append(run, seq + 1, steps))
                seq += len(steps)
        self._keep(trace, run)
        return {"head": {"run": run, "seq": seq, **run_data.head(trace.meta)}}

    def _events(self, request: dict[str, Any]) -> Iterator[Event]:
        folder = request.get("databases") or None
        if folder and not self._allow:
            raise UserError(
                "other databases than the shipped ones are not allowed: use `hsd-viz dashboard --allow-models`"
            )
        machine = {name: request.get(name) or None for name in ("device", "dtype")}
        machine |= {"target": str(request.get("target") or "target"), "databases": folder}
        with self._loading:
            if self._own and (self._engine is None or machine != self._machine):
                from hsd_viz.engine.local import load_engine

                yield Stage("loading the models")
                self._engine = None  # frees the previous models
                # The page and the browser need the other cores, and small models do not profit from more.
                threads = min(8, max(1, (os.cpu_count() or 2) // 2))
                self._engine = load_engine(**machine, threads=threads, allow_models=self._allow)
                self._machine = machine
            engine = self._engine
        assert engine is not None
        decode = (
            partial(decode_beside_plain, engine) if request.get("beside_plain") else engine.decode
        )
        options: Any = {name: request[name] for name in OPTIONS if name in request}
        yield from decode(str(request["prompt"]), str(request["stack"]), **options)


def dashboard(
    shown: Given | Engine | None = None, *, engine: Engine | None = None, allow_models: bool = False
) -> App:
    """Create the dashboard widget; as the last line of a notebook cell it is displayed.

    ``shown`` is a trace, or the path of its file, to open in it; an engine there is the same as ``engine``. ``engine``
    replaces the one loaded on the first run (on a served page possibly that of a server:
    :func:`hsd_viz.views.app.server.command`). ``allow_models`` allows hub models and paths, too.
    """
    if shown is not None and not isinstance(shown, Trace | str | os.PathLike):
        if not hasattr(shown, "decode"):
            raise TypeError(
                f"dashboard() shows a trace or the path of its file, not {type(shown).__name__}"
            )
        shown, engine = None, shown
    if engine is None and (url := os.environ.get(ENGINE_URL)):
        engine = RemoteEngine(url, os.environ.get(ENGINE_TOKEN) or None)
    return App(engine, allow_models=allow_models, shown=shown)
