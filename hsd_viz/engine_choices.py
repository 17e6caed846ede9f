"""What may be chosen of an engine: one list for Python, the command line and the page."""

from __future__ import annotations

from typing import Literal, get_args

#: The number types of its arithmetic.
DType = Literal["int8", "float32", "bfloat16", "float16", "float64"]
#: What runs its forward passes; auto: the fastest.
Runtime = Literal["auto", "eager", "compiled", "strict"]
#: How a draft model with another tokenizer than the target's drafts
#: (:mod:`hsd_viz.decoding.bridge`).
Bridge = Literal["slem", "tli"]

DTYPES: tuple[str, ...] = get_args(DType)
RUNTIMES: tuple[str, ...] = get_args(Runtime)
BRIDGES: tuple[str, ...] = get_args(Bridge)
