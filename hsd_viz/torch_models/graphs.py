"""Compile functions for fixed shapes, and bind them to tensors for repeated calls."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch import config as autograd_config
from torch._inductor.compile_fx import compile_fx, compile_fx_inner

#: The least recompile limit. Each width and capacity is compiled as a function of its own.
_MIN_RECOMPILE_LIMIT = 256


class Graph:
    """A function of tensors that Python runs, without compilation."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *tensors: Any) -> Any:
        return self._function(*tensors)

    def bind(self, *tensors: Any) -> Callable[[], Any]:
        """Run the function, and return a function that runs it again on the same tensors, with
        their current values.
        """
        self._function(*tensors)
        return lambda: self._function(*tensors)


class CompiledGraph(Graph):
    """A function compiled by inductor for the shapes of its first call.

    Later calls must have the same shapes.
    Calls are not checked: the caller must not change anything that the graph depends on, except the
    values of tensors.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        limit = max(torch._dynamo.config.recompile_limit, _MIN_RECOMPILE_LIMIT)
        torch._dynamo.config.recompile_limit = limit
        compiled = torch.compile(
            _own_code(function),
            fullgraph=True,
            dynamic=False,
            backend=self._build,
            options={"guard_filter_fn": _no_guards},
        )
        super().__init__(compiled)
        self._last = threading.local()

    def _build(self, module: Any, inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
        # A cached result of AOTAutograd would not include its kernels, which are cached separately.
        with autograd_config.patch(enable_autograd_cache=False):
            return compile_fx(module, inputs, inner_compile=self._watched)

    def _watched(self, *arguments: Any, **options: Any) -> Any:
        """Compile kernels that store the tensors of their last call, for :meth:`bind`."""
        kernels = compile_fx_inner(*arguments, **options)
        start = kernels.current_callable

        def run(tensors: Sequence[Any]) -> Any:
            # The kernels empty the list.
            self._last.call = (start, tuple(tensors))
            return start(tensors)

        kernels.current_callable = run
        return kernels

    def bind(self, *arguments: Any) -> Callable[[], Any]:
        self._last.call = None
        self._function(*arguments)
        if self._last.call is None:
            # Dynamo is disabled, so the function was not compiled.
            return lambda: self._function(*arguments)
        # Call the kernels directly: Dynamo and AOTAutograd collect and inspect all tensors, which
        # takes longer than starting the kernels.
        start, tensors = self._last.call
        self._last.call = None
        return lambda: start(list(tensors))


def record(run: Callable[[], Any], device: torch.device) -> Callable[[], Any]:
    """Return a function that replays ``run``, which ran before.

    On a GPU it replays a recorded CUDA graph; elsewhere it is ``run`` itself. Recording does not
    run it.
    """
    if device.type != "cuda":
        return run
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        run()
    return graph.replay


def _no_guards(guards: Sequence[Any]) -> list[bool]:
    return [False] * len(guards)


def _own_code(function: Any) -> Any:
    """Return a copy of a function with its own code object, by which Dynamo caches compilations."""
    copy = types.FunctionType(
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
