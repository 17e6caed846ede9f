"""Answers to the page's questions about a run, a report, a log or hardware: parts and files of ``js/host.ts``."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hsd_viz import figures
from hsd_viz.calibration.basis import Basis, basis_of, of_run, temperature_words
from hsd_viz.calibration.store import folder, identity
from hsd_viz.engine.replay import TEMPERATURE, recorded
from hsd_viz.machine import cpu_model
from hsd_viz.tables import Table, page
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.linked import LinkedView
from hsd_viz.views.page_data import report_of, saved_reports
from hsd_viz.views.view import as_widget, figure_part, registered

if TYPE_CHECKING:
    import plotly.graph_objects as go

TOPICS = ("doctor", "law", "report", "replay", "predict")
#: The most stored calibrations offered, newest first.
MOST_STORED = 6
RECORDED, RUN = "recorded", "run"
#: Families of models to predict, target first.
FAMILIES = {
    "Llama 3: 70B, 8B, 1B": "llama-70b,llama-8b,llama-1b",
    "Llama 3: 70B, EAGLE-3 head": "llama-70b,eagle3",
    "Qwen 3: 8B, 0.6B": "qwen3-8b,qwen3-0.6b",
    "Llama 3: 8B, 1B": "llama-8b,llama-1b",
}
Part = dict[str, Any]
Answer = dict[str, Any]


class Job(Protocol):
    """What an answer reports while it is made."""

    cancelled: Any

    def stage(
        self, text: str, done: float | None = None, total: float | None = None, *, every: float = 0.0
    ) -> None: ...


def text(words: str, *, caution: bool = False) -> Part:
    return {"kind": "text", "text": f"{words[:1].upper()}{words[1:]}", "caution": caution}


def heading(words: str) -> Part:
    return {"kind": "heading", "text": words}


def view(name: str, state: dict[str, Any]) -> Part:
    return {"kind": "view", "view": name, "state": state}


def drawn(make: Callable[..., go.Figure], *given: Any, **options: Any) -> Part:
    """Return a figure, or why it cannot be drawn."""
    try:
        return figure_part(make(*given, **options))
    except ValueError as error:
        return text(str(error))


def choice(name: str, label: str, options: Iterator[tuple[str, str]] | Any, value: str) -> dict[str, Any]:
    return {"name": name, "label": label, "options": [list(option) for option in options], "value": value}


def lesson(number: Any) -> str:
    """Return a lesson as a page. Raises: ValueError: if there is none with this number."""
    from hsd_viz.exercises import editions
    from hsd_viz.views.lessons import page

    path = next((path for path in editions.masters() if path.stem.split("-")[0] == str(number)), None)
    if path is None:
        raise ValueError(f"there is no lesson {number}")
    return page(path)


class Answers:
    """The answers of one page. What a file is made of is kept until the next answer of its topic."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, str, Callable[[], str]]] = {}
        self._widgets: list[Any] = []

    def answer(self, about: str, run: Trace | None, options: dict[str, Any], files: list, job: Job) -> Answer:
        """Return the answer to a question. Raises: ValueError: if it has none."""
        topics: dict[str, Callable[[], Answer]] = {
            "doctor": lambda: doctor(_needed(run)),
            "law": lambda: law(_needed(run), options),
            "report": lambda: self._report(options, files),
            "replay": lambda: self._replay(options, files, job),
            "predict": lambda: prediction(options),
        }
        if about in topics:
            return topics[about]()
        makers = registered()
        if about not in makers:
            raise ValueError(f"this page has no view '{about}'")
        return self._registered(about, makers[about], _needed(run))

    def file(self, about: str, run: Trace | None, options: dict[str, Any]) -> tuple[str, str, bytes]:
        """Return name, media type and content of a file. Raises: ValueError: if there is nothing to save."""
        from hsd_viz.views.export import runs_page

        if about == "trace":
            return f"{_stem(_needed(run))}.json.gz", "application/gzip", _needed(run).to_bytes()
        if about == "page":
            return f"{_stem(_needed(run))}.html", "text/html", runs_page([_needed(run)]).encode()
        if about == "comparison":
            runs = options.get("runs") or []
            if len(runs) < 2:
                raise ValueError("no runs to save: select two or three")
            stacks = "_".join(_dashed(run["meta"]["stack"])[:24].strip("-") for run in runs)
            return (
                f"hsd_viz_compare_{stacks}.html",
                "text/html",
                runs_page(list(map(run_data.trace_from, runs))).encode(),
            )
        if about not in self._files:
            raise ValueError("nothing is shown that could be saved")
        name, kind, write = self._files[about]
        return name, kind, write().encode()

    def _shown(self, kind: str, shown: Any, html: str) -> Answer:
        """Return a page as an answer, and keep it and its data for the buttons that save them."""
        data = lambda: json.dumps(shown.to_dict(), indent=1) + "\n"
        self._files[f"{kind}.json"] = f"hsd_viz_{kind}.json", "application/json", data
        self._files[f"{kind}.page"] = f"hsd_viz_{kind}.html", "text/html", lambda: html
        files = [[f"{kind}.json", "Save the data"], [f"{kind}.page", "Save as a page"]]
        return {"parts": [{"kind": "page", "title": f"The {kind}", "html": html}], "files": files}

    def _registered(self, name: str, load: Callable[[], Any], trace: Trace) -> Answer:
        """Return the view of another package."""
        for widget in self._widgets:
            widget.close()
        try:
            maker = load()
            # A linked view takes the page's run in the browser, where it joins the page's group.
            linked = isinstance(maker, type) and issubclass(maker, LinkedView)
            made = maker() if linked else maker(trace)
            if hasattr(made, "to_plotly_json"):
                return {"parts": [figure_part(made)]}
            widget = as_widget(made)
        except Exception as error:  # of a third party: any error is shown in its tab
            raise ValueError(f"the view '{name}' failed: {type(error).__name__}: {error}") from error
        self._widgets = [widget]
        return {"parts": [{"kind": "widget", "model": widget.model_id}]}

    def _report(self, options: dict[str, Any], files: list) -> Answer:
        from hsd_viz.bench.page import page as page_of

        saved = saved_reports()
        menu = [(title, path.name) for title, path in saved.items()]
        if files:
            (name, content), *_ = files
            report, chosen, menu = report_of(content, name), "", [*menu, ("opened file", "")]
        else:
            paths = {path.name: path for path in saved.values()}
            chosen = str(options.get("name") or next(iter(paths), ""))
            if chosen not in paths:
                raise ValueError("no saved report has this name: open a file of hsd-viz bench --json")
            report = report_of(paths[chosen].read_bytes(), chosen)
        answer = self._shown("report", report, page_of(report))
        return answer | {"choices": [choice("name", "Report", menu, chosen)]}

    def _replay(self, options: dict[str, Any], files: list, job: Job) -> Answer:
        from hsd_viz.logs.replay import replay

        if not files:
            raise ValueError("no log: drop a file on the field above, or open one")
        names = [line.strip() for line in str(options.get("drafters", "")).splitlines() if line.strip()]
        if not names:
            raise ValueError("no drafters: write one per line")
        tokenizer = options.get("tokenizer") or None

        def progress(done: int, size: int, words: str) -> None:
            job.stage(words, done, size)
            if job.cancelled.is_set():
                raise KeyboardInterrupt

        with tempfile.TemporaryDirectory(prefix="hsd-viz-log-") as place:
            # The visitor's name says how the file is packed; only its ending is used.
            paths = [Path(place) / f"{k}{''.join(Path(name).suffixes[-2:])}" for k, (name, _) in enumerate(files)]
            for path, (_, content) in zip(paths, files, strict=True):
                path.write_bytes(content)
            report = replay(
                paths[0],
                tokenizer=paths[1] if tokenizer == "own" and len(paths) > 1 else tokenizer,
                drafters=names,
                verify_cost=str(options.get("costs", "cpu")),
                progress=progress,
            )
        if not report.drafters:
            raise ValueError("cancelled before a request was replayed; no results")
        report.log["name"] = files[0][0]
        html = page(f"Replay of {report.log['name']}", report.introduction(), report.tables())
        return self._shown("replay", report, html)


def _needed(run: Trace | None) -> Trace:
    if run is None or not len(run):
        raise ValueError("there is no run to ask about")
    return run


# --- files of a run ---------------------------------------------------------------------------------------------------


def _stem(trace: Trace) -> str:
    """Return the base name of a run's files: its stack and, if known, time of recording."""
    at = re.sub(r"\D", "", str(trace.meta.get("created") or "")[:19])
    return "_".join(filter(None, ("hsd_viz", _dashed(trace.stack or "run")[:48].strip("-"), at)))


def _dashed(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", words)


# --- a run ------------------------------------------------------------------------------------------------------------


def doctor(trace: Trace) -> Answer:
    """Return the share of each cause in what is lost of the speed-up; no part where there is nothing to explain."""
    from hsd_viz.logs.doctor import diagnose
    from hsd_viz.logs.observe import from_trace

    try:
        found = diagnose(from_trace(trace, "this run"))
    except (ValueError, KeyError):  # no drafts, as in plain decoding; a trace that does not name its levels
        return {"parts": []}
    causes = sorted(found.shares.items(), key=lambda item: -item[1])
    spec = {
        "title": "What limits the speed-up" if found.speedup.value is not None else "What limits this run",
        "causes": [{"name": name, "share": share} for name, share in causes if share >= 0.005],
        "lines": found.lines(),
        "tables": [
            {"title": table.title, "note": table.note, "head": table.rows[0], "rows": table.rows[1:]}
            for table in found.tables()
            if table.rows
        ],
        "settings": [list(item) for item in found.flags.items()],
    }
    return {"parts": [view("doctor", {"spec": spec})]}


# --- the latency law --------------------------------------------------------------------------------------------------


def law(trace: Trace, options: dict[str, Any]) -> Answer:
    """Return the stack selected by the latency law, its ranking, the levels of the run, and what-if sliders."""
    from hsd_viz.views.single import hierarchy_state, one_draft_state

    own = float((trace.meta.get("sampling") or {}).get("temperature") or 0.0)
    stored = stored_calibrations(trace)
    offered = [(f"bundled recordings ({temperature_words(TEMPERATURE)})", RECORDED), ("the run shown", RUN)]
    offered += [(f"hsd-viz plan, {basis.source}", path) for path, basis in stored.items()]
    fitting = (path for path, basis in stored.items() if basis.temperature == own)
    source = str(options.get("source") or next(fitting, RECORDED))
    if source not in (RECORDED, RUN, *stored):
        raise ValueError("this calibration is no longer stored")
    basis = recorded() if source == RECORDED else of_run(trace) if source == RUN else stored[source]
    parts = [
        view("hierarchy", hierarchy_state(basis)),
        drawn(figures.ranking, basis),
        drawn(figures.levels, trace),
        heading("What if: one draft model"),
        view("one_draft", {"acceptance": 0.7, "cost": 0.15, "lookahead": 4, "slope": 0.02} | one_draft_state(basis)),
    ]
    if basis.temperature not in (None, own):
        words = (
            f"temperature mismatch: run {temperature_words(own)}, calibration {temperature_words(basis.temperature)}"
        )
        advice = f"Acceptance depends on temperature; calibrate with: hsd-viz plan --temperature {own:g}"
        parts.insert(0, text(f"{words}. {advice}", caution=True))
    return {"choices": [choice("source", "Costs and acceptance from", offered, source)], "parts": parts}


def stored_calibrations(trace: Trace) -> dict[str, Basis]:
    """Return the stored calibrations of this machine and of the models of ``trace`` by path, newest first, and one of
    each provenance.
    """
    found: dict[str, Basis] = {}
    try:
        paths = sorted(folder().glob("*.json"), key=lambda p: -p.stat().st_mtime)
    except OSError:
        return found
    for path in paths:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            who = data.get("identity") or {}
            # The cache may be from another machine.
            here = who.get("device") != "cpu" or who.get("device_name") == cpu_model()
            basis = basis_of(data)
            if here and same_models(who, trace) and basis.source not in {other.source for other in found.values()}:
                found[str(path)] = basis
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        if len(found) == MOST_STORED:
            break
    return found


def same_models(who: dict[str, Any], trace: Trace) -> bool:
    """Return whether a calibration of identity ``who`` is of the target and number type of ``trace``, and of the same
    weights wherever both have a model.
    """
    try:
        shown = identity(trace.meta)
    except (KeyError, IndexError, TypeError):
        return False  # an imported trace does not name its weights
    there, here = who.get("models") or {}, shown["models"]
    same = all(there[name][0] == here[name][0] is not None for name in there.keys() & here.keys())
    return same and shown["target"] in there and all(who.get(key) == shown[key] for key in ("target", "dtype"))


def prediction(options: dict[str, Any]) -> Answer:
    """Return a prediction for hardware that is not at hand."""
    from hsd_viz.bench.predict import predict, report_parts
    from hsd_viz.latency.hardware import GPUS, WEIGHTS

    gpu, models = str(options.get("gpu") or "H100"), str(options.get("models") or next(iter(FAMILIES.values())))
    weights, tp = str(options.get("weights") or "bf16"), int(options.get("tp") or 4)
    if models not in FAMILIES.values():
        raise ValueError(f"unknown models {models!r}")
    found = predict(gpu, models.split(","), tp=tp, weights=weights, batch=(1, 4, 16, 64), context=(2048, 32768))
    lines = [line.strip() for line in report_parts(found) if isinstance(line, str) and line.strip()]
    best = [
        [f"{row.batch}, {row.context:,}", row.stack, f"{row.speedup_over_plain:.2f}", f"{row.tokens_per_second:,.0f}"]
        for row in found.best
    ]
    assumed = [[a.name, str(a.value), a.kind, a.source] for a in found.assumptions]
    tables = [
        Table("Fastest stack", [["batch, context", "stack", "speed-up", "tokens/s"], *best]),
        Table("Assumptions", [["assumption", "value", "kind", "source"], *assumed]),
    ]
    menus = [
        choice("gpu", "GPU", ((name, name) for name in GPUS), gpu),
        choice("models", "Models", FAMILIES.items(), models),
        choice("weights", "Weights", ((name, name) for name in WEIGHTS), weights),
        choice("tp", "GPUs per model", ((str(n), str(n)) for n in (1, 2, 4, 8)), str(tp)),
    ]
    title = f"Prediction for {found.gpu}"
    shown = {"kind": "page", "title": title, "html": page(title, lines, tables)}
    return {"choices": menus, "parts": [drawn(figures.prediction, found), shown]}
