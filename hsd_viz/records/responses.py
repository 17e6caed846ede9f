"""Reads responses of serving engines, their requests, and chunks of streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hsd_viz.records.engines.registry import RESPONSES, RESULTS
from hsd_viz.records.forms import Form
from hsd_viz.records.sample import RecordedRequest, Sample

#: Maximum length of a category in characters, and largest accepted number of a request.
MAX_NAME = 40
MAX_NUMBER = 1e12
#: Numeric fields of a request, with their paths in records.
REQUEST_NUMBERS = {
    "context": ("usage.prompt_tokens", "meta_info.prompt_tokens", "timings.prompt_n"),
    "cached": (
        "usage.prompt_tokens_details.cached_tokens",
        "meta_info.cached_tokens",
        "timings.cache_n",
    ),
    "temperature": ("temperature", "metadata.temperature", "request.temperature"),
}
#: Paths of the prompt's category in records.
CATEGORY = ("category", "metadata.category")


def sample_of(entry: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Form] | None:
    """Return the sample of a response or a result with its form; ``None``: it has none.

    Args:
        entry: the JSON object, without its request.
        request: the request.

    Raises:
        BadFile: if its figures are impossible.
    """
    for reads in RESPONSES:
        sample_and_form = reads(entry, request)
        if sample_and_form is not None:
            return sample_and_form
    for reads_result in RESULTS:
        sample_and_form = reads_result(entry)
        if sample_and_form is not None:
            return sample_and_form
    return None


def response_of(value: Mapping[str, Any]) -> Sample | None:
    """Return the figures of speculative decoding of a response; ``None``: it has none.

    Raises:
        BadFile: if its figures are impossible.
    """
    entry = without_request(value)
    for reads in RESPONSES:
        sample_and_form = reads(entry, RecordedRequest())
        if sample_and_form is not None:
            return sample_and_form[0]
    return None


def without_request(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the response of an entry that may also contain the request."""
    response = value.get("response")
    if isinstance(response, Mapping):
        body = response.get("body")
        return body if isinstance(body, Mapping) else response
    return value


# --- the request --------------------------------------------------------------------------------


def request_of(entry: Mapping[str, Any]) -> RecordedRequest:
    """Return the facts of a record's request, without unusable values."""
    numbers: dict[str, float] = {}
    for name, places in REQUEST_NUMBERS.items():
        for place in places:
            value = _at(entry, place)
            if isinstance(value, int | float) and 0 <= value < MAX_NUMBER:
                numbers.setdefault(name, value)
    context = numbers.get("context")
    if context is not None and "timings" in entry:
        # llama.cpp counts only the prompt tokens that it computed.
        context += numbers.get("cached", 0)
    return RecordedRequest(
        context=context,
        cached=numbers.get("cached"),
        temperature=numbers.get("temperature"),
        category=_category(entry),
    )


def _category(entry: Mapping[str, Any]) -> str:
    """Return the category of the prompt; "": not named."""
    for place in CATEGORY:
        name = _at(entry, place)
        if isinstance(name, str) and name:
            return name[:MAX_NAME]
    return ""


def _at(entry: Any, place: str) -> Any:
    """Return the value at a path of keys; ``None``: there is none."""
    for key in place.split("."):
        entry = entry.get(key) if isinstance(entry, Mapping) else None
    return entry


# --- streams ------------------------------------------------------------------------------------


def is_chunk(entry: Mapping[str, Any]) -> bool:
    """Return whether a JSON value is a chunk of an unfinished streamed response."""
    if str(entry.get("object", "")).endswith(".chunk"):
        return True
    if entry.get("stop") is False and "content" in entry:
        return True
    meta = entry.get("meta_info")
    return isinstance(meta, Mapping) and "finish_reason" in meta and meta["finish_reason"] is None


def id_of(entry: Mapping[str, Any]) -> str:
    """Return the request id of a response; "": none."""
    meta = entry.get("meta_info")
    inner = meta.get("id") if isinstance(meta, Mapping) else None
    return str(entry.get("id") or inner or "")
