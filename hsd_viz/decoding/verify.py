"""The verification rules, in numpy: the reference for all runtimes. All three give tokens
distributed exactly as the verifier's own; a rule of another package promises that itself.

**Point-mass** drafts (of a database or a baseline, or any draft under greedy decoding) are walked
by :func:`walk`; chains **sampled from rows q** are judged by one of :data:`RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from inspect import getdoc
from typing import Any, NamedTuple

import numpy as np

from hsd_viz.decoding.sampling import Sampling, describe, distribution, draw, likeliest, total
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.errors import UserError
from hsd_viz.trace.tables import Top

#: Probabilities ``[n, V]`` after temperature, top-k and top-p: a numpy array, or an array of the
#: session's runtime that ``len``, slices, ``numpy.asarray`` and ``numpy.concatenate`` accept.
Rows = Any
#: Products of ratios are clipped here: 64 ratios of float32 probabilities can overflow.
_LARGEST_RATIO = 1e300


class Numbers(NamedTuple):
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
        ``forwards``: its forward passes.
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


class VerifiedDraft(NamedTuple):
    """What a rule decides about a chain.

    Attributes:
        accepted: how many of its tokens are accepted.
        residual: the weights ``[V]`` of the correction; ``None``: all tokens are accepted.
        compared: the places whose u was compared.
        h: the chances ``[n]`` that it was compared with; ``None``: with p / q.
    """

    accepted: int
    residual: np.ndarray | None
    compared: range
    h: list[float] | None = None


def token_rule(
    tokens: Sequence[int], q: np.ndarray, p: np.ndarray, u: Sequence[float]
) -> VerifiedDraft:
    """Accept the longest prefix of a sampled chain with u * q(d) < p(d); a correction is drawn from
    the residual (p - q)+ (Leviathan et al. 2023, Chen et al. 2023).

    ``tokens`` ``[n]`` were sampled from the rows ``q`` ``[n, V]``; ``p`` ``[n + 1, V]`` are the
    verifier's rows at the same places and after the last token. ``u`` ``[n]`` are uniform numbers
    in [0, 1).
    """
    n = len(tokens)
    k = 0
    while k < n and u[k] * float(q[k, tokens[k]]) < float(p[k, tokens[k]]):
        k += 1
    return VerifiedDraft(k, None if k == n else np.maximum(p[k] - q[k], 0), range(min(k + 1, n)))


def block_rule(
    tokens: Sequence[int], q: np.ndarray, p: np.ndarray, u: Sequence[float]
) -> VerifiedDraft:
    """Accept a prefix of a sampled chain, judged as a whole; never less in expectation than by
    :func:`token_rule`, whose arguments it has (Sun et al. 2024, arXiv 2403.10444, Algorithm 2).

    With w_0 = 1, w_k = min(1, w_{k-1} p(d_k) / q(d_k)) is the probability that at least k tokens
    are accepted, given the first k tokens: an average over the later tokens that the draft model
    may sample.

    The draft is accepted up to the last place k with u_k < h_k, where h_k = s / (s + 1 - w_k), s =
    sum (w_k p - q)+ over the rows after k tokens, and h_n = w_n. The correction is drawn from (w_k
    p - q)+. Whether place k + 1 exists must not depend on its token.
    """
    w = [1.0]
    for k, token in enumerate(tokens):
        w.append(min(1.0, w[k] * float(p[k, token]) / float(q[k, token])))
    return _judge_whole(w, q, p, u)


def branch_rule(
    tokens: Sequence[int], q: np.ndarray, p: np.ndarray, u: Sequence[float]
) -> VerifiedDraft:
    """Accept a prefix of a sampled chain by its capped joint ratio: the lossless rule of
    *Overcoming Joint Intractability with Lossless Hierarchical Speculative Decoding* (Zhou et al.
    2026, arXiv 2601.05724, Algorithm 2).

    With r_k = p(d_1 … d_k) / q(d_1 … d_k) and its cap c_k = max(1, r_1, …, r_k), the capped ratio
    is w_k = r_k / c_k. The branches below k tokens have the excess mass s = sum (w_k p - q)+ and
    the deficient mass s + 1 - w_k; their quotient is h_k, the chance to stop there and to draw the
    next token from the excess. Dividing by a running maximum is the same as clipping at 1 in each
    step, so w, h and the residual are those of :func:`block_rule` up to rounding. With min(1, r_n)
    for the whole draft more is accepted, and the output is no longer the verifier's.
    """
    ratio = 1.0
    cap = 1.0
    w = [1.0]
    for k, token in enumerate(tokens):
        # Above its largest value the ratio equals its cap, so that clipping it changes no w.
        ratio = min(_LARGEST_RATIO, ratio * float(p[k, token]) / float(q[k, token]))
        cap = max(cap, ratio)
        w.append(ratio / cap)
    return _judge_whole(w, q, p, u)


def _judge_whole(
    w: Sequence[float], q: np.ndarray, p: np.ndarray, u: Sequence[float]
) -> VerifiedDraft:
    """Accept up to the last place k with u_k < h_k, by the weights ``w`` ``[n + 1]`` of
    :func:`block_rule`.
    """
    n = len(w) - 1
    residual = None
    h = [0.0] * n
    for k in range(n, -1, -1):
        if k < n:
            residual = np.maximum(p.dtype.type(w[k]) * p[k] - q[k], 0)
        if k > 0:
            if residual is None:
                # The last place: nothing follows that could make up for it.
                h[k - 1] = w[k]
            elif w[k] >= 1:
                h[k - 1] = 1.0
            else:
                mass = total(residual)
                h[k - 1] = mass / (mass + 1 - w[k])
            if u[k - 1] < h[k - 1]:
                break
    return VerifiedDraft(k, residual, range(max(0, k - 1), n), h)


Rule = Callable[[Sequence[int], np.ndarray, np.ndarray, Sequence[float]], VerifiedDraft]
#: The rules by the names that a trace has for them.
RULES: dict[str, Rule] = {"token": token_rule, "block": block_rule, "branch": branch_rule}


def rule_words(name: str) -> str:
    """Return how a rule of another package describes itself: the first line of its docstring, ""
    without one.
    """
    return (getdoc(_other_rule(name)) or "").partition("\n")[0]


@cache
def _other_rule(name: str) -> Rule:
    """Return a rule of another package."""
    return entry_points(group="hsd_viz.rules")[name].load()


def _judged(
    name: str, tokens: Sequence[int], q: Rows, p: Rows, u: Sequence[float]
) -> tuple[int, np.ndarray | None, Any, Any]:
    """Return the judgement of a rule; one of another package is checked.

    Raises:
        UserError: if a rule of another package does not return what a rule returns.
    """
    own = RULES.get(name)
    if own is not None:
        return own(tokens, q, p, u)
    judgement = _other_rule(name)(tokens, q, p, u)
    if not isinstance(judgement, tuple) or len(judgement) != 4:
        raise UserError(
            f"the rule '{name}' returned {judgement!r:.60}: a rule returns a tuple of four: "
            "how many tokens are accepted, the residual, the compared nodes, and h"
        )
    accepted = judgement[0]
    if not isinstance(accepted, int | np.integer) or not 0 <= accepted <= len(tokens):
        raise UserError(
            f"the rule '{name}' accepted {accepted!r:.40} tokens: a whole number from 0 to "
            f"{len(tokens)} is expected"
        )
    return judgement


def walk(tree: DraftTree, token_after: Callable[[int], int]) -> tuple[list[int], int, list[int]]:
    """Walk a tree of point-mass drafts while the verifier's own token is among the continuations,
    else it is the correction: every token is the verifier's own draw. Return the accepted nodes,
    the token after them, and the nodes that were compared. ``token_after(row)`` draws on a row (0:
    after the text, 1 + i: after node i); it is asked for the rows on the walked path, in order.
    """
    own = {-1: token_after(0)}
    accepted: list[int] = []
    compared: list[int] = []
    # Parents come before their children: one pass is enough.
    for node, parent in enumerate(tree.parents):
        if parent in own:
            compared.append(node)
            if tree.tokens[node] == own[parent]:
                own[node] = token_after(node + 1)
                accepted.append(node)
    return accepted, own[accepted[-1] if accepted else -1], compared


def judge(
    scores: np.ndarray,
    draft: Draft,
    sampling: Sampling,
    numbers: Numbers | None,
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
            seen = distribution(scores, Sampling(record.temperature))
        likeliest_tokens: list[list[int]] = []
        their_values: list[list[float]] = []
        for row in seen:
            top = likeliest(row, record.observe)
            likeliest_tokens.append([token for token, _ in top])
            their_values.append([value for _, value in top])
        verdict.observed = (likeliest_tokens, their_values)
    return verdict


def _judge_points(
    scores: np.ndarray, tree: DraftTree, sampling: Sampling, numbers: Numbers | None
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
    scores: np.ndarray, draft: Draft, sampling: Sampling, numbers: Numbers
) -> tuple[Verdict, np.ndarray | None]:
    """Return the verdict on a sampled chain, and what a correction was drawn from."""
    tokens = draft.tree.tokens
    n = len(draft)
    u = numbers.u
    p = distribution(scores, sampling)
    q = np.asarray(draft.rows)
    k, residual, compared, h = _judged(sampling.rule, tokens, q, p, u)
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
