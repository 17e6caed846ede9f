"""The engine that a page decodes with: one that was given, or one that is loaded when somebody first needs it."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial

from hsd_viz.engine import Engine, prepare
from hsd_viz.engine.baseline import decode_beside_plain
from hsd_viz.trace import Event, Stage
from hsd_viz.views.controls import Request

LADDER = ("nano", "small", "target")


class Lender:
    """Decodes what the form asks for, and lends the engine to what measures on the page; from worker threads alone.

    ``engine`` is ``None`` until it is loaded. ``allow_models`` lets stacks name hub models and paths. ``found_gpu()`` is called when an
    engine was loaded on a machine that has a GPU.
    """

    def __init__(self, engine: Engine | None, allow_models: bool, found_gpu: Callable[[], None]) -> None:
        self.engine, self._own = engine, engine is None
        self._key: tuple[str | None, str | None] = (None, None)
        self._allow_models, self._found_gpu = allow_models, found_gpu
        if self.loads:
            prepare()

    @property
    def loads(self) -> bool:
        """Whether models are loaded here: none was given, and what they need is installed."""
        return self._own and can_decode()

    @property
    def live(self) -> bool:
        """Whether anything can be decoded."""
        return not self._own or can_decode()

    @property
    def model_names(self) -> tuple[str, ...] | None:
        """The models that stacks may name; ``None``: any."""
        return None if self._allow_models else LADDER

    def decode(self, request: Request) -> Iterator[Event]:
        """The events of what is asked for, the loading of its models first. Raises as :meth:`hsd_viz.engine.base.Engine.decode`."""
        key = (request.device, request.dtype)
        if self._own and (self.engine is None or key != self._key):
            yield Stage("loading PyTorch")
            self._load(*key)
        decode = partial(decode_beside_plain, self.engine) if request.beside_plain else self.engine.decode
        yield from decode(request.prompt, request.stack, **request.options)

    def lend(self) -> Engine:
        """The engine that runs use, loaded where it is not there yet."""
        if self.engine is None:
            self._load(None, None)
        return self.engine

    def _load(self, device: str | None, dtype: str | None) -> None:
        from hsd_viz.engine.local import load_engine

        self.engine = None  # the models of the one before make room
        self.engine = load_engine(device=device, dtype=dtype, threads=_threads(), allow_models=self._allow_models)
        self._key = (device, dtype)
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            self._found_gpu()


def can_decode() -> bool:
    """Whether what models need is installed; nothing of it is imported."""
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "transformers"))


def _threads() -> int:
    """Half the cores, eight at most: the page, its kernel and its browser need the others, and small models gain nothing from more."""
    return min(8, max(1, (os.cpu_count() or 2) // 2))
