"""Compute the verdict on a draft from the logits of a forward pass, by the rules of
:mod:`hsd_viz.decoding.verify`. This is the reference for all runtimes, in numpy.

A rejected token is replaced by a correction, which is resampled from the residual distribution
(:func:`resample`). For a chain sampled from rows q it is (p - q)+; for point masses it is p without
the drafted tokens.
"""

from __future__ import annotations

import numpy as np

from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import UniformNumbers, describe, distribution, draw, likeliest, total
from hsd_viz.decoding.verdict import Correction, LikeliestByRow, RecordOptions, Verdict
from hsd_viz.decoding.verify import decide_chain, walk
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.rows import Top


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

    They include the ``count`` likeliest tokens of each row.
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
    """Return the likeliest tokens of every row, from which a drafter learns."""
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
    """Return up to ``count`` of the likeliest tokens, without those of probability 0."""
    return [[token, p] for token, p in likeliest(weights, count) if p > 0]
