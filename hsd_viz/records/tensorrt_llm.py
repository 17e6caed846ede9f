"""TensorRT-LLM: iteration statistics with ``specDecodingStats``, and ``/metrics``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hsd_viz.errors import BadFile
from hsd_viz.records import prometheus
from hsd_viz.records.forms import declare
from hsd_viz.records.sample import Sample, Verification

NAME = "tensorrt-llm"
METHODS: dict[str, str] = {}

ITERATION = declare(
    NAME,
    "iteration with specDecodingStats",
    "iteration",
    seen_in="1.0–1.2; null where nothing was drafted",
    source="https://github.com/NVIDIA/TensorRT-LLM/pull/9855",
    sample='{"iter": 1, "specDecodingStats": {"numDraftTokens": 4, "numAcceptedTokens": 2, …',
    reports="draft tokens, accepted tokens, drafts; of one request every verification with its time",
)
METRICS = declare(
    NAME,
    "counters of /metrics",
    "metrics",
    seen_in="1.2",
    source="https://github.com/NVIDIA/TensorRT-LLM/blob/main/tensorrt_llm/metrics/collector.py",
    sample='trtllm_spec_decode_num_draft_tokens_total{model_name="m"} 3000',
    reports="draft tokens and accepted tokens since the start, tokens per verification",
)


def iteration(value: Mapping[str, Any]) -> Sample | None:
    """Return the sample of an iteration; ``None`` of one without drafts."""
    found = value.get("specDecodingStats")
    if not isinstance(found, Mapping):
        return None
    drafted = _count(found, "numDraftTokens")
    if not drafted:
        return None
    accepted = _count(found, "numAcceptedTokens") or 0
    drafts = _count(found, "numRequestsWithDraftTokens")
    latency = value.get("iterLatencyMS")
    rows: tuple[Verification, ...] = ()
    if drafts == 1:
        nanoseconds = None if latency is None else round(latency * 1e6)
        rows = (Verification(int(drafted), int(accepted), nanoseconds),)
    return Sample(
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        verifications=rows,
        running=value.get("numActiveRequests"),
    )


def _count(found: Mapping[str, Any], name: str) -> float | None:
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise BadFile(f"damaged: {name} is {value!r}, which is not valid")
    return value


def metrics(values: Mapping[prometheus.Key, float]) -> tuple[Sample, Any] | None:
    """Return the sample of a scrape, or of the difference of two, with its form."""
    prefix = "trtllm_spec_decode_"
    drafted = prometheus.total(
        values, [f"{prefix}num_draft_tokens_total", f"{prefix}drafted_tokens_total"]
    )
    accepted = prometheus.total(
        values, [f"{prefix}num_accepted_tokens_total", f"{prefix}accepted_tokens_total"]
    )
    if drafted is None:
        return None
    length = prometheus.gauge(values, f"{prefix}acceptance_length")
    return Sample(drafted=drafted, accepted=accepted, length=length or None), METRICS
