"""Signatures of misconfiguration: what a record looks like when a drafter is set up wrongly.

Each rule names its evidence, how certain it is, a public thread that describes the case, and what to check. A rule that
fires wrongly is worse than none: each asks for enough rounds or requests, and none judges n-gram drafters, whose
acceptance may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import Any

#: Fewest rounds, and requests on each side, of a judgement.
ROUNDS, REQUESTS = 50, 10
#: Standard errors by which two groups of requests must differ.
CERTAIN = 3.0
NGRAMS = ("lookup", "suffix")


@dataclass(frozen=True, slots=True)
class Served:
    """A request of a record: its context and the cached part of it in tokens, its rounds and accepted draft tokens."""

    context: int | None
    cached: int | None
    rounds: float
    accepted: float

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
    requests: Sequence[Served] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that fired. ``confidence`` is ``high`` or ``medium``."""

    rule: str
    evidence: str
    confidence: str
    thread: str
    check: str

    def __str__(self) -> str:
        start = f"Possible misconfiguration ({self.confidence} confidence): {self.evidence}"
        return f"{start}. Check {self.check}. See {self.thread}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


def signatures(facts: Facts) -> Iterator[Finding]:
    """Yield the rules that fire."""
    if facts.method not in NGRAMS:
        yield from (found for rule in RULES if (found := rule(facts)) is not None)


def nothing_accepted(facts: Facts) -> Finding | None:
    """From the start, a trained drafter is accepted as rarely as a random one."""
    first = facts.rates[0] if facts.rates else facts.length - 1
    if facts.rounds < ROUNDS or first > 0.1 or facts.length > 1.12:
        return None
    return Finding(
        "nothing accepted",
        f"the first draft token is accepted in {first:.1%} of {facts.rounds} rounds",
        "high" if first < 0.05 else "medium",
        "https://github.com/vllm-project/vllm/pull/43671, https://github.com/ggml-org/llama.cpp/issues/25792",
        "that the drafter was made for exactly this target (weights, quantization, vocabulary), that the method has "
        "the right name (EAGLE is not EAGLE-3), and which layers' hidden states it is given",
    )


def only_the_first(facts: Facts) -> Finding | None:
    """The first token is accepted as it should be, and hardly any after it."""
    rates = facts.rates
    if facts.rounds < ROUNDS or len(rates) < 2 or rates[0] < 0.4 or rates[1] > 0.1 * rates[0]:
        return None
    return Finding(
        "only the first",
        f"position 1 is accepted in {rates[0]:.0%} of the rounds, position 2 in {rates[1]:.1%}",
        "high",
        "https://github.com/vllm-project/vllm-ascend/pull/3770",
        "how many tokens the drafter was trained for, and whether its own hidden state is fed back after the first; "
        "until then set 1 draft token",
    )


def falls_with_context(facts: Facts) -> Finding | None:
    """Acceptance falls with the length of the context."""
    known = sorted((one for one in facts.requests if one.context is not None), key=lambda one: one.context or 0)
    third = len(known) // 3
    short, long = known[:third], known[len(known) - third :]
    if third < REQUESTS or (long[0].context or 0) < 2 * (short[-1].context or 0):
        return None
    if (fallen := _lower(short, long)) is None or fallen > 0.7:
        return None
    return Finding(
        "falls with context",
        f"contexts from {long[0].context} tokens on: {fallen:.0%} of the acceptance of those up to {short[-1].context}",
        "medium",
        "https://github.com/vllm-project/vllm/issues/47602, https://github.com/sgl-project/sglang/issues/30763",
        "the drafter's longest position, its rope scaling and its attention window against the target's",
    )


def falls_with_cache(facts: Facts) -> Finding | None:
    """Requests whose prefix was cached are accepted less."""
    fresh = [one for one in facts.requests if one.cached == 0]
    cached = [one for one in facts.requests if one.cached and one.context and one.cached > 0.5 * one.context]
    if min(len(fresh), len(cached)) < REQUESTS or (fallen := _lower(fresh, cached)) is None or fallen > 0.7:
        return None
    return Finding(
        "falls with cached prefixes",
        f"{len(cached)} requests with a cached prefix have {fallen:.0%} of the acceptance of {len(fresh)} without",
        "high",
        "https://github.com/vllm-project/vllm/issues/47930, https://github.com/vllm-project/vllm/issues/54360",
        "the same requests with prefix caching off: the drafter may lack the cached tokens' states",
    )


def host_overhead(facts: Facts) -> Finding | None:
    """Well accepted, and slower because of time outside the models."""
    if not _slow(facts) or (facts.overhead or 0.0) < 0.5:
        return None
    return Finding(
        "host overhead",
        f"{facts.length:.1f} tokens per forward pass, yet slower than plain decoding: {facts.overhead:.1f} steps of a "
        "round are spent outside the models",
        "high",
        "https://github.com/vllm-project/vllm/issues/39680, https://github.com/vllm-project/vllm/issues/47277",
        "that CUDA graphs cover drafting and verification (no eager mode), and the CPU time of scheduling and sampling",
    )


def dear_verification(facts: Facts) -> Finding | None:
    """Well accepted at batch size 1, and slower because verifying a few tokens costs far more than a step."""
    extra = facts.verification or 0.0
    if not _slow(facts) or facts.batch > 1 or facts.tokens > 8 or extra < max(0.75, 0.15 * facts.tokens):
        return None
    return Finding(
        "verification not memory-bound",
        f"verifying {facts.tokens} draft tokens at batch size 1 takes {1 + extra:.1f} plain steps",
        "medium",
        "https://github.com/vllm-project/vllm/issues/46295",
        "a mixture of experts (each token reads further experts), and that the attention and matrix kernels of several "
        "tokens are those of one",
    )


RULES: tuple[Callable[[Facts], Finding | None], ...] = (
    nothing_accepted,
    only_the_first,
    falls_with_context,
    falls_with_cache,
    host_overhead,
    dear_verification,
)


def _slow(facts: Facts) -> bool:
    """Whether drafts are accepted well and decoding is slower all the same."""
    rate = (facts.length - 1) / max(1, facts.tokens)
    return facts.rounds >= ROUNDS and rate >= 0.5 and facts.speedup is not None and facts.speedup < 0.97


def _lower(before: Sequence[Served], after: Sequence[Served]) -> float | None:
    """Return the acceptance of the second group relative to the first; ``None`` if they do not certainly differ."""
    means, errors = [], []
    for group in (before, after):
        rates = [one.rate for one in group]
        mean = sum(rates) / len(rates)
        means.append(mean)
        errors.append(sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1) / len(rates))
    if means[0] <= 0 or means[0] - means[1] < CERTAIN * sqrt(sum(errors)):
        return None
    return means[1] / means[0]
