"""Compute the verdict on a draft from the logits of a forward pass, by the rules of
:mod:`hsd_viz.decoding.verify`. This is the reference for all runtimes, in numpy.

A rejected token is replaced by a correction, which is resampled from the residual distribution
(:func:`resample`). For a chain sampled from rows q it is (p - q)+; for point masses it is p without
the drafted tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hsd_viz.decoding.sampling import Sampling, describe, distribution, draw, likeliest, total
from hsd_viz.decoding.verify import decide_chain, walk
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.rows import Top

#: Probabilities ``[n, V]`` after temperature, top-k and top-p: a numpy array, or an array of the
#: session's runtime that ``len``, slices, ``numpy.asarray`` and ``numpy.concatenate`` accept.
Rows = Any


class UniformNumbers(NamedTuple):
    """The uniform numbers in [0, 1) of a verification.

    Attributes:
        r: ``r[k]`` draws the token after k tokens of the draft.
        u: ``u[k]`` decides whether token k of a sampled chain is accepted; empty for point masses.
    """

    r: Sequence[float]
    u: Sequence[float] = ()


class RecordOptions(NamedTuple):
    """What a verification reports beside its decision.

    Attributes:
        details: the number of most likely tokens to report for each emitted token and for a
            correction; 0 reports none.
        observe: the number of most likely tokens to report for *every* row, from which a drafter
            learns; 0 reports none.
        temperature: the temperature of the probabilities for ``observe``; ``None`` if only the
            order of the tokens matters.
    """

    details: int = 0
    observe: int = 0
    temperature: float | None = None


class SampledChain(NamedTuple):
    """A chain of tokens that a session decoded by itself.

    Attributes:
        tokens: the decoded tokens ``[n]``.
        rows: the rows ``[n, V]`` that they were drawn from; ``None`` for point masses, which greedy
            decoding and SLEM give.
        forwards: the number of forward passes.
    """

    tokens: list[int]
    rows: Rows | None
    forwards: int


@dataclass(slots=True)
class Draft:
    """Tokens proposed to a verifier: a chain sampled from rows, or a tree of point masses.

    Attributes:
        tree: the draft tokens.
        paths: the levels that proposed or accepted each token, the proposing level first.
        rows: the rows q ``[n, V]`` of a sampled chain; ``None`` for point masses.
        end: why the draft of a model with a confidence ended, a value of ``draft_end`` in the
            trace.
    """

    tree: DraftTree = field(default_factory=DraftTree)
    paths: list[list[int]] = field(default_factory=list)
    rows: Rows | None = None
    end: str | None = None

    def __len__(self) -> int:
        return len(self.tree)


def join_chains(chains: Sequence[Draft]) -> Draft:
    """Join consecutive chains: extend the first in place with the others, and return it."""
    joined, *rest = chains
    for chain in rest:
        joined.tree.append(chain.tree)
        joined.paths += chain.paths
    if rest and joined.rows is not None:
        joined.rows = np.concatenate([chain.rows for chain in chains if chain.rows is not None])
    return joined


class Correction(NamedTuple):
    """The residual distribution from which a correction was sampled.

    Attributes:
        residual_top: its most likely tokens with their normalized probabilities.
        q_top: the most likely tokens of the drafter's row; ``None`` for point masses.
        residual_sum: the sum of its weights before normalization.
    """

    residual_top: Top
    q_top: Top | None
    residual_sum: float


class LikeliestByRow(NamedTuple):
    """The most likely tokens of every row of a verification.

    Attributes:
        tokens: the tokens of each row, the most likely first.
        values: the probabilities of these tokens, or their logits if only the order matters.
    """

    tokens: list[list[int]]
    values: list[list[float]]


@dataclass(slots=True)
class Verdict:
    """The result of one verification.

    ``p``, ``q``, ``u`` and ``h`` have an entry for each node; ``rows`` and ``details`` have one for
    each accepted node and one for ``token``.

    Attributes:
        accepted: the accepted nodes in order.
        token: the verifier's own token after the accepted nodes.
        row: the index of the row that ``token`` was drawn from: 0 after the text, 1 + i after
            node i.
        examined: the number of examined positions that had draft tokens.
        p: the verifier's probability of each draft token after the sampling transforms; ``None`` if
            the token was not examined. For greedy decoding it is 1 for the arg-max, else 0.
        q: the drafter's probability of each draft token.
        u: the uniform number that decided about each token; ``None`` if it was not compared, and
            for point masses.
        h: the probability that ``u`` was compared with, for a rule that judges the chain as a
            whole; ``None`` if it was compared with p / q.
        rule: the name of the rule that decided.
        rows: the rows ``[k + 1, V]``; ``None`` for greedy decoding.
        details: for each row at temperature 1, the probability of the emitted token, the entropy
            in nats, and the most likely tokens.
        correction: the residual distribution of a sampled correction, if details are reported.
        observed: the most likely tokens of every row, if they are reported.
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
    correction: Correction | None = None
    observed: LikeliestByRow | None = None


def judge(
    scores: np.ndarray,
    draft: Draft,
    sampling: Sampling,
    numbers: UniformNumbers | None,
    record: RecordOptions,
) -> Verdict:
    """Verify a draft by the rule that fits it.

    Args:
        scores: the logits ``[n + 1, V]``: row 0 after the text, row 1 + i after node i.
        draft: the draft of ``n`` nodes.
        sampling: the sampling settings.
        numbers: the uniform numbers; ``None`` for greedy decoding.
        record: what to report beside the decision.
    """
    if draft.rows is None or numbers is None:
        verdict, residual = _judge_points(scores, draft.tree, sampling, numbers)
    else:
        verdict, residual = _judge_chain(scores, draft, sampling, numbers)
    if record.details:
        _describe(verdict, residual, scores, draft, record.details)
    if record.observe:
        verdict.observed = _observe(scores, record)
    return verdict


def _describe(
    verdict: Verdict, residual: np.ndarray | None, scores: np.ndarray, draft: Draft, count: int
) -> None:
    """Add details of the emitted tokens and of a sampled correction to a verdict.

    They include the ``count`` most likely tokens of each row.
    """
    tokens = [*(draft.tree.tokens[node] for node in verdict.accepted), verdict.token]
    places = [0, *(node + 1 for node in verdict.accepted)]
    verdict.details = [
        describe(scores[k], token, count) for k, token in zip(places, tokens, strict=True)
    ]
    if residual is None:
        return
    mass = total(residual)
    q_top = None if draft.rows is None else _top(np.asarray(draft.rows[verdict.row]), count)
    verdict.correction = Correction(
        residual_top=_top(residual / residual.dtype.type(mass), count),
        q_top=q_top,
        residual_sum=mass,
    )


def _observe(scores: np.ndarray, record: RecordOptions) -> LikeliestByRow:
    """Return the most likely tokens of every row, from which a drafter learns."""
    rows = scores
    if record.temperature is not None:
        rows = distribution(scores, Sampling(temperature=record.temperature))
    tokens: list[list[int]] = []
    values: list[list[float]] = []
    for row in rows:
        top = likeliest(row, record.observe)
        tokens.append([token for token, _ in top])
        values.append([value for _, value in top])
    return LikeliestByRow(tokens, values)


def _judge_points(
    scores: np.ndarray, tree: DraftTree, sampling: Sampling, numbers: UniformNumbers | None
) -> tuple[Verdict, np.ndarray | None]:
    """Return the verdict on point masses, and the residual weights of a sampled correction.

    On the path of accepted nodes, the verifier's token is drawn before it is compared with the
    draft. Given that it is not a drafted token, it is distributed as the residual: p without the
    drafted tokens.
    """
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
        if numbers is None:
            chances[node] = float(node in accepted)
        else:
            chances[node] = float(p[tree.parents[node] + 1][tree.tokens[node]])
    rejected = [tree.tokens[node] for node in compared if tree.parents[node] == row - 1]
    verdict = Verdict(
        accepted=accepted,
        token=token,
        row=row,
        examined=len(accepted) + bool(rejected),
        p=chances,
        q=[1.0] * n,
        u=[None] * n,
    )
    if numbers is None:
        return verdict, None
    verdict.rows = np.stack([*p.values()])
    if not rejected:
        return verdict, None
    residual = p[row].copy()
    residual[rejected] = 0
    return verdict, residual


def _judge_chain(
    scores: np.ndarray, draft: Draft, sampling: Sampling, numbers: UniformNumbers
) -> tuple[Verdict, np.ndarray | None]:
    """Return the verdict on a sampled chain, and the residual weights of a correction."""
    tokens = draft.tree.tokens
    n = len(draft)
    u = numbers.u
    p = distribution(scores, sampling)
    q = np.asarray(draft.rows)
    accepted, residual, compared, h = decide_chain(sampling.rule, tokens, q, p, u)
    if residual is None:
        # All tokens are accepted: a bonus token follows them.
        token = draw(p[accepted], numbers.r[accepted])
    else:
        token, residual = resample(residual, p[accepted], numbers.r[accepted])
    examined = min(accepted + 1, n)
    p_of = [float(p[i, t]) if h is not None or i < examined else None for i, t in enumerate(tokens)]
    h_of: list[float | None] | None = None
    if h is not None:
        h_of = [h[i] if i in compared else None for i in range(n)]
    verdict = Verdict(
        accepted=list(range(accepted)),
        token=token,
        row=accepted,
        examined=examined,
        p=p_of,
        q=[float(q[i, t]) for i, t in enumerate(tokens)],
        u=[u[i] if i in compared else None for i in range(n)],
        h=h_of,
        rule=sampling.rule,
        rows=p[: accepted + 1],
    )
    return verdict, residual


def resample(residual: np.ndarray, p: np.ndarray, r: float) -> tuple[int, np.ndarray]:
    """Draw the correction of a rejected token from the residual distribution.

    Args:
        residual: the weights ``[V]`` of the distribution, which need not sum to 1.
        p: the verifier's row ``[V]`` at the position of the rejection.
        r: the uniform number in [0, 1) that draws the token.

    Returns:
        The token, and the weights ``[V]`` that it was drawn from.
    """
    if not total(residual) > 0:
        # If rounding alone caused the rejection, p and q can be equal to the last bit. The limit of
        # the residual is then p itself.
        residual = p.copy()
    return draw(residual, r), residual


def _top(weights: np.ndarray, count: int) -> Top:
    """Return up to ``count`` of the most likely tokens, without those of probability 0."""
    return [[token, p] for token, p in likeliest(weights, count) if p > 0]
