"""Choosing the fastest runtime available for a model, and the backend of a loop."""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch

from hsd_viz.backends.device import TorchBackend, settle_arithmetic
from hsd_viz.backends.host import HostBackend, NativeBackend
from hsd_viz.backends.llama import FAMILIES
from hsd_viz.backends.native.build import Build, default_build
from hsd_viz.backends.native.drafter import native_drafter
from hsd_viz.backends.native.model import NativeModel, unsupported
from hsd_viz.decoding.backend import Backend
from hsd_viz.decoding.model import CachedModel, HFModel, Model
from hsd_viz.drafting.tree import Drafter

RUNTIMES = ("auto", "eager", "strict")
DRAFTERS = ("auto", "python")


def backend_for(target: Model) -> Backend:
    """Return the backend of a loop whose target is ``target``; draft models are on the same device."""
    if target.device.type != "cpu":
        return TorchBackend(target.device)
    return NativeBackend(target.library) if isinstance(target, NativeModel) else HostBackend()


def open_session(model: Model, room: int) -> CachedModel:
    """Open an empty sequence; buffers that never move are made for a text of ``room`` tokens at once."""
    if model.runtime.startswith("cuda-graphs"):
        return model.session(room)  # type: ignore[call-arg]
    return model.session()


class Runtimes:
    """Finds for each model the fastest runtime: ``native`` on the CPU, ``cuda-graphs`` on a GPU, else ``eager``.

    The library is compiled in the background from the moment this object is made, unless it is in the cache already;
    until it is ready, and where it cannot be compiled, models on the CPU are eager and drafters are Python's.
    ``runtime="eager"`` requests the eager runtime for all, ``"strict"`` rows that do not depend on what is fed with
    them (:mod:`~hsd_viz.backends.cuda_graphs.strict`); native rows never do. ``free`` returns the bytes of memory that
    are available: native weights are a packed copy, and without room for it a model stays eager. With
    ``drafters="python"`` no drafter is native, which compares `db` with baselines on equal terms. Safe for several
    threads.
    """

    def __init__(
        self,
        device: torch.device,
        runtime: str = "auto",
        build: Build | None = None,
        free: Callable[[], int | None] = lambda: None,
        drafters: str = "auto",
    ) -> None:
        if runtime not in RUNTIMES:
            raise ValueError(f"unknown runtime {runtime!r}: it is one of {', '.join(RUNTIMES)}")
        if drafters not in DRAFTERS:
            raise ValueError(f"unknown choice of drafters {drafters!r}: it is one of {', '.join(DRAFTERS)}")
        self._eager, self._strict = runtime == "eager", runtime == "strict"
        self._python = self._eager or drafters == "python"
        settle_arithmetic(device)
        #: Drafting is the processor's work wherever the models are.
        self._drafting = None if self._eager else (build or default_build()).start()
        self._build = self._drafting if device.type == "cpu" else None
        self._free = free
        self._found: dict[int, tuple[Model, str | None]] = {}
        self._lock = threading.Lock()

    def pick(self, model: HFModel) -> tuple[Model, str | None]:
        """Return ``model`` in the fastest runtime that is ready, and why that is the eager one, if so."""
        if self._eager:
            return model, None
        with self._lock:
            # The runtime's model refers to ``model``, so that its id stays unique.
            if id(model) not in self._found:
                if self.compiling:
                    return model, "the native runtime is being compiled"
                self._found[id(model)] = self._native(model) if self._build else self._graphs(model)
            return self._found[id(model)]

    @property
    def native_drafters(self) -> bool:
        """Whether the look-ups of ``db`` are native."""
        return not self._python and self._drafting is not None and self._drafting.state == "ready"

    def close(self) -> None:
        """Forget the models found."""
        with self._lock:
            self._found.clear()

    def drafter(self, drafter: Drafter | None) -> Drafter | None:
        """Return the native equivalent of ``drafter``, which has not begun a run, where there is one that is ready."""
        ready = self.native_drafters
        return native_drafter(drafter, self._drafting.library) if ready else drafter

    @property
    def compiling(self) -> bool:
        """Whether a faster runtime may be ready later."""
        return self._build is not None and self._build.state == "compiling"

    @property
    def packed(self) -> frozenset[str]:
        """The Hugging Face model types whose weights are in memory a second time."""
        return frozenset(family.config_class.model_type for family in FAMILIES if self._build is not None)

    def wait(self, progress: Callable[[str], None] = lambda text: None) -> None:
        """Wait until nothing is being compiled; ``progress`` is called every second."""
        while self._drafting is not None and self._drafting.state == "compiling":
            progress("compiling the native runtime")
            self._drafting.wait(1.0)

    def _native(self, model: HFModel) -> tuple[Model, str | None]:
        if self._build.state == "unavailable":
            return model, self._build.reason
        if any(p.device != model.device for p in model.module.parameters()):
            return model, "its weights are on several devices"
        why = unsupported(model.module)
        if why is not None:
            return model, why
        left = self._free()
        if left is not None and model.parameters * model.dtype.itemsize > left:
            return model, "there is not enough memory for a packed copy of the weights"
        try:
            return NativeModel(model, self._build), None
        except ValueError as error:
            return model, str(error)

    def _graphs(self, model: HFModel) -> tuple[Model, str | None]:
        from hsd_viz.backends.cuda_graphs import GraphModel
        from hsd_viz.backends.cuda_graphs.strict import STRICT_WIDTH

        graphs = GraphModel(model, strict=STRICT_WIDTH if self._strict else 0)
        if self._strict and graphs.runtime == "eager":
            raise ValueError(f"{model.name} has no strict runtime: {graphs.reason}")
        return (model, graphs.reason) if graphs.runtime == "eager" else (graphs, None)
