"""Signatures of misconfiguration: what a record looks like when a drafter is set up wrongly.

Each rule has its evidence, a confidence (``high`` or ``medium``), a public thread that describes the case, and what to
check (``signatures.json``). A rule that fires wrongly is worse than none: each asks for enough rounds or requests, and
none judges n-gram drafters, whose acceptance may be anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, variance

#: Fewest rounds, and requests on each side, of a judgement.
ROUNDS, REQUESTS = 50, 10
#: Standard errors by which two groups of requests must differ, and the most of the acceptance that is left.
CERTAIN, FALLEN = 3.0, 0.7
NGRAMS = ("lookup", "suffix")
#: Rule -> the public thread that describes the case, and what to check.
TEXTS: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("signatures.json").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Served:
    """A request of a record: its context and the cached part of it in tokens, its rounds and accepted draft tokens, its
    category, and how many of its rounds accepted 0, 1, 2, ... tokens (() if unknown).
    """

    context: int | None
    cached: int | None
    rounds: float
    accepted: float
    category: str = ""
    histogram: tuple[float, ...] = ()

    @property
    def rate(self) -> float:
        return self.accepted / self.rounds


@dataclass(frozen=True, slots=True)
class Facts:
    """What a record shows. ``rates``: P(the first k draft tokens are accepted), k = 1, 2, ..., () if unknown. Times
    are those of a round in plain steps, ``None`` if unknown; ``verification`` is what it takes beyond a step.
    """

    method: str
    rounds: int
    tokens: int
    length: float
    rates: Sequence[float] = ()
    batch: int = 1
    speedup: float | None = None
    drafting: float | None = None
    verification: float | None = None
    overhead: float | None = None
    requests: Sequence[Served] = ()

    @property
    def slow(self) -> bool:
        """Whether drafts are accepted well and decoding is slower all the same."""
        accepted = (self.length - 1) / max(1, self.tokens)
        return self.rounds >= ROUNDS and accepted >= 0.5 and self.speedup is not None and self.speedup < 0.97


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that fired."""

    rule: str
    evidence: str
    confidence: str
    thread: str
    check: str


#: (evidence, confidence) of a rule that fires.
Evidence = tuple[str, str] | None


def signatures(facts: Facts) -> Iterator[Finding]:
    """Yield the rules that fire."""
    for name, rule in RULES.items() if facts.method not in NGRAMS else ():
        if fired := rule(facts):
            yield Finding(name, *fired, **TEXTS[name])


def nothing_accepted(facts: Facts) -> Evidence:
    """From the start, a trained drafter is accepted as rarely as a random one."""
    first = facts.rates[0] if facts.rates else facts.length - 1
    if facts.rounds < ROUNDS or first > 0.1 or facts.length > 1.12:
        return None
    evidence = f"the first draft token is accepted in {first:.1%} of {facts.rounds} rounds"
    return evidence, "high" if first < 0.05 else "medium"


def only_the_first(facts: Facts) -> Evidence:
    """The first token is accepted as it should be, and hardly any after it."""
    rates = facts.rates
    if facts.rounds < ROUNDS or len(rates) < 2 or rates[0] < 0.4 or rates[1] > 0.1 * rates[0]:
        return None
    return f"position 1 is accepted in {rates[0]:.0%} of the rounds, position 2 in {rates[1]:.1%}", "high"


def falls_with_context(facts: Facts) -> Evidence:
    """Acceptance falls with the length of the context."""
    ordered = sorted((one for one in facts.requests if one.context is not None), key=lambda one: one.context or 0)
    third = len(ordered) // 3
    if third < REQUESTS:
        return None
    most, least = ordered[third - 1].context or 0, ordered[-third].context or 0
    if least < 2 * most or (left := _left(ordered[:third], ordered[-third:])) is None:
        return None
    return f"contexts from {least} tokens on: {left:.0%} of the acceptance of those up to {most}", "medium"


def falls_with_cached_prefixes(facts: Facts) -> Evidence:
    """Requests whose prefix was cached are accepted less."""
    fresh = [one for one in facts.requests if one.cached == 0]
    cached = [one for one in facts.requests if one.cached and one.context and one.cached > 0.5 * one.context]
    if min(len(fresh), len(cached)) < REQUESTS or (left := _left(fresh, cached)) is None:
        return None
    uncached = f"of {len(fresh)} without"
    return f"{len(cached)} requests with a cached prefix have {left:.0%} of the acceptance {uncached}", "high"


def host_overhead(facts: Facts) -> Evidence:
    """Well accepted, and slower because of time outside the models."""
    if not facts.slow or (facts.overhead or 0.0) < 0.5:
        return None
    spent = f"{facts.overhead:.1f} steps of a round are spent outside the models"
    return f"{facts.length:.1f} tokens per forward pass, yet slower than plain decoding: {spent}", "high"


def verification_not_memory_bound(facts: Facts) -> Evidence:
    """Well accepted at batch size 1, and slower because verifying a few tokens costs far more than a step."""
    extra = facts.verification or 0.0
    if not facts.slow or facts.batch > 1 or facts.tokens > 8 or extra < max(0.75, 0.15 * facts.tokens):
        return None
    return f"verifying {facts.tokens} draft tokens at batch size 1 takes {1 + extra:.1f} plain steps", "medium"


RULES: dict[str, Callable[[Facts], Evidence]] = {
    "nothing accepted": nothing_accepted,
    "only the first": only_the_first,
    "falls with context": falls_with_context,
    "falls with cached prefixes": falls_with_cached_prefixes,
    "host overhead": host_overhead,
    "verification not memory-bound": verification_not_memory_bound,
}


def _left(before: Sequence[Served], after: Sequence[Served]) -> float | None:
    """Return the acceptance of the second group relative to the first; ``None`` if it has not certainly fallen."""
    rates = [[one.rate for one in group] for group in (before, after)]
    (high, low), errors = map(fmean, rates), sum(variance(group) / len(group) for group in rates)
    certain = high > 0 and high - low >= CERTAIN * errors**0.5
    return low / high if certain and low <= FALLEN * high else None
