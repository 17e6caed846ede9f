"""Answers to the page's questions about a run, a report, a log or hardware: parts and files of ``js/host.ts``."""

from __future__ import annotations

import io
import json
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hsd_viz import figures
from hsd_viz.calibration.basis import Basis, basis_of, of_run, temperature_words
from hsd_viz.calibration.store import folder, identity
from hsd_viz.engine.replay import TEMPERATURE, recorded
from hsd_viz.figures.palette import HUES
from hsd_viz.latency.inputs import Calibration
from hsd_viz.machine import cpu_model
from hsd_viz.stack import parse
from hsd_viz.tables import page as tables_page
from hsd_viz.tables import sentence
from hsd_viz.trace import Trace
from hsd_viz.views.chart import figure_part
from hsd_viz.views.composition import as_widget, registered
from hsd_viz.views.linked import LinkedView
from hsd_viz.views.page_data import spelled_out
from hsd_viz.views.reports import is_ablation, report_of, report_spec, saved_reports, stacks_of, table_spec
from hsd_viz.words import counted

if TYPE_CHECKING:
    import plotly.graph_objects as go

TOPICS = ("doctor", "databases", "law", "law.pick", "report", "replay", "predict")
#: The most stored calibrations offered, newest first, and the most stacks of an ablation shown per kind of text.
MOST_STORED, MOST_SHOWN = 6, 8
RECORDED, RUN = "recorded", "run"
#: Cause -> its colour, by key of the palette.
CAUSES = {
    "acceptance": "context",
    "drafting": "nano",
    "verification": "statistics",
    "batch": "model",
    "overhead": "baseline",
    "round": "baseline",
}
Part = dict[str, Any]


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


def view(name: str, state: dict[str, Any], **more: Any) -> Part:
    return {"kind": "view", "view": name, "state": state, **more}


def drawn(make: Callable[[], go.Figure]) -> Part:
    """Return a figure, or why it cannot be drawn."""
    try:
        return figure_part(make())
    except ValueError as error:
        return text(str(error))


def choice(name: str, label: str, options: list[tuple[str, str]], value: str) -> dict[str, Any]:
    return {"name": name, "label": label, "options": [list(option) for option in options], "value": value}


def lesson(number: Any) -> str:
    """Return a lesson as a page. Raises: ValueError: if there is none with this number."""
    from hsd_viz.exercises import editions
    from hsd_viz.views.lessons import page

    found = next((path for path in editions.masters() if path.stem.split("-")[0] == str(number)), None)
    if found is None:
        raise ValueError(f"there is no lesson {number}")
    return page(found)


class Answers:
    """The answers of one page; what its files are made of is kept until the next answer of their topic."""

    def __init__(self) -> None:
        self._report: Any = None
        self._replay: Any = None
        self._widgets: list[Any] = []

    def answer(self, about: str, run: Trace | None, options: dict[str, Any], files: list, job: Job) -> dict[str, Any]:
        """Return the answer to a question. Raises: ValueError: if it has none."""
        topics: dict[str, Callable[[], dict[str, Any]]] = {
            "doctor": lambda: doctor(_needed(run)),
            "databases": lambda: databases(_needed(run), options),
            "law": lambda: law(_needed(run), options),
            "law.pick": lambda: law_pick(_needed(run), options),
            "report": lambda: self._report_answer(options, files),
            "replay": lambda: self._replay_answer(options, files, job),
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
        if about in FORMS:
            trace = _needed(run)
            ending, kind, make = FORMS[about]
            return f"{_stem(trace)}{ending}", kind, make(trace)
        if about == "comparison":
            from hsd_viz.views.export import comparison_page

            runs = options.get("runs") or []
            if len(runs) < 2:
                raise ValueError("no runs to save: select two or three")
            stacks = "_".join(_dashed(run["meta"]["stack"])[:24].strip("-") for run in runs)
            return f"hsd_viz_compare_{stacks}.html", "text/html", comparison_page(runs).encode()
        kind, _, form = about.partition(".")
        shown = {"report": self._report, "replay": self._replay}.get(kind)
        if shown is None or is_ablation(shown):
            raise ValueError("nothing is shown that could be saved")
        if form == "json":
            content = json.dumps(shown.to_dict(), indent=1) + "\n"
            return f"hsd_viz_{kind}.json", "application/json", content.encode("ascii")
        if kind == "report":
            from hsd_viz.bench.page import page

            return "hsd_viz_report.html", "text/html", page(shown).encode()
        page = tables_page(f"Replay of {shown.log['name']}", shown.introduction(), shown.tables())
        return "hsd_viz_replay.html", "text/html", page.encode()

    def _registered(self, name: str, load: Callable[[], Any], trace: Trace) -> dict[str, Any]:
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

    def _report_answer(self, options: dict[str, Any], files: list) -> dict[str, Any]:
        saved = saved_reports()
        names = [str(s.path.name) for s in saved]
        chosen, own = str(options.get("name") or (names[0] if names else "")), [("opened file", "")]
        if files:
            name, content = files[0]
            report, purpose, chosen = report_of(content, name), "", ""
        else:
            found = next((s for s in saved if s.path.name == chosen), None)
            if found is None:
                raise ValueError("no saved report has this name: open a file of hsd-viz bench --json")
            report, purpose = report_of(found.path.read_bytes(), found.path.name), found.purpose
        self._report = report
        menu = choice("name", "Report", [*((s.title, s.path.name) for s in saved), *(own if files else [])], chosen)
        parts = [text(purpose)] if purpose else []
        if is_ablation(report):
            best = f"the {MOST_SHOWN} with most tokens per forward pass"
            parts.append(drawn(lambda: figures.by_category(report, first=MOST_SHOWN, rule=best)))
            return {"choices": [menu], "parts": parts}
        from hsd_viz.bench.verdict import FASTEST_OF_KIND, fastest_of_kind

        spec = report_spec(report)
        parts += [
            view("tables", {"spec": {key: spec[key] for key in ("answer", "warnings", "intro")}}),
            drawn(lambda: figures.speedup(report)),
            view("tables", {"spec": {key: spec[key] for key in ("tables", "colours")}}),
            text(spelled_out(stacks_of(report))),
            drawn(lambda: figures.by_category(report, first=fastest_of_kind(report), rule=FASTEST_OF_KIND)),
        ]
        saves = [("report.json", "Save the report"), ("report.page", "Save as a page")]
        return {"choices": [menu], "parts": parts, "files": [list(save) for save in saves]}

    def _replay_answer(self, options: dict[str, Any], files: list, job: Job) -> dict[str, Any]:
        from hsd_viz.logs.replay import replay

        if not files:
            raise ValueError("no log: drop a file on the field above, or open one")
        names = [line.strip() for line in str(options.get("drafters", "")).splitlines() if line.strip()]
        if not names:
            raise ValueError("no drafters: write one per line")
        chosen = options.get("tokenizer") or None
        with tempfile.TemporaryDirectory(prefix="hsd-viz-log-") as place:
            # The visitor's name says how the file is packed; only its ending is used.
            paths = [Path(place) / f"{k}{''.join(Path(name).suffixes[-2:])}" for k, (name, _) in enumerate(files)]
            for path, (_, content) in zip(paths, files, strict=True):
                path.write_bytes(content)
            report = replay(
                paths[0],
                tokenizer=paths[1] if chosen == "own" and len(paths) > 1 else chosen,
                drafters=names,
                verify_cost=str(options.get("costs", "cpu")),
                state=str(options.get("state", "cold")),
                progress=lambda done, size, words: job.stage(words, done, size, every=0.2),
                cancelled=job.cancelled.is_set,
            )
        if not report.drafters:
            raise ValueError("cancelled before a request was replayed; no results")
        report.log["name"] = files[0][0]
        self._replay = report
        # On a narrow page the first table keeps its first columns, ordered by importance.
        tables = [table_spec(replace(table, note=sentence(table.note))) for table in report.tables()]
        spec = {
            "answer": [list(part) for part in report.answer()],
            "warnings": [sentence(line) for line in report.notes()],
            "intro": [f"Log {next(report.introduction())}."],
            "tables": [{**table, "folds": not k} for k, table in enumerate(tables)],
        }
        parts = (
            [] if report.complete else [text("cancelled: the result has the requests replayed so far", caution=True)]
        )
        parts += [view("tables", {"spec": spec}), drawn(lambda: figures.replayed(report))]
        parts.append(text(spelled_out(parse(f"{name} > target") for name in names)))
        return {"parts": parts, "files": [["replay.json", "Save the result"], ["replay.page", "Save as a page"]]}


def _needed(run: Trace | None) -> Trace:
    if run is None or not len(run):
        raise ValueError("there is no run to ask about")
    return run


# --- files of a run ---------------------------------------------------------------------------------------------------


def _page(trace: Trace) -> bytes:
    from hsd_viz.views.export import run_page

    return run_page(trace).encode()


def _tables(trace: Trace) -> bytes:
    from hsd_viz.trace.export import csv_tables

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in csv_tables(trace).items():
            # A fixed date keeps the bytes of a run reproducible.
            archive.writestr(zipfile.ZipInfo(name), content.encode("utf-8", "replace"), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _timeline(trace: Trace) -> bytes:
    from hsd_viz.trace.export import chrome_trace

    return (json.dumps(chrome_trace(trace), separators=(",", ":")) + "\n").encode("ascii")


FORMS: dict[str, tuple[str, str, Callable[[Trace], bytes]]] = {
    "trace": (".json.gz", "application/gzip", Trace.to_bytes),
    "page": (".html", "text/html", _page),
    "tables": (".csv.zip", "application/zip", _tables),
    "timeline": (".perfetto.json", "application/json", _timeline),
}


def _stem(trace: Trace) -> str:
    """Return the base name of a run's files: its stack and, if known, time of recording."""
    at = re.sub(r"\D", "", str(trace.meta.get("created") or "")[:19])
    return "_".join(filter(None, ("hsd_viz", _dashed(trace.stack or "run")[:48].strip("-"), at)))


def _dashed(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", words)


# --- a run ------------------------------------------------------------------------------------------------------------


def doctor(trace: Trace) -> dict[str, Any]:
    """Return the share of each cause in what is lost of the speed-up; no part where there is nothing to explain."""
    from hsd_viz.logs.doctor import diagnose
    from hsd_viz.logs.observe import from_traces

    try:
        found = diagnose(from_traces([trace], "this run"))
    except (ValueError, KeyError):  # no drafts, as in plain decoding; a trace that does not name its levels
        return {"parts": []}
    hue = lambda name: {"light": HUES[CAUSES[name]].light, "dark": HUES[CAUSES[name]].dark}
    causes = sorted(found.shares.items(), key=lambda item: -item[1])
    spec = {
        "title": "What limits the speed-up" if found.speedup.value is not None else "What limits this run",
        "causes": [{"name": name, "share": share, **hue(name)} for name, share in causes if share >= 0.005],
        "lines": found.lines(),
        "tables": [
            {"title": table.title, "note": table.note, "head": table.rows[0], "rows": table.rows[1:]}
            for table in found.tables()
            if table.rows
        ],
        "settings": [list(item) for item in found.flags.items()],
    }
    return {"parts": [view("doctor", {"spec": spec})]}


def databases(trace: Trace, options: dict[str, Any]) -> dict[str, Any]:
    """Return a replay of each drafter alone, and of subsets of the databases, on a run's text."""
    from hsd_viz.bench.replay import BUDGETS

    budget = int(options.get("budget") or BUDGETS[-1])
    if budget not in BUDGETS:
        raise ValueError(f"the budget {budget} is not one of {', '.join(map(str, BUDGETS))}")
    sizes = [(str(n), str(n)) for n in BUDGETS]
    return {
        "choices": [choice("budget", "Draft tokens per round in the replay", sizes, str(budget))],
        "parts": [
            drawn(lambda: figures.drafters_alone(trace, budget=budget)),
            drawn(lambda: figures.database_ablation([trace])),
        ],
    }


# --- the latency law --------------------------------------------------------------------------------------------------


def law(trace: Trace, options: dict[str, Any]) -> dict[str, Any]:
    """Return the stack selected by the latency law, its ranking, the levels of the run, and what-if sliders."""
    from hsd_viz.views.single import hierarchy_state, one_draft_state

    wanted, stored = _temperature(trace, options), stored_calibrations(trace)
    offered = [(f"bundled recordings ({temperature_words(TEMPERATURE)})", RECORDED), ("the run shown", RUN)]
    offered += [(words, path) for words, path, _ in stored]
    source = str(options.get("source") or fitting(trace, wanted, stored))
    if source not in dict(map(reversed, offered)):
        raise ValueError("this calibration is no longer stored")
    basis = _basis(source, trace)
    chains = chains_of(basis.calibration)
    chain = str(options.get("chain") or "")
    chain = chain if chain in chains else chains[-1] if chains else ""
    menus = [choice("source", "Costs and acceptance from", offered, source)]
    if chains:
        menus.append(choice("chain", "Draft models of the surface", [(c, c) for c in chains], chain))
    asks = {"asks": {"about": "law.pick", "traits": ["out"]}}
    parts = [
        *fit_words(basis, wanted),
        view("hierarchy", hierarchy_state(basis), **asks),
        drawn(lambda: figures.ranking(basis)),
        drawn(lambda: figures.levels(trace)),
    ]
    if chain:
        parts += [heading("Lookahead of each draft model"), drawn(lambda: figures.latency_surface(basis, chain))]
    sliders = {"acceptance": 0.7, "cost": 0.15, "lookahead": 4, "slope": 0.02} | one_draft_state(basis)
    parts += [heading("What if: one draft model"), view("one_draft", sliders)]
    return {"choices": menus, "parts": parts}


def law_pick(trace: Trace, options: dict[str, Any]) -> dict[str, Any]:
    """Return the selection without the removed models and databases."""
    from hsd_viz.views.single import chosen

    stored = stored_calibrations(trace)
    source = str(options.get("source") or fitting(trace, _temperature(trace, options), stored))
    if source not in (RECORDED, RUN, *(path for _, path, _ in stored)):
        raise ValueError("this calibration is no longer stored")
    out = [str(name) for name in options.get("out") or []]
    return {"parts": [view("hierarchy", {"picked": chosen(_basis(source, trace), out)})]}


def _temperature(trace: Trace, options: dict[str, Any]) -> float:
    """Return the form's temperature, else that of the run."""
    try:
        return float(str(options.get("temperature")).replace(",", "."))
    except ValueError:
        return float((trace.meta.get("sampling") or {}).get("temperature") or 0.0)


def _basis(source: str, trace: Trace) -> Basis:
    return recorded() if source == RECORDED else of_run(trace) if source == RUN else basis_of(source)


def fitting(trace: Trace, wanted: float, stored: list[tuple[str, str, Basis]]) -> str:
    """Return the source for a temperature: a calibration of this machine, the run if it differs from the recordings,
    or the recordings.
    """
    for _, path, found in stored:
        if found.temperature == wanted:
            return path
    own = float((trace.meta.get("sampling") or {}).get("temperature") or 0.0)
    return RUN if own == wanted != TEMPERATURE and parse(trace.stack).drafts else RECORDED


def fit_words(basis: Basis, wanted: float) -> Iterator[Part]:
    """Yield how the calibration's temperature compares with the form's."""
    there = basis.temperature
    if there is None:
        return
    if there == wanted:
        yield text(f"matches the form: both {'greedy' if not there else f'at {temperature_words(there)}'}.")
    else:
        yield text(
            f"temperature mismatch: form {temperature_words(wanted)}, calibration {temperature_words(there)}. "
            f"Acceptance depends on temperature; calibrate with: hsd-viz plan --temperature {wanted:g}",
            caution=True,
        )


def chains_of(calibration: Calibration) -> list[str]:
    """Return stacks of two or more draft models with all neighbours measured, with and without a database below."""
    drafts, found = calibration.models[:-1], []
    for size in range(2, len(drafts) + 1):
        for models in combinations(drafts, size):
            if all(pair in calibration.edges for pair in pairwise((*models, calibration.target))):
                chain = " > ".join((*models, calibration.target))
                found.append(chain)
                found += [f"{b} > {chain}" for b in calibration.databases if (b, models[0]) in calibration.tiers]
    return found


def stored_calibrations(trace: Trace) -> list[tuple[str, str, Basis]]:
    """Return the stored calibrations of this machine and of the models of ``trace``, newest of each kind first:
    (label, path, basis).
    """
    found: dict[str, tuple[str, str, Basis]] = {}
    try:
        paths = sorted(folder().glob("*.json"), key=lambda p: -p.stat().st_mtime)
    except OSError:
        return []
    for path in paths:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            who = data.get("identity") or {}
            # The cache may be from another machine.
            here = who.get("device") != "cpu" or who.get("device_name") == cpu_model()
            if here and same_models(who, trace):
                found.setdefault(plan_words(data), (plan_words(data), str(path), basis_of(data)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        if len(found) == MOST_STORED:
            break
    return list(found.values())


def same_models(who: dict[str, Any], trace: Trace) -> bool:
    """Return whether a calibration of identity ``who`` is of the target and number type of ``trace``, and of the same
    weights wherever both have a model.
    """
    try:
        shown = identity(trace.meta)
    except (KeyError, IndexError, TypeError):
        return False  # an imported trace does not name its weights
    there, target = who.get("models") or {}, shown["target"]
    common = [name for name in shown["models"] if name in there]
    same = all(there[name][0] == shown["models"][name][0] is not None for name in common)
    return same and target in common and (who.get("target"), who.get("dtype")) == (target, shown["dtype"])


def plan_words(stored: dict[str, Any]) -> str:
    """Return a stored calibration's label: texts, temperature, machine and day."""
    who, texts = stored.get("identity") or {}, stored.get("texts") or {}
    temperature = (who.get("sampling") or {}).get("temperature")
    day = None if stored.get("created") is None else datetime.fromtimestamp(stored["created"], UTC).date().isoformat()
    prompts = f"{texts['suite']}, {counted(texts['prompts'], 'prompt')}" if {"suite", "prompts"} <= set(texts) else None
    facts = (prompts, None if temperature is None else temperature_words(temperature), who.get("device_name"), day)
    return f"hsd-viz plan of {who.get('target')}: {', '.join(str(f) for f in facts if f)}"


#: Families of models to choose from, target first.
FAMILIES = {
    "Llama 3: 70B, 8B, 1B": "llama-70b,llama-8b,llama-1b",
    "Llama 3: 70B, EAGLE-3 head": "llama-70b,eagle3",
    "Qwen 3: 8B, 0.6B": "qwen3-8b,qwen3-0.6b",
    "Llama 3: 8B, 1B": "llama-8b,llama-1b",
}


def prediction(options: dict[str, Any]) -> dict[str, Any]:
    """Return a prediction for hardware that is not at hand."""
    from hsd_viz.bench.predict import predict, report_lines
    from hsd_viz.latency.hardware import GPUS, WEIGHTS

    gpu, models = str(options.get("gpu") or "H100"), str(options.get("models") or next(iter(FAMILIES.values())))
    weights, tp = str(options.get("weights") or "bf16"), int(options.get("tp") or 4)
    if models not in FAMILIES.values():
        raise ValueError(f"unknown models {models!r}")
    found = predict(gpu, models.split(","), tp=tp, weights=weights, batch=(1, 4, 16, 64), context=(2048, 32768))
    lines = [line.strip() for line in report_lines(found) if isinstance(line, str) and line.strip()]
    head = ("assumption", "value", "kind", "source")
    assumed = [(a.name, str(a.value), a.kind, a.source) for a in found.assumptions]
    best = [
        (f"{row.batch}, {row.context:,}", row.stack, f"{row.speedup_over_plain:.2f}", f"{row.tokens_per_second:,.0f}")
        for row in found.best
    ]
    menus = [
        choice("gpu", "GPU", [(name, name) for name in GPUS], gpu),
        choice("models", "Models", list(FAMILIES.items()), models),
        choice("weights", "Weights", [(name, name) for name in WEIGHTS], weights),
        choice("tp", "GPUs per model", [(str(n), str(n)) for n in (1, 2, 4, 8)], str(tp)),
    ]
    fastest = _table("Fastest stack", ("batch, context", "stack", "speed-up", "tokens/s"), best)
    spec = {"intro": lines, "tables": [fastest, _table("Assumptions", head, assumed)]}
    return {"choices": menus, "parts": [drawn(lambda: figures.prediction(found)), view("tables", {"spec": spec})]}


def _table(title: str, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> dict[str, Any]:
    cells = [[[cell, ""] for cell in row] for row in rows]
    blank: list[Any] = [None] * len(rows)
    return {"title": title, "head": list(head), "rows": cells, "kinds": blank, "marks": blank}
