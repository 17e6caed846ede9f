"""The device's side of a decode: its state in device memory, and the steps that change it.

A step is a forward pass of a level followed by drafting a token or a verification
(:mod:`hsd_viz.torch_models.board`). Its inputs are in device memory, so that the host can start it
without knowing them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hsd_viz.torch_models import board, layout, write_verdicts
from hsd_viz.torch_models.cache import StaticCache
from hsd_viz.torch_models.compiled import CompiledModel
from hsd_viz.torch_models.graphs import Graph, record
from hsd_viz.torch_models.layout import StackPlan, State

#: The number of single-use random numbers on the device.
NUMBERS = 4096


class DeviceStep(NamedTuple):
    """A step of a decode. It is a tuple, because its graph is looked up by it in every round.

    Attributes:
        level: the level whose model runs.
        width: the number of tokens for which its forward pass is compiled.
        drafts: whether a token is drafted; otherwise a draft is verified.
        opens: the number of lowest levels whose drafts begin with this step.
        places: the number of places for draft tokens in a verification.
        moves: whether the accepted path of a tree is moved to consecutive places in the cache.
    """

    level: int
    width: int
    drafts: bool
    opens: int = 0
    places: int = 0
    moves: bool = False


class Board:
    """The device's side of a decode: its state, and the steps that change it.

    On a GPU each step is recorded as a CUDA graph when it is used for the second time.

    Attributes:
        waits: the number of times that the host waited for the device.
        bytes_read: the number of bytes that the host read.
    """

    def __init__(
        self,
        plan: StackPlan,
        models: Sequence[CompiledModel],
        caches: Sequence[StaticCache],
        eos: int,
    ) -> None:
        self.plan = plan
        self._models = models
        self._caches = caches
        self.device = models[-1].device
        self.state = self._new_state(max(cache.places for cache in caches), eos)
        self.waits = 0
        self.bytes_read = 0
        on_gpu = self.device.type == "cuda"
        # Two rounds may be in progress: the report of one is read while the other runs.
        self._hosts = [
            torch.empty_like(self.state.report, device="cpu", pin_memory=on_gpu) for _ in range(2)
        ]
        self._turn = 0
        #: The report, its copy on the host, and the copy as an array, by number of lines and turn.
        self._views: dict[tuple[int, int], tuple[Tensor, Tensor, np.ndarray]] = {}
        # Views of the marks, which a graph reads in place.
        self._marks = self.state.marks.unbind()
        self._chains = [model.no_parents(model.nodes_for(1)) for model in models]
        #: The functions that run the steps that ran once.
        self._ready: dict[DeviceStep, Callable[[], None]] = {}
        #: The functions that replay the steps that ran again.
        self._bound: dict[DeviceStep, Callable[[], None]] = {}

    def _new_state(self, places: int, eos: int) -> State:
        plan = self.plan
        device = self.device
        target = self._models[-1]
        levels = range(plan.top + 1)
        width = max(write_verdicts.line_size(plan, level) for level in levels)
        nodes = target.nodes_for(plan.drafter)
        if plan.drafter:
            nodes = self._models[0].nodes_for(plan.drafter)
        return State(
            text=torch.zeros(places, dtype=torch.long, device=device),
            marks=torch.zeros(layout.level_count(plan), dtype=torch.long, device=device),
            settings=torch.ones(4, dtype=torch.float64, device=device),
            fresh=torch.zeros(NUMBERS, dtype=torch.float64, device=device),
            placed=torch.zeros(places, dtype=torch.float64, device=device),
            eos=torch.full((max(1, eos),), -1, device=device),
            parents=torch.arange(nodes, device=device) - 1,
            path=torch.arange(nodes, device=device),
            report=torch.zeros((plan.rounds(), width), dtype=torch.float64, device=device),
            rows=[self._rows_of(level) for level in range(plan.top)],
        )

    def _rows_of(self, level: int) -> Tensor:
        """Return a buffer for the rows of a level's draft, which is empty for point masses."""
        plan = self.plan
        has_rows = not plan.shaping.greedy and not (level == 0 and plan.drafter)
        model = self._model(level) if has_rows else self._models[0]
        dtype = torch.float64 if model.dtype == "float64" else torch.float32
        rows = plan.most(level) + 1 if has_rows else 0
        return torch.zeros((rows, model.vocab_size), dtype=dtype, device=self.device)

    def _at(self, level: int) -> int:
        """Return the index of a level among the models, which do not include a drafter."""
        return level - (1 if self.plan.drafter else 0)

    def _model(self, level: int) -> CompiledModel:
        return self._models[self._at(level)]

    def run(self, step: DeviceStep) -> None:
        """Start a step on the device; the caller must disable gradients."""
        replay = self._bound.get(step)
        if replay is not None:
            replay()
        elif step in self._ready:
            self._bound[step] = record(self._ready[step], self.device)
            self._bound[step]()
        else:
            # The first call compiles the step and loads its kernels.
            self._ready[step] = self._start(step)

    def _start(self, step: DeviceStep) -> Callable[[], None]:
        """Run a step, and return a function that runs it again."""
        model = self._model(step.level)
        cache = self._caches[self._at(step.level)]
        parents = self._chains[self._at(step.level)]
        if self.plan.is_tree(step.level):
            parents = self.state.parents
        if not model.strict:
            return self._graph(step, model.width_for(step.width)).bind(cache, self.state, parents)

        # All strict forward passes share a graph, and the rest of the step is another graph.
        def run() -> None:
            scores = self._read(step)
            self._graph(step, None)(cache, self.state, scores)

        run()
        return run

    def _graph(self, step: DeviceStep, width: int | None) -> Graph:
        """Return the graph of a step, which is compiled once.

        It includes the forward pass unless ``width`` is ``None``.
        """
        model = self._model(step.level)
        cache = self._caches[self._at(step.level)]
        state = self.state
        sizes = (cache.places, len(state.text), len(state.eos), len(state.parents))
        key = (self.plan, step._replace(width=width or -step.width), *sizes)
        if key not in model.steps:
            function = _step_after(self.plan, step)
            if width is not None:
                function = _whole_step(self.plan, step, model.forward_pass_of(width), function)
            model.steps[key] = model.compiler(function)
        return model.steps[key]

    def _read(self, step: DeviceStep) -> Tensor:
        """Run the forward pass of a strict step, in several passes if it is wide."""
        level = step.level
        model = self._model(level)
        state = self.state
        cache = self._caches[self._at(level)]
        start = self._marks[layout.cached_mark(level)]
        draft_start = self._marks[_draft_start_mark(self.plan, level)]
        parents = state.parents if self.plan.is_tree(level) else self._chains[self._at(level)]
        width = model.widths[-1]
        parts = []
        for begin in range(0, step.width, width):
            at = start + begin if begin else start
            parts.append(model.read(cache, state.text, at, draft_start, parents, width).clone())
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def fetch(self, lines: int) -> Callable[[], np.ndarray]:
        """Start copying the first ``lines`` of the report after all steps so far, and return a
        function that waits for them.
        """
        self._turn = 1 - self._turn
        key = (lines, self._turn)
        if key not in self._views:
            host = self._hosts[self._turn][:lines]
            self._views[key] = (self.state.report[:lines], host, host.numpy())
        report, host, numbers = self._views[key]
        host.copy_(report, non_blocking=True)
        done = None
        if self.device.type == "cuda":
            done = torch.cuda.Event()
            done.record()

        def wait() -> np.ndarray:
            if done is not None:
                done.synchronize()
            self.waits += 1
            self.bytes_read += numbers.nbytes
            return numbers

        return wait

    def read(self, lines: int) -> np.ndarray:
        """Wait for the first ``lines`` of the report, and return them."""
        return self.fetch(lines)()

    def send(self, values: Sequence[float], to: Tensor, start: int = 0) -> None:
        """Write values to device memory."""
        sent = torch.tensor(values, dtype=to.dtype)
        if self.device.type == "cuda":
            sent = sent.pin_memory()
        to[start : start + len(values)].copy_(sent, non_blocking=True)


def _draft_start_mark(plan: StackPlan, level: int) -> int:
    """Return the index in the marks of the start of a draft tree for ``level``; without a tree, of
    the end of the text.
    """
    return layout.base_mark(plan, 0) if plan.is_tree(level) else layout.END


def _step_after(plan: StackPlan, step: DeviceStep) -> Callable[[StaticCache, State, Tensor], None]:
    """Return the part of a step after its forward pass, as a function of the logits."""
    level = step.level

    def draft(cache: StaticCache, state: State, scores: Tensor) -> None:
        board.draft_step(state, scores, plan, step.opens)

    def verify(cache: StaticCache, state: State, scores: Tensor) -> None:
        board.verify_step(state, scores, plan, level, step.places, step.opens)
        if step.moves:
            _move(cache, state.path, state.marks[layout.base_mark(plan, level - 1)])

    return draft if step.drafts else verify


def _whole_step(
    plan: StackPlan,
    step: DeviceStep,
    forward_pass: Callable[..., Tensor],
    after: Callable[[StaticCache, State, Tensor], None],
) -> Callable[[StaticCache, State, Tensor], None]:
    """Return a step including its forward pass, as a function of the cache, the state and the
    parents of a draft tree.
    """
    cached = layout.cached_mark(step.level)
    draft_start = _draft_start_mark(plan, step.level)

    def whole(cache: StaticCache, state: State, parents: Tensor) -> None:
        start = state.marks[cached]
        scores = forward_pass(cache, state.text, start, state.marks[draft_start], parents)
        after(cache, state, scores)

    return whole


def _move(cache: StaticCache, path: Tensor, base: Tensor) -> None:
    """Move the cache entries of the nodes ``path`` of a draft tree to its first places.

    ``base`` is the place at which the tree starts.
    """
    to = base + torch.arange(len(path), device=path.device)
    origin = base + path
    for layer in cache.layers:
        if layer.is_initialized:
            layer.keys.index_copy_(2, to, layer.keys[:, :, origin])
            layer.values.index_copy_(2, to, layer.values[:, :, origin])


def board_for(
    plan: StackPlan, models: Sequence[CompiledModel], caches: Sequence[StaticCache], eos: int
) -> Board:
    """Return the board of a plan on these caches: that of an earlier decode, with its graphs, or a
    new one.
    """
    key = (plan, eos, *map(id, caches))
    boards = caches[-1].boards
    if key not in boards:
        boards[key] = Board(plan, models, caches, eos)
    return boards[key]
