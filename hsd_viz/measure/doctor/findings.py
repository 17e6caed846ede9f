"""What the doctor finds in a record: the signs of misconfiguration, with their evidence.

A false finding is worse than none. So each sign requires enough rounds or requests, and few signs
apply to n-gram drafters, whose acceptance can have any value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, variance

from hsd_viz.measure.doctor.observation import Observation, Served
from hsd_viz.measure.doctor.signs import (
    COLLAPSES_IN_TIME,
    DRAFTS_RARELY,
    EVERYTHING_ACCEPTED,
    FALLS_WITH_CACHED_PREFIXES,
    FALLS_WITH_CONTEXT,
    HOST_OVERHEAD,
    NOTHING_ACCEPTED,
    ONLY_THE_FIRST,
    VERIFICATION_NOT_MEMORY_BOUND,
    Finding,
)
from hsd_viz.records.changes import Change, trend
from hsd_viz.records.engine_settings import NGRAMS

#: Minimum number of rounds of a record, at which the error of a rate is below 7 points.
MIN_ROUNDS = 50
#: Draft tokens per forward pass below which a drafter counts as drafting rarely.
RARELY = 0.5
#: Largest remaining share of the acceptance after a collapse; a change of the text leaves more.
COLLAPSED = 0.25
#: Minimum number of draft tokens for the sign that all are accepted, since texts may repeat.
ALL_ACCEPTED = 100
#: Acceptance rate from which all draft tokens count as accepted, since reports are rounded.
ALL = 0.9995
#: Acceptance rate from which a drafter could draft more tokens.
ACCEPTED_WELL = 0.6
#: Largest acceptance of the first draft token of an unfit drafter, as of a random one.
UNFIT_FIRST = 0.1
#: Acceptance of the first draft token below which the finding has high confidence.
CERTAINLY_UNFIT_FIRST = 0.05
#: Largest number of tokens per forward pass of an unfit drafter.
UNFIT_LENGTH = 1.12
#: Smallest acceptance of the first draft token of a drafter trained for the target.
FIT_FIRST = 0.4
#: Largest ratio of the acceptance at the second position to that at the first for a drafter whose
#: second token is not computed from its own state.
LOST_SECOND = 0.1
#: Acceptance rate from which drafts should pay.
ACCEPTED = 0.5
#: Speed-up from which a run does not count as slower, since times vary by 3 %.
NOT_SLOWER = 0.97
#: Overhead of a round, in plain decoding steps, from which the host is slow.
SLOW_HOST = 0.5
#: Largest number of draft tokens whose verification at batch size 1 is memory-bound on any GPU.
FEW_TOKENS = 8
#: Additional time of a verification, in plain decoding steps, from which it is not memory-bound: in
#: total, and per draft token.
SLOW_VERIFICATION = 0.75
SLOW_VERIFICATION_PER_TOKEN = 0.15
#: Minimum number of requests of a compared group, at which the error of the mean is known.
MIN_REQUESTS = 10
#: Minimum difference of two groups in standard errors; chance exceeds it in 1 of 700 records.
CERTAIN_ERRORS = 3.0
#: Largest remaining share of the acceptance; a smaller fall may be due to the text.
MAX_REMAINING = 0.7
#: Cached share of a prompt from which a request counts as one with a cached prefix.
CACHED = 0.5
#: Minimum ratio of the contexts of the longest third to those of the shortest third.
MIN_RATIO = 2


def findings(
    seen: Observation, speedup: float | None = None, changes: Sequence[Change] = ()
) -> Iterator[Finding]:
    """Yield the findings of all signs in a record.

    Args:
        seen: the observation. An unknown number of rounds counts as enough.
        speedup: the upper end of the interval of the speed-up; ``None``: not observed on a quiet
            machine.
        changes: the changes of figures within the record.
    """
    yield from _collapse(changes)
    if 0 < seen.total < MIN_ROUNDS:
        return
    yield from _all_accepted(seen)
    if seen.method in NGRAMS:
        return
    yield from _rarely(seen)
    yield from _first_positions(seen)
    yield from _of_requests(seen.requests)
    yield from _slow_rounds(seen, speedup)


def _collapse(changes: Sequence[Change]) -> Iterator[Finding]:
    for change in changes:
        if change.figure == "acceptance" and change.after <= COLLAPSED * change.before:
            yield Finding(COLLAPSES_IN_TIME, change.words)


def _all_accepted(seen: Observation) -> Iterator[Finding]:
    """Detect that all draft tokens are accepted. At T > 0 not even a perfect drafter achieves
    it.
    """
    if not seen.drafted_known:
        return
    drafted = seen.drafted * (seen.total or ALL_ACCEPTED)
    accepted = seen.length - 1
    if drafted < ALL_ACCEPTED or accepted < ALL * seen.drafted:
        return
    if seen.drafted < RARELY:
        return  # the drafter may stop before every uncertain token
    if seen.sampled is False and seen.method in NGRAMS:
        return  # greedy text may repeat itself
    temperature = {True: " at a temperature above 0", False: " of greedy text", None: ""}
    evidence = f"all draft tokens are accepted{temperature[seen.sampled]}"
    confidence = "high" if seen.sampled else "medium"
    yield Finding(EVERYTHING_ACCEPTED, evidence, confidence)


def _rarely(seen: Observation) -> Iterator[Finding]:
    """Detect few draft tokens per pass of which most are accepted: the drafter stops too early."""
    if not seen.drafted_known or seen.drafted >= RARELY or seen.drafted <= 0:
        return
    rate = (seen.length - 1) / seen.drafted
    if rate < ACCEPTED_WELL:
        return
    if seen.without_draft:
        idle = f"{seen.without_draft:.0%} of the forward passes have no draft"
    else:
        idle = f"{seen.drafted:.2f} draft tokens per forward pass"
    yield Finding(DRAFTS_RARELY, f"{idle}, although {rate:.0%} of the draft tokens are accepted")


def _first_positions(seen: Observation) -> Iterator[Finding]:
    """Detect that the first token is rarely accepted, or only the first one."""
    rates = seen.rates_by_position() or (list(seen.rates) if seen.varied else [])
    if rates:
        first = rates[0]
    elif seen.rates:
        first = sum(seen.rates)
    elif seen.drafted >= RARELY:
        first = (seen.length - 1) / min(1.0, seen.drafted)
    else:
        return
    # The acceptance of a trained drafter is then as low as that of a random one.
    if first <= UNFIT_FIRST and seen.length <= UNFIT_LENGTH:
        rounds = f"{seen.total} rounds" if seen.total else "the rounds"
        evidence = f"the first draft token is accepted in {first:.1%} of {rounds}"
        confidence = "high" if first < CERTAINLY_UNFIT_FIRST else "medium"
        yield Finding(NOTHING_ACCEPTED, evidence, confidence)
    if len(rates) > 1 and first >= FIT_FIRST and rates[1] <= LOST_SECOND * first:
        evidence = (
            f"position 1 is accepted in {first:.0%} of the rounds, position 2 in {rates[1]:.1%}"
        )
        yield Finding(ONLY_THE_FIRST, evidence)


def _slow_rounds(seen: Observation, speedup: float | None) -> Iterator[Finding]:
    """Detect runs with a high acceptance that are slower nevertheless."""
    tokens = seen.deepest
    if seen.length - 1 < ACCEPTED * tokens or speedup is None or speedup >= NOT_SLOWER:
        return
    parts = seen.parts()
    overhead = parts["overhead"] or 0.0
    if overhead >= SLOW_HOST:
        yield Finding(
            HOST_OVERHEAD,
            f"{seen.length:.1f} tokens per forward pass, yet slower than plain decoding: "
            f"{overhead:.1f} plain decoding steps of a round are spent outside the models",
        )
    extra = parts["verification"] or 0.0
    slow = max(SLOW_VERIFICATION, SLOW_VERIFICATION_PER_TOKEN * tokens)
    if seen.batch == 1 and tokens <= FEW_TOKENS and extra >= slow:
        evidence = (
            f"verifying {tokens} draft tokens at batch size 1 takes {1 + extra:.1f} plain "
            "decoding steps"
        )
        yield Finding(VERIFICATION_NOT_MEMORY_BOUND, evidence, "medium")


# --- requests -----------------------------------------------------------------------------------


def _of_requests(requests: Sequence[Served]) -> Iterator[Finding]:
    """Yield the findings about requests, if there are enough of them."""
    with_context = [request for request in requests if request.context]
    with_context.sort(key=lambda request: request.context or 0)
    yield from _context(with_context)
    fresh = [request for request in requests if request.cached == 0]
    cached = [
        request
        for request in with_context
        if request.cached and request.cached > CACHED * (request.context or 0)
    ]
    left = _left(fresh, cached)
    if left is not None:
        evidence = (
            f"{len(cached)} requests with a cached prefix have {left:.0%} of the acceptance of "
            f"{len(fresh)} without"
        )
        yield Finding(FALLS_WITH_CACHED_PREFIXES, evidence)


def _context(requests: Sequence[Served]) -> Iterator[Finding]:
    """Detect that acceptance falls with the context, along a line fitted to all requests."""
    if len(requests) < 3 * MIN_REQUESTS:
        return
    contexts = [request.context or 0.0 for request in requests]
    rates = [request.accepted / request.rounds for request in requests]
    line = trend(contexts, rates)
    short = requests[: len(requests) // 3]
    long = requests[len(requests) - len(requests) // 3 :]
    most = short[-1].context or 0
    least = long[0].context or 0
    if line is None or least < MIN_RATIO * most:
        return
    left = _left(short, long)
    near, far, errors = line
    if left is None or errors > -CERTAIN_ERRORS or not near:
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
    if min(len(before), len(after)) < MIN_REQUESTS:
        return None
    first = [request.accepted / request.rounds for request in before]
    second = [request.accepted / request.rounds for request in after]
    high = fmean(first)
    low = fmean(second)
    error = (variance(first) / len(first) + variance(second) / len(second)) ** 0.5
    if high - low > CERTAIN_ERRORS * error and low <= MAX_REMAINING * high:
        return low / high
    return None
