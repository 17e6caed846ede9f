"""A run as sent to the browser: its tables as columns (:mod:`hsd_viz.trace.tables`) and its
meta.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from hsd_viz.decoding.options import Sampling
from hsd_viz.disk import object_at
from hsd_viz.errors import INVALID_JSON, Unsupported, UserError
from hsd_viz.records.served import served_run
from hsd_viz.settings.declare import settings_of
from hsd_viz.settings.ranges import MOST_IDS
from hsd_viz.stack import DraftSource, StackError, decoded_stack
from hsd_viz.trace import Step, Trace
from hsd_viz.trace.file import TraceError
from hsd_viz.trace.identities import check
from hsd_viz.trace.trace import TraceTables

#: Maximum unpacked size in bytes of an opened trace: twenty times the page's longest run.
MAX_UNPACKED = 64_000_000
#: Maximum tokens, prompt included: some views draw one mark per token.
MOST_TOKENS = 10_000
#: The largest whole number up to which JavaScript has all.
MOST_EXACT = 2**53 - 1
#: Settings of the sampling that are numbers.
_NUMBERS = tuple(name for name in settings_of(Sampling) if name != "rule")
#: Maximum characters of a file name in a message.
MOST_NAME = 60


def tables(record: TraceTables) -> dict[str, Any]:
    """Return the tables of a step or a trace, and ``pieces``: token texts by id."""
    return {**record.columns, "pieces": {str(token): text for token, text in record.pieces.items()}}


def head(meta: dict[str, Any]) -> dict[str, Any]:
    """Return prompt, its token ids if known, level names, and the meta: ``stack`` as decoded,
    ``asked`` as written.
    """
    asked = str(meta.get("stack") or "")
    sampling = _sampling_of(meta)
    own = {"stack": str(meta.get("stack_resolved") or asked), "asked": asked, "sampling": sampling}
    return {
        "prompt": str(meta.get("prompt", "")),
        "prompt_ids": list(meta.get("prompt_ids") or []),
        "levels": level_names(meta),
        "meta": {"prefill_ns": None, "wall_ns": None} | meta | own,
    }


def _sampling_of(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the sampling of a run; a seed that a JavaScript number does not hold is text."""
    sampling = dict(meta.get("sampling") or {})
    seed = sampling.get("seed")
    if isinstance(seed, int) and seed > MOST_EXACT:
        sampling["seed"] = str(seed)
    return sampling


def _exact_sampling(sampling: dict[str, Any]) -> dict[str, Any]:
    """Return the sampling of a run that a browser kept, with its seed as a number."""
    seed = sampling.get("seed")
    if isinstance(seed, str) and seed.isdecimal():
        return sampling | {"seed": int(seed)}
    return sampling


def level_names(meta: dict[str, Any]) -> list[str]:
    """Return the name of each level, lowest first; empty if the meta has no valid stack."""
    try:
        parts = decoded_stack(meta).parts
    except StackError:
        return []
    names: list[str] = []
    for part in parts:
        if isinstance(part, DraftSource) and part.name == "auto":
            # A resolved `auto` lists its levels in order.
            names += part.items
        else:
            names.append(part.name)
    return names


def snapshot(trace: Trace, run: str, seq: int = 1) -> dict[str, Any]:
    """Return a whole trace. ``run`` identifies it, ``seq`` counts its steps so far."""
    return {"run": run, "seq": seq, **head(trace.meta), **tables(trace)}


def append(run: str, first: int, steps: list[Step]) -> dict[str, Any]:
    """Return the message with the steps of a live run from number ``first`` on."""
    seq = first + len(steps) - 1
    return {
        "kind": "append",
        "run": run,
        "first": first,
        "seq": seq,
        "steps": [tables(step) for step in steps],
    }


def trace_from(run: Any) -> Trace:
    """Return the trace of a snapshot that a browser kept.

    Raises:
        BadFile: if it is not one.
    """
    meta = object_at(run, "meta")
    own = {
        "stack": meta.get("asked"),
        "stack_resolved": meta.get("stack"),
        "sampling": _exact_sampling({**object_at(meta, "sampling")}),
    }
    data = Trace({}).to_dict() | {**run} | {"meta": {**meta, **own}}
    return checked(Trace.from_dict(data), "the run")


def shown_name(name: str) -> str:
    """Return the name of a file as messages have it, cut to :data:`MOST_NAME` characters."""
    return name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"


def read_trace(content: bytes, name: str) -> Trace:
    """Read a trace from a file's bytes.

    Raises:
        TraceError: if it is not a valid one, or too large for the page.
    """
    name = shown_name(name)
    trace = Trace.from_bytes(content, name, MAX_UNPACKED)
    try:
        run = served_run(trace) if "imported" in trace.meta else trace
    except Unsupported as error:
        raise TraceError(f"{name}: {error}") from None
    except UserError as error:
        raise TraceError(f"{name} is not a valid trace: {error}") from error
    return checked(run, name)


def checked(trace: Trace, name: str) -> Trace:
    """Return a complete trace that a browser can show.

    Raises:
        TraceError: if it is not one.
    """
    try:
        meta = _checked_meta(trace.meta)
        ids = [
            *meta.prompt_ids,
            *trace.columns["tokens"]["token_id"],
            *trace.columns["drafts"]["token_id"],
        ]
        if not all(0 <= token < MOST_IDS for token in ids):
            raise UserError("a token id is invalid")
        check(trace)
        _check_sendable(trace)
    except UserError as error:
        raise TraceError(f"{name} is not a valid trace: {error}") from error
    tokens = len(meta.prompt_ids) + len(trace)
    if tokens > MOST_TOKENS:
        raise TraceError(
            f"{name} has {tokens} tokens, prompt included; the maximum is {MOST_TOKENS}"
        )
    if not len(trace):
        raise TraceError(f"{name} has no emitted tokens")
    return trace


class _Plain(msgspec.Struct):
    """What a run notes of plain decoding beside it.

    Attributes:
        tokens_per_second: its speed.
        load_average: of the machine.
        cores: of the machine.
        speedups: the speed-up of each pair of runs.
    """

    tokens_per_second: float | None = None
    load_average: float | None = None
    cores: float | None = None
    speedups: list[float] | None = None


class _Meta(msgspec.Struct):
    """The meta of a run, as far as the page reads it.

    Attributes:
        prompt: the prompt as text.
        prompt_ids: its token ids.
        stack: the stack as it was written.
        prefill_ns: ns of the prefill.
        wall_ns: ns of the whole run.
        max_new_tokens: the token limit.
        threads: of forward passes.
        fastest_of: how many runs it is the fastest of.
        sampling: how it was sampled, by setting.
        plain: the plain runs beside it.
        models: facts of its models.
        device: where it ran.
        device_name: the name of the processor.
        dtype: the type of the weights.
        runtime: what ran the models.
        created: when it ran.
        clock: how its times are known.
    """

    prompt: str
    prompt_ids: list[int]
    stack: str
    prefill_ns: float
    wall_ns: float
    max_new_tokens: float | None = None
    threads: float | None = None
    fastest_of: float | None = None
    sampling: dict[str, Any] | None = None
    plain: _Plain | None = None
    models: list[dict[str, Any]] | None = None
    device: str | None = None
    device_name: str | None = None
    dtype: str | None = None
    runtime: str | None = None
    created: str | None = None
    clock: str | None = None


def _checked_meta(meta: dict[str, Any]) -> _Meta:
    """Return the meta fields that the page reads.

    Raises:
        UserError: if one has another type.
    """
    try:
        fields = msgspec.convert(meta, _Meta)
        sampling = fields.sampling or {}
        msgspec.convert([sampling.get(name) for name in _NUMBERS], list[float | None])
    except (msgspec.ValidationError, UnicodeEncodeError):
        raise UserError("a value in its meta is invalid") from None
    return fields


def _check_sendable(trace: Trace) -> None:
    """Check that a browser can receive a trace: without lone surrogates and NaN in its meta, which
    columns do not have.

    Raises:
        UserError: if it cannot.
    """
    try:
        text = json.dumps(head(trace.meta), ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
        msgspec.json.encode(tables(trace))
    except INVALID_JSON as error:
        raise UserError(f"it cannot be sent to a browser ({error})") from None
