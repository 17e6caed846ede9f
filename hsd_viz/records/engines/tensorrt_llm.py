"""TensorRT-LLM: iterations with ``specDecodingStats``, responses, ``/metrics``,
``trtllm-bench``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from hsd_viz.records import prometheus
from hsd_viz.records.choices import of_choices, sum_by_place, sum_over_choices
from hsd_viz.records.fields import Milliseconds, Number, completion_tokens, typed
from hsd_viz.records.file_context import Context, Finisher, LinePattern, StatisticsObject, figure
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import (
    RecordedRequest,
    RecordedVerification,
    Sample,
    survivors,
    with_fixed_length,
)

NAME = "tensorrt-llm"
#: Key of an iteration's counts.
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
#: Figures of the summary, with their names in this package.
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
    """The state from previous lines of trtllm-bench.

    Attributes:
        summaries: the figures of each summary, by name.
    """

    summaries: list[dict[str, float]] = field(default_factory=lambda: [{}])


def _bench_row(match: re.Match[str], context: Context) -> None:
    """Store a figure of a summary. A figure that appears again starts the next summary."""
    blocks = context.notes_of(_BenchNotes).summaries
    name = BENCH_ROWS[match[1]]
    if name in blocks[-1]:
        blocks.append({})
    blocks[-1][name] = figure(match[2])


LINES = (
    LinePattern(
        None,
        re.compile(rf"({'|'.join(map(re.escape, BENCH_ROWS))}) *: +(\d+(?:\.\d+)?)\s*$"),
        _bench_row,
    ),
)


def benches(context: Context) -> list[Sample]:
    """Return the samples of the summaries in a file; averages are over requests."""
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


class _Statistics(msgspec.Struct):
    """The counts of an iteration.

    Attributes:
        numDraftTokens: the number of draft tokens.
        numAcceptedTokens: the number of accepted draft tokens.
        numRequestsWithDraftTokens: the number of verifications, one per request with a draft.
    """

    numDraftTokens: Number | None = None
    numAcceptedTokens: Number | None = None
    numRequestsWithDraftTokens: Number | None = None


class _Iteration(msgspec.Struct):
    """An iteration.

    Attributes:
        iterLatencyMS: the duration in milliseconds.
        numActiveRequests: the number of running requests.
    """

    iterLatencyMS: Milliseconds | None = None
    numActiveRequests: Number | None = None


def iteration(value: Mapping[str, Any]) -> Sample | None:
    """Return the sample of an iteration; ``None`` if it has no drafts."""
    if not isinstance(value.get(STATISTICS), Mapping):
        return None
    statistics = typed(value[STATISTICS], _Statistics)
    drafted = statistics.numDraftTokens
    if not drafted:
        return None
    about = typed(value, _Iteration)
    accepted = statistics.numAcceptedTokens or 0
    drafts = statistics.numRequestsWithDraftTokens
    latency = about.iterLatencyMS
    sample = Sample(
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        running=about.numActiveRequests,
    )
    if drafts != 1:
        return sample
    nanoseconds = None if latency is None else round(latency * 1e6)
    only = RecordedVerification(int(drafted), int(accepted), nanoseconds)
    return replace(sample, verifications=(only,))


class _Decoding(msgspec.Struct):
    """The figures of speculative decoding of a choice.

    Attributes:
        num_spec_steps: the number of verifications.
        total_draft_tokens: the number of draft tokens.
        total_accepted_draft_tokens: the number of accepted draft tokens.
        acceptance_histogram: the number of verifications that accepted exactly j draft tokens.
        num_spec_tokens: the configured number of draft tokens.
    """

    num_spec_steps: Number | None = None
    total_draft_tokens: Number | None = None
    total_accepted_draft_tokens: Number | None = None
    acceptance_histogram: list[Number] | None = None
    num_spec_tokens: int | None = None


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Form] | None:
    """Return the sample of a response with its form; the counts of choices are added."""
    decodings = of_choices(value, "speculative_decoding", _Decoding)
    drafted = sum_over_choices(decoding.total_draft_tokens for decoding in decodings)
    if not drafted:
        return None
    accepted = sum_over_choices(decoding.total_accepted_draft_tokens for decoding in decodings)
    histogram = sum_by_place(decoding.acceptance_histogram for decoding in decodings)
    tokens = completion_tokens(value)
    passes = None
    if tokens is not None and accepted is not None:
        passes = tokens - accepted
    sample = Sample(
        drafts=sum_over_choices(decoding.num_spec_steps for decoding in decodings),
        drafted=drafted,
        accepted=accepted,
        by_position=None if histogram is None else survivors(histogram),
        histogram=histogram,
        tokens=tokens,
        passes=passes,
        draft_length=decodings[0].num_spec_tokens,
        request=request,
        derived=frozenset(("passes", "by_position")),
    )
    return with_fixed_length(sample), RESPONSE


def metrics(values: Mapping[prometheus.Key, float]) -> tuple[Sample, Form] | None:
    """Return the sample of a scrape, or of the difference of two, with its form."""
    prefix = "trtllm_spec_decode_"
    drafted = prometheus.counter_sum(
        values, [f"{prefix}num_draft_tokens_total", f"{prefix}drafted_tokens_total"]
    )
    accepted = prometheus.counter_sum(
        values, [f"{prefix}num_accepted_tokens_total", f"{prefix}accepted_tokens_total"]
    )
    if drafted is None:
        return None
    length = prometheus.gauge(values, f"{prefix}acceptance_length")
    return Sample(drafted=drafted, accepted=accepted, length=length or None), METRICS


FINISHERS = (Finisher(BENCH, benches),)
OBJECTS = (StatisticsObject(ITERATION, STATISTICS, iteration),)
