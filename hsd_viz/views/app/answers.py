"""Answers to the page's questions about a run, a report, a log or hardware: parts and files of
``js/host.ts``.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hsd_viz import figures
from hsd_viz.disk import data_folder
from hsd_viz.engine.access import Access
from hsd_viz.errors import UserError, parsing
from hsd_viz.latency.basis import Basis, basis_of, own_plan_of, recorded, temperature_words
from hsd_viz.latency.stored import identity, newest
from hsd_viz.results.page import page
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.export import run_page
from hsd_viz.views.linked import LinkedView
from hsd_viz.views.page_data import PREDICTED, saved_reports
from hsd_viz.views.view import as_widget, figure_part, registered

Part = dict[str, Any]
Answer = dict[str, Any]


#: The tokenizer of a replay that is an opened file.
OWN = "own"
#: The most drafters of a replay, and runs of a comparison.
MOST_DRAFTERS = 32
MOST_COMPARED = 3
#: The examples of a server's record and of a log of its texts.
EXAMPLE_RECORD = "chat.log"
EXAMPLE_LOG = "edits.jsonl"
#: What the lab sheet says of its server: tokens per second, and milliseconds per round.
EXAMPLE_SPEED = 40.0
EXAMPLE_STEP = 25.0
EXAMPLE_DRAFT = 21.0
EXAMPLE_VERIFY = 28.0
#: The report that the page shows first, where the project has it: of a model that writes English.
FIRST_REPORT = "spec-bench-t07-cpu.json"


@dataclass
class Request:
    """A request of the page.

    Attributes:
        message: The request as it was sent.
        about: What it asks for.
        options: The settings of the question.
        files: The names and contents of its files.
        send: Sends a message of progress: its kind, and its content by name.
        run: The run that it is about.
        access: What the request may name.
        cancelled: Set when the visitor no longer waits.
    """

    message: dict[str, Any]
    about: str
    options: dict[str, Any]
    files: list[tuple[str, bytes]]
    send: Callable[..., None]
    run: Trace | None
    access: Access
    cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def trace(self) -> Trace:
        """The run.

        Raises:
            UserError: if there is none.
        """
        if self.run is None or not len(self.run):
            raise UserError("there is no run to ask about")
        return self.run


def answer(asked: Request) -> Answer:
    """Return the answer to a question.

    Raises:
        UserError: if it has none.
    """
    if asked.about not in TOPICS:
        raise UserError(f"this page has no view '{asked.about}'")
    return TOPICS[asked.about](asked)


def choice(name: str, label: str, options: Iterable[Any], value: Any) -> dict[str, Any]:
    """Return a menu of texts, or of pairs of a text and its value."""
    pairs = [list(one) if isinstance(one, tuple) else [str(one), str(one)] for one in options]
    return {"name": name, "label": label, "options": pairs, "value": str(value)}


# --- a run ----------------------------------------------------------------------------------------


def doctor(asked: Request) -> Answer:
    """Return the share of each cause in what is lost of the speed-up; no part where there is
    nothing to explain.
    """
    from hsd_viz.measure.doctor.observe_runs import from_trace
    from hsd_viz.measure.doctor.verdict import diagnose

    trace = asked.trace
    try:
        diagnosis = diagnose(from_trace(trace, "this run"))
    except UserError:
        # No drafts, as in plain decoding.
        return {"parts": []}
    return {"parts": [_diagnosis_part(diagnosis)]}


def record(asked: Request) -> Answer:
    """Return the diagnosis of an opened record of a serving engine, or of a trace; or of the
    example.
    """
    from hsd_viz.measure.doctor.api import doctor as diagnosis_of
    from hsd_viz.views.app.traffic import diagnosis_part

    files = asked.files or _example(asked, EXAMPLE_RECORD)
    if not files:
        raise UserError("no record: drop a file on the field above, or open one")
    name, content = files[0]
    shown_name = name[:80]
    with tempfile.TemporaryDirectory(prefix="hsd-viz-record-") as place:
        # A visitor's name of a file never becomes a path.
        path = Path(place) / "visitors-file"
        path.write_bytes(content)
        model = asked.options.get("model") or None
        engine = asked.options.get("engine") or None
        try:
            if asked.files:
                diagnosis = diagnosis_of(path, model=model, engine=engine)
            else:
                diagnosis = diagnosis_of(
                    path,
                    plain_speed=EXAMPLE_SPEED,
                    step=EXAMPLE_STEP,
                    draft=EXAMPLE_DRAFT,
                    verify=EXAMPLE_VERIFY,
                )
        except UserError as error:
            message = str(error).replace(str(path), shown_name).replace(path.name, shown_name)
            raise UserError(message) from None
    diagnosis = replace(diagnosis, observation=replace(diagnosis.observation, source=shown_name))
    card = diagnosis_part(diagnosis, diagnosis.engine)
    if not asked.files:
        times_words = (
            f"{EXAMPLE_SPEED:g} tokens/s without drafts; a step {EXAMPLE_STEP:g} ms, "
            f"a draft {EXAMPLE_DRAFT:g} ms, its verification {EXAMPLE_VERIFY:g} ms"
        )
        words = _example_part(f"vLLM log ({times_words})")
        return {"parts": [words, card]}
    return {"parts": [card], "files": files_of("diagnosis", diagnosis)}


def _example(asked: Request, name: str) -> list[tuple[str, bytes]]:
    """Return a log of the course's lab sheet as a file of the question, if that asks for the
    example; it is made up, in the form that an engine writes.
    """
    if not asked.options.get("example"):
        return []
    folder = data_folder("exercises/master", "notebooks/course/master") / "lab"
    return [(name, (folder / name).read_bytes())]


def _example_part(what: str) -> Part:
    """Return the sentence that an answer is about an example."""
    words = f"Example: a made-up {what}, of the course's lab sheet. Your file replaces it."
    return {"kind": "text", "text": words, "caution": True}


def _diagnosis_part(diagnosis: Any) -> Part:
    """Return the summary of the diagnosis of a run, with its verdict on demand."""
    from hsd_viz.measure.doctor.loss import name_of

    causes = sorted(diagnosis.shares.items(), key=lambda item: -item[1])
    tables = []
    for table in diagnosis.tables():
        if table.rows:
            head, *rows = table.cells()
            tables.append({"title": table.title, "note": table.note, "head": head, "rows": rows})
    spec = {
        "title": "What limits the speed-up"
        if diagnosis.speedup.value is not None
        else "What limits this run",
        "causes": [
            {"name": name_of(cause), "share": share} for cause, share in causes if share >= 0.005
        ],
        "lines": diagnosis.lines(),
        "tables": tables,
        "settings": [list(item) for item in diagnosis.flags.items()],
    }
    return {"kind": "view", "view": "doctor", "state": {"spec": spec}}


def law(asked: Request) -> Answer:
    """Return what-if sliders, the stack selected by the latency law, its ranking, the levels of the
    run, and where a second draft model pays: by the calibration that ``hsd-viz plan`` stored here,
    or the project's own.
    """
    from hsd_viz.views.single import hierarchy_state, one_draft_state

    trace = asked.trace
    own = float((trace.meta.get("sampling") or {}).get("temperature") or 0.0)
    basis = calibrated(trace, own)
    if basis is None and (plan := own_plan_of(trace.meta.get("models") or (), own)):
        basis = basis_of(plan)
    of_other_models = basis is None
    basis = basis or recorded(own)
    sliders = {"acceptance": 0.7, "cost": 0.15, "lookahead": 4, "slope": 0.02} | one_draft_state(
        basis
    )
    states = {"one_draft": sliders, "hierarchy": hierarchy_state(basis)}
    parts: list[Part] = [
        {"kind": "view", "view": view, "state": state} for view, state in states.items()
    ]
    parts.append(figure_part(figures.ranking(basis)) | {"folded": True})
    try:
        # The costs of other models do not predict this run: the law takes its own.
        by_level = figures.levels(trace, None if of_other_models else basis)
        parts.append(figure_part(by_level) | {"folded": True})
    except UserError as error:
        # A level that this calibration does not have.
        parts.append({"kind": "text", "text": f"Levels of the run: {error}."})
    parts.append(figure_part(figures.when_it_pays()) | {"folded": True})
    if of_other_models:
        parts.insert(0, {"kind": "text", "text": _other_models(trace, basis), "caution": True})
    if basis.temperature not in (None, own):
        words = f"run {temperature_words(own)}, calibration {temperature_words(basis.temperature)}"
        advice = (
            f"Acceptance depends on temperature; calibrate with: hsd-viz plan --temperature {own:g}"
        )
        parts.insert(
            0, {"kind": "text", "text": f"Temperature mismatch: {words}. {advice}", "caution": True}
        )
    return {"parts": parts}


def _other_models(trace: Trace, basis: Basis) -> str:
    """Return what a reader must know of a calibration of other models than those of the run."""
    models = trace.meta.get("models") or []
    target = models[-1].get("model", "an unknown target") if models else "an unknown target"
    family = trace.meta.get("family")
    option = f" --family {family}" if family else " --target M"
    temperature = float((trace.meta.get("sampling") or {}).get("temperature") or 0.0)
    return (
        f"A separate example, of other models: the run's target is {target}; the calibration is of "
        f"{', '.join(basis.calibration.models)} of the shipped ladder. Calibrate with: "
        f"hsd-viz plan{option} --temperature {temperature:g}"
    )


def calibrated(trace: Trace, temperature: float) -> Basis | None:
    """Return the newest stored calibration of the models and number type of ``trace``; ``None``
    without one.
    """
    with suppress(KeyError, IndexError, TypeError):  # an imported trace does not name its weights
        who = identity(trace.meta)
        stored = newest({name: who[name] for name in ("target", "models", "device", "dtype")})
        if stored and (basis := basis_of(stored.to_dict())).temperature == temperature:
            return basis
    return None


# --- files and hardware ---------------------------------------------------------------------------


def prediction(asked: Request) -> Answer:
    """Return a prediction for hardware that is not at hand."""
    from hsd_viz.latency.cards import GPUS
    from hsd_viz.latency.shapes import WEIGHTS
    from hsd_viz.measure.predict.api import predict

    usual = {
        "gpu": "H100 SXM",
        "models": next(iter(PREDICTED.values())),
        "weights": "bf16",
        "tp": 4,
    }
    gpu, models, weights, tp = (
        str(asked.options.get(name) or value) for name, value in usual.items()
    )
    if models not in PREDICTED.values():
        raise UserError(f"unknown models {models!r}")
    with parsing("the number of GPUs"):
        cards = int(tp[:10])
    plan = predict(
        gpu,
        models.split(","),
        tp=cards,
        weights=weights,
        batch=(1, 4, 16, 64),
        context=(2048, 32768),
    )
    first = plan.rows[0]
    title = f"Settings of serving engines at batch {first.batch}, context {first.context:,}"
    named = {title: plan.settings}
    # The figure has the answers.
    html = page(f"Prediction for {plan.gpu}", plan.conditions(), plan.tables(), facts=named)
    menus = [
        choice("gpu", "GPU", GPUS, gpu),
        choice("models", "Models", PREDICTED.items(), models),
        choice("weights", "Weights", WEIGHTS, weights),
        choice("tp", "GPUs per model", (1, 2, 4, 8), tp),
    ]
    shown = {
        "kind": "page",
        "title": "All batches, engine settings, assumptions",
        "html": html,
        "folded": True,
    }
    titles = {value: title for title, value in PREDICTED.items()}
    drawn = figures.prediction(plan, models=titles[models])
    return {"choices": menus, "parts": [figure_part(drawn), shown]}


def report(asked: Request) -> Answer:
    """Return a saved report, or the opened one: its answer, and all of it folded."""
    from hsd_viz.measure.bench.report import read_report
    from hsd_viz.measure.bench.result import page as page_of
    from hsd_viz.measure.bench.words import answer

    paths = saved_reports()
    menu = [(title, path.name) for title, path in paths.items()]
    if asked.files:
        (name, content), *_ = asked.files
        chosen, menu = "", [*menu, ("opened file", "")]
    else:
        by_name = {path.name: path for path in paths.values()}
        first = FIRST_REPORT if FIRST_REPORT in by_name else next(iter(by_name), "")
        name = chosen = str(asked.options.get("name") or first)
        if name not in by_name:
            raise UserError("no saved report has this name: open a file of hsd-viz bench --json")
        content = by_name[name].read_bytes()
    bench = read_report(content, name)
    html = page_of(bench)
    whole = {
        "kind": "page",
        "title": "All stacks, categories, latencies and settings",
        "html": html,
        "folded": True,
    }
    headline = "".join(words for words, _ in answer(bench))
    parts: list[Part] = [{"kind": "text", "text": headline}] if headline else []
    return {
        "choices": [choice("name", "Report", menu, chosen)],
        "parts": [*parts, figure_part(figures.speedup(bench)), whole],
        "files": files_of("report", bench, html),
    }


def replay(asked: Request) -> Answer:
    """Return what drafters would have brought on an opened log."""
    from hsd_viz.measure.replay.api import replay
    from hsd_viz.views.app.traffic import replay_part

    options = asked.options
    files = asked.files or _example(asked, EXAMPLE_LOG)
    if not files:
        raise UserError("no log: drop a file on the field above, or open one")
    names = [line.strip() for line in str(options.get("drafters", "")).splitlines() if line.strip()]
    if not names:
        raise UserError("no drafters: write one per line")
    if len(names) > MOST_DRAFTERS:
        raise UserError(f"{len(names)} drafters are too many: at most {MOST_DRAFTERS}")
    # The example is a log of texts, not of token ids.
    tokenizer = (options.get("tokenizer") or None) if asked.files else "target"

    def progress(done: int, size: int, words: str) -> None:
        asked.send("stage", text=words, done=done, total=size)
        if asked.cancelled.is_set():
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory(prefix="hsd-viz-log-") as place:
        # A visitor's name of a file never becomes a path, not even its ending.
        paths = [Path(place) / str(number) for number in range(len(files[:2]))]
        for path, (_, content) in zip(paths, files, strict=False):
            path.write_bytes(content)
        if tokenizer == OWN and len(paths) > 1:
            own: str | Path | None = paths[1]
        elif tokenizer is not None:
            own = asked.access.check("tokenizer", str(tokenizer))
        else:
            own = None
        costs = str(options.get("costs", "cpu"))
        try:
            replayed = replay(
                paths[0], tokenizer=own, drafters=names, verify_cost=costs, progress=progress
            )
        except UserError as error:
            message = str(error)
            for path, (name, _) in zip(paths, files, strict=False):
                message = message.replace(str(path), name[:80])
            raise UserError(message) from None
    if not replayed.drafters:
        raise UserError("cancelled before a request was replayed; no results")
    replayed.log["name"] = files[0][0][:80]
    if isinstance(own, Path):
        replayed.settings["tokenizer"] = files[1][0][:80]
    reply: Answer = {
        "parts": [replay_part(replayed)],
        "files": files_of("replay", replayed),
    }
    if not asked.files:
        reply["parts"].insert(0, _example_part("log of edits of code"))
    return reply


def files_of(kind: str, result: Any, html: str | None = None) -> list[list[str]]:
    """Return the files that save a result: its data, and its page."""
    data = json.dumps(result.to_dict(), indent=1) + "\n"
    return [
        [f"hsd_viz_{kind}.json", "Save the data", data],
        [f"hsd_viz_{kind}.html", "Save as a page", result.to_html() if html is None else html],
    ]


TOPICS: dict[str, Callable[[Request], Answer]]
TOPICS = {
    "doctor": doctor,
    "law": law,
    "report": report,
    "replay": replay,
    "record": record,
    "predict": prediction,
}


def tab(asked: Request) -> tuple[Part, Any]:
    """Return the view of another package as a part, and its widget, if it is one."""
    name, trace = asked.about, asked.trace
    try:
        maker = registered()[name]()
        # A linked view takes the page's run in the browser, where it joins the page's group.
        linked = isinstance(maker, type) and issubclass(maker, LinkedView)
        made = maker() if linked else maker(trace)
        if hasattr(made, "to_plotly_json"):
            return figure_part(made), None
        widget = as_widget(made)
    except Exception as error:  # of a third party: any error is shown in its tab
        raise UserError(f"the view '{name}' failed: {type(error).__name__}: {error}") from error
    return {"kind": "widget", "model": widget.model_id}, widget


def file(asked: Request) -> tuple[str, str, bytes]:
    """Return name, media type and content of a file.

    Raises:
        UserError: if there is nothing to save.
    """
    if asked.about == "comparison":
        with parsing("the comparison"):
            runs = list(asked.options.get("runs") or [])[:MOST_COMPARED]
            stacks = "_".join(_dashed(run["meta"]["stack"], 24) for run in runs)
            traces = [run_data.trace_from(run) for run in runs]
        if len(runs) < 2:
            raise UserError("no runs to save: select two or three")
        page = run_page(*traces)
        return f"hsd_viz_compare_{stacks}.html", "text/html", page.encode()
    trace = asked.trace
    at = re.sub(r"\D", "", str(trace.meta.get("created") or "")[:19])
    stem = "_".join(filter(None, ("hsd_viz", _dashed(trace.stack or "run", 48), at)))
    if asked.about == "trace":
        return f"{stem}.json.gz", "application/gzip", trace.to_bytes()
    if asked.about == "page":
        return f"{stem}.html", "text/html", run_page(trace).encode()
    raise UserError(f"there is no file '{asked.about}'")


def _dashed(words: str, most: int) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", words)[:most].strip("-")
