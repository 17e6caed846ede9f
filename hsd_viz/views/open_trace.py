"""A trace file of the reader's own: read whole and held against itself before anything on the page changes."""

from __future__ import annotations

import json
import math
import zlib

from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import check
from hsd_viz.trace.trace import TraceError
from hsd_viz.views import payload

#: What a file may hold once it is unpacked: twenty times a run of the longest kind that the page makes.
MAX_UNPACKED = 64_000_000
#: Tokens, prompt included: some views draw a mark for each of them.
MOST_TOKENS = 10_000
#: Token ids below this: look-up keeps one as a character (Unicode ends there), and no tokenizer comes near it.
MOST_IDS = 0x110000
#: Characters of a file's name in a sentence.
MOST_NAME = 60


def read_trace(content: bytes, name: str) -> Trace:
    """The trace in the bytes of a file, gzipped or not.

    Raises ``ValueError`` with one sentence where the file is no trace, is broken or too new, contradicts itself, or is more than
    a page can show.
    """
    name = name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"
    trace = Trace.from_bytes(_unpacked(content, name), name)
    try:
        _check_meta(trace)
        check(trace)
        # What cannot be told to a browser: half characters, figures that are none.
        json.dumps(payload.snapshot(trace), ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError):
        raise TraceError(f"{name} is broken: it has the form of a trace, but its parts do not fit together") from None
    tokens = len(trace.meta["prompt_ids"]) + len(trace.token_rows)
    if tokens > MOST_TOKENS:
        raise TraceError(
            f"{name} holds a run of {tokens} tokens: this page shows runs of up to {MOST_TOKENS}, prompt included"
        )
    if not trace.token_rows:
        raise TraceError(f"{name} holds a run that wrote no token: there is nothing to show")
    return trace


def _unpacked(content: bytes, name: str) -> bytes:
    """At most :data:`MAX_UNPACKED` bytes: a small file can unpack to any size."""
    if content[:2] != b"\x1f\x8b":
        return content
    unpacking = zlib.decompressobj(wbits=31)
    try:
        text = unpacking.decompress(content, MAX_UNPACKED)
        more = bool(unpacking.unconsumed_tail)
    except zlib.error:
        raise TraceError(f"{name} is not a valid trace: it cannot be unpacked") from None
    if more:
        raise TraceError(f"{name} is too large: this page takes traces up to {MAX_UNPACKED / 1e6:.0f} MB unpacked")
    if not unpacking.eof:
        raise TraceError(f"{name} is not a valid trace: it ends too early")
    return text


def _check_meta(trace: Trace) -> None:
    """What the page reads of a trace's meta has the type that it takes it for."""
    meta = trace.meta
    sampling = meta.get("sampling") or {}
    numbers = [meta["prefill_ns"], meta["wall_ns"], meta.get("max_new_tokens") or 0, meta.get("threads") or 0]
    numbers += [sampling.get(key) or 0 for key in ("temperature", "top_k", "top_p", "seed")]
    if not all(type(n) in (int, float) and math.isfinite(n) for n in numbers):
        raise ValueError("a number of its meta is none")
    ids = [*meta["prompt_ids"], *(t.token_id for t in trace.token_rows), *(d.token_id for d in trace.draft_rows)]
    if not all(type(i) is int and 0 <= i < MOST_IDS for i in ids):
        raise ValueError("a token id is none")
    if not (isinstance(meta["prompt"], str) and isinstance(meta["stack"], str)):
        raise ValueError("its prompt and stack are no text")
