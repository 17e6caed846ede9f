"""Choosing the fastest runtime available for a model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from hsd_viz.decoding.session import Model
from hsd_viz.drafting.tree import Drafter
from hsd_viz.native.build import Build, default_build
from hsd_viz.native.drafter import native_drafter
from hsd_viz.native.model import NativeModel, unsupported
from hsd_viz.native.reference import ReferenceModel
from hsd_viz.native.weights import Weights

if TYPE_CHECKING:
    from hsd_viz.torch_models.eager import HFModel

RUNTIMES = ("auto", "eager", "compiled", "strict")


class Runtimes:
    """Finds for each model the fastest runtime: ``native`` on the CPU, ``compiled`` on a GPU, else ``eager``.

    The library is compiled in the background from the moment this object is made, unless it is in the cache already;
    until it is ready, and where it cannot be compiled, models on the CPU are eager and drafters are Python's.
    ``runtime="eager"`` requests the eager runtime for all, ``"compiled"`` the one by ``torch.compile``, ``"strict"``
    rows that do not depend on what is fed with them: native rows never do, and others are compiled for one width. Safe
    for several threads.
    """

    def __init__(
        self,
        device: str = "cpu",
        runtime: str = "auto",
        build: Build | None = None,
    ) -> None:
        if runtime not in RUNTIMES:
            raise ValueError(f"unknown runtime {runtime!r}: it is one of {', '.join(RUNTIMES)}")
        self._eager, self._runtime = runtime == "eager", runtime
        kind = str(device).partition(":")[0]
        if kind == "cuda":
            import torch

            from hsd_viz.torch_models.eager import settle_arithmetic

            settle_arithmetic(torch.device(device))
        #: Drafting is the processor's work wherever the models are.
        self._drafting = None if self._eager else (build or default_build()).start()
        self._build = self._drafting if kind == "cpu" else None
        self._found: dict[int, tuple[Model, str | None]] = {}
        self._kept: list[HFModel] = []
        self._lock = threading.Lock()

    def pick(self, model: HFModel) -> tuple[Model, str | None]:
        """Return ``model`` in the fastest runtime that is ready, and why that is a slow one, if so."""
        if self._eager:
            return model, None
        with self._lock:
            # ``model`` is kept, so that its id stays unique.
            if id(model) not in self._found:
                native = self._build and self._runtime != "compiled"
                if self.compiling:
                    return model, "the native runtime is being compiled"
                found, why = self._native(model) if native else (model, None)
                if found is model and (self._runtime in ("compiled", "strict") or model.device.type == "cuda"):
                    found, why = self._compiled(model)
                self._found[id(model)] = found, why
                self._kept.append(model)
            return self._found[id(model)]

    def integers(self, weights: Weights) -> tuple[Model, str | None] | None:
        """Return a model in 8-bit integers by its weights alone, without a module; ``None`` where another runtime is
        asked for.
        """
        if self._build is None or self._runtime == "compiled":
            return None
        with self._lock:
            if id(weights) not in self._found:  # the caller keeps the weights
                if self.compiling:
                    return ReferenceModel(weights), "the native runtime is being compiled"
                self._found[id(weights)] = self._integers(weights)
            return self._found[id(weights)]

    def close(self) -> None:
        """Forget the models found."""
        with self._lock:
            self._found.clear()
            self._kept.clear()

    def drafter(self, drafter: Drafter | None) -> Drafter | None:
        """Return the native equivalent of ``drafter``, which has not begun a run, where there is one that is ready."""
        ready = self._drafting is not None and self._drafting.wait(0)
        return native_drafter(drafter, self._drafting.library) if ready else drafter

    @property
    def compiling(self) -> bool:
        """Whether a faster runtime may be ready later."""
        return self._build is not None and self._build.compiling

    def wait(self, progress: Callable[[str], None] = lambda text: None) -> None:
        """Wait until nothing is being compiled; ``progress`` is called every second."""
        while self._drafting is not None and self._drafting.compiling:
            progress("compiling the native runtime")
            self._drafting.wait(1.0)

    def _integers(self, weights: Weights) -> tuple[Model, str | None]:
        if self._build.reason is not None:
            return ReferenceModel(weights), self._build.reason
        return NativeModel(weights, self._build), None

    def _native(self, model: HFModel) -> tuple[Model, str | None]:
        if self._build.reason is not None:
            return model, self._build.reason
        if any(p.device != model.device for p in model.module.parameters()):
            return model, "its weights are on several devices"
        why = unsupported(model.module)
        if why is not None:
            return model, why
        try:
            return NativeModel(model, self._build), None
        except ValueError as error:
            return model, str(error)

    def _compiled(self, model: HFModel) -> tuple[Model, str | None]:
        from hsd_viz.torch_models.compiled import CompiledModel

        try:
            return CompiledModel(model, strict=self._runtime == "strict"), None
        except ValueError as error:
            if self._runtime == "strict":
                raise
            return model, str(error)
