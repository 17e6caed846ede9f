"""The project's own loop as a decoder for the exact audit, with any stack over toy models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import DEFAULT_RULE, Sampling
from hsd_viz.decoding.session import DraftSession, Session
from hsd_viz.drafting import make_drafter
from hsd_viz.errors import UserError
from hsd_viz.measure.audit.enumeration import Chance, EnumeratedChoices
from hsd_viz.measure.audit.exact import Decoder, ExactAudit, Task, exact
from hsd_viz.measure.audit.options import TOLERANCE
from hsd_viz.stack import Stack, parse


class ToySession(Session):
    """A toy model with the interface of the loop (:class:`~hsd_viz.decoding.session.Session`)."""

    def __init__(self, logits: np.ndarray) -> None:
        self._logits = logits
        self._cached: list[int] = []

    @property
    def length(self) -> int:  # type: ignore[override]  # sessions count in an attribute
        return len(self._cached)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        """Return the logits after each of the last ``rows`` tokens; ``parents`` arranges the tokens
        in a tree.
        """
        base = len(self._cached)
        first = len(tokens) - rows
        self._cached += tokens
        before = range(-1, len(tokens) - 1) if parents is None else parents
        return self._logits[
            [self._cached[max(0, base + k)] for k in before[first:]], list(tokens[first:])
        ]

    def truncate(self, length: int) -> None:
        del self._cached[length:]

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        self._cached[base:] = [self._cached[base + node] for node in nodes]


class EnumeratedDraws:
    """:class:`~hsd_viz.decoding.sampling.Draws` whose numbers are decided by enumeration."""

    def __init__(self, choices: EnumeratedChoices) -> None:
        self._choices = choices
        self._at: dict[int, Chance] = {}

    def at(self, position: int) -> Chance:
        return self._at.setdefault(position, self._choices.random())

    def fresh(self, n: int) -> list[Chance]:
        return self._choices.random(n)


@dataclass(frozen=True, slots=True)
class AuditedStack:
    """A stack to audit.

    Attributes:
        stack: the stack.
        decoder: the loop of the stack over toy models.
    """

    stack: Stack
    decoder: Decoder

    @classmethod
    def of(cls, stack: str | Stack, rule: str = DEFAULT_RULE) -> AuditedStack:
        """Return the stack with its loop; ``rule`` is the verification rule.

        Raises:
            UserError: if the stack is invalid, or selected by costs.
        """
        parsed = parse(stack)
        return cls(parsed, loop_decoder(parsed, rule))

    def audit(self, tolerance: float = TOLERANCE) -> ExactAudit:
        """Enumerate the loop. Probabilities that differ by less than the tolerance count as equal.

        Raises:
            UserError: if there are too many outcomes.
        """
        return exact(self.decoder, models=len(self.stack.models), tolerance=tolerance)


def loop_decoder(
    stack: Stack,
    rule: str = DEFAULT_RULE,
    cls: type[Loop] = Loop,
    lowest: Callable[[], DraftSession] | None = None,
) -> Decoder:
    """Return the loop of ``stack`` over a task's toy models, which replace the stack's models in
    order; ``lowest`` makes another model in place of the first. Databases and baselines are the
    real ones; they begin with an empty memory. ``rule`` is the verification rule.
    """
    parsed = stack.resolved()
    if parsed.automatic or any(model.lookahead == "auto" for model in parsed.drafts):
        raise UserError(
            f"'{stack}' is chosen by costs, which toy models do not have: write it without auto"
        )

    def decode(task: Task) -> list[int]:
        names = [m.name for m in parsed.models]
        sessions: list[DraftSession] = [ToySession(table) for table in task.logits[-len(names) :]]
        if lowest is not None:
            sessions[0] = lowest()
        levels = []
        for name, session, model in zip(names, sessions, parsed.models, strict=True):
            assert model.lookahead != "auto"
            levels.append(Level(name, session, model.lookahead, model.confidence or 0.0))
        drafter = None
        if parsed.bottom is not None:
            drafter = make_drafter(parsed.bottom, eos=task.eos, costs=None)
        sampling = Sampling(temperature=task.temperature, rule=rule)
        loop = cls(
            LoopInputs(
                levels, drafter, sampling, task.prompt, max_new_tokens=task.new_tokens, eos=task.eos
            )
        )
        # These draws can be compared like numbers, and each comparison is a branch.
        draws: Any = EnumeratedDraws(task.random)
        loop.draws = draws
        for _ in loop.prefill():
            pass
        for _ in loop.rounds():
            pass
        return loop.text[len(task.prompt) :]

    return decode
