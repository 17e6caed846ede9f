"""Answers about a run: its diagnosis, and what the latency law says of it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hsd_viz import figures
from hsd_viz.errors import UserError
from hsd_viz.latency.basis import Basis, basis_of, own_plan_of, recorded, temperature_words
from hsd_viz.latency.stored import identity, newest
from hsd_viz.trace import Trace
from hsd_viz.views.app.question import Answer, PageRequest, Part
from hsd_viz.views.view import figure_part


def doctor(asked: PageRequest) -> Answer:
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
