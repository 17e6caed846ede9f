"""The page's engine: given, or loaded on first use."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial

from hsd_viz.engine import Engine, prepare
from hsd_viz.engine.beside import decode_beside_plain
from hsd_viz.trace import Event, Stage
from hsd_viz.views.controls import Request
from hsd_viz.views.more import USUAL, Machine

LADDER = ("nano", "small", "target")


class Lender:
    """Decode form requests and lend the engine to measurements on the page. Call from worker threads only.

    ``engine`` is ``None`` until loaded. ``allow_models`` allows hub models and paths in stacks. ``found_gpu()`` is
    called after loading an engine on a machine with a GPU.
    """

    def __init__(self, engine: Engine | None, allow_models: bool, found_gpu: Callable[[], None]) -> None:
        self.engine, self._own = engine, engine is None
        self._machine = USUAL
        self._allow_models, self._found_gpu = allow_models, found_gpu
        if self.loads:
            prepare()

    @property
    def loads(self) -> bool:
        """Whether this page loads models: no engine was given, and the dependencies are installed."""
        return self._own and can_decode()

    @property
    def live(self) -> bool:
        """Whether live runs are possible."""
        return not self._own or can_decode()

    @property
    def model_names(self) -> tuple[str, ...] | None:
        """The models allowed in stacks; ``None``: any."""
        return None if self._allow_models else LADDER

    def decode(self, request: Request) -> Iterator[Event]:
        """Yield the events of a request, model loading first. Raises as :meth:`hsd_viz.engine.base.Engine.decode`."""
        if not self._fits(request.machine):
            yield Stage("loading the models")
            self._load(request.machine)
        decode = partial(decode_beside_plain, self.engine) if request.beside_plain else self.engine.decode
        yield from decode(request.prompt, request.stack, **request.options)

    def lend(self, machine: Machine) -> Engine:
        """Return the engine with these options, loading it if needed."""
        if not self._fits(machine):
            self._load(machine)
        return self.engine

    def _fits(self, machine: Machine) -> bool:
        return not self._own or (self.engine is not None and machine == self._machine)

    def _load(self, machine: Machine) -> None:
        from hsd_viz.engine.local import load_engine

        self.engine = None  # frees the previous models
        allow = self._allow_models
        self.engine = load_engine(**machine._asdict(), threads=_threads(), allow_models=allow)
        self._machine = machine
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            self._found_gpu()


def can_decode() -> bool:
    """Whether what decodes the shipped models is installed, without importing it."""
    return importlib.util.find_spec("tokenizers") is not None


def _threads() -> int:
    """Return half the cores, at most eight: the page and browser need the rest, and small models do not profit from
    more.
    """
    return min(8, max(1, (os.cpu_count() or 2) // 2))
