"""Builds the traits of the views of the visitor's traffic: a diagnosed record and a replayed log.

Their types are in :mod:`hsd_viz.views.app.traffic_spec`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from hsd_viz.measure.doctor.advice import AdviceKind, Recommendation
from hsd_viz.measure.doctor.diagnosis import Diagnosis, name_of
from hsd_viz.measure.doctor.what_if import Option
from hsd_viz.measure.replay.figures import DrafterFigures, Pays
from hsd_viz.measure.replay.report import ReplayReport, method_of
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.table import Table
from hsd_viz.text import counted
from hsd_viz.views.app.traffic_spec import (
    DiagnosisSpec,
    DrafterSpec,
    LossSpec,
    MeasuredSpec,
    PastedSpec,
    ReplayedSpec,
    SaidSpec,
    SettingSpec,
    TableSpec,
)

#: Descriptions of the largest cost, by cause.
COSTS = {
    "acceptance": "Rejected drafts cost most",
    "few drafts": "Passes without a draft cost most",
    "drafting": "Drafting costs most",
    "verification": "Verification costs most",
    "overhead": "Time outside passes and drafting costs most",
    "round": "The time of a round costs most",
}
#: Maximum number of draft lengths in a chart, besides the present one.
MAX_COLUMNS = 12
#: Names of drafters in serving engines.
ENGINE_METHODS = {"lookup": "ngram", "suffix": "suffix"}
#: Descriptions of the costs of verification that the form offers.
VERIFY_COSTS = {
    "cpu": "0.15 steps per verified token",
    "free16": "free verification of up to 16 tokens",
}
#: Tokens per pass from which the answer explains why a drafter does not pay.
MIN_GAIN = 1.5
#: Minimum share of the loss of a shown cause.
MIN_SHARE = 0.005


def diagnosis_part(diagnosis: Diagnosis, engine: str) -> dict[str, Any]:
    """Return the part with the view of a diagnosis.

    Args:
        diagnosis: the diagnosis.
        engine: the engine of the record; "": unknown.
    """
    recommendation = diagnosis.recommendation()
    figure, words = _verdict(diagnosis, recommendation)
    lines = diagnosis.caveats()
    if not _is_said(recommendation):
        lines.insert(0, diagnosis.to_do_line())
    measure, unit, settings = _settings(diagnosis)
    spec = DiagnosisSpec(
        figure=figure,
        words=words,
        lines=lines,
        sources=diagnosis.record_lines(),
        verdict=diagnosis.headline(),
        tables=_tables(diagnosis.tables()),
        pasted=_pasted(diagnosis.flags, engine),
        measure=measure,
        unit=unit,
        settings=settings,
        acceptance=_acceptance(diagnosis),
        losses=_losses(diagnosis),
        ideal=_ideal(diagnosis),
    )
    return _view("diagnosis", spec)


def replay_part(report: ReplayReport) -> dict[str, Any]:
    """Return the part with the view of a replayed log."""
    best = report.drafters[0]
    if best.pays is Pays.YES:
        pays = "predicted"
    else:
        pays = "predicted, which does not certainly pay"
    headline = report.headline()
    given = report.settings.verify_cost
    cost = VERIFY_COSTS.get(given, f"verification cost {given}")
    spec = ReplayedSpec(
        figure=f"{best.mean_acceptance_length.value:.2f}",
        words=(
            f"tokens per pass with {best.name} on this log: at {cost}, {best.speedup.value:.2f} × "
            f"plain decoding {pays}."
        ),
        lines=[*_lines_of_engines(report), *_lines_of_losses(report)],
        sources=report.record_lines(),
        verdict=f"{headline[0].upper()}{headline[1:]}.",
        tables=_tables(report.tables()),
        pasted=_pasted(report.flags, ""),
        drafters=[_drafter(drafter) for drafter in report.drafters],
    )
    return _view("drafters", spec)


def _lines_of_engines(report: ReplayReport) -> list[str]:
    """Return a remark on the drafter of the settings to paste if it is not the best one."""
    best = report.drafters[0]
    nearest = next((drafter for drafter in report.drafters if method_of(drafter)), None)
    if nearest is None or nearest is best or nearest.pays is not Pays.YES:
        return []
    method = ENGINE_METHODS.get(str(method_of(nearest)), nearest.name)
    return [
        f"Engines do not offer {best.name}: the settings below are of {method}, the nearest that "
        f"they offer (here {nearest.name}: {nearest.speedup.value:.2f} × predicted)."
    ]


def _lines_of_losses(report: ReplayReport) -> list[str]:
    """Explain why a drafter does not pay although its passes emit more than one token."""
    lines = []
    for drafter in report.drafters:
        length = drafter.mean_acceptance_length.value or 0.0
        if drafter.pays is not Pays.NO or length < MIN_GAIN or not drafter.rounds:
            continue
        lines.append(
            f"{drafter.name}: {length:.2f} tokens per pass, yet {drafter.speedup.value:.2f} ×: it "
            f"drafts {drafter.drafted / drafter.rounds:.1f} tokens per pass, whose verification "
            "costs more than the accepted ones save."
        )
    return lines


def _view(name: str, spec: SaidSpec) -> dict[str, Any]:
    """Return the part with a view of the page and its traits."""
    return {"kind": "view", "view": name, "state": {"spec": asdict(spec)}}


def _drafter(figures: DrafterFigures) -> DrafterSpec:
    """Convert the figures of a drafter for the page."""
    return DrafterSpec(
        name=figures.name,
        tokens=_measured(figures.mean_acceptance_length),
        speedup=_measured(figures.speedup),
        pays=figures.pays,
    )


def _measured(figure: Estimate) -> MeasuredSpec:
    """Convert an estimate for the page."""
    assert figure.value is not None
    return MeasuredSpec(value=figure.value, low=figure.low, high=figure.high)


def _tables(tables: Sequence[Table]) -> list[TableSpec]:
    """Convert the tables that have rows, with cells as text."""
    shown = []
    for table in tables:
        if table.rows:
            head, *rows = table.cells()
            shown.append(TableSpec(title=table.title, note=table.note, head=head, rows=rows))
    return shown


def _pasted(flags: Mapping[str, str], engine: str) -> list[PastedSpec]:
    """Convert the settings to paste, and mark those of the engine of the record."""
    pasted = []
    for name, text in flags.items():
        is_own = name.split(" ")[0] == engine
        pasted.append(PastedSpec(engine=name, text=text, own=is_own))
    return pasted


# --- the verdict ----------------------------------------------------------------------------------


def _verdict(diagnosis: Diagnosis, recommendation: Recommendation) -> tuple[str, str]:
    """Return the headline: its figure and the words after it."""
    value = diagnosis.speedup.value
    if value is None or diagnosis.cause is None:
        return _bound(diagnosis)
    figure = f"{value:.2f} ×"
    if diagnosis.decided:
        side = "plain decoding."
    else:
        side = f"plain decoding, undecided: {diagnosis.speedup.span('{:.2f}')} ×."
    return figure, f"{side} {COSTS[diagnosis.cause]}: {_advice(recommendation)}"


def _bound(diagnosis: Diagnosis) -> tuple[str, str]:
    """Return the headline of a diagnosis that only bounds the speed-up."""
    most = diagnosis.at_most or 1.0
    figure = f"{most:.2f} ×"
    if diagnosis.note:
        return figure, "plain decoding at most: the times given are impossible."
    missing = ", ".join(diagnosis.observation.unknown_times())
    loses = " Speculation loses." if most < 1 else ""
    return figure, f"plain decoding at most.{loses} Not observed: {missing}."


def _advice(recommendation: Recommendation) -> str:
    """Return the recommended setting in a few words."""
    present = recommendation.present
    setting = recommendation.setting
    if present is None or setting is None:
        return "see below."
    if recommendation.kind in (AdviceKind.WAIT, AdviceKind.KEEP):
        return f"keep {present.stack}."
    if recommendation.kind is AdviceKind.TURN_OFF:
        return "turn speculation off."
    # The acceptance of drafts longer than those of the record is an assumption.
    verb = "may" if recommendation.kind is AdviceKind.EXTEND else "would"
    return f"{setting.stack} instead of {_brief(present)} {verb} give {setting.speedup:.2f} ×."


def _brief(option: Option) -> str:
    """Return a setting beside another one: only the number if the rest is the same."""
    if option.stack == counted(option.tokens, "draft token"):
        return str(option.tokens)
    return option.stack


def _is_said(recommendation: Recommendation) -> bool:
    """Return whether the headline states the complete advice: a shorter draft, unconditionally."""
    return recommendation.kind is AdviceKind.SHORTEN and not recommendation.is_conditional


# --- the chart ------------------------------------------------------------------------------------


def _settings(diagnosis: Diagnosis) -> tuple[str, str, list[SettingSpec]]:
    """Return the measure by which draft lengths are compared, its unit, and the lengths. The
    measure is the speed-up, or tokens per pass if no time is known.
    """
    deepest = diagnosis.observation.deepest
    drafting = [option for option in diagnosis.options if option.tokens]
    if len(drafting) > 1 and len({option.method for option in drafting}) == 1:
        return "speed-up", "×", _by_speed(diagnosis, drafting)
    settings = []
    for length in diagnosis.lengths[:MAX_COLUMNS]:
        per_pass = length.tokens_per_pass
        settings.append(_setting(length.tokens, per_pass, present=length.tokens == deepest))
    return "tokens per pass", "", settings


def _by_speed(diagnosis: Diagnosis, drafting: Sequence[Option]) -> list[SettingSpec]:
    """Return the speed-up of the draft lengths up to the present and the best one."""
    shown = [option.tokens for option in (diagnosis.observed, diagnosis.advised) if option]
    settings = []
    for option in sorted(drafting, key=lambda option: option.tokens):
        is_present = option == diagnosis.observed
        is_best = option == diagnosis.advised
        if option.tokens > min(MAX_COLUMNS, max(shown)) and not (is_present or is_best):
            continue
        value = diagnosis.speedup if is_present else Estimate(option.speedup)
        settings.append(
            _setting(
                option.tokens,
                value,
                present=is_present,
                best=is_best,
                assumed=option.tokens > diagnosis.observation.deepest,
            )
        )
    return settings


def _setting(
    tokens: int, value: Estimate, *, present: bool, best: bool = False, assumed: bool = False
) -> SettingSpec:
    low, high = value.interval or (None, None)
    return SettingSpec(
        value=value.value or 0.0,
        low=low,
        high=high,
        tokens=tokens,
        present=present,
        best=best,
        assumed=assumed,
    )


def _acceptance(diagnosis: Diagnosis) -> list[float]:
    """Return the acceptance by position in the draft."""
    seen = diagnosis.observation
    rates = seen.rates if seen.varied else seen.rates_by_position()
    return [float(rate) for rate in list(rates)[:MAX_COLUMNS]]


def _losses(diagnosis: Diagnosis) -> list[LossSpec]:
    """Return the share of each cause in the loss, with its time per round."""
    seen = diagnosis.observation
    steps_by_cause = seen.parts()
    losses = []
    for cause, share in diagnosis.shares.items():
        if share < MIN_SHARE:
            continue
        steps = steps_by_cause.get(cause)
        ms = None if steps is None or seen.step is None else steps * seen.step
        losses.append(LossSpec(name=name_of(cause), share=share, ms=ms))
    return losses


def _ideal(diagnosis: Diagnosis) -> float | None:
    """Return the speed-up of free drafts that are all accepted; ``None`` if drafts are unknown."""
    seen = diagnosis.observation
    if not diagnosis.shares or not seen.drafted_known or "few drafts" in diagnosis.shares:
        return None
    return 1 + seen.drafted
