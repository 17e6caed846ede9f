"""The shipped ladder: three small language models of one family, one tokenizer, and everything that made them.

``corpus`` (where the text comes from), ``tokenizer``, ``recipe`` (sizes and settings), ``train`` (the loop), ``load`` (use the
models), ``evaluate`` and ``card`` (how good they are). Names below load on first use; importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES = {
    "collect": "corpus", "train_files": "corpus", "heldout_files": "corpus",
    "info": "load", "load_model": "load", "load_tokenizer": "load", "model_path": "load", "names": "load", "weights_hash": "load",
    "train_ladder": "train", "evaluate_ladder": "evaluate", "write_card": "card",
}  # fmt: skip

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
