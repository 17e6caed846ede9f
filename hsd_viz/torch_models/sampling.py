"""Sampling on the device: the functions of :mod:`hsd_viz.decoding.sampling` for rows that never
leave it.

They are traced into compiled graphs. Every sum is one of integers, or a fixed tree of additions
that is written out: it depends neither on how many rows are summed together nor on how a compiler
splits a reduction. The numpy functions are the reference: probabilities agree to about one unit in
the last place, draws except where a number falls between two values that differ by that much.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hsd_viz.decoding.sampling import BLOCK, Sampling

#: Bits of a digit of :func:`largest_reaching`.
_DIGIT = 11
#: Probabilities become integers in these parts of 1: those of float32 from 2**-39 on are exact in
#: them.
_PARTS = 2.0**62
#: By type of the scores the bound below which an exponential is 0.
_LOWEST_EXPONENT = {torch.float32: -87.3, torch.float64: -708.0}


@dataclass(frozen=True, slots=True)
class Shaping:
    """Which operations turn logits into probabilities: what a graph is compiled for.

    Attributes:
        greedy: tokens are the arg-max, and there are no probabilities.
        top_k: whether tokens below the k-th largest score are removed.
        top_p: whether tokens outside of the nucleus are removed.
        min_p: whether tokens much less likely than the likeliest are removed.
    """

    greedy: bool
    top_k: bool
    top_p: bool
    min_p: bool

    @classmethod
    def of(cls, sampling: Sampling, vocabulary: int) -> Shaping:
        """Return what these settings need for a vocabulary of this size."""
        return cls(
            greedy=sampling.greedy,
            top_k=0 < sampling.top_k < vocabulary,
            top_p=sampling.top_p < 1,
            min_p=sampling.min_p > 0,
        )


def fixed_sum(x: Tensor) -> Tensor:
    """Return the sums ``[...]`` of ``x`` ``[..., n]``: the upper half is added to the lower half
    until one is left.
    """
    size = 1 << max(0, x.shape[-1] - 1).bit_length()
    x = torch.nn.functional.pad(x, (0, size - x.shape[-1]))
    while size > 1:
        size //= 2
        x = x[..., :size] + x[..., size:]
    return x[..., 0]


def blocks_of(x: Tensor) -> Tensor:
    """Return ``x`` ``[..., n]`` in blocks ``[..., blocks, 64]``, the last one padded with zeros."""
    x = torch.nn.functional.pad(x, (0, -x.shape[-1] % BLOCK))
    return x.unflatten(-1, (-1, BLOCK))


def running_sum(x: Tensor) -> Tensor:
    """Return the cumulative sums of ``x`` ``[..., n]`` along its last axis, by doubling the
    distance of the addends.
    """
    distance = 1
    while distance < x.shape[-1]:
        shifted = torch.nn.functional.pad(x[..., :-distance], (distance, 0))
        x = x + shifted
        distance *= 2
    return x


def total(weights: Tensor) -> Tensor:
    """Return the sums ``[...]`` of ``weights`` ``[..., V]`` in float64."""
    return fixed_sum(weights.double())


def _bits(x: Tensor) -> Tensor:
    """Return the bits of non-negative floats as integers: they have the same order."""
    return x.view(torch.int64 if x.dtype == torch.float64 else torch.int32)


def largest_reaching(keys: Tensor, weights: Tensor, mark: Tensor) -> Tensor:
    """Return for each row the largest of its ``keys`` such that all keys of at least it have
    ``mark`` ``[]`` in weight.

    ``keys`` ``[n, V]`` and ``weights`` ``[n, V]`` are non-negative integers, so that every order of
    addition gives the same sums. The result ``[n]`` is 0 where all keys together weigh less than
    ``mark``.

    This is a radix selection, which takes one pass over the keys for a digit instead of a sort: the
    weight by digit gives the digit of the result, and further passes look at the keys that begin
    with the digits so far.
    """
    n = len(keys)
    size = 1 << _DIGIT
    width = 8 * keys.dtype.itemsize - 1
    places = torch.arange(keys.shape[-1], device=keys.device) % size
    prefix = torch.zeros((n, 1), dtype=keys.dtype, device=keys.device)
    above = torch.zeros((n, 1), dtype=torch.int64, device=keys.device)
    for shift in reversed(range(0, width, _DIGIT)):
        digits = (keys >> shift) & (size - 1)
        counts = weights
        if shift + _DIGIT < width:
            begins_so = (keys >> (shift + _DIGIT)) == (prefix >> (shift + _DIGIT))
            counts = torch.where(begins_so, weights, 0)
        # What weighs nothing is spread over all digits: additions at one place wait for one
        # another.
        digits = torch.where(counts > 0, digits, places).long()
        by_digit = torch.zeros((n, size), dtype=torch.int64, device=keys.device)
        by_digit = by_digit.scatter_add(1, digits, counts.long())
        below = by_digit.cumsum(-1) - by_digit
        at_least = above + by_digit.sum(-1, keepdim=True) - below
        digit = ((at_least >= mark).sum(-1, keepdim=True) - 1).clamp(min=0)
        above = at_least.gather(1, digit) - by_digit.gather(1, digit)
        prefix = prefix + (digit.to(keys.dtype) << shift)
    return prefix[:, 0]


def _place_of(weights: Tensor, mark: Tensor, ends: Tensor) -> Tensor:
    """Return the first places ``[n]`` whose cumulative sum is above ``mark`` ``[n]``.

    ``weights`` ``[n, V]`` are float64 and ``ends`` ``[n, blocks]`` the cumulative sums of their
    blocks. Where rounding leaves no place in the block that is meant, it is the last one of
    positive weight there.
    """
    last = ends.shape[-1] - 1
    block = (ends <= mark[:, None]).sum(-1).clamp(max=last)
    previous = ends.gather(-1, (block - 1).clamp(min=0)[:, None])[:, 0]
    rest = torch.where(block > 0, mark - previous, mark)
    index = block[:, None, None].expand(-1, 1, BLOCK)
    values = blocks_of(weights).gather(1, index)[:, 0]
    place = (running_sum(values) <= rest[:, None]).sum(-1)
    numbered = torch.arange(BLOCK, device=values.device)
    positive = torch.where(values > 0, numbered, 0).amax(-1)
    return block * BLOCK + torch.where(place < BLOCK, place, positive)


def draw(weights: Tensor, r: Tensor) -> Tensor:
    """Draw a token from each row of ``weights`` ``[n, V]`` (non-negative, any sum) for ``r``
    ``[n]`` in [0, 1).
    """
    weights = weights.double()
    ends = running_sum(fixed_sum(blocks_of(weights)))
    return _place_of(weights, r * ends[:, -1], ends)


def distribution(
    scores: Tensor,
    temperature: Tensor,
    top_k: Tensor,
    top_p: Tensor,
    min_p: Tensor,
    shaping: Shaping,
) -> Tensor:
    """Return probabilities for ``scores`` ``[n, V]`` in float32 or float64 after temperature,
    top-k, top-p and min-p.

    The settings are numbers on the device; ``shaping`` says which of them are used. Ties at a
    border are kept, as in :func:`hsd_viz.decoding.sampling.distribution`.
    """
    x = scores - scores.amax(-1, keepdim=True)
    smallest = torch.finfo(x.dtype).tiny
    x = x / temperature.clamp(min=smallest).to(x.dtype)
    if shaping.top_k:
        # No score is above 0: the larger of two has the smaller magnitude.
        largest = _bits(torch.full_like(x[:, :1], torch.inf))
        keys = largest - _bits(x.abs())
        kth = largest_reaching(keys, torch.ones_like(keys), top_k)
        x = torch.where(keys < kth[:, None], -torch.inf, x)
    p = torch.where(x < _LOWEST_EXPONENT[x.dtype], 0, x.exp())
    p = p * (1 / fixed_sum(p))[:, None]
    if shaping.top_p:
        # The nucleus ends with the first token at which the sum reaches top-p.
        keys = _bits(p)
        parts = (p.double() * _PARTS).long()
        border = largest_reaching(keys, parts, (top_p * _PARTS).ceil().long())
        p = torch.where(keys < border[:, None], 0, p)
        p = p * (1 / fixed_sum(p))[:, None]
    if shaping.min_p:
        least = p.amax(-1, keepdim=True) * min_p.to(p.dtype)
        p = torch.where(p < least, 0, p)
        p = p * (1 / fixed_sum(p))[:, None]
    return p


def likeliest(weights: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """Return places and values ``[n, most]`` of the largest of ``weights`` ``[n, V]``, of equal
    ones the first.
    """
    places = []
    values = []
    numbered = torch.arange(weights.shape[-1], device=weights.device)
    for _ in range(most):
        place = weights.argmax(-1, keepdim=True)
        places.append(place)
        values.append(weights.gather(-1, place))
        weights = torch.where(numbered == place, -torch.inf, weights)
    return torch.cat(places, -1), torch.cat(values, -1)


def describe(scores: Tensor, tokens: Tensor, most: int) -> Tensor:
    """Describe rows of logits ``[n, V]`` at temperature 1, as
    :func:`hsd_viz.decoding.sampling.describe`.

    Return ``[n, 2 + 2 * most]`` in float64: the probability of ``tokens`` ``[n]``, the entropy in
    nats, the likeliest tokens and their probabilities.
    """
    x = scores - scores.amax(-1, keepdim=True)
    w = torch.where(x < _LOWEST_EXPONENT[x.dtype], 0, x.exp())
    whole = total(w)
    finite = x.clamp(min=torch.finfo(x.dtype).min)
    entropy = whole.log() - total(w * finite) / whole
    chosen = w.gather(-1, tokens[:, None])[:, 0].double() / whole
    places, values = likeliest(w, most)
    heads = torch.stack([chosen, entropy.clamp(min=0)], -1)
    return torch.cat([heads, places.double(), values.double() / whole[:, None]], -1)
