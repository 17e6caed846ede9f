"""Sampling on the device: the functions of :mod:`hsd_viz.decoding.sampling` in torch, for rows that
stay in device memory.

They are traced into compiled graphs. Each sum is a sum of integers or an explicit, fixed tree of
additions, so that it depends neither on the number of rows nor on how a compiler splits a
reduction. The numpy functions are the reference. Probabilities agree with it to about one unit in
the last place, and draws agree unless a random number falls within that difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import BLOCK

#: The number of bits in a digit of :func:`largest_reaching`.
_DIGIT = 11
#: The factor that converts probabilities to integers. It is exact for float32 probabilities from
#: 2**-39 on.
_PARTS = 2.0**62
#: The argument below which an exponential is 0, by type.
_MIN_EXPONENT = {torch.float32: -87.3, torch.float64: -708.0}


@dataclass(frozen=True, slots=True)
class Shaping:
    """The operations that convert logits to probabilities, for which a graph is compiled.

    Attributes:
        greedy: whether tokens are the arg-max, without probabilities.
        top_k: whether tokens below the k-th largest score are removed.
        top_p: whether tokens outside the nucleus are removed.
        min_p: whether tokens much less likely than the likeliest one are removed.
    """

    greedy: bool
    top_k: bool
    top_p: bool
    min_p: bool

    @classmethod
    def of(cls, sampling: Sampling, vocabulary: int) -> Shaping:
        """Return the operations that the sampling settings need for a vocabulary of a size."""
        return cls(
            greedy=sampling.greedy,
            top_k=0 < sampling.top_k < vocabulary,
            top_p=sampling.top_p < 1,
            min_p=sampling.min_p > 0,
        )


def fixed_sum(x: Tensor) -> Tensor:
    """Return the sums ``[...]`` of ``x`` ``[..., n]`` in a fixed order.

    The upper half is added to the lower half until a single number is left.
    """
    size = 1 << max(0, x.shape[-1] - 1).bit_length()
    x = torch.nn.functional.pad(x, (0, size - x.shape[-1]))
    while size > 1:
        size //= 2
        x = x[..., :size] + x[..., size:]
    return x[..., 0]


def blocks_of(x: Tensor) -> Tensor:
    """Return ``x`` ``[..., n]`` in blocks ``[..., blocks, 64]``, padded with zeros."""
    x = torch.nn.functional.pad(x, (0, -x.shape[-1] % BLOCK))
    return x.unflatten(-1, (-1, BLOCK))


def running_sum(x: Tensor) -> Tensor:
    """Return the cumulative sums of ``x`` ``[..., n]`` along the last axis.

    The distance of the addends is doubled in each step.
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
    """Return the bits of non-negative floats as integers, which have the same order."""
    return x.view(torch.int64 if x.dtype == torch.float64 else torch.int32)


def largest_reaching(keys: Tensor, weights: Tensor, mark: Tensor) -> Tensor:
    """Return the largest key of each row such that the keys from it on have the weight ``mark``.

    Keys and weights are non-negative integers, so that any order of addition gives the same sums.
    The function is a radix selection, which needs a pass over the keys per digit instead of a sort:
    the total weight by digit determines the digit of the result, and later passes consider only
    keys that begin with the digits so far.

    Args:
        keys: the keys ``[n, V]``.
        weights: the weights ``[n, V]``.
        mark: the weight to reach, ``[]``.

    Returns:
        The keys ``[n]``; 0 for a row whose total weight is below ``mark``.
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
        # Keys without weight are spread over all digits, because additions to the same digit have
        # to wait for each other.
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
    """Return the first index in each row whose cumulative sum is above ``mark``.

    If rounding leaves no such index in its block, return the block's last index of positive weight.

    Args:
        weights: the weights ``[n, V]`` in float64.
        mark: the sum to exceed, ``[n]``.
        ends: the cumulative sums of the blocks of ``weights``, ``[n, blocks]``.
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
    """Draw a token from each row of ``weights`` ``[n, V]`` by the numbers ``r`` ``[n]`` in [0, 1).

    Weights are non-negative and need not sum to 1.
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

    The settings are numbers on the device, of which ``shaping`` selects those to use. Tokens that
    tie at a threshold are all kept, as in :func:`hsd_viz.decoding.sampling.distribution`.
    """
    x = scores - scores.amax(-1, keepdim=True)
    smallest = torch.finfo(x.dtype).tiny
    x = x / temperature.clamp(min=smallest).to(x.dtype)
    if shaping.top_k:
        # No score is above 0, so the larger of two scores has the smaller magnitude.
        largest = _bits(torch.full_like(x[:, :1], torch.inf))
        keys = largest - _bits(x.abs())
        kth = largest_reaching(keys, torch.ones_like(keys), top_k)
        x = torch.where(keys < kth[:, None], -torch.inf, x)
    p = torch.where(x < _MIN_EXPONENT[x.dtype], 0, x.exp())
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


def likeliest(weights: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the indices and values ``[n, count]`` of the largest of ``weights`` ``[n, V]``.

    Equal weights are in the order of their indices.
    """
    places = []
    values = []
    numbered = torch.arange(weights.shape[-1], device=weights.device)
    for _ in range(count):
        place = weights.argmax(-1, keepdim=True)
        places.append(place)
        values.append(weights.gather(-1, place))
        weights = torch.where(numbered == place, -torch.inf, weights)
    return torch.cat(places, -1), torch.cat(values, -1)


def describe(scores: Tensor, tokens: Tensor, count: int) -> Tensor:
    """Describe rows of logits ``[n, V]`` at temperature 1, as
    :func:`hsd_viz.decoding.sampling.describe` does.

    Returns:
        Float64 ``[n, 2 + 2 * count]``: the probability of ``tokens`` ``[n]``, the entropy in nats,
        the likeliest tokens, and their probabilities.
    """
    x = scores - scores.amax(-1, keepdim=True)
    w = torch.where(x < _MIN_EXPONENT[x.dtype], 0, x.exp())
    normalizer = total(w)
    finite = x.clamp(min=torch.finfo(x.dtype).min)
    entropy = normalizer.log() - total(w * finite) / normalizer
    chosen = w.gather(-1, tokens[:, None])[:, 0].double() / normalizer
    places, values = likeliest(w, count)
    heads = torch.stack([chosen, entropy.clamp(min=0)], -1)
    return torch.cat([heads, places.double(), values.double() / normalizer[:, None]], -1)
