"""Text Generation Inference: ``/metrics``.

``tgi_request_skipped_tokens`` is a histogram over the steps of all requests: how many tokens each
emitted beyond its first one, so its sum is the number of accepted draft tokens. A step without a
draft counts as one with 0 accepted tokens: how many tokens were drafted is not reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from hsd_viz.records import prometheus
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import Sample

NAME = "tgi"
HISTOGRAM = "tgi_request_skipped_tokens"

METRICS = declare(
    NAME,
    "histogram of /metrics",
    "metrics",
    seen_in="1.3–3.3 (--speculate)",
    source="https://github.com/huggingface/text-generation-inference/pull/1308",
    sample='tgi_request_skipped_tokens_bucket{le="0"} 700',
    reports="accepted tokens by step, with a draft or without; not the draft tokens",
)


def metrics(values: Mapping[prometheus.Key, float]) -> tuple[Sample, Form] | None:
    """Return the sample of a scrape, or of the difference of two, with its form."""
    steps = prometheus.counter_sum(values, [f"{HISTOGRAM}_count"])
    accepted = prometheus.counter_sum(values, [f"{HISTOGRAM}_sum"])
    if not steps or accepted is None:
        return None
    at_most = _buckets(values)
    longest = max(at_most, default=0)
    places = [steps - at_most.get(k - 1, steps) for k in range(1, longest + 1)]
    is_complete = len(places) > 0 and set(range(longest)) <= set(at_most)
    sample = Sample(
        drafts=steps,
        accepted=accepted,
        by_position=tuple(places) if is_complete else None,
        passes=steps,
        tokens=steps + accepted,
        running=prometheus.gauge(values, "tgi_batch_current_size") or None,
        draft_length=longest or None,
        derived=frozenset(("tokens",)),
    )
    return sample, METRICS


def _buckets(values: Mapping[prometheus.Key, float]) -> dict[int, float]:
    """Return the number of steps that emitted at most k tokens beyond the first, by k."""
    buckets: dict[int, float] = {}
    for key, value in values.items():
        if key[0] != f"{HISTOGRAM}_bucket":
            continue
        try:
            limit = float(prometheus.label(key, "le"))
        except ValueError:
            continue
        if isfinite(limit) and limit == int(limit) and 0 <= limit <= 1024:
            buckets[int(limit)] = buckets.get(int(limit), 0.0) + value
    return buckets
