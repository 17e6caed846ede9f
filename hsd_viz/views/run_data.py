"""A run as sent to the browser: its tables as columns (:mod:`hsd_viz.trace.tables`) and its
meta.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from hsd_viz.declare import settings_of
from hsd_viz.errors import MALFORMED, Unsupported, UserError, inconsistency
from hsd_viz.options import Sampling
from hsd_viz.records.served import served_run
from hsd_viz.stack import DraftSource, StackError, decoded_stack
from hsd_viz.trace import Step, Trace
from hsd_viz.trace.file import TraceError
from hsd_viz.trace.identities import check
from hsd_viz.trace.trace import TraceTables

#: Maximum unpacked size in bytes of an opened trace: twenty times the page's longest run.
MAX_UNPACKED = 64_000_000
#: Maximum tokens, prompt included: some views draw one mark per token.
MOST_TOKENS = 10_000
#: Token ids are below this (the end of Unicode): look-up stores ids as characters.
MOST_IDS = 0x110000
#: The largest whole number up to which JavaScript has all.
MOST_EXACT = 2**53 - 1
#: Fields of the meta that are numbers, by the part that has them, and texts; all may be missing.
_NUMBERS = {
    "": ("max_new_tokens", "threads", "fastest_of"),
    "sampling": tuple(name for name in settings_of(Sampling) if name != "rule"),
    "plain": ("tokens_per_second", "load_average", "cores"),
}
_TEXTS = ("device", "device_name", "dtype", "runtime", "created", "clock")
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


def trace_from(run: dict[str, Any]) -> Trace:
    """Return the trace of a snapshot that a browser kept.

    Raises:
        TraceError: if it is not one.
    """
    meta = run["meta"] | {
        "stack": run["meta"]["asked"],
        "stack_resolved": run["meta"]["stack"],
        "sampling": _exact_sampling(run["meta"]["sampling"]),
    }
    return checked(Trace.from_dict(Trace({}).to_dict() | run | {"meta": meta}), "the run")


def read_trace(content: bytes, name: str) -> Trace:
    """Read a trace from a file's bytes.

    Raises:
        TraceError: if it is not a valid one, or too large for the page.
    """
    name = name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"
    trace = Trace.from_bytes(content, name, MAX_UNPACKED)
    try:
        run = served_run(trace) if "imported" in trace.meta else trace
    except Unsupported as error:
        raise TraceError(f"{name}: {error}") from None
    except MALFORMED as error:
        raise TraceError(f"{name} is not a valid trace: {inconsistency(error)}") from error
    return checked(run, name)


def checked(trace: Trace, name: str) -> Trace:
    """Return a complete trace that a browser can show.

    Raises:
        TraceError: if it is not one.
    """
    try:
        _check_meta(trace.meta)
        ids = [
            *trace.meta["prompt_ids"],
            *trace.columns["tokens"]["token_id"],
            *trace.columns["drafts"]["token_id"],
        ]
        if not all(type(i) is int and 0 <= i < MOST_IDS for i in ids):
            raise UserError("a token id is invalid")
        check(trace)
        # Lone surrogates and NaN, which columns do not have, cannot be sent to a browser.
        json.dumps(head(trace.meta), ensure_ascii=False, allow_nan=False).encode("utf-8")
        msgspec.json.encode(tables(trace))
    except MALFORMED as error:
        raise TraceError(f"{name} is not a valid trace: {inconsistency(error)}") from error
    tokens = len(trace.meta["prompt_ids"]) + len(trace)
    if tokens > MOST_TOKENS:
        raise TraceError(
            f"{name} has {tokens} tokens, prompt included; the maximum is {MOST_TOKENS}"
        )
    if not len(trace):
        raise TraceError(f"{name} has no emitted tokens")
    return trace


def _check_meta(meta: dict[str, Any]) -> None:
    """Check the types of the meta fields that the page reads; what is not finite cannot be sent."""
    numbers = [meta["prefill_ns"], meta["wall_ns"]]
    texts = [meta["prompt"], meta["stack"]]
    for part, names in _NUMBERS.items():
        own = meta.get(part) or {} if part else meta
        numbers += [own.get(name) or 0 for name in names]
    numbers += (meta.get("plain") or {}).get("speedups") or []
    texts += [meta.get(name) or "" for name in _TEXTS]
    models = meta.get("models") or []
    valid = all(type(n) in (int, float) for n in numbers) and all(
        isinstance(text, str) for text in texts
    )
    if not (
        valid and isinstance(models, list) and all(isinstance(model, dict) for model in models)
    ):
        raise UserError("a value in its meta is invalid")
