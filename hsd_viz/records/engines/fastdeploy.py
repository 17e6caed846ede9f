"""FastDeploy: responses with ``speculate_metrics`` in their choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from hsd_viz.errors import BadFile
from hsd_viz.records.choices import of_choices, sum_by_place, sum_over_choices
from hsd_viz.records.fields import Number
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import RecordedRequest, Sample, with_fixed_length

NAME = "fastdeploy"

RESPONSE = declare(
    NAME,
    "response with speculate_metrics",
    "response",
    seen_in="PR 5518, PR 5947 (2026-01)",
    source="https://github.com/PaddlePaddle/FastDeploy/pull/5947",
    sample='{"speculate_metrics": {"accepted_tokens": 128, "rejected_tokens": 112, …',
    reports="verifications, draft tokens, accepted tokens, by position, of a request",
)


class _Metrics(msgspec.Struct):
    """The figures of speculative decoding of a choice.

    Attributes:
        accepted_tokens: the number of emitted tokens.
        rejected_tokens: the number of rejected draft tokens.
        accepted_tokens_per_head: the number of emitted tokens by position in a verification.
        average_accept_length: the emitted tokens per verification.
    """

    accepted_tokens: Number | None = None
    rejected_tokens: Number | None = None
    accepted_tokens_per_head: list[Number] | None = None
    average_accept_length: Number | None = None


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Form] | None:
    """Return the sample of a response with its form.

    FastDeploy counts all emitted tokens as accepted; the first token of a verification (head 0)
    is the target's own.

    Raises:
        BadFile: if the figures contradict each other.
    """
    metrics = of_choices(value, "speculate_metrics", _Metrics)
    emitted = sum_over_choices(choice.accepted_tokens for choice in metrics)
    if not emitted:
        return None
    heads = sum_by_place(choice.accepted_tokens_per_head for choice in metrics)
    if heads is not None and sum(heads) != emitted:
        raise BadFile(f"impossible: {emitted:g} accepted tokens, {sum(heads):g} over the heads")
    drafts = _verifications(metrics) if heads is None else heads[0]
    rejected = sum_over_choices(choice.rejected_tokens for choice in metrics)
    accepted = None if drafts is None else emitted - drafts
    drafted = None
    if rejected is not None and accepted is not None:
        drafted = rejected + accepted
    sample = Sample(
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        by_position=None if heads is None else heads[1:],
        tokens=emitted,
        passes=drafts,
        draft_length=None if heads is None else len(heads) - 1,
        request=request,
        derived=frozenset(("drafted", "passes") if heads else ("drafts", "drafted", "passes")),
    )
    return with_fixed_length(sample), RESPONSE


def _verifications(metrics: Sequence[_Metrics]) -> float | None:
    """Return the number of verifications implied by the mean lengths of the choices."""
    drafts = 0.0
    for choice in metrics:
        length = choice.average_accept_length
        if length is None or length < 1 or choice.accepted_tokens is None:
            return None
        quotient = choice.accepted_tokens / length
        if not isfinite(quotient):
            return None
        drafts += round(quotient)
    return drafts
