"""The format in which runs are sent to the browser: tables as columns
(:mod:`hsd_viz.trace.tables`), and the meta.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from hsd_viz.conversion import OF_ANOTHER_TYPE
from hsd_viz.decoding.options import Sampling
from hsd_viz.disk import object_at
from hsd_viz.errors import INVALID_JSON, Unsupported, UserError
from hsd_viz.records.served import served_run
from hsd_viz.settings.declare import settings_of
from hsd_viz.settings.ranges import MAX_IDS
from hsd_viz.stack import AUTO, DraftSource, StackError, decoded_stack
from hsd_viz.trace import Step, Trace
from hsd_viz.trace.file import TraceError
from hsd_viz.trace.identities import check
from hsd_viz.trace.meta import TraceMeta
from hsd_viz.trace.trace import TraceTables

#: Maximum decompressed size of an opened trace in bytes: twenty times the page's longest run.
MAX_UNPACKED = 64_000_000
#: Maximum number of tokens, prompt included, because some views draw one mark per token.
MAX_TOKENS = 10_000
#: Largest integer up to which JavaScript represents all integers exactly.
MAX_SAFE_INTEGER = 2**53 - 1
#: Names of the numeric sampling settings.
_NUMBERS = tuple(name for name in settings_of(Sampling) if name != "rule")
#: Maximum length of a file name in a message, in characters.
MAX_NAME = 60


def tables(record: TraceTables) -> dict[str, Any]:
    """Return the tables of a step or a trace, with ``pieces``, the token texts by id."""
    return {**record.columns, "pieces": {str(token): text for token, text in record.pieces.items()}}


def head(meta: TraceMeta) -> dict[str, Any]:
    """Return the prompt, its token ids if known, the level names, and the meta, in which ``stack``
    is the stack as decoded and ``asked`` as written.
    """
    written = str(meta.get("stack") or "")
    sampling = _sampling_of(meta)
    decoded = str(meta.get("stack_resolved") or written)
    own = {"stack": decoded, "asked": written, "sampling": sampling}
    return {
        "prompt": str(meta.get("prompt", "")),
        "prompt_ids": list(meta.get("prompt_ids") or []),
        "levels": level_names(meta),
        "meta": {"prefill_ns": None, "wall_ns": None} | meta | own,
    }


def _sampling_of(meta: TraceMeta) -> dict[str, Any]:
    """Return the sampling of a run; a seed too large for a JavaScript number becomes text."""
    sampling = dict(meta.get("sampling") or {})
    seed = sampling.get("seed")
    if isinstance(seed, int) and seed > MAX_SAFE_INTEGER:
        sampling["seed"] = str(seed)
    return sampling


def _exact_sampling(sampling: dict[str, Any]) -> dict[str, Any]:
    """Return the sampling of a run from a browser, with its seed as a number."""
    seed = sampling.get("seed")
    if isinstance(seed, str) and seed.isdecimal():
        return sampling | {"seed": int(seed)}
    return sampling


def level_names(meta: TraceMeta) -> list[str]:
    """Return the name of each level, lowest first; empty if the meta has no valid stack."""
    try:
        parts = decoded_stack(meta).parts
    except StackError:
        return []
    names: list[str] = []
    for part in parts:
        if isinstance(part, DraftSource) and part.name == AUTO:
            # The items of a resolved `auto` are its levels in order.
            names += part.items
        else:
            names.append(part.name)
    return names


def snapshot(trace: Trace, run: str, seq: int = 1) -> dict[str, Any]:
    """Return the snapshot of a trace. ``run`` is its id, ``seq`` the number of steps so far."""
    return {"run": run, "seq": seq, **head(trace.meta), **tables(trace)}


def append(run: str, first: int, steps: list[Step]) -> dict[str, Any]:
    """Return a message with steps of a live run, the first of which has number ``first``."""
    seq = first + len(steps) - 1
    return {
        "kind": "append",
        "run": run,
        "first": first,
        "seq": seq,
        "steps": [tables(step) for step in steps],
    }


def trace_from(run: Any) -> Trace:
    """Return the trace of a snapshot from a browser.

    Raises:
        BadFile: if it is not a snapshot.
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
    """Return the name of a file for messages, cut to :data:`MAX_NAME` characters."""
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def read_trace(content: bytes, name: str) -> Trace:
    """Read a trace from a file's bytes.

    Raises:
        TraceError: if it is not a valid trace, or too large for the page.
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
    """Return a trace after checking that it is complete and that a browser can show it.

    Raises:
        TraceError: if it is not such a trace.
    """
    try:
        meta = _checked_meta(trace.meta)
        ids = [
            *meta.prompt_ids,
            *trace.columns["tokens"]["token_id"],
            *trace.columns["drafts"]["token_id"],
        ]
        if not all(0 <= token < MAX_IDS for token in ids):
            raise UserError("a token id is invalid")
        check(trace)
        _check_sendable(trace)
    except UserError as error:
        raise TraceError(f"{name} is not a valid trace: {error}") from error
    tokens = len(meta.prompt_ids) + len(trace)
    if tokens > MAX_TOKENS:
        raise TraceError(
            f"{name} has {tokens} tokens, prompt included; the maximum is {MAX_TOKENS}"
        )
    if not len(trace):
        raise TraceError(f"{name} has no emitted tokens")
    return trace


class _Plain(msgspec.Struct):
    """Plain decoding measured with a run.

    Attributes:
        tokens_per_second: the speed of plain decoding.
        load_average: the load average of the machine.
        cores: the number of cores of the machine.
        speedups: the speed-up of each pair of runs.
    """

    tokens_per_second: float | None = None
    load_average: float | None = None
    cores: float | None = None
    speedups: list[float] | None = None


class _Meta(msgspec.Struct):
    """The fields of a run's meta that the page reads.

    Attributes:
        prompt: the prompt as text.
        prompt_ids: the token ids of the prompt.
        stack: the stack as written.
        prefill_ns: the duration of the prefill in nanoseconds.
        wall_ns: the duration of the run in nanoseconds.
        max_new_tokens: the maximum number of tokens.
        threads: the number of threads of forward passes.
        fastest_of: the number of runs of which this is the fastest.
        sampling: the sampling settings by name.
        plain: plain decoding measured with the run.
        models: facts of the models.
        device: the device of the models.
        device_name: the name of the processor.
        dtype: the number type of the weights.
        runtime: the runtime of the models.
        created: the time of the run.
        clock: the origin of the times.
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


def _checked_meta(meta: TraceMeta) -> _Meta:
    """Validate and return the meta fields that the page reads.

    Raises:
        UserError: if a field has a wrong type.
    """
    try:
        fields = msgspec.convert(meta, _Meta)
        sampling = fields.sampling or {}
        msgspec.convert([sampling.get(name) for name in _NUMBERS], list[float | None])
    except OF_ANOTHER_TYPE:
        raise UserError("a value in its meta is invalid") from None
    return fields


def _check_sendable(trace: Trace) -> None:
    """Check that a browser can receive a trace: its meta must not contain lone surrogates or NaN
    (columns cannot).

    Raises:
        UserError: if a browser cannot.
    """
    try:
        text = json.dumps(head(trace.meta), ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
        msgspec.json.encode(tables(trace))
    except INVALID_JSON as error:
        raise UserError(f"it cannot be sent to a browser ({error})") from None
