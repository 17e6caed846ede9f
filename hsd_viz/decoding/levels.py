"""A level of the stack, and the result of one verification by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from hsd_viz.decoding.rejection_sampling import Draft, Verdict
from hsd_viz.decoding.session import DraftSession, VerifySession


@dataclass(slots=True)
class Level:
    """A model in the stack.

    Attributes:
        name: its name in the record.
        session: the model reading the text.
        lookahead: it proposes at least so many tokens at a time; ``None`` at the target.
        confidence: it proposes no further token once the probability of those that it holds, by its
            own rows, is below this number. A row is the one that its token was sampled from, with
            greedy decoding the one at temperature 1.
        positions: the tokens of text that a draft model can read; ``None``: any number.
    """

    name: str
    session: DraftSession
    lookahead: int | None = None
    confidence: float = 0.0
    positions: int | None = None

    @property
    def verifier(self) -> VerifySession:
        """Its session, at a level that verifies the drafts of another: the engine puts sessions
        that only draft below.
        """
        # Not checked by its class: what wraps a session passes its methods on.
        return cast("VerifySession", self.session)


@dataclass(slots=True)
class Verification:
    """One verification by a level.

    Attributes:
        level: its place in the stack.
        name: its name in the record.
        draft: what was verified.
        verdict: the result.
        accepted: the verdict's nodes up to an end token.
        outcome: ``correction``, ``bonus``, ``plain``, or ``stopped`` at an end token.
        tokens: what it emits: the tokens of ``accepted``, then its own, unless it stopped.
        pending: tokens of the text that were fed before the draft.
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
        """The probability of its tokens by the level's own rows; with greedy decoding by those at
        temperature 1.
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
        """The tokens as a draft for the next level: a chain, with the level's full rows."""
        tree = self.draft.tree.path(self.accepted)
        paths = [[*self.draft.paths[node], self.level] for node in self.accepted]
        if self.outcome != "stopped":
            tree.add(self.tokens[-1], len(paths) - 1, self.name)
            paths.append([self.level])
        rows = self.verdict.rows
        return Draft(tree, paths, None if rows is None else rows[: len(self.tokens)])
