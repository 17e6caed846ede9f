"""SGLang: its forms of records, gauges of ``/metrics`` and responses of all versions.

Log lines are in :mod:`hsd_viz.records.engines.sglang_lines`, figures of a whole server in
:mod:`hsd_viz.records.engines.sglang_bench`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hsd_viz.records import prometheus
from hsd_viz.records.fields import Number, completion_tokens, first_known, nested, typed
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import (
    RecordedRequest,
    RecordedVerification,
    Sample,
    drafts_reaching,
    survivors,
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


# --- /metrics -----------------------------------------------------------------------------------


def below_one(rate: float | None) -> float | None:
    """Return a printed rate; ``None`` for one above 1, as versions before 0.5.4 print."""
    return None if rate is None or rate > 1 else rate


def metrics(values: Mapping[prometheus.Key, float]) -> tuple[Sample, Form] | None:
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


class SGLangCounts(msgspec.Struct):
    """The counts of a request. Names of a count differ by version; the oldest is first.

    Attributes:
        spec_verify_ct: the number of verifications.
        spec_draft_token_num: the number of draft tokens.
        spec_proposed_drafts: the number of draft tokens, in a later version.
        spec_num_proposed_drafts: the number of draft tokens, in the latest version.
        spec_accept_token_num: the number of accepted draft tokens.
        spec_accepted_drafts: the number of accepted draft tokens, in a later version.
        spec_num_correct_drafts: the number of accepted draft tokens, in the latest version.
        spec_accept_histogram: the number of verifications that accepted exactly j draft tokens.
        spec_correct_drafts_histogram: this histogram, in the latest version.
        completion_tokens: the number of emitted tokens.
    """

    spec_verify_ct: Number | None = None
    spec_draft_token_num: Number | None = None
    spec_proposed_drafts: Number | None = None
    spec_num_proposed_drafts: Number | None = None
    spec_accept_token_num: Number | None = None
    spec_accepted_drafts: Number | None = None
    spec_num_correct_drafts: Number | None = None
    spec_accept_histogram: list[Number] | None = None
    spec_correct_drafts_histogram: list[Number] | None = None
    completion_tokens: Number | None = None

    @property
    def drafted(self) -> Number | None:
        """The number of draft tokens."""
        return first_known(
            self.spec_draft_token_num, self.spec_proposed_drafts, self.spec_num_proposed_drafts
        )

    @property
    def accepted(self) -> Number | None:
        """The number of accepted draft tokens."""
        return first_known(
            self.spec_accept_token_num, self.spec_accepted_drafts, self.spec_num_correct_drafts
        )

    @property
    def histogram(self) -> tuple[Number, ...] | None:
        """The number of verifications that accepted exactly j draft tokens, j = 0, 1, ..."""
        counts = first_known(self.spec_accept_histogram, self.spec_correct_drafts_histogram)
        return tuple(counts) if counts else None


class _Lengths(msgspec.Struct):
    """The verifications of a request.

    Attributes:
        verify_lengths: the verified tokens of each, including the last token of the text.
        accept_lengths: the emitted tokens of each, including one of the target.
    """

    verify_lengths: list[int] | None = None
    accept_lengths: list[int] | None = None


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Form] | None:
    """Return the sample of a response with its form."""
    detailed = nested(value, "verify_lengths")
    if detailed is not None:
        tokens = completion_tokens(value)
        if not value.get("usage"):
            tokens = completion_tokens({"usage": value.get("meta_info")})
        return _detailed(typed(detailed, _Lengths), tokens, request), DETAILED
    counts = nested(value, "spec_verify_ct")
    if counts is None:
        return None
    typed_counts = typed(counts, SGLangCounts)
    tokens = typed_counts.completion_tokens
    if tokens is None:
        tokens = completion_tokens(value)
    sample = counted(typed_counts, tokens, request)
    return sample, RESPONSE if "meta_info" in value else SGLEXT


def counted(counts: SGLangCounts, tokens: float | None, request: RecordedRequest) -> Sample:
    """Return the sample of a request's counts, which are 0 without verifications."""
    histogram = counts.histogram
    accepted = counts.accepted
    by_position = None
    if histogram is not None:
        by_position = survivors(histogram)
        if accepted is None:
            accepted = sum(by_position)
    drafts = counts.spec_verify_ct
    if accepted is None and tokens is not None and drafts is not None:
        # The prefill emits the first token; each verification emits one token of the target.
        accepted = max(0, tokens - 1 - drafts)
    passes = None
    if tokens is not None and accepted is not None:
        passes = max(tokens - accepted, 0)
    sample = Sample(
        drafts=drafts,
        drafted=counts.drafted,
        accepted=accepted,
        by_position=by_position,
        histogram=histogram,
        tokens=tokens,
        passes=passes,
        request=request,
        derived=frozenset(("passes", "by_position")),
    )
    return with_fixed_length(sample)


def _detailed(lengths: _Lengths, tokens: float | None, request: RecordedRequest) -> Sample:
    """Return the sample of a request that lists every verification."""
    verified = lengths.verify_lengths or []
    added = lengths.accept_lengths or []
    rows = []
    for width, length in zip(verified, added, strict=False):
        rows.append(RecordedVerification(max(0, width - 1), max(0, length - 1)))
    drafted = [row.drafted for row in rows]
    accepted = [row.accepted for row in rows]
    longest = max(drafted, default=0)
    return Sample(
        drafts=sum(map(bool, drafted)),
        drafted=sum(drafted),
        accepted=sum(accepted),
        by_position=drafts_reaching(accepted, longest),
        reached=drafts_reaching(drafted, longest),
        verifications=tuple(rows),
        tokens=tokens,
        passes=None if tokens is None else len(rows) + 1,
        request=request,
        derived=frozenset(("passes",)),
    )
