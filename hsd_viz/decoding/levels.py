"""The levels of a stack, and the result of a verification by a level."""

from __future__ import annotations

from dataclasses import dataclass

from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.session import DraftSession, VerifySession
from hsd_viz.decoding.verdict import Verdict


@dataclass(slots=True)
class Level:
    """A model in the stack.

    Attributes:
        name: the name of the level in the trace.
        session: the session of the model that reads the text.
        lookahead: the least number of tokens in a proposal; ``None`` for the target.
        confidence: the probability at which the level stops drafting. It adds no token to a
            proposal whose joint probability, by the level's own rows, is below this number. Each
            row is the one that its token was sampled from; with greedy decoding, the row at
            temperature 1.
        positions: the context length of a draft model in tokens; ``None`` means unlimited.
    """

    name: str
    session: DraftSession
    lookahead: int | None = None
    confidence: float = 0.0
    positions: int | None = None

    @property
    def verifier(self) -> VerifySession:
        """The session, at a level that verifies drafts of the level below.

        Raises:
            TypeError: if the session can only draft, which the engine puts at the lowest level.
        """
        if not isinstance(self.session, VerifySession):
            raise TypeError(f"the session of {self.name} drafts only: put it at the lowest level")
        return self.session


@dataclass(slots=True)
class LevelRound:
    """One verification by a level.

    Attributes:
        level: the index of the level in the stack.
        name: the name of the level in the trace.
        draft: the draft that was verified.
        verdict: the decision about the draft.
        accepted: the accepted nodes, up to the first end token.
        outcome: ``correction``, ``bonus``, ``plain``, or ``stopped`` at an end token.
        tokens: the emitted tokens: those of ``accepted``, then the level's own token unless the
            outcome is ``stopped``.
        pending: the number of tokens of the text that were fed together with the draft.
    """

    level: int
    name: str
    draft: Draft
    verdict: Verdict
    accepted: list[int]
    outcome: str
    tokens: list[int]
    pending: int

    @property
    def chance(self) -> float:
        """The joint probability of ``tokens`` by the level's own rows; with greedy decoding, by
        its rows at temperature 1.
        """
        verdict = self.verdict
        product = 1.0
        for place, token in enumerate(self.tokens):
            if verdict.rows is not None:
                product *= float(verdict.rows[place][token])
            else:
                assert verdict.details is not None
                product *= verdict.details[place][0]
        return product

    @property
    def proposal(self) -> Draft:
        """The emitted tokens as a draft for the level above: a chain, with full rows."""
        tree = self.draft.tree.path(self.accepted)
        paths = [[*self.draft.paths[node], self.level] for node in self.accepted]
        if self.outcome != "stopped":
            tree.add(self.tokens[-1], len(paths) - 1, self.name)
            paths.append([self.level])
        rows = self.verdict.rows
        return Draft(tree, paths, None if rows is None else rows[: len(self.tokens)])
