"""The verification rules on the device, for graphs: :mod:`hsd_viz.decoding.verify` in torch,
without branches.

A graph has fixed shapes, so a draft of ``n`` tokens takes the first ``n`` of ``m`` places, and
results at other places are meaningless. The numpy rules are the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from hsd_viz.decoding.verify import MAX_RATIO
from hsd_viz.torch_models.sampling import total


def row_of(rows: Tensor, place: Tensor) -> Tensor:
    """Return the row of ``rows`` ``[n, ...]`` at the clamped index ``place`` ``[]``."""
    inside = place.clamp(0, len(rows) - 1)
    # Indexing with a scalar would copy it to the host.
    return rows.index_select(0, inside.reshape(1)).squeeze(0)


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """The decision on a chain that was sampled from rows.

    Attributes:
        accepted: the number of accepted tokens, ``[]``.
        weights: the weights that the verifier's own token is drawn from, ``[V]``.
        mass: the sum of the residual, ``[]``; 0 if no token was rejected.
        p: the verifier's probabilities of the draft tokens, ``[m]``.
        q: the drafter's probabilities of the draft tokens, ``[m]``.
        h: the probabilities that u was compared with, ``[m]``; 0 for the token rule.
    """

    accepted: Tensor
    weights: Tensor
    mass: Tensor
    p: Tensor
    q: Tensor
    h: Tensor


def judge_chain(
    rule: str, tokens: Tensor, n: Tensor, p: Tensor, q: Tensor, u: Tensor
) -> ChainVerdict:
    """Verify a chain that was sampled from rows.

    Args:
        rule: the name of the rule, of :data:`hsd_viz.decoding.verify.RULES`.
        tokens: the draft tokens ``[m]``.
        n: the number of draft tokens to use, ``[]``.
        p: the verifier's rows ``[m + 1, V]``.
        q: the drafter's rows ``[m, V]``.
        u: the uniform numbers ``[m]``.
    """
    m = len(tokens)
    places = torch.arange(m, device=tokens.device)
    inside = places < n
    p_of = p[:m].gather(1, tokens[:, None])[:, 0].double()
    q_of = q.gather(1, tokens[:, None])[:, 0].double()
    if rule == "token":
        passed = u * q_of < p_of
        accepted = torch.where(inside & ~passed, places, n).amin()
        weight = torch.ones((), dtype=torch.float64, device=p.device)
        h = torch.zeros_like(p_of)
    else:
        # Beyond the draft a ratio is 1, so that it changes no product.
        ratios = torch.where(inside, p_of / torch.where(inside, q_of, 1), 1)
        w = _WEIGHTS[rule](ratios)
        h = _chances(w, n, p, q)
        # The last position k with u_k < h_k, counted from 1; 0 if there is none.
        accepted = torch.where(inside & (u < h), places + 1, 0).amax()
        weight = row_of(w, accepted)
    weights, mass = _own_weights(accepted, n, weight, p, q)
    return ChainVerdict(accepted, weights, mass, p_of, q_of, h)


def _block_weights(ratios: Tensor) -> Tensor:
    """Return w ``[m + 1]`` of the block rule: w_0 = 1, w_k = min(1, w_{k-1} ratio_k)."""
    w = [torch.ones_like(ratios[0])]
    for ratio in ratios.unbind():
        w.append((w[-1] * ratio).clamp(max=1))
    return torch.stack(w)


def _branch_weights(ratios: Tensor) -> Tensor:
    """Return w ``[m + 1]`` of the branch rule: the joint ratio divided by its running maximum."""
    joint = torch.ones_like(ratios[0])
    cap = torch.ones_like(ratios[0])
    w = [joint]
    for ratio in ratios.unbind():
        joint = (joint * ratio).clamp(max=MAX_RATIO)
        cap = torch.maximum(cap, joint)
        w.append(joint / cap)
    return torch.stack(w)


_WEIGHTS: dict[str, Callable[[Tensor], Tensor]] = {
    "block": _block_weights,
    "branch": _branch_weights,
}


def _chances(w: Tensor, n: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """Return h ``[m]``: the probability of accepting exactly up to each position, given that no
    later position was accepted.
    """
    m = len(q)
    places = torch.arange(1, m + 1, device=q.device)
    left = w[1:, None].to(p.dtype) * p[1:] - _shifted(q)
    s = total(left.clamp(min=0))
    after = w[1:]
    inner = torch.where(after >= 1, 1, s / (s + 1 - after))
    return torch.where(places == n, after, inner)


def _shifted(q: Tensor) -> Tensor:
    """Return the rows of ``q`` shifted by one, so that row k follows token k; the last row is not
    used.
    """
    return torch.cat([q[1:], q[-1:]])


def _own_weights(
    accepted: Tensor, n: Tensor, weight: Tensor, p: Tensor, q: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the weights that the verifier draws from, the residual or its own last row, and the
    sum of the residual.
    """
    row = row_of(p, accepted)
    below = row_of(q, accepted)
    residual = (weight.to(p.dtype) * row - below).clamp(min=0)
    # If rounding alone caused a rejection, equal rows leave no residual, and the row itself is
    # used.
    usable = total(residual) > 0
    residual = torch.where(usable, residual, row)
    rejected = accepted < n
    mass = torch.where(rejected, total(residual), 0)
    return torch.where(rejected, residual, row), mass


@dataclass(frozen=True, slots=True)
class TreeVerdict:
    """The decision on a tree of point masses.

    Attributes:
        accepted: whether each node was accepted, booleans ``[m]``; accepted nodes form a path.
        count: the number of accepted nodes, ``[]``.
        compared: whether each node was compared with a token of the verifier, booleans ``[m]``.
        row: the index of the row of the verifier's own token, ``[]``: 0 after the text, 1 + i after
            node i.
    """

    accepted: Tensor
    count: Tensor
    compared: Tensor
    row: Tensor


def lineage_of(parents: Tensor) -> Tensor:
    """Return whether each of ``m`` nodes continues each other node or is the same, booleans ``[m,
    m]``.

    ``parents`` ``[m]`` are lower than the index of the node; -1 for nodes that follow the text.
    """
    m = len(parents)
    numbered = torch.arange(m, device=parents.device)
    same = numbered[:, None] == numbered[None, :]
    reach = same | (parents[:, None] == numbered[None, :])
    distance = 1
    while distance < m - 1:
        # Sums of products of zeros and ones are exact in float32.
        ways = reach.float()
        reach = (ways @ ways) > 0
        distance *= 2
    return reach


def walk_tree(
    tokens: Tensor, parents: Tensor, n: Tensor, lineage: Tensor, own: Tensor
) -> TreeVerdict:
    """Verify a tree of point masses. Siblings differ, so that at most one path is accepted.

    Args:
        tokens: the draft tokens ``[m]``.
        parents: the parent of each node ``[m]``.
        n: the number of nodes to use, ``[]``.
        lineage: the result of :func:`lineage_of` for ``parents``.
        own: the verifier's token of each row ``[m + 1]``.
    """
    places = torch.arange(len(tokens), device=tokens.device)
    inside = places < n
    matches = inside & (own[parents + 1] == tokens)
    accepted = ~(lineage & ~matches[None, :]).any(1)
    reached = torch.cat([torch.ones_like(accepted[:1]), accepted])
    compared = inside & reached[parents + 1]
    row = torch.where(accepted, places + 1, 0).amax()
    return TreeVerdict(accepted, accepted.sum(), compared, row)
