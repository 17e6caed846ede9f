"""The C functions of the library and their types."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_uint64, c_void_p

#: What a matrix or vector of a model is; the order is that of ``Slot`` in ``src/model.hpp``.
SLOTS = (
    *("q", "k", "v", "o", "gate", "up", "down", "input_norm", "post_norm", "q_norm", "k_norm"),
    *("embedding", "final_norm", "head"),
)


def _fields(*kinds: tuple[type, str]) -> list[tuple[str, type]]:
    """Return the fields of a structure, from the names of each type."""
    return [(name, kind) for kind, names in kinds for name in names.split()]


class Shape(Structure):
    """A model's measures. ``type`` is the number of its type in :data:`~hsd_viz.native.weights.STORAGE`; ``scale``
    multiplies the attention scores. All structures are those of ``src/``.
    """

    _fields_ = _fields((c_int32, "type layers width heads kv_heads head_dim inner vocab"), (c_double, "epsilon scale"))


class Rule(Structure):
    """How tokens are drawn; temperature 0 is greedy."""

    _fields_ = _fields((c_double, "temperature top_p"), (c_int32, "top_k"))


class LevelSettings(Structure):
    """A level of a decode: its session, the angles of all places, the bytes of its weights, the tokens that it proposes
    at least, the number of its rule, and the most threads.
    """

    _fields_ = _fields((c_void_p, "session cos sin"), (c_int64, "bytes"), (c_int32, "lookahead rule threads"))


class DecodeSettings(Structure):
    """The settings of a decode."""

    _fields_ = _fields((Rule, "sampling"), (c_uint64, "seed"), (c_int32, "vocab limit budget details"))


class IndexFile(Structure):
    """The arrays of an open index file and how it is read."""

    _fields_ = _fields(
        (c_void_p, "starts marks places values"),
        (c_int64, "n_starts n_marks n_places n_values limit"),
        (c_int32, "value_bytes wide shift longest most_in_bucket"),
    )


class Drafting(Structure):
    """The numbers of :mod:`hsd_viz.drafting`."""

    _fields_ = _fields((c_double, "surest prior_weight most_rate"), (c_int32, "longest recent most longest_bucket"))


_TOKENS = [c_void_p, c_int]
_FUNCTIONS = {
    "hsd_error": (c_char_p, []),
    "hsd_vector_bytes": (c_int, []),
    "hsd_model_new": (c_void_p, [POINTER(Shape)]),
    "hsd_model_set": (c_int, [c_void_p, c_int, c_int, c_void_p, c_void_p]),
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


def integers(values: Sequence[int]) -> ctypes.Array:
    """Return 32-bit integers for a call."""
    return (c_int32 * len(values))(*values)


def doubles(values: Sequence[float]) -> ctypes.Array:
    """Return doubles for a call."""
    return (c_double * len(values))(*values)


def failure(library: ctypes.CDLL) -> Exception:
    """The exception for a call that returned 0."""
    what = library.hsd_error().decode()
    return MemoryError("there is too little memory for the native runtime") if what == "memory" else ValueError(what)
