"""LM Studio: responses with ``stats``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hsd_viz.records.choices import first_of
from hsd_viz.records.forms import declare
from hsd_viz.records.sample import RecordedRequest, Sample

NAME = "lm-studio"
METHODS: dict[str, str] = {}

RESPONSE = declare(
    NAME,
    "response with stats",
    "response",
    seen_in="0.3.10 (REST v0 and SDK)",
    source="https://github.com/lmstudio-ai/lmstudio-js/pull/210",
    sample='{"stats": {"total_draft_tokens_count": 80, "accepted_draft_tokens_count": 60, …',
    reports="draft tokens, accepted tokens, tokens and speed of a request",
)
#: A count -> its names in the REST API and in the SDK.
NAMES = {
    "drafted": ("total_draft_tokens_count", "totalDraftTokensCount"),
    "accepted": ("accepted_draft_tokens_count", "acceptedDraftTokensCount"),
    "tokens": ("predicted_tokens_count", "predictedTokensCount"),
    "speed": ("tokens_per_second", "tokensPerSecond"),
    "first": ("time_to_first_token", "timeToFirstTokenSec"),
}


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Any] | None:
    """Return the sample of a response with its form."""
    stats = value.get("stats")
    if not isinstance(stats, Mapping):
        return None
    known = {name: first_of(stats, names) for name, names in NAMES.items()}
    if known["drafted"] is None:
        return None
    tokens = known["tokens"]
    if tokens is None:
        tokens = (value.get("usage") or {}).get("completion_tokens")
    accepted = known["accepted"]
    passes = None if tokens is None or accepted is None else max(0, tokens - accepted)
    seconds = tokens / known["speed"] if tokens and known["speed"] else None
    sample = Sample(
        drafted=known["drafted"],
        accepted=accepted,
        tokens=tokens,
        passes=passes,
        prefill_seconds=known["first"],
        seconds=seconds,
        request=request,
        derived=frozenset(("passes", "seconds")),
    )
    return sample, RESPONSE
