"""LMDeploy: ``/metrics``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hsd_viz.records import prometheus
from hsd_viz.records.forms import declare
from hsd_viz.records.sample import Sample, with_fixed_length

NAME = "lmdeploy"

METRICS = declare(
    NAME,
    "counters of /metrics",
    "metrics",
    seen_in="0.10 and later (2026)",
    source="https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/metrics/loggers.py",
    sample='lmdeploy:spec_decode_num_drafts_total{engine="0",model_name="m"} 2.0',
    reports="drafts, draft tokens, accepted tokens, by position, since the start of the server",
)


def metrics(values: Mapping[prometheus.Key, float]) -> tuple[Sample, Any] | None:
    """Return the sample of a scrape, or of the difference of two, with its form."""
    prefix = "lmdeploy:spec_decode_"
    drafts = prometheus.total(values, [f"{prefix}num_drafts_total"])
    if drafts is None:
        return None
    places = prometheus.by_position(values, f"{prefix}num_accepted_tokens_per_pos_total")
    sample = Sample(
        drafts=drafts,
        drafted=prometheus.total(values, [f"{prefix}num_draft_tokens_total"]),
        accepted=prometheus.total(values, [f"{prefix}num_accepted_tokens_total"]),
        by_position=None if places is None else tuple(places),
        running=prometheus.gauge(values, "lmdeploy:num_requests_running") or None,
        draft_length=None if places is None else len(places),
    )
    return with_fixed_length(sample), METRICS
