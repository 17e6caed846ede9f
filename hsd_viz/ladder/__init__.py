"""The shipped ladder: three small language models of one family with one tokenizer.

``load`` (use the models), ``tokenizer``, ``variants`` (models at any cost, and self-drafts); ``training`` contains
everything that makes the models. Names below load on first use; importing the package imports nothing else.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "collect": "training.corpus", "train_files": "training.corpus", "heldout_files": "training.corpus",
    "info": "load", "load_model": "load", "load_tokenizer": "load", "model_path": "load", "names": "load",
    "weights_hash": "load",
    "train_ladder": "training.train", "evaluate_ladder": "training.evaluation", "write_card": "training.card",
}  # fmt: skip

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
