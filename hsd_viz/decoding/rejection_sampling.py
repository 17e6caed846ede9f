"""From the logits of a forward pass to a verdict on a draft, in numpy: the reference for all
runtimes. The rules are those of :mod:`hsd_viz.decoding.verify`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hsd_viz.decoding.sampling import Sampling, describe, distribution, draw, likeliest, total
from hsd_viz.decoding.verify import decide_chain, walk
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.tables import Top

#: Probabilities ``[n, V]`` after temperature, top-k and top-p: a numpy array, or an array of the
#: session's runtime that ``len``, slices, ``numpy.asarray`` and ``numpy.concatenate`` accept.
Rows = Any


class UniformNumbers(NamedTuple):
    """Uniform numbers in [0, 1) of a verification.

    Attributes:
        r: ``r[k]`` draws the token after k tokens of the draft.
        u: ``u[k]`` decides whether token k of a sampled chain is accepted; empty for point masses.
    """

    r: Sequence[float]
    u: Sequence[float] = ()


class RecordOptions(NamedTuple):
    """What a verification reports beside its decision.

    Attributes:
        details: so many of the likeliest tokens for each emitted token and for a correction; 0:
            none.
        observe: so many of the likeliest tokens of *every* row, from which a drafter learns; 0:
            none.
        temperature: of their probabilities; ``None``: only their order matters.
    """

    details: int = 0
    observe: int = 0
    temperature: float | None = None


class SampledChain(NamedTuple):
    """Tokens that a session decoded by itself.

    Attributes:
        tokens: the tokens.
        rows: the rows ``[n, V]`` that they were drawn from; ``None`` for point masses: greedy
            decoding, SLEM.
        forwards: its forward passes.
    """

    tokens: list[int]
    rows: Rows | None
    forwards: int


@dataclass(slots=True)
class Draft:
    """Tokens proposed to a verifier: a chain sampled from rows, or a tree of point masses.

    Attributes:
        tree: the tokens.
        paths: the levels that each token has passed, its source's first.
        rows: the rows q ``[n, V]`` of a sampled chain; ``None`` for point masses.
        end: why the draft of a model with a confidence ended: the values of ``draft_end`` in the
            trace.
    """

    tree: DraftTree = field(default_factory=DraftTree)
    paths: list[list[int]] = field(default_factory=list)
    rows: Rows | None = None
    end: str | None = None

    def __len__(self) -> int:
        return len(self.tree)


@dataclass(slots=True)
class Verdict:
    """The result of one verification.

    ``p``, ``q``, ``u`` and ``h`` have an entry for each node; ``rows`` and ``details`` one for each
    accepted node and for ``token``.

    Attributes:
        accepted: the accepted nodes in order.
        token: the verifier's own token after them.
        row: the row that it was drawn from; 0: after the text, 1 + i: after node i.
        examined: how many places that had draft tokens were looked at.
        p: the verifier's probability of a token after the sampling transforms; ``None`` where not
            examined. For greedy decoding 1 for the arg-max, else 0.
        q: the drafter's probability of a token.
        u: the number that decided about a token; ``None`` where not compared, and for point masses.
        h: the chance that ``u`` was compared with, by a rule that judges the chain as a whole;
            ``None``: with p / q.
        rule: the rule that decided.
        rows: the rows ``[k + 1, V]``; ``None`` for greedy decoding.
        details: of the row at temperature 1: the token's probability, the entropy in nats, the
            likeliest tokens.
        correction: with details and a sampled correction: the likeliest tokens of the normalised
            residual, those of q (``None`` for point masses), and the residual's sum.
        observed: the likeliest tokens of every row, and their probabilities.
    """

    accepted: list[int]
    token: int
    row: int
    examined: int
    p: list[float | None]
    q: list[float | None]
    u: list[float | None]
    h: list[float | None] | None = None
    rule: str = "token"
    rows: Rows | None = None
    details: list[tuple[float, float, Top]] | None = None
    correction: tuple[Top, Top | None, float] | None = None
    observed: tuple[list[list[int]], list[list[float]]] | None = None


def judge(
    scores: np.ndarray,
    draft: Draft,
    sampling: Sampling,
    numbers: UniformNumbers | None,
    record: RecordOptions,
) -> Verdict:
    """Verify ``draft`` by logits ``[n + 1, V]`` (row 0 after the text, row 1 + i after node i) and
    the rule that fits. ``numbers`` is ``None`` for greedy decoding.
    """
    if draft.rows is None or numbers is None:
        verdict, residual = _judge_points(scores, draft.tree, sampling, numbers)
    else:
        verdict, residual = _judge_chain(scores, draft, sampling, numbers)
    if most := record.details:
        tokens = [*(draft.tree.tokens[node] for node in verdict.accepted), verdict.token]
        places = [0, *(node + 1 for node in verdict.accepted)]
        verdict.details = [
            describe(scores[k], token, most) for k, token in zip(places, tokens, strict=True)
        ]
        if residual is not None:
            q_top = None if draft.rows is None else _top(np.asarray(draft.rows[verdict.row]), most)
            mass = total(residual)
            verdict.correction = _top(residual / residual.dtype.type(mass), most), q_top, mass
    if record.observe:
        seen = scores
        if record.temperature is not None:
            seen = distribution(scores, Sampling(temperature=record.temperature))
        likeliest_tokens: list[list[int]] = []
        their_values: list[list[float]] = []
        for row in seen:
            top = likeliest(row, record.observe)
            likeliest_tokens.append([token for token, _ in top])
            their_values.append([value for _, value in top])
        verdict.observed = (likeliest_tokens, their_values)
    return verdict


def _judge_points(
    scores: np.ndarray, tree: DraftTree, sampling: Sampling, numbers: UniformNumbers | None
) -> tuple[Verdict, np.ndarray | None]:
    """Return the verdict on point masses, and what a sampled correction was drawn from."""
    p: dict[int, np.ndarray] = {}

    def token_after(row: int) -> int:
        if numbers is None:
            return int(scores[row].argmax())
        p[row] = distribution(scores[row], sampling)
        return draw(p[row], numbers.r[len(p) - 1])

    accepted, token, compared = walk(tree, token_after)
    row = accepted[-1] + 1 if accepted else 0
    n = len(tree)
    chances: list[float | None] = [None] * n
    for node in compared:
        greedy = float(node in accepted)
        chances[node] = (
            greedy if numbers is None else float(p[tree.parents[node] + 1][tree.tokens[node]])
        )
    missed = [tree.tokens[node] for node in compared if tree.parents[node] == row - 1]
    verdict = Verdict(
        accepted, token, row, len(accepted) + bool(missed), chances, [1.0] * n, [None] * n
    )
    if numbers is None:
        return verdict, None
    verdict.rows = np.stack([*p.values()])
    if not missed:
        return verdict, None
    # The verifier drew its own token and it was not among the drafted ones: that is p without them.
    residual = p[row].copy()
    residual[missed] = 0
    return verdict, residual


def _judge_chain(
    scores: np.ndarray, draft: Draft, sampling: Sampling, numbers: UniformNumbers
) -> tuple[Verdict, np.ndarray | None]:
    """Return the verdict on a sampled chain, and what a correction was drawn from."""
    tokens = draft.tree.tokens
    n = len(draft)
    u = numbers.u
    p = distribution(scores, sampling)
    q = np.asarray(draft.rows)
    k, residual, compared, h = decide_chain(sampling.rule, tokens, q, p, u)
    # p and q can agree to the last bit at a place that was rejected by rounding alone: then p
    # itself is the limit.
    if residual is not None and not total(residual) > 0:
        residual = p[k].copy()
    token = draw(p[k] if residual is None else residual, numbers.r[k])
    examined = min(k + 1, n)
    p_of = [float(p[i, t]) if h is not None or i < examined else None for i, t in enumerate(tokens)]
    q_of: list[float | None] = [float(q[i, t]) for i, t in enumerate(tokens)]
    u_of = [u[i] if i in compared else None for i in range(n)]
    h_of: list[float | None] | None = None
    if h is not None:
        h_of = [h[i] if i in compared else None for i in range(n)]
    verdict = Verdict(
        list(range(k)), token, k, examined, p_of, q_of, u_of, h_of, sampling.rule, p[: k + 1]
    )
    return verdict, residual


def _top(weights: np.ndarray, most: int) -> Top:
    """Return the likeliest tokens, without those of probability 0."""
    return [[token, p] for token, p in likeliest(weights, most) if p > 0]
