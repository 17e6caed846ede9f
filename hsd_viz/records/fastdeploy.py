"""FastDeploy: responses with ``speculate_metrics`` in their choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hsd_viz.errors import BadFile
from hsd_viz.records.choices import objects_of, total, total_by_place
from hsd_viz.records.forms import declare
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


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Any] | None:
    """Return the sample of a response with its form.

    Its accepted tokens are all emitted ones: the first of a verification, its head 0, is the
    target's own.

    Raises:
        BadFile: if its figures contradict each other.
    """
    metrics = objects_of(value, "speculate_metrics")
    emitted = total(metrics, "accepted_tokens") if metrics else None
    if not emitted:
        return None
    heads = total_by_place(metrics, "accepted_tokens_per_head")
    if heads is not None and sum(heads) != emitted:
        raise BadFile(f"impossible: {emitted:g} accepted tokens, {sum(heads):g} over the heads")
    drafts = _verifications(metrics) if heads is None else heads[0]
    rejected = total(metrics, "rejected_tokens")
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


def _verifications(metrics: list[Mapping[str, Any]]) -> float | None:
    """Return the verifications that the mean lengths of the choices imply."""
    drafts = 0.0
    for one in metrics:
        length = one.get("average_accept_length")
        if not isinstance(length, int | float) or length < 1:
            return None
        drafts += round(one["accepted_tokens"] / length)
    return drafts
