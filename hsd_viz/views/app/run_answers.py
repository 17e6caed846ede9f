"""Answers about a run: its diagnosis, and its comparison with the latency law."""

from __future__ import annotations

from contextlib import suppress
from typing import TypedDict

from hsd_viz import figures
from hsd_viz.errors import UserError
from hsd_viz.latency.basis import Basis, basis_of, own_plan_of, recorded, temperature_text
from hsd_viz.latency.stored import identity, newest
from hsd_viz.measure.doctor.diagnosis import Diagnosis, name_of
from hsd_viz.measure.doctor.observe_runs import from_trace
from hsd_viz.measure.doctor.verdict import diagnose
from hsd_viz.settings.spelling import as_option
from hsd_viz.trace import Trace
from hsd_viz.views.app.question import Answer, PageRequest, Part
from hsd_viz.views.view import figure_part


def doctor(request: PageRequest) -> Answer:
    """Diagnose a run: the share of each cause in the lost speed-up. The answer has no part if
    there is nothing to explain.
    """
    trace = request.trace
    try:
        diagnosis = diagnose(from_trace(trace, "this run"))
    except UserError:
        # A run without drafts, such as plain decoding, has nothing to explain.
        return {"parts": []}
    spec = run_diagnosis_spec(diagnosis)
    return {"parts": [{"kind": "view", "view": "doctor", "state": {"spec": spec}}]}


class _ShownCause(TypedDict):
    """A cause of lost speed-up.

    Attributes:
        name: the name of the cause.
        share: the share of the loss, from 0 to 1.
    """

    name: str
    share: float


class _ShownTable(TypedDict):
    """A table of a diagnosis.

    Attributes:
        title: the title.
        note: a remark on the origin of the figures.
        head: the names of the columns.
        rows: the cells as text.
    """

    title: str
    note: str
    head: list[str]
    rows: list[list[str]]


class RunDiagnosisSpec(TypedDict):
    """The traits of the view ``doctor`` (``js/doctor``).

    Attributes:
        title: the headline of the diagnosis.
        causes: the causes of the loss, largest first.
        lines: the verdict and the advice.
        tables: the tables of the diagnosis.
        settings: pairs of an engine and its settings to paste.
    """

    title: str
    causes: list[_ShownCause]
    lines: list[str]
    tables: list[_ShownTable]
    settings: list[list[str]]


#: Minimum share of the loss of a shown cause.
MIN_SHARE = 0.005


def run_diagnosis_spec(diagnosis: Diagnosis) -> RunDiagnosisSpec:
    """Convert the diagnosis of a run to the traits of its view."""
    is_known = diagnosis.speedup.value is not None
    causes: list[_ShownCause] = []
    for cause, share in sorted(diagnosis.shares.items(), key=lambda item: -item[1]):
        if share >= MIN_SHARE:
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


def law(request: PageRequest) -> Answer:
    """Apply the latency law to a run: the selected stack, what-if sliders, the ranking, the levels
    of the run, and the costs at which a second draft model pays. The calibration is that stored by
    ``hsd-viz plan`` on this machine, else the shipped one.
    """
    from hsd_viz.views.single import hierarchy_state, one_draft_state

    trace = request.trace
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
        # The costs of other models do not predict this run, so use those measured in it.
        by_level = figures.levels(trace, None if of_other_models else basis)
        parts.append(figure_part(by_level) | {"folded": True})
    except UserError as error:
        # The calibration lacks a level of the run.
        parts.append({"kind": "text", "text": f"Levels of the run: {error}."})
    parts.append(figure_part(figures.when_it_pays()) | {"folded": True})
    if of_other_models:
        parts.insert(0, {"kind": "text", "text": _other_models(trace, basis), "caution": True})
    if basis.temperature not in (None, own):
        words = f"run {temperature_text(own)}, calibration {temperature_text(basis.temperature)}"
        advice = (
            f"Acceptance depends on temperature; calibrate with: hsd-viz plan --temperature {own:g}"
        )
        parts.insert(
            0, {"kind": "text", "text": f"Temperature mismatch: {words}. {advice}", "caution": True}
        )
    return {"parts": parts}


def _other_models(trace: Trace, basis: Basis) -> str:
    """Return a warning if the calibration is of other models than those of the run; else ""."""
    models = trace.meta.get("models") or []
    target = models[-1].get("model", "an unknown target") if models else "an unknown target"
    family = trace.meta.get("family")
    command = f"hsd-viz plan --family {family}" if family else "hsd-viz plan --target M"
    temperature = float((trace.meta.get("sampling") or {}).get("temperature") or 0.0)
    return (
        f"A separate example, of other models: the run's target is {target}; the calibration is of "
        f"{', '.join(basis.calibration.models)} of the shipped ladder. Calibrate with: "
        f"{command} {as_option('temperature')} {temperature:g}"
    )


def calibrated(trace: Trace, temperature: float) -> Basis | None:
    """Return the newest stored calibration of the models and number type of ``trace``; ``None`` if
    there is none.
    """
    with suppress(KeyError, IndexError, TypeError):  # an imported trace does not name its weights
        who = identity(trace.meta)
        stored = newest({name: who[name] for name in ("target", "models", "device", "dtype")})
        if stored and (basis := basis_of(stored.to_dict())).temperature == temperature:
            return basis
    return None
