"""The two verification rules. Both return tokens distributed exactly as the verifier's own.

* A **point-mass** draft (a database's, a rival's, or any draft under greedy decoding) is walked: at each place the verifier
  draws its own token y; as long as y is among the drafted continuations the walk goes on, else y is the correction. This is
  exact, because every token is the verifier's own draw.
* A **chain** of tokens sampled from rows q is accepted token by token while u * q(d) < p(d); after a rejection the correction
  is drawn from the residual (p - q)+, after full acceptance a bonus from p (Leviathan et al. 2023, Chen et al. 2023).

Everything a round needs from the device comes over in one transfer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hsd_viz.decoding.sampling import draw
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
    n = len(tree)
    children: list[list[int]] = [[] for _ in range(n + 1)]
    for node, parent in enumerate(tree.parents):
        children[parent + 1].append(node)
    p: list[float | None] = [None] * n
    q: list[float | None] = [1.0] * n
    accepted: list[int] = []
    row = examined = 0
    while True:
        token = drawn[row]
        following = None
        for node in children[row]:
            p[node] = probabilities[node] if probabilities is not None else float(tree.tokens[node] == token)
            if tree.tokens[node] == token:
                following = node
        examined += bool(children[row])
        if following is None:
            return Verdict(accepted, token, row, examined, p, q, [None] * n)
        accepted.append(following)
        row = following + 1


def verify_chain(tokens: Sequence[int] | Tensor, q: Tensor, p: Tensor, u: Sequence[float], r: Sequence[float]) -> Verdict:
    """Accept the longest prefix of a sampled chain and draw the token after it.

    ``tokens`` ``[n]`` were sampled from the rows ``q`` ``[n, V]``; ``p`` ``[n + 1, V]`` are the verifier's rows at the same
    places and after the last token. ``u`` ``[n]`` and ``r`` ``[n + 1]`` are uniform numbers in [0, 1): ``u[k]`` decides about
    token k, ``r[k]`` draws the new token if it lands at place k.
    """
    n = len(tokens)
    device = p.device
    ids = torch.as_tensor(tokens, device=device)
    places = torch.arange(n, device=device)
    p_of, q_of = p[places, ids], q[places, ids]
    chance = torch.tensor([*u, *r], dtype=torch.float64, device=device)
    ok = chance[:n] * q_of.double() < p_of.double()
    kept = ok.long().cumprod(0).sum()
    row = p[kept]
    # Behind the last draft token there is no q: the residual is the row itself, and its token the bonus.
    residual = row - torch.cat([q, torch.zeros_like(q[:1])])[kept]
    residual = residual.clamp_min(0)
    # p and q can agree to the last bit at a place that was rejected by rounding alone: then p itself is the limit.
    residual = torch.where(residual.sum() > 0, residual, row)
    token = draw(residual[None], chance[n + kept][None])
    values = torch.cat([p_of.double(), q_of.double(), kept[None].double(), token.double(), ids.double()]).tolist()
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
        residual=residual if k < n else None,
        tokens=[int(v) for v in values[2 * n + 2 :]],
    )
