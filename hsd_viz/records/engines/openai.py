"""Servers that report drafts only in the usage fields of OpenAI's predicted outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hsd_viz.records.fields import typed
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import RecordedRequest, Sample

NAME = "openai"

RESPONSE = declare(
    NAME,
    "usage with prediction tokens",
    "response",
    seen_in="smg PR 2481, GenieX PR 1336 (2026); OpenAI's own count the client's prediction",
    source="https://github.com/smg-project/smg/pull/2481",
    sample='{"usage": {"completion_tokens_details": {"accepted_prediction_tokens": 60, …',
    reports="draft tokens and accepted tokens of a request; not the number of verifications",
)


class _Details(msgspec.Struct):
    """Details of the completion tokens of a response.

    Attributes:
        accepted_prediction_tokens: the number of accepted draft tokens.
        rejected_prediction_tokens: the number of rejected draft tokens.
    """

    accepted_prediction_tokens: int | None = None
    rejected_prediction_tokens: int | None = None


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Form] | None:
    """Return the sample of a response with its form; ``None`` if nothing was predicted.

    The number of tokens of the response is left out, because OpenAI includes rejected ones.

    Raises:
        BadFile: if a count is damaged.
    """
    usage = value.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, Mapping) else None
    if not isinstance(details, Mapping):
        return None
    tokens = typed(details, _Details)
    accepted = tokens.accepted_prediction_tokens or 0
    rejected = tokens.rejected_prediction_tokens or 0
    if not accepted and not rejected:
        return None
    return Sample(drafted=accepted + rejected, accepted=accepted, request=request), RESPONSE
