"""The C functions of the library and their types."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_uint64, c_void_p

#: What a matrix or vector of a model is; the order is that of ``Slot`` in ``src/model.hpp``.
SLOTS = (
    "q", "k", "v", "o", "gate", "up", "down",
    "q_bias", "k_bias", "v_bias", "o_bias", "gate_bias", "up_bias", "down_bias",
    "input_norm", "post_norm", "q_norm", "k_norm",
    "embedding", "final_norm", "head", "head_bias",
)  # fmt: skip


class Shape(Structure):
    """A model's measures. ``type`` is how weights are stored: 0 float32, 1 float64, 2 bfloat16, 3 matrices of
    8-bit numbers with a scale per row, the rest float32.

    ``scale`` multiplies the attention scores.
    """

    _fields_ = [
        *((name, c_int32) for name in ("type", "layers", "width", "heads", "kv_heads", "head_dim", "inner", "vocab")),
        ("epsilon", c_double),
        ("scale", c_double),
    ]


class Rule(Structure):
    """How tokens are drawn; temperature 0 is greedy."""

    _fields_ = [("temperature", c_double), ("top_p", c_double), ("top_k", c_int32)]


class LevelSettings(Structure):
    """A level of a decode: its session, the angles of all places, the bytes of its weights, the tokens that it proposes
    at least, the number of its rule, and the most threads; the same as ``LevelSettings`` in ``src/loop.hpp``.
    """

    _fields_ = [
        *((name, c_void_p) for name in ("session", "cos", "sin")),
        ("bytes", c_int64),
        *((name, c_int32) for name in ("lookahead", "rule", "threads")),
    ]


class DecodeSettings(Structure):
    """The settings of a decode; the same as ``DecodeSettings`` in ``src/loop.hpp``."""

    _fields_ = [
        ("sampling", Rule),
        ("seed", c_uint64),
        *((name, c_int32) for name in ("vocab", "limit", "budget", "details")),
    ]


class IndexFile(Structure):
    """The arrays of an open index file and how it is read; the same as ``IndexFile`` in ``src/database.hpp``."""

    _fields_ = [
        *((name, c_void_p) for name in ("starts", "marks", "places", "values")),
        *((name, c_int64) for name in ("n_starts", "n_marks", "n_places", "n_values", "limit")),
        *((name, c_int32) for name in ("value_bytes", "wide", "shift", "longest", "most_in_bucket")),
    ]


class Drafting(Structure):
    """The numbers of :mod:`hsd_viz.drafting`; the same as ``Drafting`` in ``src/drafter.hpp``."""

    _fields_ = [
        *((name, c_double) for name in ("surest", "prior_weight", "most_rate")),
        *((name, c_int32) for name in ("longest", "recent", "most", "longest_bucket")),
    ]


_TOKENS = [c_void_p, c_int]
_FUNCTIONS = {
    "hsd_error": (c_char_p, []),
    "hsd_vector_bytes": (c_int, []),
    "hsd_model_new": (c_void_p, [POINTER(Shape)]),
    "hsd_model_set": (c_int, [c_void_p, c_int, c_int, c_void_p, c_void_p]),
    "hsd_model_window": (c_int, [c_void_p, c_int, c_int]),
    "hsd_model_bytes": (c_int64, [c_void_p]),
    "hsd_model_cache_bytes": (c_int64, [c_void_p]),
    "hsd_model_free": (None, [c_void_p]),
    "hsd_session_new": (c_void_p, [c_void_p]),
    "hsd_session_forward": (
        c_int,
        [c_void_p, *_TOKENS, c_void_p, c_int, c_void_p, c_void_p, c_void_p, c_int, c_int],
    ),
    "hsd_session_free": (None, [c_void_p]),
    "hsd_decode_new": (
        c_void_p,
        [POINTER(DecodeSettings), c_int, POINTER(LevelSettings), c_int, c_void_p, *_TOKENS, *_TOKENS],
    ),
    "hsd_decode_run": (c_int, [c_void_p, c_int64, c_int64]),
    "hsd_decode_free": (None, [c_void_p]),
}
#: Functions of some microseconds. Python's lock is kept: another thread that took it meanwhile would hold it for
#: milliseconds.
_QUICK = {
    "hsd_session_keep": (None, [c_void_p, c_int, c_void_p, c_int]),
    "hsd_drafter_new": (c_void_p, [POINTER(Drafting)]),
    "hsd_drafter_add": (c_int, [c_void_p, POINTER(IndexFile), c_void_p, c_double]),
    "hsd_drafter_costs": (c_int, [c_void_p, c_void_p, c_void_p, c_int, c_double, c_double]),
    "hsd_drafter_ends": (c_int, [c_void_p, c_void_p, c_int]),
    "hsd_drafter_extend": (c_int, [c_void_p, *_TOKENS]),
    "hsd_drafter_draft": (c_int, [c_void_p, *_TOKENS, c_int64, c_int, c_void_p]),
    "hsd_drafter_free": (None, [c_void_p]),
    "hsd_decode_rows": (c_int, [c_void_p, c_int, POINTER(c_void_p)]),
    "hsd_decode_inside": (c_int64, [c_void_p]),
}


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    """Give the functions their types. Raises ``AttributeError`` when one is missing."""
    library.quick = ctypes.PyDLL(library._name, handle=library._handle)
    for holder, functions in ((library, _FUNCTIONS), (library.quick, _QUICK)):
        for name, (result, arguments) in functions.items():
            function = getattr(holder, name)
            function.restype = result
            function.argtypes = arguments
    return library


def failure(library: ctypes.CDLL) -> Exception:
    """The exception for a call that returned 0."""
    what = library.hsd_error().decode()
    return MemoryError("there is too little memory for the native runtime") if what == "memory" else ValueError(what)
