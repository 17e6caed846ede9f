"""What may be chosen of an engine: one list for Python, the command line and the page."""

from __future__ import annotations

from typing import Literal, get_args

#: Where its models run; a GPU of several in Python also by its number, as in ``cuda:1``.
Device = Literal["cpu", "cuda"]
#: The number types of its arithmetic.
DType = Literal["int8", "float32", "bfloat16", "float16", "float64"]
#: What runs its forward passes; auto: the fastest.
Runtime = Literal["auto", "eager", "compiled", "strict"]
#: How a draft model with another tokenizer than the target's drafts
#: (:mod:`hsd_viz.decoding.bridges`).
Bridge = Literal["slem", "tli"]

DTYPES: tuple[str, ...] = get_args(DType)
RUNTIMES: tuple[str, ...] = get_args(Runtime)
BRIDGES: tuple[str, ...] = get_args(Bridge)

#: What ``db`` sizes its drafts by, beside a file: the family's table, or times of this machine.
SHIPPED = "shipped"
MEASURED = "measured"

#: Most CPU threads that can be asked for.
MAX_THREADS = 1024
