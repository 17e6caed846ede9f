"""Start whole rounds of the target on the device in advance, for stacks without a drafter.

The number of rounds that a middle level needs depends on its verdicts. The rounds that it needs in
any case are started without waiting; each further round is started after waiting for the results so
far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hsd_viz.decoding.loop import Loop
from hsd_viz.torch_models import steps
from hsd_viz.torch_models.clock import Clock, works_beside
from hsd_viz.torch_models.feed import Feed
from hsd_viz.torch_models.read_verdicts import VerdictLine, read_line
from hsd_viz.torch_models.steps import DeviceStep


@dataclass(slots=True)
class PendingVerification:
    """A verification that was started on the device.

    Attributes:
        level: the level that verifies.
        drafted: the time mark of the end of level 0's draft for it; ``None`` if there was none.
        verified: the time mark of the end of the verification.
    """

    level: int
    drafted: Any
    verified: Any


@dataclass(slots=True)
class Ahead:
    """A round of the target that was started on the device.

    Attributes:
        started: the verifications of the round.
        wait: a function that waits for their lines of the report.
    """

    started: list[PendingVerification]
    wait: Callable[[], np.ndarray]


@dataclass(slots=True)
class StepResult:
    """The result of a step, or of the steps of a draft.

    Attributes:
        line: the report of the verification; for a draft, that of its verification.
        end: the time at which the step ended, in the time of the decode.
    """

    line: VerdictLine
    end: int


class RoundsAhead:
    """Start rounds of the target on the device, and wait for their results.

    On an asynchronous device, the next round is started before that wait.
    """

    def __init__(self, loop: Loop, feed: Feed, device: torch.device) -> None:
        self._loop = loop
        self._feed = feed
        self._clock = Clock(device, loop.elapsed)
        #: The verifications of the target round that was started last.
        self._started: list[PendingVerification] = []
        self._is_first = True
        #: The round that was started before the result of the previous one was known.
        self._next: Ahead | None = None
        #: The time at which the last round ended on the device.
        self._end = 0

    @property
    def has_next(self) -> bool:
        """Whether the next round was already started."""
        return self._next is not None

    def drop_next(self) -> None:
        """Wait for the next round, if it was started, and discard it."""
        if self._next is not None:
            self._next.wait()
            self._next = None

    @torch.no_grad()
    def run(self) -> tuple[int, list[StepResult]]:
        """Run a round of the target.

        Returns:
            The time at which the round began on the device, and the results of level 0's drafts and
            of the verifications, in order.
        """
        current = self._next
        if current is None:
            self._clock.start()
            self._end = self._clock.started
            current = self._start(first=True)
        # The device runs the next round while the host records this one.
        self._next = self._start(first=False) if self._may_start_next() else None
        lines = self._lines(current.started, current.wait())
        start = self._end
        results: list[StepResult] = []
        for started, line in zip(current.started, lines, strict=True):
            if not line.due:
                continue
            if started.drafted is not None and line.n:
                results.append(StepResult(line, self._clock.time_of(started.drafted)))
            self._end = self._clock.time_of(started.verified)
            results.append(StepResult(line, self._end))
        return start, results

    # --- internals --------------------------------------------------------------------------------

    def _start(self, first: bool) -> Ahead:
        """Start a round of the target.

        The host knows the preceding text only for the ``first`` round after a wait.
        """
        self._started = []
        self._is_first = first
        top = self._loop.levels.top
        self._round_of(top, opens=top)
        return Ahead(self._started, self._feed.board.fetch(len(self._started)))

    def _may_start_next(self) -> bool:
        """Return whether the next round can be started without the result of the current one.

        If the text ends with the current round, the steps of the next one change nothing. A middle
        level needs verdicts, and the random numbers on the device must suffice for both rounds.
        """
        top = self._loop.levels.top
        if not works_beside(self._feed.board.device) or top > 1:
            return False
        at_most = 2 * self._feed.plan.places(top) + 1
        return self._feed.used + 2 * at_most < steps.NUMBERS // 2

    def _round_of(self, level: int, opens: int) -> None:
        """Start a round of ``level``, which begins the drafts of the ``opens`` lowest levels."""
        drafted = None
        places = self._feed.plan.places(level)
        if level > 0 and self._room(level - 1) > 0:
            self._draft_of(level - 1, opens)
            opens = 0
            if level == 1:
                drafted = self._clock.mark()
        step = DeviceStep(
            level=level,
            width=self._pending(level) + places,
            drafts=False,
            opens=opens,
            places=places,
        )
        self._feed.board.run(step)
        self._started.append(PendingVerification(level, drafted, self._clock.mark()))

    def _room(self, level: int) -> int:
        """Return the largest number of tokens that ``level`` may propose in this target round."""
        loop = self._loop
        return loop.levels.reach - (loop.levels.top - level) - len(loop.text)

    def _draft_of(self, level: int, opens: int) -> None:
        """Start the draft of ``level`` for the level above."""
        plan = self._feed.plan
        wanted = min(plan.lookaheads[level], self._room(level))
        if level == 0:
            for k in range(wanted):
                width = self._pending(0) if k == 0 else 1
                self._feed.board.run(DeviceStep(0, width, drafts=True, opens=0 if k else opens))
            return
        first = len(self._started)
        gain = plan.places(level) + 1
        rounds = 0
        # A round that is due adds at least one token and at most ``gain`` tokens.
        while rounds < wanted:
            may_be_enough = rounds * gain >= wanted
            if may_be_enough and not self._wants_more(level, first):
                break
            self._round_of(level, level if rounds else opens)
            rounds += 1

    def _pending(self, level: int) -> int:
        """Return the largest number of uncached tokens of a level: its own and those of the levels
        above that it has not read.
        """
        loop = self._loop
        usual = loop.levels.top - level + 1
        if not self._is_first:
            return usual
        return max(usual, len(loop.text) - loop.levels[level].session.length)

    def _wants_more(self, level: int, first: int) -> bool:
        """Wait for the verdicts so far, and return whether a draft of ``level`` needs more tokens.

        ``first`` is the index of the verification in this target round with which the draft began.
        """
        loop = self._loop
        lines = self._wait()
        level_lines: list[VerdictLine] = []
        for started, line in zip(self._started[first:], lines[first:], strict=True):
            if started.level == level:
                level_lines.append(line)
        last = level_lines[-1]
        if not last.due:
            return False
        tokens = last.emitted(loop.eos)
        base = level_lines[0].at
        room = loop.levels.reach - (loop.levels.top - level) - base
        held = last.at + len(tokens) - base
        wanted = min(self._feed.plan.lookaheads[level], room)
        return held < wanted and tokens[-1] not in loop.eos

    def _wait(self) -> list[VerdictLine]:
        """Wait for the lines of the verifications started so far."""
        return self._lines(self._started, self._feed.board.read(len(self._started)))

    def _lines(
        self, started: Sequence[PendingVerification], numbers: np.ndarray
    ) -> list[VerdictLine]:
        """Parse the lines of verifications from the report."""
        lines = []
        for verification, row in zip(started, numbers, strict=True):
            lines.append(read_line(row, self._feed.plan.places(verification.level)))
        self._feed.used = lines[-1].used
        return lines
