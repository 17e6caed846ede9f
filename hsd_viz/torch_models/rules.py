"""The verification rules on the device, for graphs: :mod:`hsd_viz.decoding.verify` in torch,
without branches.

A graph has fixed shapes, so a draft of ``n`` tokens takes the first ``n`` of ``m`` places, and
results beyond it mean nothing. The numpy rules are the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from hsd_viz.decoding.verify import LARGEST_RATIO
from hsd_viz.torch_models.sampling import total


def row_of(rows: Tensor, place: Tensor) -> Tensor:
    """Return the row of ``rows`` ``[n, ...]`` at ``place`` ``[]``, at the nearest one that there
    is.
    """
    inside = place.clamp(0, len(rows) - 1)
    # An index without an axis would be read by the host.
    return rows.index_select(0, inside.reshape(1)).squeeze(0)


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """The decision on a chain that was sampled from rows.

    Attributes:
        accepted: the number of accepted tokens, ``[]``.
        weights: what the verifier's own token is drawn from, ``[V]``.
        mass: the sum of the residual, ``[]``; 0 where nothing was rejected.
        p: the verifier's probabilities of the draft tokens, ``[m]``.
        q: the drafter's probabilities of the draft tokens, ``[m]``.
        h: the chances that the numbers were compared with, ``[m]``; 0 for the token rule.
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
    """Verify the first ``n`` of ``tokens`` ``[m]``, sampled from rows ``q`` ``[m, V]``.

    ``p`` ``[m + 1, V]`` are the verifier's rows, ``u`` ``[m]`` uniform numbers; ``rule`` is a name
    of :data:`hsd_viz.decoding.verify.RULES`.
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
        # The last place k with u_k < h_k, counted from 1; none: 0.
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
    """Return w ``[m + 1]`` of the branch rule: the joint ratio over its running maximum."""
    joint = torch.ones_like(ratios[0])
    cap = torch.ones_like(ratios[0])
    w = [joint]
    for ratio in ratios.unbind():
        joint = (joint * ratio).clamp(max=LARGEST_RATIO)
        cap = torch.maximum(cap, joint)
        w.append(joint / cap)
    return torch.stack(w)


_WEIGHTS: dict[str, Callable[[Tensor], Tensor]] = {
    "block": _block_weights,
    "branch": _branch_weights,
}


def _chances(w: Tensor, n: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """Return h ``[m]``: the chance to accept exactly up to each place, if no later place was
    accepted.
    """
    m = len(q)
    places = torch.arange(1, m + 1, device=q.device)
    left = w[1:, None].to(p.dtype) * p[1:] - _shifted(q)
    s = total(left.clamp(min=0))
    after = w[1:]
    inner = torch.where(after >= 1, 1, s / (s + 1 - after))
    return torch.where(places == n, after, inner)


def _shifted(q: Tensor) -> Tensor:
    """Return the rows of ``q`` one place later: row k follows the token of place k; the last one
    is not used.
    """
    return torch.cat([q[1:], q[-1:]])


def _own_weights(
    accepted: Tensor, n: Tensor, weight: Tensor, p: Tensor, q: Tensor
) -> tuple[Tensor, Tensor]:
    """Return what the verifier draws from, the residual or its own last row, and the residual's
    sum.
    """
    row = row_of(p, accepted)
    below = row_of(q, accepted)
    residual = (weight.to(p.dtype) * row - below).clamp(min=0)
    # Rows that agree to the last bit leave no residual where only rounding rejected: then the row
    # itself is meant.
    usable = total(residual) > 0
    residual = torch.where(usable, residual, row)
    rejected = accepted < n
    mass = torch.where(rejected, total(residual), 0)
    return torch.where(rejected, residual, row), mass


@dataclass(frozen=True, slots=True)
class TreeVerdict:
    """The decision on a tree of point masses.

    Attributes:
        accepted: which of the nodes are accepted, booleans ``[m]``: one path.
        count: how many they are, ``[]``.
        compared: which of the nodes were compared with a token of the verifier, booleans ``[m]``.
        row: the row of the verifier's own token: 0 after the text, 1 + i after node i, ``[]``.
    """

    accepted: Tensor
    count: Tensor
    compared: Tensor
    row: Tensor


def lineage_of(parents: Tensor) -> Tensor:
    """Return which nodes each of ``m`` nodes continues, itself included, booleans ``[m, m]``.

    ``parents`` ``[m]`` are smaller than the node's own number, -1 for those that follow the text.
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
    """Walk the tree of the first ``n`` of ``tokens`` ``[m]`` along the verifier's tokens ``own``
    ``[m + 1]`` by row.

    ``lineage`` is :func:`lineage_of` the ``parents``. Siblings differ, so that at most one path is
    accepted.
    """
    places = torch.arange(len(tokens), device=tokens.device)
    inside = places < n
    matches = inside & (own[parents + 1] == tokens)
    accepted = ~(lineage & ~matches[None, :]).any(1)
    reached = torch.cat([torch.ones_like(accepted[:1]), accepted])
    compared = inside & reached[parents + 1]
    row = torch.where(accepted, places + 1, 0).amax()
    return TreeVerdict(accepted, accepted.sum(), compared, row)
