"""Findings of the doctor: what a record looks like when a drafter is set up wrongly.

Each sign is declared above the function that looks for it: public threads that describe the case,
and what to check. A finding adds its evidence and a confidence (``high`` or ``medium``). A sign
that is seen wrongly is worse than none: each asks for enough rounds or requests, and n-gram
drafters, whose acceptance may be anything, are judged by few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from hsd_viz.measure.doctor.observation import Observation, Served
from hsd_viz.records.engine_settings import NGRAMS
from hsd_viz.records.time import Change, trend

#: Fewest rounds, and requests on each side, of a judgement.
ROUNDS = 50
REQUESTS = 10
#: Standard errors by which two groups of requests must differ, and the most of the acceptance
#: that is left.
CERTAIN = 3.0
FALLEN = 0.7
#: The largest share of the acceptance that is left after a collapse.
COLLAPSED = 0.25
#: Draft tokens per forward pass below which a drafter drafts rarely.
RARELY = 0.5
#: Fewest draft tokens that are all accepted before it is remarked.
ALL_ACCEPTED = 100


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of misconfiguration: where it is described, and what to check.

    Attributes:
        name: of the sign.
        threads: addresses of public threads that describe the case.
        check: what to check, as the rest of "Check ...".
    """

    name: str
    threads: str
    check: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A sign that a record shows.

    Attributes:
        sign: the sign.
        evidence: the figures of the record.
        confidence: ``high`` or ``medium``.
    """

    sign: Sign
    evidence: str
    confidence: str = "high"

    @property
    def words(self) -> str:
        """The finding in one line."""
        return (
            f"Possible misconfiguration ({self.confidence} confidence): {self.evidence}. "
            f"Check {self.sign.check}. See {self.sign.threads}"
        )

    def to_dict(self) -> dict[str, str]:
        """Return the finding as JSON data."""
        return {
            "rule": self.sign.name,
            "evidence": self.evidence,
            "confidence": self.confidence,
            "thread": self.sign.threads,
            "check": self.sign.check,
        }


def findings(
    seen: Observation, speedup: float | None = None, changes: Sequence[Change] = ()
) -> Iterator[Finding]:
    """Yield the signs that the record shows.

    Args:
        seen: what was observed. An unknown number of rounds is taken to be enough.
        speedup: the upper end of its interval; ``None``: not observed on a quiet machine.
        changes: where figures changed in the middle of the record.
    """
    yield from _collapse(changes)
    if 0 < seen.total < ROUNDS:
        return
    yield from _all_accepted(seen)
    if seen.method in NGRAMS:
        return
    yield from _rarely(seen)
    yield from _first_positions(seen)
    yield from _requests(seen.requests)
    yield from _slow_rounds(seen, speedup)


COLLAPSES_IN_TIME = Sign(
    name="collapses in time",
    threads=(
        "https://github.com/vllm-project/vllm/issues/58080, "
        "https://github.com/vllm-project/vllm/issues/57941"
    ),
    check=(
        "the drafter's longest position (max_model_len of the draft) against the length of the "
        "sequences at that time, then the number of draft tokens and what was changed there"
    ),
)


def _collapse(changes: Sequence[Change]) -> Iterator[Finding]:
    for change in changes:
        if change.figure == "acceptance" and change.after <= COLLAPSED * change.before:
            yield Finding(COLLAPSES_IN_TIME, change.words)


EVERYTHING_ACCEPTED = Sign(
    name="everything accepted",
    threads="https://github.com/ggml-org/llama.cpp/issues/3919",
    check=(
        "that the draft model is not the target itself, that the verification is on (no synthetic "
        "or forced acceptance), and that the text is not a repetition"
    ),
)


def _all_accepted(seen: Observation) -> Iterator[Finding]:
    """Everything is accepted: at T > 0 even a perfect draft of the target's own family is not."""
    if not seen.drafted_known:
        return
    drafted = seen.drafted * (seen.total or ALL_ACCEPTED)
    accepted = seen.length - 1
    if drafted < ALL_ACCEPTED or accepted < 0.9995 * seen.drafted:
        return
    if seen.drafted < RARELY:
        return  # a drafter that stops before every uncertain token
    if seen.sampled is False and seen.method in NGRAMS:
        return  # greedy text that repeats itself
    temperature = {True: " at a temperature above 0", False: " of greedy text", None: ""}
    evidence = f"all draft tokens are accepted{temperature[seen.sampled]}"
    confidence = "high" if seen.sampled else "medium"
    yield Finding(EVERYTHING_ACCEPTED, evidence, confidence)


DRAFTS_RARELY = Sign(
    name="drafts rarely",
    threads=(
        "https://github.com/ggml-org/llama.cpp/issues/24508, "
        "https://github.com/ikawrakow/ik_llama.cpp/issues/1595"
    ),
    check=(
        "the thresholds that stop a draft: lower p-min (--draft-p-min, --spec-draft-p-min) and "
        "n-min, raise n-max"
    ),
)


def _rarely(seen: Observation) -> Iterator[Finding]:
    """Few draft tokens per forward pass, most of them accepted: the drafter stops too early."""
    if not seen.drafted_known or seen.drafted >= RARELY or seen.drafted <= 0:
        return
    rate = (seen.length - 1) / seen.drafted
    if rate < 0.6:
        return
    if seen.without_draft:
        idle = f"{seen.without_draft:.0%} of the forward passes have no draft"
    else:
        idle = f"{seen.drafted:.2f} draft tokens per forward pass"
    yield Finding(DRAFTS_RARELY, f"{idle}, although {rate:.0%} of the draft tokens are accepted")


NOTHING_ACCEPTED = Sign(
    name="nothing accepted",
    threads=(
        "https://github.com/vllm-project/vllm/pull/43671, "
        "https://github.com/ggml-org/llama.cpp/issues/25792"
    ),
    check=(
        "that the drafter was made for exactly this target (weights, quantization, vocabulary), "
        "that the method has the right name (EAGLE is not EAGLE-3), and which layers' hidden "
        "states it is given"
    ),
)
ONLY_THE_FIRST = Sign(
    name="only the first",
    threads="https://github.com/vllm-project/vllm-ascend/pull/3770",
    check=(
        "how many tokens the drafter was trained for, and whether its own hidden state is fed "
        "back after the first; until then set 1 draft token"
    ),
)


def _first_positions(seen: Observation) -> Iterator[Finding]:
    """The first token is rarely accepted, or only the first."""
    rates = seen.rates_by_position() or (list(seen.rates) if seen.varied else [])
    if rates:
        first = rates[0]
    elif seen.rates:
        first = sum(seen.rates)
    elif seen.drafted >= RARELY:
        first = (seen.length - 1) / min(1.0, seen.drafted)
    else:
        return
    # A trained drafter is then accepted as rarely as a random one.
    if first <= 0.1 and seen.length <= 1.12:
        rounds = f"{seen.total} rounds" if seen.total else "the rounds"
        evidence = f"the first draft token is accepted in {first:.1%} of {rounds}"
        yield Finding(NOTHING_ACCEPTED, evidence, "high" if first < 0.05 else "medium")
    if len(rates) > 1 and first >= 0.4 and rates[1] <= 0.1 * first:
        evidence = (
            f"position 1 is accepted in {first:.0%} of the rounds, position 2 in {rates[1]:.1%}"
        )
        yield Finding(ONLY_THE_FIRST, evidence)


FALLS_WITH_CACHED_PREFIXES = Sign(
    name="falls with cached prefixes",
    threads=(
        "https://github.com/vllm-project/vllm/issues/47930, "
        "https://github.com/vllm-project/vllm/issues/54360"
    ),
    check=(
        "the same requests with prefix caching off: the drafter may lack the cached tokens' states"
    ),
)


def _requests(requests: Sequence[Served]) -> Iterator[Finding]:
    """Acceptance falls with the context, or with cached prefixes."""
    with_context = [request for request in requests if request.context]
    with_context.sort(key=lambda request: request.context or 0)
    yield from _context(with_context)
    fresh = [request for request in requests if request.cached == 0]
    cached = [
        request
        for request in with_context
        if request.cached and request.cached > 0.5 * (request.context or 0)
    ]
    if left := _left(fresh, cached):
        evidence = (
            f"{len(cached)} requests with a cached prefix have {left:.0%} of the acceptance of "
            f"{len(fresh)} without"
        )
        yield Finding(FALLS_WITH_CACHED_PREFIXES, evidence)


FALLS_WITH_CONTEXT = Sign(
    name="falls with context",
    threads=(
        "https://github.com/vllm-project/vllm/issues/47602, "
        "https://github.com/sgl-project/sglang/issues/30763"
    ),
    check=(
        "the drafter's longest position, its rope scaling and its attention window against the "
        "target's"
    ),
)


def _context(requests: Sequence[Served]) -> Iterator[Finding]:
    """Acceptance falls with the context, along a line over all requests."""
    if len(requests) < 3 * REQUESTS:
        return
    contexts = [request.context or 0.0 for request in requests]
    rates = [request.accepted / request.rounds for request in requests]
    line = trend(contexts, rates)
    short = requests[: len(requests) // 3]
    long = requests[len(requests) - len(requests) // 3 :]
    most = short[-1].context or 0
    least = long[0].context or 0
    if line is None or least < 2 * most:
        return
    left = _left(short, long)
    near, far, errors = line
    if left is None or errors > -CERTAIN or not near:
        return
    evidence = (
        f"contexts from {least:.0f} tokens on: {left:.0%} of the acceptance of those up to "
        f"{most:.0f}; along a line {near:.2f} accepted tokens per round fall to {far:.2f}"
    )
    yield Finding(FALLS_WITH_CONTEXT, evidence, "medium")


def _left(before: Sequence[Served], after: Sequence[Served]) -> float | None:
    """Return the acceptance of the second group of requests relative to the first; ``None`` if it
    has not certainly fallen.
    """
    if min(len(before), len(after)) < REQUESTS:
        return None
    first = [request.accepted / request.rounds for request in before]
    second = [request.accepted / request.rounds for request in after]
    high = fmean(first)
    low = fmean(second)
    error = (variance(first) / len(first) + variance(second) / len(second)) ** 0.5
    if high - low > CERTAIN * error and low <= FALLEN * high:
        return low / high
    return None


HOST_OVERHEAD = Sign(
    name="host overhead",
    threads=(
        "https://github.com/vllm-project/vllm/issues/39680, "
        "https://github.com/vllm-project/vllm/issues/47277"
    ),
    check=(
        "that CUDA graphs cover drafting and verification (no eager mode), and the CPU time of "
        "scheduling and sampling"
    ),
)
VERIFICATION_NOT_MEMORY_BOUND = Sign(
    name="verification not memory-bound",
    threads="https://github.com/vllm-project/vllm/issues/46295",
    check=(
        "a mixture of experts (each token reads further experts), and that the attention and "
        "matrix kernels of several tokens are those of one"
    ),
)


def _slow_rounds(seen: Observation, speedup: float | None) -> Iterator[Finding]:
    """Accepted well, and slower all the same."""
    tokens = seen.deepest
    if seen.length - 1 < 0.5 * tokens or speedup is None or speedup >= 0.97:
        return
    parts = seen.parts()
    overhead = parts["overhead"] or 0.0
    if overhead >= 0.5:
        yield Finding(
            HOST_OVERHEAD,
            f"{seen.length:.1f} tokens per forward pass, yet slower than plain decoding: "
            f"{overhead:.1f} steps of a round are spent outside the models",
        )
    extra = parts["verification"] or 0.0
    if seen.batch == 1 and tokens <= 8 and extra >= max(0.75, 0.15 * tokens):
        evidence = (
            f"verifying {tokens} draft tokens at batch size 1 takes {1 + extra:.1f} plain steps"
        )
        yield Finding(VERIFICATION_NOT_MEMORY_BOUND, evidence, "medium")


#: All signs.
SIGNS = (
    NOTHING_ACCEPTED,
    ONLY_THE_FIRST,
    EVERYTHING_ACCEPTED,
    DRAFTS_RARELY,
    COLLAPSES_IN_TIME,
    FALLS_WITH_CONTEXT,
    FALLS_WITH_CACHED_PREFIXES,
    HOST_OVERHEAD,
    VERIFICATION_NOT_MEMORY_BOUND,
)
