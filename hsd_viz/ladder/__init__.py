"""The shipped ladder: three small language models of one family with one tokenizer.

``load`` uses the models; ``training/`` in a checkout makes them.
Names below load on first use; importing the package imports nothing else.
"""

from importlib import import_module
from typing import Any

__all__ = ["info", "load_model", "load_tokenizer", "model_path", "names", "weights_hash"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.load"), name)
