"""TokenSpeed: responses with the counts of SGLang under other names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hsd_viz.records.fields import Number, nested, typed
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import RecordedRequest, Sample

NAME = "tokenspeed"

RESPONSE = declare(
    NAME,
    "response with spec_draft_tokens",
    "response",
    seen_in="PR 1443",
    source="https://github.com/lightseekorg/tokenspeed/pull/1443",
    sample='{"meta_info": {"spec_verify_ct": 9, "spec_accepted_tokens": 20, '
    '"spec_draft_tokens": 63',
    reports="verifications, draft tokens, accepted tokens of a request",
)


class _Counts(msgspec.Struct):
    """The counts of a request.

    Attributes:
        spec_verify_ct: the number of verifications.
        spec_draft_tokens: the number of draft tokens.
        spec_accepted_tokens: the number of accepted draft tokens.
        completion_tokens: the number of emitted tokens.
    """

    spec_verify_ct: Number | None = None
    spec_draft_tokens: Number | None = None
    spec_accepted_tokens: Number | None = None
    completion_tokens: Number | None = None


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Form] | None:
    """Return the sample of a response with its form."""
    fields = nested(value, "spec_verify_ct")
    if fields is None or "spec_draft_tokens" not in fields:
        return None
    counts = typed(fields, _Counts)
    sample = Sample(
        drafts=counts.spec_verify_ct,
        drafted=counts.spec_draft_tokens,
        accepted=counts.spec_accepted_tokens,
        tokens=counts.completion_tokens,
        request=request,
    )
    return sample, RESPONSE
