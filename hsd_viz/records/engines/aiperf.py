"""AIPerf: ``profile_export.jsonl``, whose figures have the names of vLLM's responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hsd_viz.records.engines.vllm import VLLMAcceptance, acceptance
from hsd_viz.records.fields import Number, typed
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import RecordedRequest, Sample

NAME = "aiperf"

RECORD = declare(
    NAME,
    "profile_export.jsonl with spec_decode_acceptance",
    "response",
    seen_in="0.13.0",
    source="https://github.com/ai-dynamo/aiperf/pull/1191",
    sample='{"spec_decode_acceptance": {"engine": "vllm", "acceptance_histogram": {"0": 34, …',
    reports="counts, acceptance by position, times of a request",
)


class _Measurement(msgspec.Struct):
    """A figure.

    Attributes:
        value: the value, in the unit that the record states.
    """

    value: Number | None = None


class _Metrics(msgspec.Struct):
    """The metrics of a request.

    Attributes:
        time_to_first_token: the duration of the prefill in milliseconds.
        request_latency: the duration of the request in milliseconds.
        output_sequence_length: the number of emitted tokens.
    """

    time_to_first_token: _Measurement | None = None
    request_latency: _Measurement | None = None
    output_sequence_length: _Measurement | None = None


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Form] | None:
    """Return the sample of a line of the file, with its form."""
    if not isinstance(value.get("spec_decode_acceptance"), Mapping):
        return None
    figures = typed(value["spec_decode_acceptance"], VLLMAcceptance)
    metrics = typed(value.get("metrics") or {}, _Metrics)
    first = _value(metrics.time_to_first_token)
    whole = _value(metrics.request_latency)
    sample = acceptance(
        figures,
        tokens=figures.completion_tokens or _value(metrics.output_sequence_length),
        prefill_ms=first,
        decode_ms=None if first is None or whole is None else whole - first,
        request=request,
    )
    return sample, RECORD


def _value(measurement: _Measurement | None) -> Number | None:
    return None if measurement is None else measurement.value
