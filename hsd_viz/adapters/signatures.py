"""Signatures of misconfiguration: what a record looks like when a drafter is set up wrongly.

Each rule has its evidence, a confidence (``high`` or ``medium``), a public thread that describes the case, and what to
check (``signatures.json``). A rule that fires wrongly is worse than none: each asks for enough rounds or requests, and
none judges n-gram drafters, whose acceptance may be anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, variance

from hsd_viz.adapters.observation import NGRAMS, Observation, Served

#: Fewest rounds, and requests on each side, of a judgement.
ROUNDS, REQUESTS = 50, 10
#: Standard errors by which two groups of requests must differ, and the most of the acceptance that is left.
CERTAIN, FALLEN = 3.0, 0.7
#: Rule -> the public ``thread`` that describes the case, and what to ``check``.
TEXTS: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("signatures.json").read_text(encoding="utf-8")
)


def signatures(seen: Observation, speedup: float | None = None) -> Iterator[dict[str, str]]:
    """Yield the rules that fire, with their ``evidence``, ``confidence``, ``thread`` and ``check``. ``speedup`` is the
    upper end of its interval, ``None`` where it was not observed on a quiet machine. An unknown number of rounds is
    taken to be enough.
    """
    if seen.method in NGRAMS or 0 < seen.total < ROUNDS:
        return
    found = lambda rule, evidence, sure="high": {
        "rule": rule,
        "evidence": evidence,
        "confidence": sure,
        **TEXTS[rule],
    }
    rates, length, tokens, parts = seen.rates_by_position(), seen.length, seen.deepest, seen.parts()
    first = rates[0] if rates else length - 1
    if first <= 0.1 and length <= 1.12:  # a trained drafter is accepted as rarely as a random one
        rounds = f"{seen.total} rounds" if seen.total else "the rounds"
        evidence = f"the first draft token is accepted in {first:.1%} of {rounds}"
        yield found("nothing accepted", evidence, "high" if first < 0.05 else "medium")
    if len(rates) > 1 and first >= 0.4 and rates[1] <= 0.1 * first:
        evidence = (
            f"position 1 is accepted in {first:.0%} of the rounds, position 2 in {rates[1]:.1%}"
        )
        yield found("only the first", evidence)
    known = sorted((one for one in seen.requests if one.context), key=lambda one: one.context or 0)
    short, long = known[: len(known) // 3], known[len(known) - len(known) // 3 :]
    if left := _left(short, long):
        most, least = short[-1].context or 0, long[0].context or 0
        evidence = f"contexts from {least:.0f} tokens on: {left:.0%} of the acceptance of those up to {most:.0f}"
        if least >= 2 * most:
            yield found("falls with context", evidence, "medium")
    fresh = [one for one in seen.requests if one.cached == 0]
    cached = [one for one in known if one.cached and one.cached > 0.5 * (one.context or 0)]
    if left := _left(fresh, cached):
        evidence = (
            f"{len(cached)} requests with a cached prefix have {left:.0%} of the acceptance of "
            f"{len(fresh)} without"
        )
        yield found("falls with cached prefixes", evidence)
    if length - 1 < 0.5 * tokens or speedup is None or speedup >= 0.97:
        return
    # Accepted well, and slower all the same.
    if (overhead := parts["overhead"] or 0.0) >= 0.5:
        spent = f"{overhead:.1f} steps of a round are spent outside the models"
        yield found(
            "host overhead",
            f"{length:.1f} tokens per forward pass, yet slower than plain decoding: {spent}",
        )
    extra = parts["verification"] or 0.0
    if seen.batch == 1 and tokens <= 8 and extra >= max(0.75, 0.15 * tokens):
        evidence = (
            f"verifying {tokens} draft tokens at batch size 1 takes {1 + extra:.1f} plain steps"
        )
        yield found("verification not memory-bound", evidence, "medium")


def _left(before: Sequence[Served], after: Sequence[Served]) -> float | None:
    """Return the acceptance of the second group of requests relative to the first; ``None`` if it has not certainly
    fallen.
    """
    if min(len(before), len(after)) < REQUESTS:
        return None
    rates = [[one.accepted / one.rounds for one in group] for group in (before, after)]
    (high, low), error = (
        map(fmean, rates),
        sum(variance(group) / len(group) for group in rates) ** 0.5,
    )
    return low / high if high - low > CERTAIN * error and low <= FALLEN * high else None
