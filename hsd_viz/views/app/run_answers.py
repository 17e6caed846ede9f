"""Answers about a run: its diagnosis, and what the latency law says of it."""

from __future__ import annotations

from contextlib import suppress
from typing import TypedDict

from hsd_viz import figures
from hsd_viz.errors import UserError
from hsd_viz.latency.basis import Basis, basis_of, own_plan_of, recorded, temperature_words
from hsd_viz.latency.stored import identity, newest
from hsd_viz.measure.doctor.diagnosis import Diagnosis
from hsd_viz.measure.doctor.loss import name_of
from hsd_viz.measure.doctor.observe_runs import from_trace
from hsd_viz.measure.doctor.verdict import diagnose
from hsd_viz.trace import Trace
from hsd_viz.views.app.question import Answer, PageRequest, Part
from hsd_viz.views.view import figure_part


def doctor(asked: PageRequest) -> Answer:
    """Return the share of each cause in what is lost of the speed-up; no part where there is
    nothing to explain.
    """
    trace = asked.trace
    try:
        diagnosis = diagnose(from_trace(trace, "this run"))
    except UserError:
        # No drafts, as in plain decoding.
        return {"parts": []}
    spec = run_diagnosis_spec(diagnosis)
    return {"parts": [{"kind": "view", "view": "doctor", "state": {"spec": spec}}]}


class _ShownCause(TypedDict):
    """A cause of what is lost of the speed-up.

    Attributes:
        name: its name.
        share: its share of the loss, 0-1.
    """

    name: str
    share: float


class _ShownTable(TypedDict):
    """A table of a diagnosis.

    Attributes:
        title: its title.
        note: what its figures are of.
        head: the names of its columns.
        rows: its cells as text.
    """

    title: str
    note: str
    head: list[str]
    rows: list[list[str]]


class RunDiagnosisSpec(TypedDict):
    """A diagnosis as the view ``doctor`` of the page shows it (``js/doctor``).

    Attributes:
        title: what it says.
        causes: the causes of the loss, the largest first.
        lines: the verdict and the advice.
        tables: its tables.
        settings: engine and settings to paste.
    """

    title: str
    causes: list[_ShownCause]
    lines: list[str]
    tables: list[_ShownTable]
    settings: list[list[str]]


#: The least share of the loss of a cause that is shown.
LEAST_SHARE = 0.005


def run_diagnosis_spec(diagnosis: Diagnosis) -> RunDiagnosisSpec:
    """Return the diagnosis of a run for the page."""
    is_known = diagnosis.speedup.value is not None
    causes: list[_ShownCause] = []
    for cause, share in sorted(diagnosis.shares.items(), key=lambda item: -item[1]):
        if share >= LEAST_SHARE:
            causes.append({"name": name_of(cause), "share": share})
    tables: list[_ShownTable] = []
    for table in diagnosis.tables():
        if table.rows:
            head, *rows = table.cells()
            tables.append({"title": table.title, "note": table.note, "head": head, "rows": rows})
    return {
        "title": "What limits the speed-up" if is_known else "What limits this run",
        "causes": causes,
        "lines": diagnosis.lines(),
        "tables": tables,
        "settings": [list(item) for item in diagnosis.flags.items()],
    }


def law(asked: PageRequest) -> Answer:
    """Return the stack selected by the latency law, what-if sliders, its ranking, the levels of the
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
    of_run = not of_other_models
    states = {"hierarchy": hierarchy_state(basis) | {"of_run": of_run}, "one_draft": sliders}
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
