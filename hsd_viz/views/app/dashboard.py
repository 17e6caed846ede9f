"""The page as one widget: the browser shows it (``js/app``), Python answers its requests and streams columns.

Opening it imports neither torch nor transformers and reads no weights: models load on the first run. Messages are those
of ``js/host/kernel.ts``; what takes time runs in a thread of its own and reports as it goes.
"""

from __future__ import annotations

import importlib.util
import os
import threading
import time
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
from hsd_viz.engine.replay import SIDE_BY_SIDE, bundled, load_bundled
from hsd_viz.figures.pictures import CARTESIAN, packed
from hsd_viz.figures.theme import Given, trace_of
from hsd_viz.stack import Model, Stack, StackError, parse
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace
from hsd_viz.views import run_data
from hsd_viz.views.app.answers import TOPICS, Answers, lesson
from hsd_viz.views.app.server import ENGINE_TOKEN, ENGINE_URL
from hsd_viz.views.page_data import LADDER, MAX_NEW_TOKENS, MAX_PROMPT, about
from hsd_viz.views.view import Exported, Part, registered

#: Seconds between messages with new steps: 12 per second look continuous.
FLUSH = 0.08
#: Runs that are kept for questions about them.
MOST_RUNS = 8
GIVEN = "given"
OPTIONS = ("max_new_tokens", "temperature", "top_k", "top_p", "seed", "rule")
DTYPES = ("int8", "float32", "bfloat16", "float64")


class App(Exported, Part):
    """The whole page. ``engine`` replaces the one loaded on the first run; ``allow_models`` allows hub models and paths
    in stacks; ``shown`` is a trace, or the path of its file, to open. Create it with :func:`dashboard`.
    """

    view = traitlets.Unicode("app").tag(sync=True)
    about = traitlets.Dict().tag(sync=True)
    can = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, engine: Engine | None = None, *, allow_models: bool = False, shown: Given | None = None) -> None:
        self._engine, self._own = engine, engine is None
        #: Options of the engine that was loaded.
        self._machine: dict[str, Any] = {}
        self._models = None if allow_models else LADDER
        self._loading = threading.Lock()
        self._cancels: dict[str, threading.Event] = {}
        self._runs: OrderedDict[str, Trace] = OrderedDict()
        self._answers = Answers()
        live = engine is not None or importlib.util.find_spec("tokenizers") is not None
        loads = self._own and live
        if loads:
            prepare()
        page = about(
            models=self._models,
            devices=("cpu", "cuda") if loads else (),
            dtypes=DTYPES if loads else (),
            tabs=list(registered()),
        )
        if shown is not None:
            trace = trace_of(shown)
            self._runs[GIVEN] = trace
            page["recordings"].insert(0, {"name": GIVEN, "title": trace.stack or "trace", "blurb": "As given."})
        super().__init__(about=page, can=[*(["decode"] if live else []), *TOPICS, *registered()])
        self.on_msg(self._on_message)

    @property
    def trace(self) -> Trace | None:
        """The run that was last shown, opened or decoded; ``None`` before the first."""
        return next(reversed(self._runs.values()), None)

    def to_html(self, *, dark: bool | None = None) -> str:
        """Return the page of the run that was last shown."""
        from hsd_viz.views.export import run_page

        return run_page(self.trace or load_bundled(bundled()[0].name))

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
            "ask": lambda message, job: {"answer": self._answers.answer(*self._question(message), job.files, job)},
            "file": self._file,
            "lesson": lambda message, _job: {"html": lesson(message.get("number"))},
            "plotly": lambda *_: ({}, [packed(CARTESIAN)]),
        }
        if kind not in handlers:
            return
        names = content.get("names") or []
        job = Job(self, key, [(str(name), bytes(buffer)) for name, buffer in zip(names, buffers, strict=False)])
        self._cancels[key] = job.cancelled
        work = partial(self._work, job, handlers[kind], content)
        if kind in ("decode", "ask", "file", "lesson"):
            threading.Thread(target=work, name=f"hsd-viz {kind}", daemon=True).start()
        else:
            work()

    def _work(self, job: Job, handler: Callable[..., Any], content: dict[str, Any]) -> None:
        try:
            found = handler(content, job)
            answer, buffers = found if isinstance(found, tuple) else (found, None)
            self.send({"id": job.key, "kind": "done", **answer}, buffers)
        except Exception as error:
            # Bad input is a one-line message; a fault has its traceback, too.
            expected = isinstance(error, ValueError | ImportError) and not isinstance(error, UnicodeError)
            said = str(error).strip() or type(error).__name__
            details = "" if expected else "".join(traceback.format_exception(error))
            self.send({"id": job.key, "kind": "failed", "message": said[:2000], "details": details[-8000:]})
        finally:
            self._cancels.pop(job.key, None)

    def _keep(self, trace: Trace, run: str | None = None) -> str:
        run = run or uuid.uuid4().hex
        self._runs[run] = trace
        self._runs.move_to_end(run)
        while len(self._runs) > MOST_RUNS:
            self._runs.pop(next(name for name in self._runs if name != GIVEN))
        return run

    def _recording(self, message: dict[str, Any], _job: Job) -> dict[str, Any]:
        name = str(message.get("name"))
        known = self._runs.get(name)
        if known is None:
            # Names from the browser are looked up in the index of a folder and never become paths.
            group, _, single = name.rpartition("/")
            groups = {race["group"] for race in self.about["races"]}
            known = load_bundled(single, SIDE_BY_SIDE / group) if group in groups else load_bundled(name)
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

    def _file(self, message: dict[str, Any], _job: Job) -> tuple[dict[str, Any], list[bytes]]:
        name, kind, content = self._answers.file(*self._question(message))
        return {"name": name, "type": kind}, [content]

    # --- decoding -----------------------------------------------------------------------------------------------------

    def _decode(self, message: dict[str, Any], job: Job) -> dict[str, Any]:
        request = message["request"]
        prompt, stack = str(request["prompt"]), str(request["stack"])
        if len(prompt) > MAX_PROMPT or not 1 <= request["max_new_tokens"] <= MAX_NEW_TOKENS:
            raise ValueError(
                f"a page decodes up to {MAX_NEW_TOKENS} tokens of a prompt of up to {MAX_PROMPT} characters"
            )
        allowed(parse(stack), self._models)
        options = {name: request[name] for name in OPTIONS if name in request}
        if request.get("chat"):
            options["chat"] = True
        trace = stream(lambda: self._events(request, prompt, stack, options), job)
        run = self._keep(trace, job.run)
        return {"head": {"run": run, "seq": job.seq, **run_data.head(trace.meta)}}

    def _events(self, request: dict[str, Any], prompt: str, stack: str, options: dict[str, Any]) -> Iterator[Event]:
        machine = self._wanted(request)
        with self._loading:
            if self._own and (self._engine is None or machine != self._machine):
                yield Stage("loading the models")
                self._load(machine)
            engine = self._engine
        assert engine is not None
        decode = partial(decode_beside_plain, engine) if request.get("beside_plain") else engine.decode
        yield from decode(prompt, stack, **options)

    def _wanted(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the options of the engine; ``None``: its choice, and the shipped databases."""
        target, folder = str(request.get("target") or "target"), str(request.get("databases") or "")
        allowed(Stack(None, (Model(target, None),)), self._models)
        if folder and self._models is not None:
            raise ValueError(
                "other databases than the shipped ones are not allowed on this page: they need "
                "`hsd-viz dashboard --allow-models`"
            )
        machine = {name: request.get(name) or None for name in ("device", "dtype")}
        return machine | {"target": target, "databases": folder or None}

    def _load(self, machine: dict[str, Any]) -> None:
        from hsd_viz.engine.local import load_engine

        self._engine = None  # frees the previous models
        # The page and the browser need the other cores, and small models do not profit from more.
        threads = min(8, max(1, (os.cpu_count() or 2) // 2))
        self._engine = load_engine(**machine, threads=threads, allow_models=self._models is None)
        self._machine = machine


class Job:
    """A request of the page with its files (name, content): where its progress is reported."""

    def __init__(self, app: App, key: str, files: list[tuple[str, bytes]]) -> None:
        self.key, self.files, self.run, self.seq = key, files, uuid.uuid4().hex, 0
        self.cancelled = threading.Event()
        self._app, self._said = app, 0.0

    def stage(self, text: str, done: float | None = None, total: float | None = None, *, every: float = 0.0) -> None:
        """Report a stage; one within ``every`` seconds after the last is left out."""
        now = time.monotonic()
        if now - self._said >= every:
            self._said = now
            self._app.send({"id": self.key, "kind": "stage", "text": text, "done": done, "total": total})

    def begin(self, trace: Trace) -> None:
        """Report that a run has started."""
        run = run_data.snapshot(trace, self.run, 0)
        # The meta of an unfinished run says "cancelled", in case no more steps come; its times are not known yet.
        run["meta"] |= {"cancelled": False, "wall_ns": None, "prefill_ns": run["meta"]["prefill_ns"] or None}
        self._app.send({"id": self.key, "kind": "begin", "run": run})

    def append(self, steps: list[Step]) -> None:
        """Report new steps of the run."""
        message = run_data.append(self.run, self.seq + 1, steps)
        self.seq += len(steps)
        self._app.send({"id": self.key, "kind": "append", "steps": message})


def stream(events: Callable[[], Iterator[Event]], job: Job) -> Trace:
    """Run a decode and report its events to ``job``. Returns the trace, also of a cancelled run. Raises what the decode
    raises.
    """
    trace = Trace({})
    for batch in batches(events, job.cancelled, FLUSH):
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
                    job.begin(trace)
                case Finished():
                    trace = event.trace
        if steps:
            job.append(steps)
    return trace


def allowed(stack: Stack, models: tuple[str, ...] | None) -> Stack:
    """Return the stack. Raises: StackError: if it names a model not in ``models`` (``None``: any)."""
    auto = stack.bottom.items if stack.bottom is not None and stack.automatic else ()
    for name in (*(m.name for m in stack.models), *(item for item in auto if item != "db")):
        if models is not None and name not in models:
            raise StackError(
                f"'{name}' is not allowed on this page: use {', '.join(models)}; other models need `hsd-viz dashboard "
                "--allow-models`"
            )
    return stack


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
