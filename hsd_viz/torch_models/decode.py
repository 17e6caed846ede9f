"""The loop for compiled models: its steps are put on the device in advance, and it waits for their
result once.

:class:`DeviceDecode` is :class:`~hsd_viz.decoding.loop.Loop` in all that it decides and records.
Before a round of the target it starts all steps of the round
(:mod:`hsd_viz.torch_models.steps`), then waits for one block of numbers, and has the
loop run the round with the results that are now known. A GPU is given the next round before that
wait, so that it works while the host records: the steps need no number that only the host knows.

How many rounds a middle level needs depends on its verdicts: as many as it needs in any case are
started without a wait, and each further one after a wait for the numbers so far. A drafter looks
its drafts up on the host, in the text that the last verification gave, so that each verification of
its drafts is a wait; what it learns from a round is added while nothing runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hsd_viz.decoding.levels import Verification
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.sampling import Draws, Sampling
from hsd_viz.decoding.session import Model, Session
from hsd_viz.decoding.verify import RULES, Draft, Numbers, RecordOptions, SampledChain, Verdict
from hsd_viz.torch_models import board, steps
from hsd_viz.torch_models.board import Plan
from hsd_viz.torch_models.clock import Clock, works_beside
from hsd_viz.torch_models.compiled import CompiledModel, CompiledSession
from hsd_viz.torch_models.report import Line, read_line, verdict_of
from hsd_viz.torch_models.sampling import Shaping
from hsd_viz.torch_models.steps import Step, board_for


class BoardSession(Session):
    """A level of a :class:`DeviceDecode`: it returns results that are known, or puts the step on
    the device itself.
    """

    def __init__(self, decode: DeviceDecode, level: int, inner: CompiledSession) -> None:
        self._decode = decode
        self._level = level
        self.inner = inner
        self.length = 0

    def feed(self, tokens: Sequence[int]) -> None:
        self.inner.feed(tokens)
        self.length = self.inner.length

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        raise AssertionError("the rows of a decode on the device stay there")

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        self.length = base + len(nodes)

    def sample(
        self,
        pending: Sequence[int],
        n: int,
        sampling: Sampling,
        numbers: Numbers | None,
        eos: frozenset[int],
        confidence: float = 0.0,
    ) -> SampledChain:
        assert not confidence, "all steps are started before a token is known"
        chain = self._decode.drafted()
        self.length += len(pending) + len(chain.tokens) - 1
        return chain

    def verify(
        self,
        pending: Sequence[int],
        draft: Draft,
        sampling: Sampling,
        numbers: Numbers | None,
        record: RecordOptions,
    ) -> Verdict:
        plan = self._decode.plan
        line = self._decode.verified(self._level, len(pending), draft)
        places = plan.places_for(self._level, len(draft))
        return verdict_of(plan, self._level, line, places, draft.tree.parents)


@dataclass(slots=True)
class Started:
    """A verification that was put on the device.

    Attributes:
        level: the level that verifies.
        drafted: the mark of the end of a draft of level 0 for it, if there was one.
        verified: the mark of its end.
    """

    level: int
    drafted: Any
    verified: Any


@dataclass(slots=True)
class Ahead:
    """A round of the target that was put on the device.

    Attributes:
        started: its verifications.
        wait: waits for their lines of the report.
    """

    started: list[Started]
    wait: Callable[[], np.ndarray]


@dataclass(slots=True)
class Result:
    """The result of a step, or of the steps of a draft.

    Attributes:
        line: what a verification reports; of a draft the line of its verification.
        end: when it had ended, in the time of the decode.
    """

    line: Line
    end: int


class DeviceDecode(Loop):
    """The loop for levels of :class:`CompiledSession`, on one device, with or without a drafter."""

    #: Whether what a decode starts from is on the device.
    _is_open = False

    def prepare(self) -> None:
        super().prepare()
        self._prompt = len(self.text)
        self._set_levels()
        self._clock = Clock(self._inner[-1].model.device, super().now)
        self._results: deque[Result] = deque()
        #: The time of the result that the loop is at; ``None``: now.
        self._time: int | None = None
        #: The verifications of the round of the target that was started last.
        self._started: list[Started] = []
        self._is_first = True
        #: The round that was started before the result of the one before it was known.
        self._next: Ahead | None = None
        #: When the last round had ended on the device.
        self._end = 0
        self._used = 0
        self._stream = Draws(self.sampling.seed)
        self._fresh: list[float] = []

    def _set_levels(self) -> None:
        """Make the plan of the present levels, and have their sessions take part in it."""
        self._inner: list[CompiledSession] = []
        #: By level where its current draft starts.
        self._base = [len(self.text)] * (self.top + 1)
        for i, level in enumerate(self.levels):
            if level is None:
                continue
            session = level.session
            inner = session.inner if isinstance(session, BoardSession) else session
            assert isinstance(inner, CompiledSession)
            board_session = BoardSession(self, i, inner)
            board_session.length = session.length
            level.session = board_session
            self._inner.append(inner)
        self.plan = self._plan(self._inner[-1].model.vocab_size)

    def _plan(self, vocabulary: int) -> Plan:
        lookaheads = [level.lookahead if level else 0 for level in self.levels[:-1]]
        return Plan(
            lookaheads=tuple(lookahead or 0 for lookahead in lookaheads),
            drafter=self.budget or 0 if self.drafter else 0,
            shaping=Shaping.of(self.sampling, vocabulary),
            rule=self.sampling.rule,
            details=self.details,
            observe=self.record.observe,
            warm=self.record.temperature is not None,
        )

    def now(self) -> int:
        return super().now() if self._time is None else self._time

    def prefill(self) -> Iterator[tuple[str, int, int]]:
        yield from super().prefill()
        self._open()

    def leave_full_levels(self) -> None:
        super().leave_full_levels()
        if self._is_open:
            self._set_levels()
            if self._next is not None:
                # It is a round of the levels before, which began at its limit and changes nothing.
                self._next.wait()
                self._next = None
            self._open()

    def round(self, i: int, room: int) -> Verification:
        if i == self.top:
            if self._next is None:
                self._send_numbers()
            if self.drafter is None:
                self._run_ahead()
        verified = super().round(i, room)
        if i == self.top:
            self._time = None
        return verified

    def draft(self, i: int, room: int) -> Draft:
        if i >= 0:
            self._base[i] = len(self.text)
        return super().draft(i, room)

    def drafted(self) -> SampledChain:
        """Return the draft of level 0 that comes next."""
        result = self._results.popleft()
        self._time = result.end
        line = result.line
        rows = None if self.sampling.greedy else np.empty((line.n, 0))
        return SampledChain(line.tokens, rows, self.plan.lookaheads[0])

    @torch.no_grad()
    def _verify_now(self, step: Step) -> Line:
        """Put a verification on the device, and wait for its line."""
        self.board.run(step)
        if step.level < self.top:
            self.board.send([0], self.board.state.marks, board.LINE)
        line = read_line(self.board.read(1)[0], step.places)
        self._used = line.used
        return line

    def verified(self, level: int, pending: int, draft: Draft) -> Line:
        """Return the line of the verification by ``level`` that comes next; with a drafter it is
        started now.
        """
        if self._results:
            result = self._results.popleft()
            self._time = result.end
            return result.line
        plan = self.plan
        by_host = plan.is_tree(level) or not len(draft)
        if by_host:
            # The draft is a drafter's, or there was no room for one.
            self._send_draft(level, draft)
        places = plan.places_for(level, len(draft))
        step = Step(
            level=level,
            width=pending + places,
            drafts=False,
            places=places,
            moves=by_host and not draft.tree.is_chain,
        )
        return self._verify_now(step)

    # --- inside -----------------------------------------------------------------------------------

    def _open(self) -> None:
        """Put what a decode starts from on the device."""
        sampling = self.sampling
        margin = 2 * self.plan.most(self.top - 1) + self.top + 2 if self.top else 2
        for session, level in zip(self._inner, filter(None, self.levels), strict=True):
            session.reserve(min(self.limit, level.positions or self.limit) + margin)
        models = [session.model for session in self._inner]
        caches = [session.cache for session in self._inner]
        self.board = board_for(self.plan, models, caches, len(self.eos))
        state = self.board.state
        send = self.board.send
        send(self.text, state.text)
        send(sorted(self.eos), state.eos)
        warm = self.record.temperature or 1.0
        send([sampling.temperature, sampling.top_p, sampling.min_p, warm], state.settings)
        if not sampling.greedy:
            places = range(len(self.text), self.limit)
            send([self.draws.at(place) for place in places], state.placed, len(self.text))
            unused = self._fresh[self._used :]
            self._fresh = unused + self._stream.fresh(steps.NUMBERS - len(unused))
            self._used = 0
            send(self._fresh, state.fresh)
        self._send_marks(len(self.text))
        self._is_open = True

    def _send_marks(self, end: int) -> None:
        values = {
            board.END: end,
            board.USED: self._used,
            board.LIMIT: self.reach,
            board.PROMPT: self._prompt,
            board.TOP_K: self.sampling.top_k,
        }
        for level in range(self.top):
            values[board.base_mark(self.plan, level)] = self._base[level]
        lengths = [level.session.length if level else 0 for level in self.levels]
        self.board.send(board.integers(self.plan, values, lengths), self.board.state.marks)

    def _send_draft(self, level: int, draft: Draft) -> None:
        """Put a drafter's draft behind the text, and the text's own end where only the host
        knows it.
        """
        end = len(self.text)
        tree = draft.tree
        n = len(tree)
        if n:
            self.board.send(tree.tokens, self.board.state.text, end)
            self.board.send(tree.parents, self.board.state.parents)
        if level:
            self._base[level - 1] = end
        self._send_marks(end + n)

    def _numbers(self, i: int, draft: Draft) -> Numbers | None:
        """The numbers are on the device."""
        return None

    def _draft_numbers(self, n: int) -> Numbers | None:
        """The numbers are on the device."""
        return None

    def _send_numbers(self) -> None:
        """Replace the numbers on the device when most of them are used."""
        used = self._used
        if used < steps.NUMBERS // 2:
            return
        self._fresh = self._fresh[used:] + self._stream.fresh(used)
        self.board.send(self._fresh, self.board.state.fresh)
        self.board.send([0], self.board.state.marks, board.USED)
        self._used = 0

    @torch.no_grad()
    def _run_ahead(self) -> None:
        """Put the steps of a round of the target on the device, and wait for their results."""
        current = self._next
        if current is None:
            self._clock.start()
            self._end = self._clock.started
            current = self._start(first=True)
        # The device works on the next round while this one is recorded.
        self._next = self._start(first=False) if self._may_start_next() else None
        lines = self._lines(current.started, current.wait())
        start = self._end
        for started, line in zip(current.started, lines, strict=True):
            if not line.due:
                continue
            if started.drafted is not None and line.n:
                end = self._clock.time_of(started.drafted)
                self._results.append(Result(line, end))
            self._end = self._clock.time_of(started.verified)
            self._results.append(Result(line, self._end))
        self._time = start

    def _start(self, first: bool) -> Ahead:
        """Start a round of the target: the ``first`` one after a wait, else one whose text the
        host does not know.
        """
        self._started = []
        self._is_first = first
        self._round_of(self.top, opens=self.top)
        return Ahead(self._started, self.board.fetch(len(self._started)))

    def _may_start_next(self) -> bool:
        """Return whether the round after the one under way can be started without its result.

        Where the text ends with the round under way, the steps of the next one change nothing. A
        middle level needs verdicts, and the numbers on the device must suffice for both rounds.
        """
        if not works_beside(self.board.device) or self.top > 1:
            return False
        at_most = 2 * self.plan.places(self.top) + 1
        return self._used + 2 * at_most < steps.NUMBERS // 2

    def _round_of(self, level: int, opens: int) -> None:
        """Start a round of ``level``; the drafts of so many of the lowest levels begin with it."""
        drafted = None
        places = self.plan.places(level)
        if level > 0 and self._room(level - 1) > 0:
            self._draft_of(level - 1, opens)
            opens = 0
            if level == 1:
                drafted = self._clock.mark()
        step = Step(
            level=level,
            width=self._pending(level) + places,
            drafts=False,
            opens=opens,
            places=places,
        )
        self.board.run(step)
        self._started.append(Started(level, drafted, self._clock.mark()))

    def _room(self, level: int) -> int:
        """Return how many tokens ``level`` may propose at most in this round of the target."""
        return self.reach - (self.top - level) - len(self.text)

    def _draft_of(self, level: int, opens: int) -> None:
        """Start the draft of ``level`` for the next one."""
        wanted = min(self.plan.lookaheads[level], self._room(level))
        if level == 0:
            for k in range(wanted):
                width = self._pending(0) if k == 0 else 1
                self.board.run(Step(0, width, drafts=True, opens=0 if k else opens))
            return
        first = len(self._started)
        gain = self.plan.places(level) + 1
        rounds = 0
        # A round that is due brings a token at least and ``gain`` at most.
        while rounds < wanted:
            may_be_enough = rounds * gain >= wanted
            if may_be_enough and not self._wants_more(level, first):
                break
            self._round_of(level, level if rounds else opens)
            rounds += 1

    def _pending(self, level: int) -> int:
        """Return the most tokens that a level may have to catch up with: those that it has not read
        of its own and the upper levels' tokens.
        """
        usual = self.top - level + 1
        if not self._is_first:
            return usual
        return max(usual, len(self.text) - self._model(level).session.length)

    def _wants_more(self, level: int, first: int) -> bool:
        """Wait for the verdicts so far, and return whether the draft of ``level`` that began with
        the verification ``first`` of this round of the target is to become longer.
        """
        lines = self._wait()
        own: list[Line] = []
        for started, line in zip(self._started[first:], lines[first:], strict=True):
            if started.level == level:
                own.append(line)
        last = own[-1]
        if not last.due:
            return False
        tokens = last.emitted(self.eos)
        base = own[0].at
        room = self.reach - (self.top - level) - base
        held = last.at + len(tokens) - base
        return held < min(self.plan.lookaheads[level], room) and tokens[-1] not in self.eos

    def _wait(self) -> list[Line]:
        """Wait for the lines of the verifications that were started."""
        return self._lines(self._started, self.board.read(len(self._started)))

    def _lines(self, started: Sequence[Started], numbers: np.ndarray) -> list[Line]:
        """Return the lines of the report of these verifications."""
        lines = []
        for verification, row in zip(started, numbers, strict=True):
            lines.append(read_line(row, self.plan.places(verification.level)))
        self._used = lines[-1].used
        return lines


def can_decode(models: Sequence[Model], rule: str) -> bool:
    """Return whether :class:`DeviceDecode` can decode with these models by this rule."""
    if rule not in RULES or not all(isinstance(model, CompiledModel) for model in models):
        return False
    compiled: list[CompiledModel] = list(models)  # type: ignore[arg-type]
    devices = {model.device for model in compiled}
    vocabularies = {model.vocab_size for model in compiled}
    return len(devices) == 1 and len(vocabularies) == 1
