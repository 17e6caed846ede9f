"""Write the inputs of a decode to the device: text, marks, drafts and random numbers."""

from __future__ import annotations

from collections.abc import Sequence

from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.sampling import Draws
from hsd_viz.torch_models import layout, steps
from hsd_viz.torch_models.compiled import CompiledSession
from hsd_viz.torch_models.layout import StackPlan
from hsd_viz.torch_models.steps import Board, board_for


class Feed:
    """The host's side of the board of a decode.

    Args:
        loop: the decode.

    Attributes:
        board: the device's side, set by :meth:`open`.
        plan: the shape of the stack.
        used: the number of single-use random numbers that the device has used.
        base: the start of each level's current draft.
    """

    board: Board
    plan: StackPlan
    base: list[int]

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._prompt = len(loop.text)
        self.used = 0
        self._stream = Draws(loop.sampling.seed)
        #: The single-use random numbers on the device.
        self._fresh: list[float] = []

    def open(self, plan: StackPlan, sessions: Sequence[CompiledSession]) -> None:
        """Write the initial state to the device, at the start and whenever the stack changes.

        Args:
            plan: the shape of the stack.
            sessions: the sessions of the models, the target's last.
        """
        loop = self._loop
        self.plan = plan
        top = loop.levels.top
        self.base = [len(loop.text)] * (top + 1)
        margin = 2 * plan.most(top - 1) + top + 2 if top else 2
        for session, level in zip(sessions, loop.levels.models, strict=True):
            session.reserve(min(loop.limit, level.positions or loop.limit) + margin)
        models = [session.model for session in sessions]
        caches = [session.cache for session in sessions]
        self.board = board_for(plan, models, caches, len(loop.eos))
        state = self.board.state
        sampling = loop.sampling
        self.board.send(loop.text, state.text)
        self.board.send(sorted(loop.eos), state.eos)
        warm = loop.record.temperature or 1.0
        settings = [sampling.temperature, sampling.top_p, sampling.min_p, warm]
        self.board.send(settings, state.settings)
        if not sampling.greedy:
            places = range(len(loop.text), loop.limit)
            self.board.send([loop.draws.at(place) for place in places], state.placed, places.start)
            unused = self._fresh[self.used :]
            self._fresh = unused + self._stream.fresh(steps.NUMBERS - len(unused))
            self.used = 0
            self.board.send(self._fresh, state.fresh)
        self.send_marks(len(loop.text))

    def send_marks(self, end: int) -> None:
        """Write the integers of the decode, with ``end`` as the end of the text."""
        loop = self._loop
        values = {
            layout.END: end,
            layout.USED: self.used,
            layout.LIMIT: loop.levels.reach,
            layout.PROMPT: self._prompt,
            layout.TOP_K: loop.sampling.top_k,
        }
        for level in range(loop.levels.top):
            values[layout.base_mark(self.plan, level)] = self.base[level]
        lengths = [0] * loop.levels.first_model
        lengths += [level.session.length for level in loop.levels.models]
        self.board.send(layout.integers(self.plan, values, lengths), self.board.state.marks)

    def send_draft(self, level: int, draft: Draft) -> None:
        """Write a drafter's draft for ``level`` after the text.

        The marks are written too, because only the host knows the end of the text.
        """
        end = len(self._loop.text)
        tree = draft.tree
        n = len(tree)
        if n:
            self.board.send(tree.tokens, self.board.state.text, end)
            self.board.send(tree.parents, self.board.state.parents)
        if level:
            self.base[level - 1] = end
        self.send_marks(end + n)

    def replace_numbers(self) -> None:
        """Replace the used random numbers on the device, once half of them are used."""
        used = self.used
        if used < steps.NUMBERS // 2:
            return
        self._fresh = self._fresh[used:] + self._stream.fresh(used)
        self.board.send(self._fresh, self.board.state.fresh)
        self.board.send([0], self.board.state.marks, layout.USED)
        self.used = 0
