"""Functions compiled for fixed shapes, and bound to the tensors that they are called with again
and again.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch import config as autograd_config
from torch._inductor.compile_fx import compile_fx, compile_fx_inner

#: Every width and capacity is a compiled function of its own.
_MOST_COMPILED = 256


class Graph:
    """A function of tensors as Python runs it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *given: Any) -> Any:
        return self._function(*given)

    def bind(self, *given: Any) -> Callable[[], Any]:
        """Run the function; return what runs it again on the same tensors, which then have other
        values.
        """
        self._function(*given)
        return lambda: self._function(*given)


class CompiledGraph(Graph):
    """A function compiled by inductor for the shapes of its first call, which all later calls must
    have.

    Nothing is checked at a call: what a graph depends on beside the values of tensors is up to the
    caller.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        limit = max(torch._dynamo.config.recompile_limit, _MOST_COMPILED)
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
        # A cached result of AOTAutograd would come without its kernels; those are cached by
        # themselves.
        with autograd_config.patch(enable_autograd_cache=False):
            return compile_fx(module, inputs, inner_compile=self._watched)

    def _watched(self, *given: Any, **options: Any) -> Any:
        """Compile kernels; what they are called with is noted for :meth:`bind`."""
        kernels = compile_fx_inner(*given, **options)
        start = kernels.current_callable

        def run(tensors: Sequence[Any]) -> Any:
            # The kernels empty the list.
            self._last.call = (start, tuple(tensors))
            return start(tensors)

        kernels.current_callable = run
        return kernels

    def bind(self, *given: Any) -> Callable[[], Any]:
        self._last.call = None
        self._function(*given)
        if self._last.call is None:
            # Dynamo is switched off: the function ran as it is.
            return lambda: self._function(*given)
        # Dynamo and AOTAutograd find the tensors and look at each of them, which takes longer than
        # it takes to start the kernels: once is enough.
        start, tensors = self._last.call
        self._last.call = None
        return lambda: start(list(tensors))


def record(run: Callable[[], Any], device: torch.device) -> Callable[[], Any]:
    """Return what replays ``run``, which ran before: on a GPU one recorded graph, elsewhere ``run``
    itself. Recording runs nothing.
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
    """Return a copy of a function with a code object of its own, with which Dynamo keeps what it
    compiles.
    """
    copy = types.FunctionType(
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
