"""TensorRT-LLM: iterations with ``specDecodingStats``, responses, ``/metrics``,
``trtllm-bench``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hsd_viz.errors import BadFile
from hsd_viz.records import prometheus
from hsd_viz.records.choices import objects_of, total, total_by_place
from hsd_viz.records.file_context import Context, Finisher, LinePattern
from hsd_viz.records.forms import declare
from hsd_viz.records.sample import (
    RecordedRequest,
    RecordedVerification,
    Sample,
    survivors,
    with_fixed_length,
)

NAME = "tensorrt-llm"
METHODS: dict[str, str] = {}
#: The key of an iteration's counts.
STATISTICS = "specDecodingStats"

ITERATION = declare(
    NAME,
    "iteration with specDecodingStats",
    "iteration",
    seen_in="1.0–1.2; null where nothing was drafted",
    source="https://github.com/NVIDIA/TensorRT-LLM/pull/9855",
    sample='{"iter": 1, "specDecodingStats": {"numDraftTokens": 4, "numAcceptedTokens": 2, …',
    reports=(
        "draft tokens, accepted tokens, drafts; of one request every verification with its time"
    ),
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
RESPONSE = declare(
    NAME,
    "response with speculative_decoding",
    "response",
    seen_in="PR 19311 (2026-09)",
    source="https://github.com/ai-dynamo/aiperf/pull/1433",
    sample='{"choices": [{"speculative_decoding": {"total_draft_tokens": 60, …',
    reports="verifications, draft tokens, accepted tokens, histogram of a request",
)
BENCH = declare(
    NAME,
    "summary of trtllm-bench",
    "summary",
    seen_in="1.0–1.2 (DECODING STATISTICS)",
    source="https://github.com/NVIDIA/TensorRT-LLM/blob/main/tensorrt_llm/bench/dataclasses/"
    "reporting.py",
    sample="[DT] AVERAGE: 96.00 / [ADT] AVERAGE: 41.20 / [AL] AVERAGE: 2.60",
    reports="draft tokens and accepted tokens of a request, tokens per verification, speed",
)
#: What a line of the summary reports -> its name here.
BENCH_ROWS = {
    "[DT] AVERAGE": "drafted",
    "[ADT] AVERAGE": "accepted",
    "[AL] AVERAGE": "length",
    "Number of requests": "requests",
    "Number of concurrent requests": "running",
    "Per User Output Speed (tps/user)": "speed",
}


@dataclass(slots=True)
class _BenchNotes:
    """What trtllm-bench printed.

    Attributes:
        summaries: the figures of each summary by name.
    """

    summaries: list[dict[str, float]] = field(default_factory=lambda: [{}])


def _bench_row(match: re.Match[str], context: Context) -> None:
    """Keep a figure of a summary; one that comes again starts the next summary."""
    blocks = context.notes_of(_BenchNotes).summaries
    name = BENCH_ROWS[match[1]]
    if name in blocks[-1]:
        blocks.append({})
    blocks[-1][name] = float(match[2])


LINES = (
    LinePattern(
        None,
        re.compile(rf"({'|'.join(map(re.escape, BENCH_ROWS))}) *: +(\d+(?:\.\d+)?)\s*$"),
        _bench_row,
    ),
)


def benches(context: Context) -> list[Sample]:
    """Return the summaries that a file has; averages are over requests."""
    samples = []
    for block in context.notes_of(_BenchNotes).summaries:
        if not block.get("length") or not block.get("drafted"):
            continue
        requests = block.get("requests", 1.0)
        running = block.get("running")
        speed = block.get("speed")
        accepted = block["accepted"] * requests
        sample = Sample(
            drafts=accepted / (block["length"] - 1) if block["length"] > 1 else None,
            drafted=block["drafted"] * requests,
            accepted=accepted,
            running=running,
            speed=speed * (running or 1.0) if speed else None,
            derived=frozenset(("drafts", "drafted", "accepted")),
        )
        samples.append(sample)
    return samples


def is_iteration(value: Mapping[str, Any]) -> bool:
    """Return whether a value is the statistics of an iteration."""
    return STATISTICS in value


def iteration(value: Mapping[str, Any]) -> Sample | None:
    """Return the sample of an iteration; ``None`` of one without drafts."""
    stats = value.get(STATISTICS)
    if not isinstance(stats, Mapping):
        return None
    drafted = _count(stats, "numDraftTokens")
    if not drafted:
        return None
    accepted = _count(stats, "numAcceptedTokens") or 0
    drafts = _count(stats, "numRequestsWithDraftTokens")
    latency = value.get("iterLatencyMS")
    rows: tuple[RecordedVerification, ...] = ()
    if drafts == 1:
        nanoseconds = None if latency is None else round(latency * 1e6)
        rows = (RecordedVerification(int(drafted), int(accepted), nanoseconds),)
    return Sample(
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        verifications=rows,
        running=value.get("numActiveRequests"),
    )


def _count(stats: Mapping[str, Any], name: str) -> float | None:
    value = stats.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise BadFile(f"damaged: {name} is {value!r}, which is not valid")
    return value


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Any] | None:
    """Return the sample of a response with its form; choices are added."""
    decodings = objects_of(value, "speculative_decoding")
    drafted = total(decodings, "total_draft_tokens") if decodings else None
    if not drafted:
        return None
    accepted = total(decodings, "total_accepted_draft_tokens")
    histogram = total_by_place(decodings, "acceptance_histogram")
    tokens = (value.get("usage") or {}).get("completion_tokens")
    passes = None
    if tokens is not None and accepted is not None:
        passes = tokens - accepted
    sample = Sample(
        drafts=total(decodings, "num_spec_steps"),
        drafted=drafted,
        accepted=accepted,
        by_position=None if histogram is None else survivors(histogram),
        histogram=histogram,
        tokens=tokens,
        passes=passes,
        draft_length=decodings[0].get("num_spec_tokens"),
        request=request,
        derived=frozenset(("passes", "by_position")),
    )
    return with_fixed_length(sample), RESPONSE


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


FINISHERS = (Finisher(BENCH, benches),)
