"""From what the loop did to the rows of a trace, made when somebody first looks at them.

Between two forwards, which sweep the weights through the processor's caches, Python takes several times as long as in a loop of its
own. So a round only notes what its rows consist of. They are made later, many at a time, and by whoever wants to see them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import repeat
from threading import Lock
from typing import NamedTuple

from hsd_viz.decoding.details import describe, details, likeliest
from hsd_viz.decoding.log import VerifiedDraft
from hsd_viz.decoding.loop import Loop, Verified
from hsd_viz.decoding.sampling import distribution
from hsd_viz.decoding.text import TokenText
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace import CallRow, RoundRow, Step, TokenRow
from hsd_viz.trace.records import Top


class Noted(NamedTuple):
    """What the rows of one target round are made of.

    ``tree`` and ``paths`` are the draft's, where any of its nodes was ``accepted``; ``numbers`` are
    :func:`~hsd_viz.decoding.details.describe`'s, where recorded.
    """

    level: int
    tokens: list[int]
    accepted: list[int]
    outcome: str
    tree: DraftTree | None
    paths: list[tuple[int, ...]] | None
    numbers: list[float] | None
    correction: tuple[Top | None, Top | None, float | None]
    judged: list[VerifiedDraft]
    rounds: list[RoundRow]
    calls: list[CallRow]


class NotedStep(Step):
    """A step whose rows are made when one of them is first asked for."""

    __slots__ = ("noted", "recorder")

    def __getattr__(self, name: str):
        if name not in Step.__slots__:
            raise AttributeError(f"a step has no {name}")
        self.recorder.make_rows()
        return object.__getattribute__(self, name)


# A step is frozen for everybody else.
_new, _note, _by = object.__new__, NotedStep.noted.__set__, NotedStep.recorder.__set__


class Recorder:
    """Makes the steps of one decode. With ``detailed`` tokens have probabilities, entropies and top-5 lists."""

    def __init__(self, text: TokenText, detailed: bool) -> None:
        self._text = text
        self._detailed = detailed
        self._named: set[int] = set()
        self._index = 0
        self._waiting: deque[NotedStep] = deque()
        # Steps may be looked at in another thread than the one that decodes.
        self._lock = Lock()

    def step(self, loop: Loop, verified: Verified) -> Step:
        """The step of the round that ``verified`` ended. The logits, which the next forward may overwrite, are looked at now."""
        numbers, correction, tree, paths = None, (None, None, None), None, None
        if self._detailed:
            numbers = describe(verified.logits, verified.rows, verified.tokens, loop.levels[-1].model)
            if verified.outcome == "correction" and not loop.greedy:
                correction = _correction(loop, verified)
        if verified.accepted:
            tree, paths = verified.draft.tree, verified.draft.paths
        step = _new(NotedStep)
        happened = verified.level, verified.tokens, verified.accepted, verified.outcome
        _note(step, (*happened, tree, paths, numbers, correction, *loop.log.take()))
        _by(step, self)
        self._waiting.append(step)
        return step

    def make_rows(self) -> None:
        """Make the rows of all steps that wait for theirs, in order: each names the tokens that none before it named."""
        with self._lock:
            while self._waiting:
                step = self._waiting[0]
                noted = Noted(*step.noted)
                tokens = self._token_rows(noted)
                drafts = [row for judged in noted.judged for row in judged.rows(self._piece)]
                ids = {token for judged in noted.judged for token in judged.tree.tokens}
                ids.update(noted.tokens)
                for row in tokens:
                    for top in (row.top, row.residual_top, row.q_top):
                        if top:
                            ids.update([token for token, _ in top])
                Step.__init__(step, tokens, drafts, noted.rounds, noted.calls, self.new_pieces(ids))
                self._waiting.popleft()
                _note(step, None)

    def new_pieces(self, ids: Iterable[int]) -> dict[int, str]:
        """The text of each of these tokens that was not given before."""
        fresh = set(ids).difference(self._named)
        self._named |= fresh
        return self._text.pieces(sorted(fresh))

    def _piece(self, token: int) -> str:
        return self._text.piece(token)[0]

    def _token_rows(self, noted: Noted) -> list[TokenRow]:
        """The tokens that one verification of the target emitted."""
        count, tree = len(noted.tokens), noted.tree
        rows: list[TokenRow] = []
        described = details(noted.numbers, count) if noted.numbers else repeat((None, None, None), count)
        for k, (token, (p, entropy, best)) in enumerate(zip(noted.tokens, described, strict=True)):
            residual = q = left = None
            if k < len(noted.accepted):
                node, kind = noted.accepted[k], "accepted"
                source, path, depth = tree.sources[node], (*noted.paths[node], noted.level), tree.depths()[node]
            else:
                kind, source, path, depth = noted.outcome, "target", (noted.level,), 0
                residual, q, left = noted.correction
            piece, raw = self._text.piece(token)
            rows.append(
                TokenRow(
                    self._index,
                    token,
                    piece,
                    raw,
                    noted.rounds[-1].id,
                    kind,
                    source,
                    path,
                    depth,
                    p,
                    entropy,
                    best,
                    residual,
                    q,
                    left,
                )
            )
            self._index += 1
        return rows


def _correction(loop: Loop, verified: Verified) -> tuple[Top, Top | None, float]:
    """The likeliest tokens of what a correction was drawn from, those of the draft's q there, and what the first summed to unscaled."""
    draft, row = verified.draft, verified.verdict.row
    if draft.rows is not None:
        residual, left = likeliest(verified.verdict.residual)
        return residual, likeliest(draft.rows[row])[0], left
    left = distribution(verified.logits[row : row + 1], loop.sampling)[0]
    # The target drew its own token and it was none of the drafted ones: that is p without them.
    left[[t for t, parent in zip(draft.tree.tokens, draft.tree.parents, strict=True) if parent == row - 1]] = 0
    residual, whole = likeliest(left)
    return residual, None, whole
