"""Converts series of records to traces. Figures that a source does not report are ``None``.

An imported trace has no tokens or drafts; it has rounds only where the source reports each
verification. Its meta has ``counts`` (:data:`~hsd_viz.records.convert.QUANTITIES`), and under
``imported`` the engine, the version, the lists ``exact``, ``derived`` and ``not_observed``, and
the ``series`` itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, cast

from hsd_viz.disk import object_at
from hsd_viz.errors import BadFile, UserError
from hsd_viz.records.convert import complete
from hsd_viz.records.sample import Sample
from hsd_viz.records.series import Series
from hsd_viz.text import counted
from hsd_viz.trace import RoundRow, Trace
from hsd_viz.trace.meta import TraceMeta

#: Quantities that an importer looks for; the others follow.
COUNTS = ("tokens", "forwards", "verifications", "drafted", "accepted", "by_position")
#: Quantities of the fields of a sample.
_QUANTITIES = {
    "drafts": "verifications",
    "drafted": "drafted",
    "accepted": "accepted",
    "by_position": "by_position",
    "histogram": "histogram",
    "tokens": "tokens",
    "passes": "forwards",
    "length": "length_drafts",
}


def traces_of(series: Series) -> list[Trace]:
    """Return a trace per request of a series, or one trace of all samples."""
    if not series.single:
        return [trace_of_series(series)]
    return [trace_of_series(replace(series, samples=(sample,))) for sample in series.samples]


def trace_of_series(series: Series) -> Trace:
    """Return the trace of all samples of a series."""
    whole = series.pooled()
    quantities = known_quantities(whole)
    counts = complete(quantities)
    prefill = _nanoseconds(whole.prefill_seconds)
    decode = _nanoseconds(whole.seconds)
    derived = {_QUANTITIES[name] for name in whole.derived if name in _QUANTITIES}
    notes = _notes(series, quantities, counts, derived)
    observed = {**counts, "prefill": prefill, "time": decode, "rounds": whole.verifications or None}
    missing = [
        name for name in (*COUNTS, "prefill", "time", "rounds") if observed.get(name) is None
    ]
    notes["not_observed"] = [*missing, "tokens' text", "draft tokens", "calls"]
    meta = {
        "stack": series.engine,
        "prompt": None,
        "prompt_ids": None,
        "counts": counts,
        "imported": notes,
        "prefill_ns": prefill,
        "decode_ns": decode,
        "wall_ns": None if prefill is None or decode is None else prefill + decode,
    }
    return Trace(cast("TraceMeta", meta)).add_rows(rounds=round_rows(whole))


def _notes(
    series: Series, known: dict[str, Any], counts: dict[str, Any], derived: set[str]
) -> dict[str, Any]:
    """Return the facts of the import for the meta."""
    follow = [name for name in COUNTS if name in counts and name not in known]
    notes: dict[str, Any] = {
        "engine": series.engine,
        "version": series.version,
        "form": series.form,
        "model": series.model,
        "exact": [name for name in known if name not in derived],
        "derived": [*(name for name in known if name in derived), *follow],
        "series": series.to_dict(),
    }
    if series.method is not None:
        notes["method"] = series.method
    return notes


def known_quantities(sample: Sample) -> dict[str, Any]:
    """Return the quantities of a sample, without rates by position if there are no drafts."""
    quantities: dict[str, Any] = {}
    for name, quantity in _QUANTITIES.items():
        value = getattr(sample, name)
        if value is not None:
            quantities[quantity] = list(value) if isinstance(value, tuple) else value
    if not sample.drafts:
        quantities.pop("by_position", None)
    return quantities


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


def round_rows(sample: Sample) -> list[RoundRow]:
    """Return the rounds of a sample, one per verification."""
    rows = []
    for number, one in enumerate(sample.verifications):
        if not one.drafted:
            outcome = "plain"
        elif one.accepted == one.drafted:
            outcome = "bonus"
        else:
            outcome = "correction"
        rows.append(
            RoundRow(
                id=number,
                parent=None,
                level=1,
                drafted=one.drafted,
                examined=one.accepted + (one.accepted < one.drafted),
                accepted=one.accepted,
                outcome=outcome,
                why_no_draft=None if one.drafted else "no match",
                start_ns=None,
                duration_ns=one.nanoseconds,
            )
        )
    return rows


def series_of(traces: Sequence[Trace]) -> Series:
    """Combine the series of imported traces to one.

    Raises:
        UserError: if the traces are of several engines or models.
        BadFile: if a trace has no series.
    """
    parts = []
    for trace in traces:
        imported = object_at(trace.meta, "imported")
        if imported.get("series") is None:
            raise BadFile("the trace was imported by an older version: import its record again")
        parts.append(Series.from_dict(object_at(imported, "series")))
    engines = sorted({part.engine for part in parts})
    if len(engines) > 1:
        raise UserError(
            f"the records are of several engines ({', '.join(engines)}): choose one of them"
        )
    models = sorted({part.model for part in parts})
    if len(models) > 1:
        raise UserError(
            f"the records are of several models ({', '.join(models)}): choose one of them"
        )
    samples = chain.from_iterable(part.samples for part in parts)
    return replace(parts[0], samples=tuple(samples))


def series_lines(series: Series) -> list[str]:
    """Return lines on a series and its figures."""
    trace = trace_of_series(series)
    about = trace.meta["imported"]
    model = f", model {series.model}" if series.model else ""
    records = counted(len(series.samples), "record")
    lines = [f"{records} of {series.engine} ({series.version}){model}: {series.form}"]
    for name in ("exact", "derived", "not_observed"):
        if about[name]:
            lines.append(f"  {name.replace('_', ' ')}: {', '.join(about[name])}")
    if shown := figures_of(series, trace):
        lines.append(f"  {', '.join(shown)}")
    whole = series.pooled()
    if rates := rates_text(whole):
        lines.append(f"  {rates}")
    return lines


def figures_of(series: Series, trace: Trace) -> list[str]:
    """Return the figures of a series as texts."""
    whole = series.pooled()
    figures = trace.metrics()
    shown = []
    rate = figures["acceptance_rate"]
    if whole.engine_rate is not None and rate is not None:
        shown.append(
            f"acceptance rate {whole.engine_rate:.1%} as this version counts it, tokens after a "
            f"rejected one included; {rate:.1%} of the draft tokens were accepted"
        )
    elif rate is not None:
        shown.append(f"acceptance rate {rate:.1%}")
    elif whole.engine_rate is not None:
        shown.append(f"acceptance rate {whole.engine_rate:.1%} as printed")
    if figures["mean_acceptance_length"] is not None:
        shown.append(f"{figures['mean_acceptance_length']:.2f} tokens per forward pass")
    elif whole.tokens_per_verification is not None:
        shown.append(f"{whole.tokens_per_verification:.2f} tokens per verification")
    if whole.draft_length is not None:
        shown.append(counted(whole.draft_length, "draft token"))
    if figures["tokens_per_second"] is not None:
        shown.append(f"{figures['tokens_per_second']:.1f} tokens/s per request")
    elif whole.speed is not None:
        shown.append(f"{whole.speed:.1f} tokens/s in all")
    if whole.running is not None:
        shown.append(f"{whole.running:.1f} requests running")
    return shown


def rates_text(sample: Sample) -> str:
    """Format the acceptance by position; "": unknown."""
    if sample.by_position is None or not sample.drafts:
        return ""
    if sample.reached is None:
        rates = [f"{count / sample.drafts:.2f}" for count in sample.by_position]
        return (
            f"accepted by position, of all drafts: {', '.join(rates)}; drafts have several "
            "lengths, which the record does not report"
        )
    pairs = zip(sample.by_position, sample.reached, strict=False)
    rates = [f"{count / reached:.2f}" if reached else "-" for count, reached in pairs]
    return f"accepted by position, of the drafts that reached it: {', '.join(rates)}"
