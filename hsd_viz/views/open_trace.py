"""Opening trace files: read and validated completely before the page changes."""

from __future__ import annotations

import json
import math

from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import check
from hsd_viz.trace.trace import TraceError
from hsd_viz.views import run_data

#: Maximum unpacked size in bytes: twenty times the page's longest run.
MAX_UNPACKED = 64_000_000
#: Maximum tokens, prompt included: some views draw one mark per token.
MOST_TOKENS = 10_000
#: Token ids are below this (the end of Unicode): look-up stores ids as characters.
MOST_IDS = 0x110000
#: Maximum characters of a file name in a message.
MOST_NAME = 60


def read_trace(content: bytes, name: str) -> Trace:
    """Read a trace from a file's bytes, gzipped or not.

    Raises: ValueError: if the file is not a trace, is invalid, too new, inconsistent, or too large for the page.
    """
    name = name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"
    trace = Trace.from_bytes(content, name, MAX_UNPACKED)
    if imported := trace.meta.get("imported"):
        engine = imported.get("engine") if isinstance(imported, dict) else "?"
        raise TraceError(f"{name} was imported from {engine} and has no tokens to show: use `hsd-viz doctor`")
    try:
        _check_meta(trace)
        check(trace)
        # Lone surrogates and NaN cannot be sent to a browser.
        json.dumps(run_data.snapshot(trace), ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError):
        raise TraceError(f"{name} is not a valid trace: its parts are inconsistent") from None
    tokens = len(trace.meta["prompt_ids"]) + len(trace)
    if tokens > MOST_TOKENS:
        raise TraceError(f"{name} has {tokens} tokens, prompt included; the maximum is {MOST_TOKENS}")
    if not len(trace):
        raise TraceError(f"{name} has no emitted tokens")
    return trace


def _check_meta(trace: Trace) -> None:
    """Check the types of the meta fields that the page reads."""
    meta = trace.meta
    sampling = meta.get("sampling") or {}
    numbers = [meta["prefill_ns"], meta["wall_ns"], meta.get("max_new_tokens") or 0, meta.get("threads") or 0]
    numbers += [sampling.get(key) or 0 for key in ("temperature", "top_k", "top_p", "seed")]
    if not all(type(n) in (int, float) and math.isfinite(n) for n in numbers):
        raise ValueError("a number in its meta is invalid")
    ids = [*meta["prompt_ids"], *(t.token_id for t in trace.token_rows), *(d.token_id for d in trace.draft_rows)]
    if not all(type(i) is int and 0 <= i < MOST_IDS for i in ids):
        raise ValueError("a token id is invalid")
    if not (isinstance(meta["prompt"], str) and isinstance(meta["stack"], str)):
        raise ValueError("its prompt or stack is not text")
