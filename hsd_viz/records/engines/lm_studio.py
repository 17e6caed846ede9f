"""LM Studio: responses with ``stats``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hsd_viz.records.fields import Number, completion_tokens, first_known, typed
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import RecordedRequest, Sample

NAME = "lm-studio"

RESPONSE = declare(
    NAME,
    "response with stats",
    "response",
    seen_in="0.3.10 (REST v0 and SDK)",
    source="https://github.com/lmstudio-ai/lmstudio-js/pull/210",
    sample='{"stats": {"total_draft_tokens_count": 80, "accepted_draft_tokens_count": 60, …',
    reports="draft tokens, accepted tokens, tokens and speed of a request",
)


class _Stats(msgspec.Struct):
    """The ``stats`` of a response, in the names of the REST API and of the SDK.

    Attributes:
        total_draft_tokens_count: the number of draft tokens (REST).
        totalDraftTokensCount: the number of draft tokens (SDK).
        accepted_draft_tokens_count: the number of accepted draft tokens (REST).
        acceptedDraftTokensCount: the number of accepted draft tokens (SDK).
        predicted_tokens_count: the number of emitted tokens (REST).
        predictedTokensCount: the number of emitted tokens (SDK).
        tokens_per_second: the tokens per second (REST).
        tokensPerSecond: the tokens per second (SDK).
        time_to_first_token: the duration of the prefill in seconds (REST).
        timeToFirstTokenSec: the duration of the prefill in seconds (SDK).
    """

    total_draft_tokens_count: Number | None = None
    totalDraftTokensCount: Number | None = None
    accepted_draft_tokens_count: Number | None = None
    acceptedDraftTokensCount: Number | None = None
    predicted_tokens_count: Number | None = None
    predictedTokensCount: Number | None = None
    tokens_per_second: Number | None = None
    tokensPerSecond: Number | None = None
    time_to_first_token: Number | None = None
    timeToFirstTokenSec: Number | None = None


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Form] | None:
    """Return the sample of a response with its form."""
    if not isinstance(value.get("stats"), Mapping):
        return None
    stats = typed(value["stats"], _Stats)
    drafted = first_known(stats.total_draft_tokens_count, stats.totalDraftTokensCount)
    if drafted is None:
        return None
    accepted = first_known(stats.accepted_draft_tokens_count, stats.acceptedDraftTokensCount)
    tokens = first_known(stats.predicted_tokens_count, stats.predictedTokensCount)
    if tokens is None:
        tokens = completion_tokens(value)
    speed = first_known(stats.tokens_per_second, stats.tokensPerSecond)
    sample = Sample(
        drafted=drafted,
        accepted=accepted,
        tokens=tokens,
        passes=None if tokens is None or accepted is None else max(0, tokens - accepted),
        prefill_seconds=first_known(stats.time_to_first_token, stats.timeToFirstTokenSec),
        seconds=tokens / speed if tokens and speed else None,
        request=request,
        derived=frozenset(("passes", "seconds")),
    )
    return sample, RESPONSE
