"""The page as one widget: the browser shows it (``js/app``), Python answers its requests and streams columns.

Opening it imports neither torch nor transformers and reads no weights: models load on the first run. Messages are those
of ``js/host/kernel.ts``; what takes time runs in a thread of its own and reports as it goes.
"""

from __future__ import annotations

import importlib.util
import os
import threading
import traceback
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import traitlets

from hsd_viz.engine import Engine, prepare
from hsd_viz.engine.live import batches, decode_beside_plain
from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.engine.replay import load_bundled
from hsd_viz.figures.pictures import CARTESIAN, packed
from hsd_viz.figures.theme import Given, trace_of
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace
from hsd_viz.views import run_data
from hsd_viz.views.app import answers
from hsd_viz.views.app.answers import Job
from hsd_viz.views.app.server import ENGINE_TOKEN, ENGINE_URL
from hsd_viz.views.page_data import LADDER, MAX_NEW_TOKENS, MAX_PROMPT, about, recorded_runs
from hsd_viz.views.view import Part, registered

#: Seconds between messages with new steps: 12 per second look continuous.
FLUSH = 0.08
#: Runs that are kept for questions about them.
MOST_RUNS = 8
GIVEN = "given"
OPTIONS = ("max_new_tokens", "temperature", "top_k", "top_p", "seed", "rule", "chat")
DTYPES = ["int8", "float32", "bfloat16", "float64"]


class App(Part):
    """The whole page. ``engine`` replaces the one loaded on the first run; ``allow_models`` allows hub models and paths
    in stacks; ``shown`` is a trace, or the path of its file, to open. Create it with :func:`dashboard`.
    """

    view = traitlets.Unicode("app").tag(sync=True)
    about = traitlets.Dict().tag(sync=True)
    can = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, engine: Engine | None = None, *, allow_models: bool = False, shown: Given | None = None) -> None:
        self._engine, self._own, self._allow = engine, engine is None, allow_models
        #: Options of the engine that was loaded.
        self._machine: dict[str, Any] = {}
        self._loading = threading.Lock()
        self._cancels: dict[str, threading.Event] = {}
        self._runs: OrderedDict[str, Trace] = OrderedDict()
        #: The widget of another package that was shown last.
        self._widget: Any = None
        live = engine is not None or importlib.util.find_spec("tokenizers") is not None
        page = about(models=None if allow_models else LADDER, tabs=list(registered()))
        if self._own and live:
            prepare()
            page |= {"devices": ["cpu", "cuda"], "dtypes": DTYPES}
        if shown is not None:
            trace = trace_of(shown)
            self._runs[GIVEN] = trace
            page["recordings"].insert(0, {"name": GIVEN, "title": trace.stack or "trace", "blurb": "As given."})
        super().__init__(about=page, can=[*(["decode"] if live else []), *answers.TOPICS, *registered()])
        self.on_msg(self._on_message)

    @property
    def trace(self) -> Trace | None:
        """The run that was last shown, opened or decoded; ``None`` before the first."""
        return next(reversed(self._runs.values()), None)

    # --- messages -----------------------------------------------------------------------------------------------------

    def _on_message(self, _widget: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict) or not isinstance(content.get("id"), str):
            return
        key, kind = content["id"], content.get("kind")
        if kind == "cancel":
            if key in self._cancels:
                self._cancels[key].set()
            return
        handlers: dict[Any, Callable[[dict[str, Any], Job], Any]] = {
            "recording": self._recording,
            "open": self._open,
            "knows": self._knows,
            "take": self._take,
            "decode": self._decode,
            "ask": self._ask,
            "file": self._file,
            "plotly": lambda *_: ({}, [packed(CARTESIAN)]),
        }
        if kind not in handlers:
            return
        names = content.get("names") or []
        files = [(str(name), bytes(buffer)) for name, buffer in zip(names, buffers, strict=False)]
        job = Job(files, lambda kind, **content: self.send({"id": key, "kind": kind, **content}))
        self._cancels[key] = job.cancelled
        work = partial(self._work, key, job, handlers[kind], content)
        if kind in ("decode", "ask", "file"):
            threading.Thread(target=work, name=f"hsd-viz {kind}", daemon=True).start()
        else:
            work()

    def _work(self, key: str, job: Job, handler: Callable[..., Any], content: dict[str, Any]) -> None:
        try:
            found = handler(content, job)
            answer, buffers = found if isinstance(found, tuple) else (found, None)
            self.send({"id": key, "kind": "done", **answer}, buffers)
        except Exception as error:
            # Bad input is a one-line message; a fault has its traceback, too.
            expected = isinstance(error, ValueError | ImportError) and not isinstance(error, UnicodeError)
            said = str(error).strip() or type(error).__name__
            details = "" if expected else "".join(traceback.format_exception(error))
            job.tell("failed", message=said[:2000], details=details[-8000:])
        finally:
            self._cancels.pop(key, None)

    def _keep(self, trace: Trace, run: str | None = None) -> str:
        run = run or uuid.uuid4().hex
        self._runs[run] = trace
        self._runs.move_to_end(run)
        while len(self._runs) > MOST_RUNS:
            self._runs.pop(next(name for name in self._runs if name != GIVEN))
        return run

    def _recording(self, message: dict[str, Any], _job: Job) -> dict[str, Any]:
        # Names from the browser are looked up and never become paths.
        name = str(message.get("name"))
        load = recorded_runs().get(name, partial(load_bundled, name))
        known = self._runs.get(name) or load()
        return {"run": run_data.snapshot(known, self._keep(known, name))}

    def _knows(self, message: dict[str, Any], _job: Job) -> dict[str, Any]:
        run = str(message.get("run"))
        if run in self._runs:
            self._runs.move_to_end(run)
        return {"known": run in self._runs}

    def _take(self, message: dict[str, Any], _job: Job) -> dict[str, Any]:
        kept = message["snapshot"]
        self._keep(run_data.trace_from(kept), str(kept["run"]))
        return {}

    def _open(self, _message: dict[str, Any], job: Job) -> dict[str, Any]:
        if not job.files:
            raise ValueError("no file was sent")
        name, content = job.files[0]
        trace = run_data.read_trace(content, name)
        return {"run": run_data.snapshot(trace, self._keep(trace))}

    def _question(self, message: dict[str, Any]) -> tuple[str, Trace | None, dict[str, Any]]:
        return str(message.get("about")), self._runs.get(str(message.get("run"))), message.get("options") or {}

    def _ask(self, message: dict[str, Any], job: Job) -> dict[str, Any]:
        name, run, options = self._question(message)
        if name not in registered():
            return {"answer": answers.answer(name, run, options, job)}
        if self._widget is not None:
            self._widget.close()
        part, self._widget = answers.tab(name, run)
        return {"answer": {"parts": [part]}}

    def _file(self, message: dict[str, Any], _job: Job) -> tuple[dict[str, Any], list[bytes]]:
        name, kind, content = answers.file(*self._question(message))
        return {"name": name, "type": kind}, [content]

    # --- decoding -----------------------------------------------------------------------------------------------------

    def _decode(self, message: dict[str, Any], job: Job) -> dict[str, Any]:
        request = message["request"]
        if len(str(request["prompt"])) > MAX_PROMPT or not 1 <= request["max_new_tokens"] <= MAX_NEW_TOKENS:
            raise ValueError(
                f"a page decodes up to {MAX_NEW_TOKENS} tokens of a prompt of up to {MAX_PROMPT} characters"
            )
        run, seq, trace = uuid.uuid4().hex, 0, Trace({})
        for batch in batches(lambda: self._events(request), job.cancelled, FLUSH):
            steps = []
            for event in batch:
                match event:
                    case Step():
                        trace.append(event)
                        steps.append(event)
                    case Stage():
                        job.stage(event.text, event.done, event.total)
                    case Started():
                        trace = Trace(event.meta)
                        trace.pieces.update(event.pieces)
                        begun = run_data.snapshot(trace, run, 0)
                        # The meta of an unfinished run says "cancelled", in case no more steps come.
                        begun["meta"] |= {"cancelled": False, "wall_ns": None}
                        begun["meta"]["prefill_ns"] = begun["meta"]["prefill_ns"] or None
                        job.tell("begin", run=begun)
                    case Finished():
                        trace = event.trace
            if steps:
                job.tell("append", steps=run_data.append(run, seq + 1, steps))
                seq += len(steps)
        self._keep(trace, run)
        return {"head": {"run": run, "seq": seq, **run_data.head(trace.meta)}}

    def _events(self, request: dict[str, Any]) -> Iterator[Event]:
        folder = request.get("databases") or None
        if folder and not self._allow:
            raise ValueError(
                "other databases than the shipped ones are not allowed on this page: they need "
                "`hsd-viz dashboard --allow-models`"
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
        decode = partial(decode_beside_plain, engine) if request.get("beside_plain") else engine.decode
        options: Any = {name: request[name] for name in OPTIONS if name in request}
        yield from decode(str(request["prompt"]), str(request["stack"]), **options)


def dashboard(shown: Given | Engine | None = None, *, engine: Engine | None = None, allow_models: bool = False) -> App:
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
    return App(engine, allow_models=allow_models, shown=shown)
