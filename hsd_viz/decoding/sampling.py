"""From logits to the distribution that is sampled, and drawing from it.

Rule 5 of losslessness: q is the row *after* temperature, top-k and top-p, the very tensor that was sampled. So there is one
function that makes rows and one that draws from them, and both are used by every level. On the CPU they are numpy's
(:mod:`hsd_viz.decoding.host`).
"""

from __future__ import annotations

import torch
from torch import Tensor

from hsd_viz.decoding import host
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.transfer import put


def distribution(logits: Tensor, sampling: Sampling) -> Tensor:
    """Rows of probabilities ``[n, V]`` for logits ``[n, V]``, after temperature, top-k and top-p, each row summing to 1.

    Computed in float32, or in float64 when the logits are. Ties at the top-k or top-p border are kept in, so that the result
    depends on the values alone. Sampling with temperature 0 has no rows: use the arg-max.
    """
    assert not sampling.greedy
    if logits.is_cpu:
        return torch.from_numpy(host.distribution(host.array(logits), sampling))
    return distribution_on_device(logits, sampling)


def distribution_on_device(logits: Tensor, sampling: Sampling) -> Tensor:
    """:func:`distribution` where the logits are: nothing is fetched, and every shape is known before."""
    scores = logits if logits.dtype == torch.float64 else logits.float()
    # The maximum goes first: the best token keeps the score 0 and no temperature, however small, makes an infinity of it.
    scores = (scores - scores.amax(dim=-1, keepdim=True)) / max(sampling.temperature, torch.finfo(scores.dtype).tiny)
    if 0 < sampling.top_k < scores.shape[-1]:
        border = scores.topk(sampling.top_k, dim=-1).values[..., -1:]
        scores = scores.masked_fill(scores < border, -torch.inf)
    p = torch.softmax(scores, dim=-1)
    if sampling.top_p < 1:
        ordered = p.sort(dim=-1, descending=True).values
        before = ordered.cumsum(dim=-1) - ordered
        # The nucleus: the likeliest tokens up to and with the one that reaches top_p.
        border = ordered.masked_fill(before >= sampling.top_p, torch.inf).amin(dim=-1, keepdim=True)
        p = p.masked_fill(p < border, 0.0)
        p = p / p.sum(dim=-1, keepdim=True)
    return p


def draw(p: Tensor, r: Tensor) -> Tensor:
    """One token per row: ``p`` ``[n, V]`` non-negative (need not sum to 1), ``r`` ``[n]`` uniform in [0, 1). Returns ``[n]`` ids.

    Inverse of the cumulative sum in float64: a token of probability 0 is never drawn.
    """
    if p.is_cpu:
        return torch.tensor([host.draw(row, number) for row, number in zip(host.array(p), r.tolist(), strict=True)])
    return draw_on_device(p, r)


def draw_on_device(p: Tensor, r: Tensor) -> Tensor:
    """:func:`draw` where the rows are: nothing is fetched."""
    edges = p.double().cumsum(dim=-1)
    marks = r.to(edges)[:, None] * edges[:, -1:]
    return torch.searchsorted(edges, marks, right=True)[:, 0]


def sample(logits: Tensor, sampling: Sampling, r: float) -> tuple[int, Tensor | None]:
    """One token from one row of logits ``[1, V]``: the arg-max, or drawn with ``r``; and the row ``[1, V]`` it was drawn from."""
    if sampling.greedy:
        return int(host.array(logits).argmax() if logits.is_cpu else logits.argmax(-1)), None
    p = distribution(logits, sampling)
    if p.is_cpu:
        return host.draw(p.numpy()[0], r), p
    return int(draw(p, put([r], p.device, torch.float64))), p
