"""MLC-LLM: the metrics of its engine, ``/debug/dump_engine_metrics`` and ``usage.extra``.

``draft_count[k]`` counts the verifications of at least k + 1 tokens, the last token of the text
included, and ``accept_count[k]`` those that emitted as many: the first of both are the
verifications, and the draft tokens start at the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hsd_viz.errors import BadFile
from hsd_viz.records.fields import Number, nested, typed
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import RecordedRequest, Sample

NAME = "mlc-llm"

METRICS = declare(
    NAME,
    "engine metrics with spec_decode",
    "summary",
    seen_in="0.1–0.20",
    source="https://github.com/mlc-ai/mlc-llm/issues/2789",
    sample='{"spec_decode": {"draft_count": [100, 100, 100], "accept_count": [100, 70, 40]}}',
    reports="verifications, draft tokens, accepted tokens, by position, tokens/s",
)


class _Counts(msgspec.Struct):
    """The counts of an engine by position.

    Attributes:
        draft_count: the number of verifications of at least k + 1 tokens.
        accept_count: the number of verifications that emitted at least k + 1 tokens.
    """

    draft_count: list[Number]
    accept_count: list[Number]


class _Engine(msgspec.Struct):
    """The metrics of an engine.

    Attributes:
        decode_tokens_per_s: the tokens per second.
    """

    decode_tokens_per_s: Number | None = None


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Form] | None:
    """Return the sample of the metrics of an engine with its form.

    Raises:
        BadFile: if the counts are damaged.
    """
    fields = nested(value, "draft_count")
    if fields is None or "accept_count" not in fields:
        return None
    counts = typed(fields, _Counts)
    drafts = counts.draft_count
    accepted = counts.accept_count
    if len(drafts) != len(accepted):
        raise BadFile(f"damaged: {len(drafts)} counts of drafts and {len(accepted)} of acceptances")
    if len(drafts) < 2:
        return None
    engine = typed(nested(value, "spec_decode") or {}, _Engine)
    same_lengths = len(set(drafts)) == 1
    sample = Sample(
        drafts=drafts[0],
        drafted=sum(drafts[1:]),
        accepted=sum(accepted[1:]),
        by_position=tuple(accepted[1:]),
        reached=tuple(drafts[1:]) if same_lengths else None,
        speed=engine.decode_tokens_per_s,
        draft_length=len(drafts) - 1,
    )
    return sample, METRICS
