"""Findings of the doctor about requests of a record: acceptance that falls with the context or with
cached prefixes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, variance

from hsd_viz.measure.doctor.observation import Served
from hsd_viz.measure.doctor.signs import Finding, Sign
from hsd_viz.records.changes import trend

#: Minimum number of requests of a compared group, at which the error of the mean is known.
MIN_REQUESTS = 10
#: Minimum difference of two groups in standard errors; chance exceeds it in 1 of 700 records.
CERTAIN_ERRORS = 3.0
#: Largest remaining share of the acceptance; a smaller fall may be due to the text.
MAX_REMAINING = 0.7

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


#: Cached share of a prompt from which a request counts as one with a cached prefix.
CACHED = 0.5


def request_findings(requests: Sequence[Served]) -> Iterator[Finding]:
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


#: Minimum ratio of the contexts of the longest third to those of the shortest third.
MIN_RATIO = 2


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
