"""The loop for compiled models, whose steps are started on the device in advance.

:class:`DeviceLoop` is a :class:`~hsd_viz.decoding.loop.Loop`, which decides and records
everything; :class:`DeviceRounds` are its hooks. Before a round of the target, all steps of the
round are started (:mod:`hsd_viz.torch_models.ahead`). After a single wait for a block of numbers,
the loop runs the round with the known results. On a GPU the next round is started before that wait,
so that the GPU works while the host records. This is possible because steps need no number that
only the host knows.

A drafter drafts on the host, after the text of the last verification, so that each verification of
its drafts has a wait. It learns from a round while nothing runs on the device.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import torch

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.draft import Draft, SampledChain
from hsd_viz.decoding.hooks import LoopHooks
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import UniformNumbers
from hsd_viz.decoding.session import DraftModel, VerifySession
from hsd_viz.decoding.verdict import RecordOptions, Verdict
from hsd_viz.decoding.verify import RULES
from hsd_viz.torch_models import layout
from hsd_viz.torch_models.ahead import RoundsAhead, StepResult
from hsd_viz.torch_models.compiled import CompiledModel, CompiledSession
from hsd_viz.torch_models.feed import Feed
from hsd_viz.torch_models.layout import StackPlan
from hsd_viz.torch_models.read_verdicts import VerdictLine, read_line, verdict_of
from hsd_viz.torch_models.sampling import Shaping
from hsd_viz.torch_models.steps import Board, DeviceStep


class BoardSession(VerifySession):
    """A level of a :class:`DeviceLoop`, which returns known results or starts the step on the
    device.
    """

    def __init__(
        self, rounds: DeviceRounds, level: int, inner: CompiledSession, length: int
    ) -> None:
        self._rounds = rounds
        self._level = level
        self.inner = inner
        self.length = length

    def feed(self, tokens: Sequence[int]) -> None:
        self.inner.feed(tokens)
        self.length = self.inner.length

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        self.length = base + len(nodes)

    def sample(
        self,
        pending: Sequence[int],
        n: int,
        sampling: Sampling,
        numbers: UniformNumbers | None,
        eos: frozenset[int],
        confidence: float = 0.0,
    ) -> SampledChain:
        assert not confidence, "all steps are started before a token is known"
        chain = self._rounds.drafted()
        self.length += len(pending) + len(chain.tokens) - 1
        return chain

    def verify(
        self,
        pending: Sequence[int],
        draft: Draft,
        sampling: Sampling,
        numbers: UniformNumbers | None,
        record: RecordOptions,
    ) -> Verdict:
        plan = self._rounds.plan
        line = self._rounds.verified(self._level, len(pending), draft)
        places = plan.places_for(self._level, len(draft))
        return verdict_of(plan, self._level, line, places, draft.tree.parents)


class DeviceRounds(LoopHooks):
    """The hooks of a :class:`DeviceLoop`, which run its rounds on the device.

    The random numbers of drafts and verifications are on the device.

    Attributes:
        plan: the shape of the stack.
        feed: the host's side of the board.
    """

    draws_numbers = False

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.feed = Feed(loop)
        self._results: deque[StepResult] = deque()
        self._sessions: list[CompiledSession] = []
        self._set_levels()
        self._ahead = RoundsAhead(loop, self.feed, self._sessions[-1].model.device)

    def after_prefill(self) -> None:
        self.feed.open(self.plan, self._sessions)

    def after_leaving_levels(self) -> None:
        # A round that was started is for the previous levels. It began at its limit, so it changes
        # nothing.
        self._ahead.drop_next()
        self._set_levels()
        self.feed.open(self.plan, self._sessions)

    def before_round(self, i: int) -> None:
        loop = self._loop
        if i < loop.levels.top:
            return
        if not self._ahead.has_next:
            self.feed.replace_numbers()
        if loop.drafter is None:
            start, results = self._ahead.run()
            self._results.extend(results)
            self.result_time = start

    def after_round(self, i: int) -> None:
        if i == self._loop.levels.top:
            self.result_time = None

    def before_draft(self, i: int) -> None:
        self.feed.base[i] = len(self._loop.text)

    def drafted(self) -> SampledChain:
        """Return the next draft of level 0."""
        result = self._results.popleft()
        self.result_time = result.end
        line = result.line
        rows = None if self._loop.sampling.greedy else np.empty((line.n, 0))
        return SampledChain(line.tokens, rows, self.plan.lookaheads[0])

    def verified(self, level: int, pending: int, draft: Draft) -> VerdictLine:
        """Return the line of the next verification by ``level``, started now with a drafter."""
        if self._results:
            result = self._results.popleft()
            self.result_time = result.end
            return result.line
        plan = self.plan
        by_host = plan.is_tree(level) or not len(draft)
        if by_host:
            # The draft is from a drafter, or there was no room for a draft.
            self.feed.send_draft(level, draft)
        places = plan.places_for(level, len(draft))
        step = DeviceStep(
            level=level,
            width=pending + places,
            drafts=False,
            places=places,
            moves=by_host and not draft.tree.is_chain,
        )
        return self._verify_now(step)

    # --- internals --------------------------------------------------------------------------------

    @torch.no_grad()
    def _verify_now(self, step: DeviceStep) -> VerdictLine:
        """Start a verification on the device, and wait for its line."""
        on_device = self.feed.board
        on_device.run(step)
        if step.level < self._loop.levels.top:
            on_device.send([0], on_device.state.marks, layout.LINE)
        line = read_line(on_device.read(1)[0], step.places)
        self.feed.used = line.used
        return line

    def _set_levels(self) -> None:
        """Set the plan for the current levels, and wrap their sessions."""
        self._sessions = []
        for i, level in enumerate(self._loop.levels.models, self._loop.levels.first_model):
            session = level.session
            inner = session.inner if isinstance(session, BoardSession) else session
            assert isinstance(inner, CompiledSession)
            level.session = BoardSession(self, i, inner, session.length)
            self._sessions.append(inner)
        self.plan = self._plan(self._sessions[-1].model.vocab_size)

    def _plan(self, vocabulary: int) -> StackPlan:
        loop = self._loop
        lookaheads = [level.lookahead or 0 for level in loop.levels.models[:-1]]
        return StackPlan(
            lookaheads=(*[0] * loop.levels.first_model, *lookaheads),
            drafter=0 if loop.drafter is None else loop.drafter.budget,
            shaping=Shaping.of(loop.sampling, vocabulary),
            rule=loop.sampling.rule,
            details=loop.details,
            observe=loop.record.observe,
            warm=loop.record.temperature is not None,
        )


class DeviceLoop(Loop):
    """The loop for levels of :class:`~hsd_viz.torch_models.compiled.CompiledSession` on a device,
    with or without a drafter.

    Attributes:
        rounds_on_device: the hooks of the loop.
    """

    def __init__(self, inputs: LoopInputs) -> None:
        super().__init__(inputs)
        self.rounds_on_device = DeviceRounds(self)
        self.hooks = self.rounds_on_device

    @property
    def board(self) -> Board:
        """The device's side of the decode, once the prompt was fed."""
        return self.rounds_on_device.feed.board


def can_decode(models: Sequence[DraftModel], rule: str) -> bool:
    """Return whether :class:`DeviceLoop` can decode with these models and this rule."""
    if rule not in RULES or not all(isinstance(model, CompiledModel) for model in models):
        return False
    compiled: list[CompiledModel] = list(models)  # type: ignore[arg-type]
    devices = {model.device for model in compiled}
    vocabularies = {model.vocab_size for model in compiled}
    return len(devices) == 1 and len(vocabularies) == 1
