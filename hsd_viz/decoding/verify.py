"""The verification rules in numpy, the reference for all runtimes.

Under each of the three rules the emitted tokens are distributed exactly as the verifier's own. For
a rule of another package, that package must guarantee it.

**Point-mass** drafts (of a database or a baseline, or any draft under greedy decoding) are verified
by :func:`walk`; chains **sampled from rows q** are verified by one of :data:`RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from inspect import getdoc
from typing import Any, NamedTuple

import numpy as np

from hsd_viz.decoding.sampling import total
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.errors import UserError

#: The upper bound of a product of ratios: 64 ratios of float32 probabilities can overflow.
MAX_RATIO = 1e300


class RuleDecision(NamedTuple):
    """The decision of a rule about a chain.

    Attributes:
        accepted: the number of accepted tokens.
        residual: the weights ``[V]`` of the residual distribution, from which the rejected token is
            resampled; ``None`` if all tokens are accepted.
        compared: the indices of the tokens whose u was compared.
        h: the probabilities ``[n]`` that u was compared with; ``None`` if these are p / q.
    """

    accepted: int
    residual: np.ndarray | None
    compared: range
    h: list[float] | None = None


def token_rule(
    tokens: Sequence[int], q: np.ndarray, p: np.ndarray, u: Sequence[float]
) -> RuleDecision:
    """Accept the longest prefix of a sampled chain in which u * q(d) < p(d) for each token d.

    A correction is drawn from the residual (p - q)+ (Leviathan et al. 2023, Chen et al. 2023).

    Args:
        tokens: the draft tokens ``[n]``, sampled from ``q``.
        q: the rows ``[n, V]`` of the drafter.
        p: the verifier's rows ``[n + 1, V]`` at the same positions and after the last token.
        u: uniform numbers ``[n]`` in [0, 1).
    """
    n = len(tokens)
    k = 0
    while k < n and u[k] * float(q[k, tokens[k]]) < float(p[k, tokens[k]]):
        k += 1
    residual = None
    if k < n:
        residual = np.maximum(p[k] - q[k], 0)
    return RuleDecision(k, residual, compared=range(min(k + 1, n)))


def block_rule(
    tokens: Sequence[int], q: np.ndarray, p: np.ndarray, u: Sequence[float]
) -> RuleDecision:
    """Accept a prefix of a sampled chain, judged as a whole (Sun et al. 2024, arXiv 2403.10444,
    Algorithm 2).

    The expected number of accepted tokens is never below that of :func:`token_rule`. The arguments
    are the same.

    With w_0 = 1, w_k = min(1, w_{k-1} p(d_k) / q(d_k)) is the probability that at least k tokens
    are accepted, given the first k tokens and averaged over the later tokens that the draft model
    may sample.

    The draft is accepted up to the last position k with u_k < h_k. Here h_k = s / (s + 1 - w_k),
    where s = sum (w_k p - q)+ over the rows after k tokens, and h_n = w_n. The correction is drawn
    from (w_k p - q)+. Whether position k + 1 exists must not depend on its token.
    """
    w = [1.0]
    for k, token in enumerate(tokens):
        w.append(min(1.0, w[k] * float(p[k, token]) / float(q[k, token])))
    return _judge_whole(w, q, p, u)


def branch_rule(
    tokens: Sequence[int], q: np.ndarray, p: np.ndarray, u: Sequence[float]
) -> RuleDecision:
    """Accept a prefix of a sampled chain by its capped joint ratio (Zhou et al. 2026,
    *Overcoming Joint Intractability with Lossless Hierarchical Speculative Decoding*, arXiv
    2601.05724, Algorithm 2: the lossless rule).

    The arguments are those of :func:`token_rule`.

    With r_k = p(d_1 … d_k) / q(d_1 … d_k) and its cap c_k = max(1, r_1, …, r_k), the capped ratio
    is w_k = r_k / c_k. The branches after k tokens have the excess mass s = sum (w_k p - q)+ and
    the deficient mass s + 1 - w_k. Their quotient is h_k, the probability of stopping there and
    drawing the next token from the excess.

    Dividing by a running maximum equals clipping at 1 in each step, so w, h and the residual are
    those of :func:`block_rule` up to rounding. With min(1, r_n) for the whole draft, more tokens
    would be accepted, but the output would not have the verifier's distribution.
    """
    ratio = 1.0
    cap = 1.0
    w = [1.0]
    for k, token in enumerate(tokens):
        # At the bound the ratio equals its cap, so clipping it does not change w.
        ratio = min(MAX_RATIO, ratio * float(p[k, token]) / float(q[k, token]))
        cap = max(cap, ratio)
        w.append(ratio / cap)
    return _judge_whole(w, q, p, u)


def _judge_whole(
    w: Sequence[float], q: np.ndarray, p: np.ndarray, u: Sequence[float]
) -> RuleDecision:
    """Accept up to the last position k with u_k < h_k, given the weights ``w`` ``[n + 1]`` of
    :func:`block_rule`.
    """
    n = len(w) - 1
    h = [0.0] * n
    for k in range(n, -1, -1):
        residual = None
        if k < n:
            residual = np.maximum(p.dtype.type(w[k]) * p[k] - q[k], 0)
        if k == 0:
            break
        h[k - 1] = _chance_to_stop(w[k], residual)
        if u[k - 1] < h[k - 1]:
            break
    return RuleDecision(k, residual, range(max(0, k - 1), n), h)


def _chance_to_stop(w: float, residual: np.ndarray | None) -> float:
    """Return h, the probability that the accepted prefix ends at a position of weight ``w``."""
    if residual is None:
        # The last position: no later token can compensate.
        return w
    if w >= 1:
        return 1.0
    mass = total(residual)
    return mass / (mass + 1 - w)


ChainRule = Callable[[Sequence[int], np.ndarray, np.ndarray, Sequence[float]], RuleDecision]
#: The rules by name, as in a trace.
RULES: dict[str, ChainRule] = {"token": token_rule, "block": block_rule, "branch": branch_rule}


def rule_description(name: str) -> str:
    """Return the first docstring line of a rule of another package; "" without a docstring."""
    return (getdoc(_other_rule(name)) or "").partition("\n")[0]


@cache
def _other_rule(name: str) -> ChainRule:
    """Return a rule of another package."""
    return entry_points(group="hsd_viz.rules")[name].load()


def decide_chain(
    name: str, tokens: Sequence[int], q: np.ndarray, p: np.ndarray, u: Sequence[float]
) -> RuleDecision:
    """Return the decision of the rule ``name``; that of another package's rule is checked.

    Raises:
        UserError: if a rule of another package does not return what a rule returns.
    """
    rule = RULES.get(name)
    if rule is not None:
        return rule(tokens, q, p, u)
    decision = _other_rule(name)(tokens, q, p, u)
    return _checked(name, decision, n=len(tokens), vocabulary=p.shape[1])


def _checked(name: str, decision: Any, n: int, vocabulary: int) -> RuleDecision:
    """Check the decision of another package's rule about ``n`` tokens, and return it.

    Raises:
        UserError: if it is not a valid decision, which would lead to wrong output.
    """
    if not isinstance(decision, tuple) or len(decision) != 4:
        raise UserError(
            f"the rule '{name}' returned {decision!r:.60}: a rule returns a tuple of four: "
            "how many tokens are accepted, the residual, the compared nodes, and h"
        )
    accepted, residual, compared, h = decision
    if not isinstance(accepted, int | np.integer) or not 0 <= accepted <= n:
        raise UserError(
            f"the rule '{name}' accepted {accepted!r:.40} tokens: a whole number from 0 to "
            f"{n} is expected"
        )
    if residual is None and accepted < n:
        raise UserError(
            f"the rule '{name}' accepted {accepted} of {n} tokens without a residual: return the "
            "weights from which the rejected token is resampled"
        )
    if residual is not None and accepted == n:
        raise UserError(
            f"the rule '{name}' accepted all {n} tokens with a residual: return None, the token "
            "after them is the verifier's"
        )
    if residual is not None and not _are_weights(residual, vocabulary):
        raise UserError(
            f"the rule '{name}' returned the residual {residual!r:.60}: an array of {vocabulary} "
            "weights of at least 0 is expected"
        )
    if not isinstance(compared, range) or not set(compared) <= set(range(n)):
        raise UserError(
            f"the rule '{name}' compared {compared!r:.40}: a range within range({n}) is expected"
        )
    if h is not None and np.shape(h) != (n,):
        raise UserError(
            f"the rule '{name}' returned {h!r:.60} as h: None or {n} chances are expected"
        )
    return RuleDecision(int(accepted), residual, compared, h)


def _are_weights(residual: Any, vocabulary: int) -> bool:
    """Return whether a residual has a valid weight for each token, so that one can be drawn."""
    if not isinstance(residual, np.ndarray) or residual.shape != (vocabulary,):
        return False
    return bool(np.isfinite(residual).all() and (residual >= 0).all())


def walk(tree: DraftTree, token_after: Callable[[int], int]) -> tuple[list[int], int, list[int]]:
    """Verify a tree of point-mass drafts.

    Follow the tree while the verifier's own token is among the continuations. The first token that
    is not becomes the correction, so each emitted token is a draw by the verifier.

    Args:
        tree: the draft.
        token_after: a function that draws the verifier's token from a row: row 0 after the text,
            row 1 + i after node i. It is called for the rows of the path, in order.

    Returns:
        The accepted nodes, the token after them, and the nodes that were compared.
    """
    verifier_token = {-1: token_after(0)}
    accepted: list[int] = []
    compared: list[int] = []
    # Parents come before their children: one pass is enough.
    for node, parent in enumerate(tree.parents):
        if parent in verifier_token:
            compared.append(node)
            if tree.tokens[node] == verifier_token[parent]:
                verifier_token[node] = token_after(node + 1)
                accepted.append(node)
    return accepted, verifier_token[accepted[-1] if accepted else -1], compared
