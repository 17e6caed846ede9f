"""Servers that report drafts in the fields of OpenAI's predicted outputs: usage alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hsd_viz.errors import BadFile
from hsd_viz.records.forms import declare
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


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Any] | None:
    """Return the sample of a response with its form; ``None`` where nothing was predicted.

    The tokens of the response are left out: OpenAI counts rejected ones among them.
    """
    usage = value.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, Mapping) else None
    if not isinstance(details, Mapping):
        return None
    accepted = details.get("accepted_prediction_tokens")
    rejected = details.get("rejected_prediction_tokens")
    for count in (accepted, rejected):
        if count is not None and type(count) is not int:
            raise BadFile(f"damaged: {count!r} prediction tokens")
    if not accepted and not rejected:
        return None
    accepted = accepted or 0
    drafted = accepted + (rejected or 0)
    return Sample(drafted=drafted, accepted=accepted, request=request), RESPONSE
