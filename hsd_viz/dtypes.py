"""The number types of a decode's arithmetic: one list for Python, the command line and the page."""

from __future__ import annotations

from typing import Literal, get_args

DType = Literal["int8", "float32", "bfloat16", "float16", "float64"]
DTYPES: tuple[str, ...] = get_args(DType)
