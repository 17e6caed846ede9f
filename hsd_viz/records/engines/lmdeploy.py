"""LMDeploy: ``/metrics``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hsd_viz.records import prometheus
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import Sample

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


def metrics(values: Mapping[prometheus.Key, float]) -> tuple[Sample, Form] | None:
    """Return the sample of a scrape, or of the difference of two, with its form."""
    sample = prometheus.spec_decode(values, "lmdeploy:spec_decode_")
    if sample is None:
        return None
    running = prometheus.gauge(values, "lmdeploy:num_requests_running") or None
    return replace(sample, running=running), METRICS
