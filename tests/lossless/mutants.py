"""The mistakes that break losslessness, one class each: every test of losslessness must catch
those it is run with.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.sampling import distribution, draw
from hsd_viz.drafting.tree import DraftTree


class MiddleSamplesItsRow(Loop):
    """Rule 1: on rejection a middle level draws from p instead of the residual."""

    def verify(self, i, draft):
        verified = super().verify(i, draft)
        if i < self.levels.top and draft.rows is not None and verified.outcome == "correction":
            verified.tokens[-1] = draw(
                verified.verdict.rows[verified.verdict.row], self.draws.fresh(1)[0]
            )
        return verified


class ResidualProposed(Loop):
    """Rule 2: the residual is proposed as the row of a corrected token."""

    def verify(self, i, draft):
        verified = super().verify(i, draft)
        if i < self.levels.top and draft.rows is not None and verified.outcome == "correction":
            rows = verified.verdict.rows.copy()
            row = verified.verdict.row
            left = np.maximum(rows[row] - draft.rows[row], 0)
            rows[row] = left / left.sum() if left.sum() else rows[row]
            verified.verdict.rows = rows
        return verified


class DraftersRowProposed(Loop):
    """Rule 3: accepted tokens are proposed with the drafter's rows."""

    def verify(self, i, draft):
        verified = super().verify(i, draft)
        if i < self.levels.top and draft.rows is not None:
            n = len(verified.accepted)
            verified.verdict.rows = np.concatenate([draft.rows[:n], verified.verdict.rows[n:]])
        return verified


class UnlikelyTokenDropped(Loop):
    """Rule 4: a token is dropped after it was seen."""

    def draft(self, i, room):
        out = super().draft(i, room)
        if i == 0 and len(out) > 1 and out.rows[-1, out.tree.tokens[-1]] < 0.25:
            n = len(out) - 1
            out = Draft(out.tree.within(n), out.paths[:n], out.rows[:n])
        return out


class StopsAfterUnlikelyToken(Loop):
    """The lossless cousin of the mutant above: stop early, but keep the token."""

    def draft(self, i, room):
        out = super().draft(i, room)
        if i == 0:
            for n in range(1, len(out)):
                if out.rows[n - 1, out.tree.tokens[n - 1]] < 0.25:
                    self.levels[0].session.truncate(len(self.text) + n - 1)
                    return Draft(out.tree.within(n), out.paths[:n], out.rows[:n])
        return out


class RowBeforeTemperature(Loop):
    """Rule 5: q is taken before temperature, top-k and top-p."""

    def sample(self, i, n):
        out = super().sample(i, n)
        before = [self.text[-1], *out.tree.tokens[:-1]]
        scores = self.levels[i].session.logits[before]
        out.rows = distribution(
            scores, replace(self.sampling, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
        )
        return out


class SoftmaxOfArgMax(Loop):
    """Rule 6: the draft is the arg-max, its q the softmax."""

    def sample(self, i, n):
        session = self.levels[i].session
        tokens = []
        rows = []
        for _ in range(n):
            row = session.forward(tokens[-1:] or self.text[session.length :], 1)[0]
            rows.append(distribution(row, self.sampling))
            tokens.append(int(row.argmax()))
        return Draft(DraftTree.chain(tokens, "m0"), [(i,)] * n, np.stack(rows))


class OneNumberForAllPlaces(Loop):
    """All places of a draft are judged with one random number."""

    def numbers_to_verify(self, i, draft):
        numbers = super().numbers_to_verify(i, draft)
        return numbers._replace(u=list(numbers.u[:1]) * len(numbers.u))


class OneNumberForADraft(Loop):
    """All tokens of a draft are drawn with one random number."""

    def sample(self, i, n):
        fresh = self.draws.fresh

        def one_number(n):
            return fresh(1) * n

        self.draws.fresh = one_number
        try:
            return super().sample(i, n)
        finally:
            self.draws.fresh = fresh


class EachSiblingTriedAlone(Loop):
    """The tree rule's mistake: each child is accepted with its own probability, nothing is
    renormalized after a rejection.
    """

    def verify(self, i, draft):
        verified = super().verify(i, draft)
        tree = draft.tree
        scores = self.levels[i].session.logits[[self.text[-1], *tree.tokens]]
        p = distribution(scores, self.sampling)
        path = []
        place = -1
        while True:
            children = [node for node, parent in enumerate(tree.parents) if parent == place]
            row = p[place + 1]
            hit = next(
                (node for node in children if self.draws.fresh(1)[0] < row[tree.tokens[node]]), None
            )
            if hit is None:
                break
            place = hit
            path.append(hit)
        verified.accepted = path
        verified.tokens = [*(tree.tokens[n] for n in path), draw(row, self.draws.fresh(1)[0])]
        session = self.levels[i].session
        session.truncate(len(self.text))
        if path:
            session.feed(verified.tokens[:-1])
        return verified


# --- stopping by confidence: each looks at a token that it then does not propose ------------------


def shortened(draft: Draft, n: int) -> Draft:
    """The first n tokens of a chain."""
    rows = None if draft.rows is None else draft.rows[:n]
    return Draft(draft.tree.within(n), draft.paths[:n], rows, draft.end)


def reaches(draft: Draft) -> list[float]:
    """The probability of each prefix of a sampled chain by its own rows."""
    chances = [float(row[t]) for row, t in zip(draft.rows, draft.tree.tokens, strict=True)]
    return np.cumprod(chances).tolist()


class UnsureTokenDropped(Loop):
    """The token with which the draft of the lowest model becomes unsure is left out."""

    def sample(self, i, n):
        out = super().sample(i, n)
        unsure = len(out) > 1 and reaches(out)[-1] < self.levels[i].confidence
        return shortened(out, len(out) - 1) if unsure else out


class UnsureTokenOfAMiddleLevelDropped(Loop):
    """The same in a level that verifies."""

    def draft(self, i, room):
        out = super().draft(i, room)
        if i == 0 or len(out) < 2 or reaches(out)[-1] >= self.levels[i].confidence:
            return out
        return shortened(out, len(out) - 1)


class CutAfterItsSurestToken(Loop):
    """A draft is cut where the token by which it would be longest and surest stands: later
    tokens decide.
    """

    def sample(self, i, n):
        out = super().sample(i, n)
        values = [(k + 1) * reach for k, reach in enumerate(reaches(out))]
        return shortened(out, 1 + int(np.argmax(values)))


class UnsureDraftHalved(Loop):
    """The probability of the whole draft decides how much of it is proposed."""

    def sample(self, i, n):
        out = super().sample(i, n)
        unsure = len(out) > 1 and reaches(out)[-1] < self.levels[i].confidence
        return shortened(out, len(out) // 2) if unsure else out


class SurerOfTwoDrafts(Loop):
    """Two drafts are drawn, and the surer one is proposed with the rows that it was drawn from."""

    def sample(self, i, n):
        session = self.levels[i].session
        length = session.length
        first = super().sample(i, n)
        session.truncate(length)
        other = super().sample(i, n)
        return max(first, other, key=lambda draft: reaches(draft)[-1])


class CutInsideARound(Loop):
    """The lossless cousin: a middle level's draft is cut after the token with which it became
    unsure, and later tokens of the same round, which had no say in it, are left out.
    """

    def draft(self, i, room):
        out = super().draft(i, room)
        if i <= 0 or not len(out):
            return out
        unsure = [k for k, reach in enumerate(reaches(out)) if reach < self.levels[i].confidence]
        return shortened(out, unsure[0] + 1) if unsure else out
