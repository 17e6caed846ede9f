"""Signatures of misconfiguration: what a record looks like when a drafter is set up wrongly.

Each rule has its evidence, a confidence (``high`` or ``medium``), a public thread that describes the case, and what to
check (``signatures.json``). A rule that fires wrongly is worse than none: each asks for enough rounds, and none judges
n-gram drafters, whose acceptance may be anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hsd_viz.adapters.observation import NGRAMS, Observation

#: Fewest rounds of a judgement.
ROUNDS = 50
#: Rule -> the public thread that describes the case, and what to check.
TEXTS: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("signatures.json").read_text(encoding="utf-8"))


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
Rule = Callable[[Observation], Evidence]


def signatures(seen: Observation, speedup: float | None = None) -> Iterator[Finding]:
    """Yield the rules that fire. ``speedup`` is the upper end of its interval, ``None`` where it was not observed on a
    quiet machine. An unknown number of rounds is taken to be enough.
    """
    if seen.method in NGRAMS or 0 < seen.total < ROUNDS:
        return
    slow = seen.length - 1 >= 0.5 * seen.deepest and speedup is not None and speedup < 0.97
    for name, rule in (OF_ROUNDS | OF_SLOW_ROUNDS if slow else OF_ROUNDS).items():
        if fired := rule(seen):
            yield Finding(name, *fired, **TEXTS[name])


def nothing_accepted(seen: Observation) -> Evidence:
    """From the start, a trained drafter is accepted as rarely as a random one."""
    first = next(iter(seen.rates_by_position()), seen.length - 1)
    if first > 0.1 or seen.length > 1.12:
        return None
    rounds = f"{seen.total} rounds" if seen.total else "the rounds"
    return f"the first draft token is accepted in {first:.1%} of {rounds}", "high" if first < 0.05 else "medium"


def only_the_first(seen: Observation) -> Evidence:
    """The first token is accepted as it should be, and hardly any after it."""
    rates = seen.rates_by_position()
    if len(rates) < 2 or rates[0] < 0.4 or rates[1] > 0.1 * rates[0]:
        return None
    return f"position 1 is accepted in {rates[0]:.0%} of the rounds, position 2 in {rates[1]:.1%}", "high"


def host_overhead(seen: Observation) -> Evidence:
    """Well accepted, and slower because of time outside the models."""
    if (overhead := seen.parts()["overhead"] or 0.0) < 0.5:
        return None
    spent = f"{overhead:.1f} steps of a round are spent outside the models"
    return f"{seen.length:.1f} tokens per forward pass, yet slower than plain decoding: {spent}", "high"


def verification_not_memory_bound(seen: Observation) -> Evidence:
    """Well accepted at batch size 1, and slower because verifying a few tokens costs far more than a step."""
    extra, tokens = seen.parts()["verification"] or 0.0, seen.deepest
    if seen.batch > 1 or tokens > 8 or extra < max(0.75, 0.15 * tokens):
        return None
    return f"verifying {tokens} draft tokens at batch size 1 takes {1 + extra:.1f} plain steps", "medium"


OF_ROUNDS: dict[str, Rule] = {"nothing accepted": nothing_accepted, "only the first": only_the_first}
#: Of drafts that are accepted well, and decoding that is slower all the same.
OF_SLOW_ROUNDS: dict[str, Rule] = {
    "host overhead": host_overhead,
    "verification not memory-bound": verification_not_memory_bound,
}
