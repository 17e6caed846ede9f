"""The two verification rules. Both return tokens distributed exactly as the verifier's own.

* A **point-mass** draft (a database's, a rival's, or any draft under greedy decoding) is walked: at each place the verifier
  draws its own token y; as long as y is among the drafted continuations the walk goes on, else y is the correction. This is
  exact, because every token is the verifier's own draw.
* A **chain** of tokens sampled from rows q is accepted token by token while u * q(d) < p(d); after a rejection the correction
  is drawn from the residual (p - q)+, after full acceptance a bonus from p (Leviathan et al. 2023, Chen et al. 2023).

On a GPU everything that a round needs from the device comes over in one transfer; on the CPU rows are looked at as they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hsd_viz.decoding import host
from hsd_viz.decoding.sampling import draw
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.transfer import put
from hsd_viz.drafting.tree import DraftTree


@dataclass(slots=True)
class Verdict:
    """What a verifier decided: ``accepted`` nodes in order, then ``token`` (correction, bonus or plain) and the row it stands on.

    ``row`` is 0 for the row after the text, 1 + i for the row after node i. ``p``, ``q``, ``u`` are per node, ``None`` where
    not looked at. ``residual`` is the unnormalised row of a chain's correction. ``tokens`` are the draft's, where they were not
    known before and came over with the rest.
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


def walk(tree: DraftTree, drawn: Sequence[int], probabilities: Sequence[float] | None) -> Verdict:
    """Walk a tree of point-mass drafts.

    ``drawn`` has the verifier's own token for each row (0: after the text, 1 + i: after node i); ``probabilities`` its
    probability of each node's token after that node's parent, ``None`` for greedy decoding (then 1 where it is the arg-max).
    """
    tokens = tree.tokens
    if not tokens:
        return Verdict([], drawn[0], 0, 0, [], [], [])
    p: list[float | None] = [None] * len(tokens)
    # The walked nodes (-1: the text) with the verifier's token after each. Parents come before children: one pass will do.
    says = {-1: drawn[0]}
    accepted: list[int] = []
    last, tried = -1, False
    for node, parent in enumerate(tree.parents):
        token = says.get(parent)
        if token is None:
            continue
        hit = tokens[node] == token
        p[node] = float(hit) if probabilities is None else probabilities[node]
        if hit:
            says[node] = drawn[node + 1]
            accepted.append(node)
            last, tried = node, False
        elif parent == last:
            tried = True
    # Every place on the path but the last had a child, the one that was walked to.
    examined = len(accepted) + tried
    n = len(tokens)
    return Verdict(accepted, says[last], last + 1, examined, p, [1.0] * n, [None] * n)


def walk_on_host(
    tree: DraftTree, scores: np.ndarray, sampling: Sampling, number: Callable[[int], float]
) -> tuple[Verdict, list[np.ndarray]]:
    """:func:`walk` with the rows of ``scores`` ``[n + 1, V]`` made and drawn from one by one, as far as the walk gets.

    ``number`` gives the uniform number for the k-th of them. Returns the verdict and these rows.
    """
    drawn = host.Walked(scores, sampling, number)
    verdict = walk(tree, drawn, None)
    for node, looked in enumerate(verdict.p):
        if looked is not None:
            verdict.p[node] = drawn.probability(tree.parents[node] + 1, tree.tokens[node])
    return verdict, drawn.p


def walk_on_device(tree: DraftTree, p: Tensor, numbers: Sequence[float]) -> Verdict:
    """:func:`walk` with the verifier's tokens drawn from all rows of ``p`` ``[n + 1, V]`` at once, for one transfer.

    ``numbers`` are the uniform numbers by depth, 0 for the row after the text: only one node of a depth can lie on the walked
    path, so one number serves every branch.
    """
    depths = [0, *tree.depths()]
    drawn = draw(p, put([numbers[d] for d in depths], p.device, torch.float64))
    if not len(tree):
        return walk(tree, drawn.tolist(), [])
    before = put([[parent + 1 for parent in tree.parents], tree.tokens], p.device, torch.long)
    values = torch.cat([drawn.double(), p[before[0], before[1]].double()]).tolist()
    rows = len(tree) + 1
    return walk(tree, [int(v) for v in values[:rows]], values[rows:])


def verify_chain(
    tokens: Sequence[int] | Tensor, q: Tensor, p: Tensor, u: Sequence[float], r: Sequence[float]
) -> Verdict:
    """Accept the longest prefix of a sampled chain and draw the token after it.

    ``tokens`` ``[n]`` were sampled from the rows ``q`` ``[n, V]``; ``p`` ``[n + 1, V]`` are the verifier's rows at the same
    places and after the last token. ``u`` ``[n]`` and ``r`` ``[n + 1]`` are uniform numbers in [0, 1): ``u[k]`` decides about
    token k, ``r[k]`` draws the new token if it lands at place k.
    """
    return (_chain_on_host if p.is_cpu else chain_on_device)(tokens, q, p, u, r)


def chain_on_device(
    tokens: Sequence[int] | Tensor, q: Tensor, p: Tensor, u: Sequence[float], r: Sequence[float]
) -> Verdict:
    """:func:`verify_chain` in torch, wherever the rows are."""
    n, device = len(tokens), p.device
    ids = tokens if isinstance(tokens, Tensor) else put(tokens, device, torch.long)
    p_of, q_of = p[:n].gather(1, ids[:, None])[:, 0], q.gather(1, ids[:, None])[:, 0]
    chance = put([*u, *r], device, torch.float64)
    ok = chance[:n] * q_of.double() < p_of.double()
    # ``kept`` stays on the device and has one dimension: to index with a number there, torch would fetch it first.
    kept = ok.long().cumprod(0).sum(0, keepdim=True)
    row = p.index_select(0, kept)
    # Behind the last draft token there is no q: the residual is the row itself, and its token the bonus.
    residual = row - torch.cat([q, torch.zeros_like(q[:1])]).index_select(0, kept)
    residual = residual.clamp_min(0)
    # p and q can agree to the last bit at a place that was rejected by rounding alone: then p itself is the limit.
    residual = torch.where(residual.sum() > 0, residual, row)
    token = draw(residual, chance.index_select(0, n + kept))
    values = torch.cat([p_of.double(), q_of.double(), kept.double(), token.double(), ids.double()]).tolist()
    k = int(values[2 * n])
    looked = min(k + 1, n)
    return Verdict(
        accepted=list(range(k)),
        token=int(values[2 * n + 1]),
        row=k,
        examined=looked,
        p=[values[i] if i < looked else None for i in range(n)],
        q=values[n : 2 * n],
        u=[u[i] if i < looked else None for i in range(n)],
        residual=residual[0] if k < n else None,
        tokens=[int(v) for v in values[2 * n + 2 :]],
    )


def _chain_on_host(
    tokens: Sequence[int] | Tensor, q: Tensor, p: Tensor, u: Sequence[float], r: Sequence[float]
) -> Verdict:
    ids = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
    n, q_rows, p_rows = len(ids), host.array(q), host.array(p)
    k, token, residual = host.accept(ids, q_rows, p_rows, u, r)
    looked = min(k + 1, n)
    return Verdict(
        accepted=list(range(k)),
        token=token,
        row=k,
        examined=looked,
        p=[float(p_rows[i, ids[i]]) if i < looked else None for i in range(n)],
        q=[float(q_rows[i, ids[i]]) for i in range(n)],
        u=[u[i] if i < looked else None for i in range(n)],
        residual=None if residual is None else torch.from_numpy(residual),
        tokens=ids,
    )
