"""A record of another engine as a trace: what a source does not report is *not observed*, ``None`` in every metric."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from hsd_viz.adapters import ENGINES
from hsd_viz.adapters.vocabulary import complete
from hsd_viz.errors import UserError
from hsd_viz.trace import RoundRow, Trace

#: What an importer looks for; the rest of :data:`~hsd_viz.adapters.vocabulary.QUANTITIES` follows.
COUNTS = ("tokens", "forwards", "verifications", "drafted", "accepted", "by_position")
#: Draft tokens, accepted tokens and nanoseconds of one verification.
Verification = tuple[int, int, int | None]


def imported(
    engine: str,
    known: Mapping[str, Any],
    *,
    steps: Sequence[Verification] = (),
    derived: Sequence[str] = (),
    prefill_ms: float | None = None,
    decode_ms: float | None = None,
    method: str | None = None,
) -> Trace:
    """Return a trace of ``known`` quantities, and of the drafting ``method`` where it is known. Raises: ValueError: if
    a figure is not a number or negative.
    """
    exact = {name: value for name, value in known.items() if value is not None}
    given = [*exact.items(), ("prefill_ms", prefill_ms), ("decode_ms", decode_ms)]
    for name, value in [*given, *(("a verification", [*step]) for step in steps)]:
        for number in value if isinstance(value, list) and not name.endswith("_ms") else [value]:
            if number is not None and not (
                isinstance(number, int | float) and isfinite(number) and number >= 0
            ):
                raise UserError(f"the record of {engine} is damaged: {name} is {number!r}")
    if any(accepted > drafted for drafted, accepted, _ in steps):
        raise UserError(
            f"the record of {engine} is damaged: a verification accepted more tokens than were drafted"
        )
    counts = complete(exact)
    ns = [None if ms is None else round(ms * 1e6) for ms in (prefill_ms, decode_ms)]
    observed = {**counts, "prefill": ns[0], "time": ns[1], "rounds": steps or None}
    missing = [
        name for name in (*COUNTS, "prefill", "time", "rounds") if observed.get(name) is None
    ]
    notes: dict[str, Any] = {
        "engine": engine,
        "version": ENGINES[engine]["version"],
        "exact": [name for name in exact if name not in derived],
        "derived": [*derived, *(name for name in COUNTS if name in counts and name not in exact)],
        "not_observed": [*missing, "tokens' text", "draft tokens", "calls"],
    }
    if method is not None:
        notes["method"] = method
    meta = {
        "stack": engine,
        "prompt": None,
        "prompt_ids": None,
        "counts": counts,
        "imported": notes,
    }
    meta |= {"prefill_ns": ns[0], "decode_ns": ns[1], "wall_ns": None if None in ns else sum(ns)}
    rounds = []
    for number, (drafted, accepted, duration) in enumerate(steps):
        outcome = "plain" if not drafted else "bonus" if accepted == drafted else "correction"
        examined = accepted + (accepted < drafted)
        why = None if drafted else "no match"
        rounds.append(
            RoundRow(number, None, 1, drafted, examined, accepted, outcome, why, None, duration)
        )
    return Trace(meta).add_rows(rounds=rounds)


def counts_of(engine: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts that a record has under the names of its engine."""
    counts = (*COUNTS, "histogram")
    return {
        quantity: found.get(name)
        for name, quantity in ENGINES[engine]["metrics"].items()
        if quantity in counts
    }
