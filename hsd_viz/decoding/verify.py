"""The verification rules, in numpy: the reference for all backends. All give tokens distributed exactly as the
verifier's own.

* :func:`walk`, for **point-mass** drafts (from a database or a baseline, or any draft under greedy decoding): at each
  place the verifier draws its own token y; while y is among the drafted continuations the walk continues, else y is the
  correction. This is exact, because every token is the verifier's own draw.
* :func:`verify_chain`, for tokens **sampled from rows q**: accepted one by one while u * q(d) < p(d); after a rejection
  the correction is drawn from the residual (p - q)+, after full acceptance a bonus from p (Leviathan et al. 2023, Chen
  et al. 2023).
* :func:`verify_block`, for the same drafts, judged as a whole: never accepts less in expectation (Sun et al. 2024,
  arXiv 2403.10444, Algorithm 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hsd_viz.decoding.sampling import distribution, draw
from hsd_viz.decoding.settings import Sampling
from hsd_viz.drafting.tree import DraftTree

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(slots=True)
class Verdict:
    """The result of one verification: the ``accepted`` nodes in order, then the verifier's own ``token``, drawn from
    ``row`` (0: after the text, 1 + i: after node i).

    ``examined`` counts the places that had draft tokens to compare with. ``p``, ``q``, ``u`` are per node, ``None``
    where not examined. ``residual`` is the unnormalised row of a chain's correction, ``tokens`` a sampled chain's
    tokens, in case only the device knew them. ``h`` has the chances that block verification compared with ``u``;
    ``None`` under the other rules.
    """

    accepted: list[int]
    token: int
    row: int
    examined: int
    p: list[float | None]
    q: list[float | None]
    u: list[float | None]
    residual: Tensor | None = None
    tokens: list[int] | None = None
    h: list[float | None] | None = None

    @classmethod
    def of_chain(
        cls,
        tokens: list[int],
        accepted: int,
        token: int,
        p: Sequence[float],
        q: Sequence[float],
        u: Sequence[float],
        residual: Any,
    ) -> Verdict:
        """Build the verdict on a chain of which the first ``accepted`` tokens were accepted."""
        n = len(tokens)
        examined = min(accepted + 1, n)
        unseen = [None] * (n - examined)
        p_seen, u_seen = [*p[:examined], *unseen], [*u[:examined], *unseen]
        left = residual if accepted < n else None
        return cls(list(range(accepted)), token, accepted, examined, p_seen, list(q), u_seen, left, tokens)

    @classmethod
    def of_block(
        cls,
        tokens: list[int],
        accepted: int,
        token: int,
        p: Sequence[float],
        q: Sequence[float],
        u: Sequence[float],
        h: Sequence[float],
        residual: Any,
    ) -> Verdict:
        """Build the verdict on a chain that was judged as a whole; ``h[k]`` is the chance that ``u[k]`` was compared
        with, for all places from the last accepted one on.
        """
        n, first = len(tokens), max(0, accepted - 1)
        u_seen, h_seen = [*[None] * first, *u[first:]], [*[None] * first, *h[first:]]
        left, examined = residual if accepted < n else None, min(accepted + 1, n)
        accepted_nodes = list(range(accepted))
        return cls(accepted_nodes, token, accepted, examined, list(p), list(q), u_seen, left, tokens, h_seen)


def walk(tree: DraftTree, drawn: Sequence[int], probabilities: Sequence[float] | None) -> Verdict:
    """Walk a tree of point-mass drafts.

    ``drawn`` has the verifier's own token for each row (0: after the text, 1 + i: after node i); ``probabilities`` its
    probability of each node's token after that node's parent, ``None`` for greedy decoding (then 1 where it is the
    arg-max).
    """
    tokens, n = tree.tokens, len(tree)
    p: list[float | None] = [None] * n
    # The verifier's token after each walked node (-1: the text). Parents come before children: one pass is enough.
    own = {-1: drawn[0]}
    accepted: list[int] = []
    last, tried = -1, False
    for node, parent in enumerate(tree.parents):
        token = own.get(parent)
        if token is None:
            continue
        hit = tokens[node] == token
        p[node] = float(hit) if probabilities is None else probabilities[node]
        if hit:
            own[node] = drawn[node + 1]
            accepted.append(node)
            last, tried = node, False
        elif parent == last:
            tried = True
    # Every place on the path but the last had a child, the one that was walked to.
    examined = len(accepted) + tried
    return Verdict(accepted, own[last], last + 1, examined, p, [1.0] * n, [None] * n)


def verify_chain(tokens: list[int], q: np.ndarray, p: np.ndarray, u: Sequence[float], r: Sequence[float]) -> Verdict:
    """Accept the longest prefix of a sampled chain and draw the token after it.

    ``tokens`` ``[n]`` were sampled from the rows ``q`` ``[n, V]``; ``p`` ``[n + 1, V]`` are the verifier's rows at the
    same places and after the last token. ``u`` ``[n]`` and ``r`` ``[n + 1]`` are uniform numbers in [0, 1): ``u[k]``
    decides on token k, ``r[k]`` draws the new token at place k.
    """
    n, k, residual = len(tokens), 0, None
    while k < n and u[k] * float(q[k, tokens[k]]) < float(p[k, tokens[k]]):
        k += 1
    if k < n:
        residual = np.maximum(p[k] - q[k], 0)
        # p and q can agree to the last bit at a place that was rejected by rounding alone: then p itself is the limit.
        if not residual.sum() > 0:
            residual = p[k].copy()
    token = draw(p[k] if residual is None else residual, r[k])
    p_of = [float(p[i, tokens[i]]) for i in range(min(k + 1, n))]
    q_of = [float(q[i, tokens[i]]) for i in range(n)]
    return Verdict.of_chain(tokens, k, token, p_of, q_of, u, residual)


def verify_block(tokens: list[int], q: np.ndarray, p: np.ndarray, u: Sequence[float], r: Sequence[float]) -> Verdict:
    """Accept a prefix of a sampled chain, judged as a whole, and draw the token after it.

    The arguments are those of :func:`verify_chain`. With w_0 = 1, w_k = min(1, w_{k-1} p(d_k) / q(d_k)) is the
    probability that at least k tokens are accepted. The draft is accepted up to the last place k with u_k < h_k, where
    h_k = s / (s + 1 - w_k), s = sum (w_k p - q)+ over the rows after k tokens, and h_n = w_n. The correction is drawn
    from (w_k p - q)+. Whether place k + 1 exists must not depend on its token, as for every rule.
    """
    n = len(tokens)
    p_of = [float(p[k, token]) for k, token in enumerate(tokens)]
    q_of = [float(q[k, token]) for k, token in enumerate(tokens)]
    w = [1.0]
    for mine, theirs in zip(p_of, q_of, strict=True):
        w.append(min(1.0, w[-1] * mine / theirs))
    h, k, residual = [0.0] * n, n, None
    while True:
        if k < n:
            residual = np.maximum(w[k] * p[k] - q[k], 0)
        if k == 0:
            break
        chance = h[k - 1] = w[k] if residual is None else _passes(w[k], float(residual.sum()))
        if u[k - 1] < chance:
            break
        k -= 1
    # p and q can agree to the last bit at a place that was rejected by rounding alone: then p itself is the limit.
    if residual is not None and not residual.sum() > 0:
        residual = p[k].copy()
    token = draw(p[k] if residual is None else residual, r[k])
    return Verdict.of_block(tokens, k, token, p_of, q_of, u, h, residual)


def _passes(w: float, s: float) -> float:
    """Return h of :func:`verify_block` at a place that is not the last."""
    return 1.0 if w >= 1 else s / (s + 1 - w)


#: The rules for chains that were sampled from rows, by name.
CHAIN_RULES = {"token": verify_chain, "block": verify_block}


def walk_sampled(
    tree: DraftTree, scores: np.ndarray, sampling: Sampling, number: Callable[[int], float]
) -> tuple[Verdict, list[np.ndarray]]:
    """:func:`walk` over ``scores`` ``[n + 1, V]``, whose rows are made and drawn from only where the walk gets.

    ``number(k)`` is the uniform number for the k-th of them. Returns the verdict and these rows.
    """
    drawn = _DrawnTokens(scores, sampling, number)
    verdict = walk(tree, drawn, None)  # type: ignore[arg-type]
    for node, examined in enumerate(verdict.p):
        if examined is not None:
            verdict.p[node] = drawn.probability(tree.parents[node] + 1, tree.tokens[node])
    return verdict, drawn.p


class _DrawnTokens:
    """The verifier's own tokens by row of ``scores``, drawn when first asked for; ``p`` has their rows in order."""

    __slots__ = ("_number", "_place", "_sampling", "_scores", "_tokens", "p")

    def __init__(self, scores: np.ndarray, sampling: Sampling, number: Callable[[int], float]) -> None:
        self._scores = scores
        self._sampling = sampling
        self._number = number
        self._place: dict[int, int] = {}
        self._tokens: list[int] = []
        self.p: list[np.ndarray] = []

    def __getitem__(self, row: int) -> int:
        k = self._place.get(row)
        if k is None:
            k = self._place[row] = len(self.p)
            self.p.append(distribution(self._scores[row], self._sampling))
            self._tokens.append(draw(self.p[k], self._number(k)))
        return self._tokens[k]

    def probability(self, row: int, token: int) -> float:
        """Return the verifier's probability of ``token`` on a row that was drawn from."""
        return float(self.p[self._place[row]][token])
