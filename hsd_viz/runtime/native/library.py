"""The C functions of the library and their types."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_void_p

#: What a matrix or vector of a model is; the order is that of ``Slot`` in ``src/model.hpp``.
SLOTS = (
    "q", "k", "v", "o", "gate", "up", "down",
    "q_bias", "k_bias", "v_bias", "o_bias", "gate_bias", "up_bias", "down_bias",
    "input_norm", "post_norm", "q_norm", "k_norm",
    "embedding", "final_norm", "head", "head_bias",
)  # fmt: skip


class Shape(Structure):
    """A model's measures. ``type`` is 0 for float32, 1 for float64, 2 for bfloat16 weights; ``scale`` multiplies the scores."""

    _fields_ = [
        *((name, c_int32) for name in ("type", "layers", "width", "heads", "kv_heads", "head_dim", "inner", "vocab")),
        ("epsilon", c_double),
        ("scale", c_double),
    ]


class Rule(Structure):
    """How tokens are drawn; temperature 0 is greedy."""

    _fields_ = [("temperature", c_double), ("top_p", c_double), ("top_k", c_int32)]


_SEQUENCE = [c_void_p, c_void_p, c_int, c_int]  # cos, sin, cached, threads
_FUNCTIONS = {
    "hsd_error": (c_char_p, []),
    "hsd_vector_bytes": (c_int, []),
    "hsd_model_new": (c_void_p, [POINTER(Shape)]),
    "hsd_model_set": (c_int, [c_void_p, c_int, c_int, c_void_p]),
    "hsd_model_window": (c_int, [c_void_p, c_int, c_int]),
    "hsd_model_bytes": (c_int64, [c_void_p]),
    "hsd_model_free": (None, [c_void_p]),
    "hsd_session_new": (c_void_p, [c_void_p]),
    "hsd_session_forward": (c_int, [c_void_p, c_void_p, c_int, c_void_p, c_int, c_void_p, *_SEQUENCE]),
    "hsd_session_sample": (
        c_int,
        [c_void_p, c_void_p, c_int, POINTER(Rule), c_void_p, c_void_p, c_int, c_int, c_void_p, c_void_p, *_SEQUENCE],
    ),
    "hsd_session_keep": (None, [c_void_p, c_int, c_void_p, c_int]),
    "hsd_session_free": (None, [c_void_p]),
    "hsd_describe": (None, [c_void_p, c_int, c_int, c_void_p, c_void_p, c_int, c_int, c_void_p]),
}


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    """Give the functions their types. Raises ``AttributeError`` when one is missing."""
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


def failure(library: ctypes.CDLL) -> Exception:
    """The exception for a call that returned 0."""
    what = library.hsd_error().decode()
    return MemoryError("there is too little memory for the native runtime") if what == "memory" else ValueError(what)
