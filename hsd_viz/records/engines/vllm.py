"""vLLM: its forms of records, ``/metrics`` and responses.

Log lines are in :mod:`hsd_viz.records.engines.vllm_lines`, results of benchmarks in
:mod:`hsd_viz.records.engines.vllm_bench`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from hsd_viz.errors import BadFile
from hsd_viz.records import prometheus
from hsd_viz.records.engines.vllm_bench import bench_json, examples
from hsd_viz.records.fields import Number, completion_tokens, typed
from hsd_viz.records.file_context import Finisher
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import (
    MAX_DRAFT,
    RecordedRequest,
    RecordedVerification,
    Sample,
    drafts_reaching,
    survivors,
    with_fixed_length,
)
from hsd_viz.settings.ranges import check_range

NAME = "vllm"
#: Drafters by their names in vLLM.
METHODS = {
    "draft_model": "draft",
    "ngram": "lookup",
    "ngram_gpu": "lookup",
    "[ngram]": "lookup",
    "eagle": "eagle",
    "eagle3": "eagle3",
    "mtp": "mtp",
    "deepseek_mtp": "mtp",
    "mimo_mtp": "mtp",
    "glm4_moe_mtp": "mtp",
    "ernie_mtp": "mtp",
    "qwen3_next_mtp": "mtp",
    "dflash": "dflash",
    "medusa": "medusa",
    "suffix": "suffix",
}
LINE_V0 = declare(
    NAME,
    "log line of the V0 engine",
    "log line",
    seen_in="0.5–0.8 (V0 engine)",
    source="https://github.com/vllm-project/vllm/issues/9539",
    sample="Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598, …",
    reports="cumulative accepted, draft and emitted tokens; the number of draft tokens",
)
LINE_EARLY_V1 = declare(
    NAME,
    "log line without positions",
    "log line",
    seen_in="0.8.0–0.8.4 (V1 engine)",
    source="https://github.com/vllm-project/vllm/pull/15902",
    sample="SpecDecoding metrics: Draft acceptance rate: 100.0%, Accepted: 66 tokens, …",
    reports="accepted and draft tokens of an interval; not the number of drafts",
)
LINE_RATE_FIRST = declare(
    NAME,
    "log line, rate first",
    "log line",
    seen_in="0.8.5–0.10.1",
    source="https://github.com/vllm-project/vllm/pull/24127",
    sample="SpecDecoding metrics: Draft acceptance rate: 88.8%, Mean acceptance length: 5.44, …",
    reports="accepted and draft tokens of an interval, rates by position",
)
LINE = declare(
    NAME,
    "log line, length first",
    "log line",
    seen_in="0.10.2–0.32.0",
    source="https://github.com/vllm-project/vllm/blob/main/vllm/v1/spec_decode/metrics.py",
    sample="SpecDecoding metrics: Mean acceptance length: 2.62, Accepted throughput: 15.60 …",
    reports="accepted and draft tokens of an interval, rates by position",
)
METRICS = declare(
    NAME,
    "counters of /metrics",
    "metrics",
    seen_in="0.8.5–0.32.0; names with and without _total",
    source="https://github.com/vllm-project/vllm/pull/16665",
    sample='vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 43.0',
    reports="drafts, draft tokens, accepted tokens, by position, since the start of the server",
)
METRICS_V0 = declare(
    NAME,
    "counters of /metrics of the V0 engine",
    "metrics",
    seen_in="0.5–0.8 (V0 engine)",
    source="https://docs.vllm.ai/en/v0.6.6/serving/metrics.html",
    sample='vllm:spec_decode_num_emitted_tokens_total{model_name="m"} 6720.0',
    reports="accepted, draft and emitted tokens since the start of the server",
)
RESPONSE = declare(
    NAME,
    "response with metrics.speculative_decoding",
    "response",
    seen_in="0.32.0",
    source="https://github.com/vllm-project/vllm/pull/48915",
    sample='{"metrics": {"speculative_decoding": {"acceptance_histogram": [4, 1, 1, 2], …',
    reports="counts of a request; detailed: every verification; times where they are on",
)
BENCH = declare(
    NAME,
    "summary of vllm bench serve",
    "summary",
    seen_in="0.11–0.32.0",
    source="https://github.com/vllm-project/vllm/pull/34552",
    sample="Acceptance rate (%): 51.47 / Acceptance length: 2.54 / Drafts: 20481 / …",
    reports="drafts, draft tokens, accepted tokens, rates by position, speed, concurrency",
)
BENCH_JSON = declare(
    NAME,
    "result file of vllm bench serve",
    "summary",
    seen_in="0.11–0.32.0 (--save-result)",
    source="https://github.com/vllm-project/vllm/pull/34552",
    sample='{"spec_decode_num_drafts": 20481, "spec_decode_draft_tokens": 61443, …',
    reports="drafts, draft tokens, accepted tokens, rates by position, speed, concurrency",
)
EXAMPLE = declare(
    NAME,
    "output of the example spec_decode.py",
    "summary",
    seen_in="0.8.3–0.32.0 (examples/offline_inference)",
    source="https://github.com/vllm-project/vllm/pull/26498",
    sample="num_drafts: 4687 / num_draft_tokens: 46870 / … / acceptance at token 0: 0.74",
    reports="drafts, draft tokens, accepted tokens, rates by position; of n-grams steps without",
)


# --- /metrics -----------------------------------------------------------------------------------


def metrics(values: Mapping[prometheus.Key, float]) -> tuple[Sample, Form] | None:
    """Return the sample of a scrape, or of the difference of two, with its form."""
    prefix = "vllm:spec_decode_"
    sample = prometheus.spec_decode(values, prefix)
    if sample is not None:
        running = prometheus.gauge(values, "vllm:num_requests_running")
        return replace(sample, running=running), METRICS
    drafted = prometheus.counter_sum(values, [f"{prefix}num_draft_tokens_total"])
    emitted = prometheus.counter_sum(values, [f"{prefix}num_emitted_tokens_total"])
    if drafted is None or emitted is None:
        return None
    return _metrics_v0(values, drafted, emitted), METRICS_V0


def _metrics_v0(values: Mapping[prometheus.Key, float], drafted: float, emitted: float) -> Sample:
    """Return the sample of V0's counters, which lack the number of drafts."""
    rate = prometheus.gauge(values, "vllm:spec_decode_draft_acceptance_rate")
    return Sample(drafted=drafted, tokens=emitted, engine_rate=rate)


# --- responses ----------------------------------------------------------------------------------


class VLLMAcceptance(msgspec.Struct):
    """The figures of speculative decoding of a request, in the names of vLLM and AIPerf.

    Attributes:
        num_spec_steps: the number of verifications.
        num_draft_tokens: the number of draft tokens.
        num_accepted_draft_tokens: the number of accepted draft tokens.
        num_spec_tokens: the configured number of draft tokens.
        acceptance_histogram: the number of verifications that accepted exactly j draft tokens, as a
            list or by j.
        per_step_drafted: the number of draft tokens of each verification.
        per_step_accepted: the number of accepted draft tokens of each verification.
        completion_tokens: the number of emitted tokens, in records of AIPerf.
    """

    num_spec_steps: Number | None = None
    num_draft_tokens: Number | None = None
    num_accepted_draft_tokens: Number | None = None
    num_spec_tokens: int | None = None
    acceptance_histogram: list[Number] | dict[int, Number] | None = None
    per_step_drafted: list[int] | None = None
    per_step_accepted: list[int] | None = None
    completion_tokens: Number | None = None


class _Times(msgspec.Struct):
    """The times of a response of vLLM.

    Attributes:
        time_to_first_token_ms: the duration of the prefill in milliseconds.
        generation_time_ms: the duration after the prefill in milliseconds.
    """

    time_to_first_token_ms: Number | None = None
    generation_time_ms: Number | None = None


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Form] | None:
    """Return the sample of a response, or of a result file, with its form."""
    metrics = value.get("metrics")
    figures = metrics.get("speculative_decoding") if isinstance(metrics, Mapping) else None
    if isinstance(metrics, Mapping) and isinstance(figures, Mapping):
        times = typed(metrics, _Times)
        sample = acceptance(
            typed(figures, VLLMAcceptance),
            tokens=completion_tokens(value),
            prefill_ms=times.time_to_first_token_ms,
            decode_ms=times.generation_time_ms,
            request=request,
        )
        return sample, RESPONSE
    if "spec_decode_num_drafts" not in value:
        return None
    result = bench_json(value)
    return None if result is None else (result, BENCH_JSON)


def acceptance(
    figures: VLLMAcceptance,
    *,
    tokens: float | None,
    prefill_ms: float | None,
    decode_ms: float | None,
    request: RecordedRequest,
) -> Sample:
    """Return the sample of a record with a dense or a sparse histogram."""
    rows = _verifications(figures)
    histogram = _histogram(figures.acceptance_histogram)
    accepted = figures.num_accepted_draft_tokens
    sample = Sample(
        drafts=figures.num_spec_steps,
        drafted=figures.num_draft_tokens,
        accepted=accepted,
        by_position=None if histogram is None else survivors(histogram),
        reached=_reached(rows),
        histogram=histogram,
        verifications=rows,
        tokens=tokens,
        passes=None if tokens is None or accepted is None else tokens - accepted,
        prefill_seconds=None if prefill_ms is None else prefill_ms / 1e3,
        seconds=None if decode_ms is None else decode_ms / 1e3,
        draft_length=figures.num_spec_tokens,
        request=request,
        derived=frozenset(("passes", "by_position")),
    )
    return with_fixed_length(sample)


def _verifications(figures: VLLMAcceptance) -> tuple[RecordedVerification, ...]:
    """Return all verifications if the record lists them; else ().

    Raises:
        BadFile: if the lists differ in length.
    """
    accepted = figures.per_step_accepted
    drafted = figures.per_step_drafted
    if not accepted or not drafted:
        return ()
    if len(accepted) != len(drafted):
        raise BadFile("damaged: per_step_accepted and per_step_drafted differ in length")
    return tuple(map(RecordedVerification, drafted, accepted))


def _histogram(
    histogram: list[Number] | dict[int, Number] | None,
) -> tuple[float, ...] | None:
    """Return the number of verifications that accepted exactly j draft tokens, j = 0, 1, ..."""
    if isinstance(histogram, dict):
        longest = max(histogram, default=0)
        check_range("the longest draft", longest, 0, MAX_DRAFT)
        return tuple(histogram.get(j, 0) for j in range(longest + 1))
    return tuple(histogram) if histogram else None


def _reached(rows: tuple[RecordedVerification, ...]) -> tuple[float, ...] | None:
    """Return the number of drafts of at least k tokens, k = 1, 2, ..."""
    if not rows:
        return None
    drafted = [row.drafted for row in rows]
    return drafts_reaching(drafted, max(drafted))


FINISHERS = (Finisher(EXAMPLE, examples),)
