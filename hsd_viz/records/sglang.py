"""SGLang: gauges of ``/metrics``, responses of all versions, ``bench_serving``; its log lines are
:mod:`hsd_viz.records.sglang_lines`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hsd_viz.records import prometheus
from hsd_viz.records.choices import first_of
from hsd_viz.records.file_context import number
from hsd_viz.records.forms import declare
from hsd_viz.records.sample import (
    RecordedRequest,
    RecordedVerification,
    Sample,
    reaching,
    with_fixed_length,
)

NAME = "sglang"
METHODS = {
    "EAGLE": "eagle",
    "EAGLE3": "eagle3",
    "NEXTN": "mtp",
    "STANDALONE": "draft",
    "NGRAM": "lookup",
    "LOOKAHEAD": "lookup",
    "SUFFIX": "suffix",
    "DFLASH": "dflash",
    "DSPARK": "dflash",
}

LINE = declare(
    NAME,
    "decode line of the server log",
    "log line",
    seen_in="0.4–0.5.9 (accept rate from 0.5.3 on)",
    source="https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/"
    "scheduler_metrics_mixin.py",
    sample="Decode batch. #running-req: 1, #token: 2100, …, accept len: 2.17, accept rate: 0.54, …",
    reports="tokens per verification, running requests, tokens in use, tokens/s; no counts",
)
METRICS = declare(
    NAME,
    "gauges of /metrics",
    "metrics",
    seen_in="0.4.6–0.5.9",
    source="https://github.com/sgl-project/sglang/blob/main/test/registered/metrics/"
    "test_metrics.py",
    sample='sglang:spec_accept_length{model_name="m",tp_rank="0"} 2.9',
    reports="tokens per verification of the last interval, running requests, tokens/s",
)
RESPONSE = declare(
    NAME,
    "response with meta_info",
    "response",
    seen_in="0.4.2–0.5.9; counts renamed in 0.5.10",
    source="https://github.com/sgl-project/sglang/pull/11441",
    sample='{"meta_info": {"spec_verify_ct": 43, "spec_accept_token_num": 10, …',
    reports="verifications, accepted tokens, histogram of a request; drafted is the maximum",
)
SGLEXT = declare(
    NAME,
    "OpenAI response with sglext",
    "response",
    seen_in="0.5.12",
    source="https://github.com/sgl-project/sglang/pull/33518",
    sample='{"spec_num_correct_drafts": 63, "spec_num_proposed_drafts": 215, '
    '"spec_verify_ct": 43, …',
    reports="verifications, draft tokens, accepted tokens, histogram of a request",
)
DETAILED = declare(
    NAME,
    "speculative_decoding_stats of a request",
    "response",
    seen_in="PR 34814 (--speculative-decoding-stats detailed)",
    source="https://github.com/sgl-project/sglang/pull/34814",
    sample='{"speculative_decoding_stats": {"verify_lengths": [4, 4, 2], "accept_lengths": …',
    reports="every verification of a request, in order",
)
BENCH = declare(
    NAME,
    "summary of bench_serving",
    "summary",
    seen_in="0.4–0.5.9",
    source="https://github.com/sgl-project/sglang/pull/13376",
    sample="Accept length: 5.86",
    reports="tokens per verification, tokens/s, concurrency; no counts",
)
QUESTIONS = declare(
    NAME,
    "summary of bench_sglang_eagle",
    "log line",
    seen_in="PR 4247 (2025-03), benchmark/mtbench",
    source="https://github.com/sgl-project/sglang/pull/4247",
    sample="#questions: 80, Throughput: 276.30 token/s, Acceptance length: 5.36",
    reports="tokens per verification; no counts, and a speed of unknown batch",
)
SERVER_INFO = declare(
    NAME,
    "/get_server_info with avg_spec_accept_length",
    "summary",
    seen_in="0.4–0.5.12; null on ranks without a draft",
    source="https://github.com/sgl-project/sglang/pull/34743",
    sample='{"internal_states": [{"avg_spec_accept_length": 2.9, "last_gen_throughput": 120.3}]}',
    reports="tokens per verification since the start, tokens/s; no counts",
)
BATCH = declare(
    NAME,
    "result of bench_one_batch_server",
    "summary",
    seen_in="0.4–0.5.12",
    source="https://github.com/sgl-project/sglang/pull/29329",
    sample='{"batch_size": 8, "last_gen_throughput": 1050.0, "acc_length": 2.9, …',
    reports="tokens per verification, tokens/s, batch; no counts",
)
FINISHED = declare(
    NAME,
    "log line of a finished request",
    "log line",
    seen_in="0.5.4–0.5.12 (--log-requests), and responses printed by Python",
    source="https://github.com/sgl-project/sglang/pull/11144",
    sample="Finish: obj=GenerateReqInput(…), out={'meta_info': {'spec_verify_ct': 43, …",
    reports="verifications, accepted tokens, histogram of a request",
)
TOKENSPEED = declare(
    "tokenspeed",
    "response with spec_draft_tokens",
    "response",
    seen_in="PR 1443",
    source="https://github.com/lightseekorg/tokenspeed/pull/1443",
    sample='{"meta_info": {"spec_verify_ct": 9, "spec_accepted_tokens": 20, '
    '"spec_draft_tokens": 63',
    reports="verifications, draft tokens, accepted tokens of a request",
)


# --- /metrics -----------------------------------------------------------------------------------


def below_one(rate: float | None) -> float | None:
    """Return a rate as printed; versions before 0.5.4 print rates above 1, which mean nothing."""
    return None if rate is None or rate > 1 else rate


def metrics(values: Mapping[prometheus.Key, float]) -> tuple[Sample, Any] | None:
    """Return the sample of a scrape with its form."""
    length = prometheus.gauge(values, "sglang:spec_accept_length")
    if not length:
        return None
    rate = prometheus.gauge(values, "sglang:spec_accept_rate")
    sample = Sample(
        length=length,
        engine_rate=below_one(rate),
        running=prometheus.gauge(values, "sglang:num_running_reqs"),
        speed=prometheus.gauge(values, "sglang:gen_throughput"),
    )
    return sample, METRICS


# --- responses ----------------------------------------------------------------------------------

#: Names of a count in the order of their versions.
VERIFY = ("spec_verify_ct",)
DRAFTED = ("spec_draft_token_num", "spec_proposed_drafts", "spec_num_proposed_drafts")
ACCEPTED = ("spec_accept_token_num", "spec_accepted_drafts", "spec_num_correct_drafts")
HISTOGRAM = ("spec_accept_histogram", "spec_correct_drafts_histogram")


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Any] | None:
    """Return the sample of a response with its form."""
    detailed = nested(value, "verify_lengths")
    if detailed is not None:
        return _detailed(detailed, value, request), DETAILED
    counts = nested(value, "spec_verify_ct")
    if counts is None:
        return None
    if "spec_draft_tokens" in counts:
        return _tokenspeed(counts, request), TOKENSPEED
    tokens = counts.get("completion_tokens")
    if tokens is None:
        tokens = (value.get("usage") or {}).get("completion_tokens")
    sample = counted(counts, tokens, request)
    return sample, RESPONSE if "meta_info" in value else SGLEXT


def nested(value: Any, key: str, depth: int = 5) -> Mapping[str, Any] | None:
    """Return the first mapping inside ``value`` that has a key."""
    if not depth:
        return None
    if isinstance(value, Mapping):
        if key in value:
            return value
        inner: Sequence[Any] = list(value.values())
    elif isinstance(value, list):
        inner = value[:8]
    else:
        return None
    for one in inner:
        if (mapping := nested(one, key, depth - 1)) is not None:
            return mapping
    return None


def counted(fields: Mapping[str, Any], tokens: float | None, request: RecordedRequest) -> Sample:
    """Return the sample of the counts of a request. A request without verifications counts 0."""
    histogram = first_of(fields, HISTOGRAM)
    histogram = tuple(histogram) if histogram else None
    accepted = first_of(fields, ACCEPTED)
    by_position = None
    if histogram is not None:
        by_position = tuple(sum(histogram[k:]) for k in range(1, len(histogram)))
        if accepted is None:
            accepted = sum(by_position)
    drafts = first_of(fields, VERIFY)
    if accepted is None and tokens is not None and drafts is not None:
        # The first token is of the prefill; each verification adds one token of the target.
        accepted = max(0, tokens - 1 - drafts)
    passes = None
    if tokens is not None and accepted is not None:
        passes = max(tokens - accepted, 0)
    sample = Sample(
        drafts=drafts,
        drafted=first_of(fields, DRAFTED),
        accepted=accepted,
        by_position=by_position,
        histogram=histogram,
        tokens=tokens,
        passes=passes,
        request=request,
        derived=frozenset(("passes", "by_position")),
    )
    return with_fixed_length(sample)


def _tokenspeed(fields: Mapping[str, Any], request: RecordedRequest) -> Sample:
    return Sample(
        drafts=fields.get("spec_verify_ct"),
        drafted=fields.get("spec_draft_tokens"),
        accepted=fields.get("spec_accepted_tokens"),
        tokens=fields.get("completion_tokens"),
        request=request,
    )


def _detailed(
    fields: Mapping[str, Any], value: Mapping[str, Any], request: RecordedRequest
) -> Sample:
    """Return the sample of a request that lists every verification.

    ``verify_lengths`` counts the verified tokens, the last token of the text included;
    ``accept_lengths`` the tokens that a verification added, one of the target included.
    """
    verified = fields.get("verify_lengths") or []
    added = fields.get("accept_lengths") or []
    rows = []
    for width, length in zip(verified, added, strict=False):
        rows.append(RecordedVerification(max(0, width - 1), max(0, length - 1)))
    drafted = [row.drafted for row in rows]
    accepted = [row.accepted for row in rows]
    tokens = (value.get("usage") or value.get("meta_info") or {}).get("completion_tokens")
    longest = max(drafted, default=0)
    return Sample(
        drafts=sum(map(bool, drafted)),
        drafted=sum(drafted),
        accepted=sum(accepted),
        by_position=reaching(accepted, longest),
        reached=reaching(drafted, longest),
        verifications=tuple(rows),
        tokens=tokens,
        passes=None if tokens is None else len(rows) + 1,
        request=request,
        derived=frozenset(("passes",)),
    )


# --- the state of a server, and of a batch --------------------------------------------------------


def server_info(value: Mapping[str, Any]) -> tuple[Sample, Any] | None:
    """Return the sample of ``/get_server_info``: the mean over its ranks, each with equal
    weight.
    """
    states = value.get("internal_states")
    if not isinstance(states, list):
        return None
    known = [one for one in states if isinstance(one, Mapping)]
    lengths = [one["avg_spec_accept_length"] for one in known if one.get("avg_spec_accept_length")]
    if not lengths:
        return None
    speeds = [one.get("last_gen_throughput") or 0.0 for one in known]
    steps = value.get("speculative_num_steps")
    chain = value.get("speculative_eagle_topk") in (None, 1)
    sample = Sample(
        length=sum(lengths) / len(lengths),
        speed=sum(speeds) or None,
        draft_length=steps if chain else None,
    )
    return sample, SERVER_INFO


def batch_result(value: Mapping[str, Any]) -> tuple[Sample, Any] | None:
    """Return the sample of a line of ``bench_one_batch_server``; -1: not known."""
    length = value.get("acc_length")
    if not isinstance(length, int | float) or length <= 0 or "batch_size" not in value:
        return None
    speed = value.get("last_gen_throughput") or value.get("output_throughput")
    sample = Sample(
        length=float(length),
        running=value["batch_size"],
        speed=speed if speed and speed > 0 else None,
    )
    return sample, BATCH


# --- bench_serving ------------------------------------------------------------------------------


def summary_rows(rows: Mapping[str, str]) -> Sample | None:
    """Return the sample of the rows of a printed summary, ``None`` without an accept length."""
    length = number(rows.get("Accept length"))
    if not length:
        return None
    tpot = number(rows.get("Median TPOT (ms)")) or number(rows.get("Mean TPOT (ms)"))
    running = number(rows.get("Concurrency")) or number(rows.get("Max request concurrency"))
    speed = 1e3 / tpot * (running or 1.0) if tpot else None
    return Sample(length=length, running=running, speed=speed)


def bench_json(value: Mapping[str, Any]) -> tuple[Sample, Any] | None:
    """Return the sample of a line of ``bench_serving --output-file`` with its form."""
    length = value.get("accept_length")
    if not isinstance(length, int | float) or not length or "output_throughput" not in value:
        return None
    running = value.get("concurrency") or value.get("max_concurrency")
    tpot = value.get("median_tpot_ms") or value.get("mean_tpot_ms")
    speed = 1e3 / tpot * (running or 1.0) if tpot else None
    return Sample(length=float(length), running=running, speed=speed), BENCH
