"""Verification of point-mass drafts within a captured graph: the verifier's tokens, which drafted ones they accept, and
the move of the accepted path's keys and values. The host waits once, for numbers that were copied in the same graph.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hsd_viz.backends.cuda_graphs.buffers import StaticCache
from hsd_viz.backends.cuda_graphs.forward import Feed
from hsd_viz.backends.device import Shapes, distribution, draw, packed
from hsd_viz.decoding.backend import Notes
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import Verdict, walk
from hsd_viz.drafting.tree import DraftTree


def accepted_of(own: Tensor, feed: Feed, index: Tensor) -> Tensor:
    """Return which fed tokens ``[width]`` are text or on the walked path; ``own`` ``[width]`` are the verifier's tokens
    after each.
    """
    place = index[: feed.width]
    hit = (feed.ids == own.index_select(0, feed.parents)) | (place <= feed.first)
    return ~(feed.own(index) & ~hit).any(1) & (place <= feed.last)


def compact(cache: StaticCache, feed: Feed, accepted: Tensor) -> None:
    """Move the keys and values of the accepted tokens to their positions in the text; all others stay."""
    place = cache.index[: feed.width]
    to = torch.where(accepted, feed.positions - feed.length, feed.width)
    source = torch.cat([place, place[:1]]).index_copy(0, to, place)[: feed.width]
    cache.move(feed.length + source, feed.length + place)


def verify_fed(
    logits: Tensor, feed: Feed, cache: StaticCache, sampling: Sampling, chances: Tensor, notes: Notes | None, tree: bool
) -> tuple[Tensor, Shapes]:
    """Verify what was fed, over static tensors: the numbers for the host (the verifier's token after each fed one, the
    fed tokens, where sampled the probability of each after its parent), and their shapes. ``chances`` ``[width]`` are
    the uniform numbers by row.
    """
    left, parts = None, []
    if sampling.greedy:
        own = logits.argmax(-1)
    else:
        p = distribution(logits, sampling)
        own = draw(p, chances)
        parts = [p.index_select(0, feed.parents).gather(1, feed.ids[:, None])[:, 0]]
        if notes is not None and notes.details:
            # The verifier drew its own token and it was not among the drafted ones: that is p without them.
            place = cache.index[: feed.width]
            row = torch.where((place > feed.first) & (place <= feed.last), feed.parents, feed.width)
            left = torch.cat([p, p[:1]]).index_put((row, feed.ids), p.new_zeros(()))[: feed.width]
    if tree:
        compact(cache, feed, accepted_of(own, feed, cache.index))
    verdict = torch.cat([part.double() for part in (own, feed.ids, *parts)])
    return packed(verdict, notes, logits, own, left)


def chances_by_row(
    chances: Sequence[float], rows: int, n: int, parents: Sequence[int] | None, width: int
) -> list[float]:
    """Return the uniform numbers by fed token of ``chances`` by depth; 0 for the text before its last token."""
    first, depths = n - rows, [0] * n
    for k in range(first + 1, n):
        depths[k] = depths[k - 1 if parents is None else parents[k]] + 1
    return [0.0] * first + [chances[depth] for depth in depths[first:]] + [0.0] * (width - n)


def verdict_of(numbers: Sequence[float], width: int, n: int, rows: int, parents: Sequence[int] | None) -> Verdict:
    """Return the verdict of what :func:`verify_fed` found, with the tokens of the draft."""
    first = n - rows
    own, ids = ([int(v) for v in numbers[begin + first : begin + n]] for begin in (0, width))
    before = range(-1, rows - 2) if parents is None else [parent - first - 1 for parent in parents[first + 1 :]]
    chance = numbers[2 * width + first + 1 : 2 * width + n] if len(numbers) > 2 * width else None
    tree = DraftTree(ids[1:], list(before))
    verdict = walk(tree, own, chance)
    verdict.tokens = tree.tokens
    return verdict
