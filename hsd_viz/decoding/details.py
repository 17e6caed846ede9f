"""What is recorded of a row beyond the token it gave: probability, entropy, the likeliest tokens.

Recording must not slow the decode that it records, so this is written for speed: on the CPU numpy, on a device one transfer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from hsd_viz.decoding import host
from hsd_viz.decoding.transfer import put
from hsd_viz.trace.records import Top

TOP = 5
#: (probability of the token, entropy in nats, the likeliest tokens) at temperature 1.
Detail = tuple[float, float, Top]


class Describer(Protocol):
    """A model that can describe its rows faster than numpy can."""

    def describe(self, logits: Tensor, rows: Sequence[int], tokens: Sequence[int], most: int) -> list[float]:
        """The numbers of ``rows`` of logits ``[n, V]`` that the model gave last; at most 16 likeliest tokens."""

    def foresee(self, most: int) -> None:
        """From now on rows that a greedy walk goes along will be asked for: they may be described when they are made."""


def describe(logits: Tensor, rows: list[int], tokens: list[int], model: object = None) -> list[float]:
    """Each row of ``rows`` in ``logits`` ``[n, V]`` in numbers, which :func:`details` reads; ``tokens`` has the token that each gave.

    One row after the other: the probability of its token, the entropy, then place and probability of each of the likeliest tokens.
    ``model`` is the one they are from: a :class:`Describer` is asked itself.
    """
    if hasattr(model, "describe"):
        return model.describe(logits, rows, tokens, TOP)
    return (
        _describe_on_host(host.array(logits), rows, tokens)
        if logits.is_cpu
        else _describe_on_device(logits, rows, tokens)
    )


def details(numbers: Sequence[float], rows: int) -> list[Detail]:
    """What :func:`describe` found out about so many rows."""
    width, out = len(numbers) // rows, []
    for at in range(0, len(numbers), width):
        p, entropy, *pairs = numbers[at : at + width]
        out.append((p, entropy, tuple(zip(map(int, pairs[::2]), pairs[1::2], strict=True))))
    return out


def likeliest(weights: Tensor) -> tuple[Top, float]:
    """The likeliest tokens of a row of weights ``[V]``, which need not sum to 1, with their probabilities; and what they do sum to."""
    if weights.is_cpu:
        p = host.array(weights)
        total = p.sum()
        return tuple((token, value) for token, value in host.top(p / total, TOP) if value > 0), float(total)
    total = weights.sum(-1, keepdim=True)
    found = (weights / total).topk(min(TOP, weights.shape[-1]))
    *values, whole = torch.cat([found.values, total]).tolist()
    return tuple((int(i), p) for i, p in zip(found.indices.tolist(), values, strict=True) if p > 0), whole


def _describe_on_host(scores: np.ndarray, rows: list[int], tokens: list[int]) -> list[float]:
    """With x = scores less their maximum, w = exp x and Z = sum w: p = w / Z, and the entropy is log Z - sum w x / Z."""
    x = scores[: len(rows)] if rows[-1] == len(rows) - 1 else scores[rows]
    x = x - x.max(-1, keepdims=True)
    w = np.exp(x)
    totals, means = w.sum(-1).tolist(), np.einsum("ij,ij->i", w, x).tolist()
    out = []
    for k, token in enumerate(tokens):
        row, total, mean = w[k], totals[k], means[k]
        if mean != mean:
            # A score of -inf (a forbidden token) has p = 0 and adds nothing.
            mean = float(row @ x[k].clip(np.finfo(x.dtype).min))
        p = float(row[token]) / total
        out += (p, max(0.0, math.log(total) - mean / total))
        for place, weight in host.top(row, TOP):
            out += (place, weight / total)
    return out


def _describe_on_device(logits: Tensor, rows: list[int], tokens: list[int]) -> list[float]:
    """With scores x and p = softmax(x): log p = x - log Z and log Z = max x - log max p, so the entropy is log Z - sum p x.

    That spares a logarithm for every token of the vocabulary.
    """
    x = (logits if len(rows) == len(logits) else logits.index_select(0, put(rows, logits.device, torch.long))).float()
    p = torch.softmax(x, dim=-1)
    top = p.topk(min(TOP, p.shape[-1]), dim=-1)
    mine = p.gather(-1, put(tokens, p.device, torch.long)[:, None])
    best = x.gather(-1, top.indices[:, :1])
    # A score of -inf (a forbidden token) has p = 0 and adds nothing.
    mean = (p * x.clamp_min(torch.finfo(x.dtype).min)).sum(-1, keepdim=True)
    # Place and probability in turns.
    pairs = torch.stack([top.indices.to(p.dtype), top.values], dim=-1).flatten(-2)
    out: list[float] = []
    for chance, score, average, *ranked in torch.cat([mine, best, mean, pairs], dim=-1).tolist():
        out += (chance, max(0.0, score - math.log(ranked[1]) - average), *ranked)
    return out
