"""Triton kernels for what is left of a layer beside its products: one launch each.

They compute what the functions of the same names in :mod:`~hsd_viz.backends.cuda_graphs.lean` do, in float32 inside.
``TRITON_INTERPRET=1`` runs them on the CPU, which is how they are tested without a GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton import next_power_of_2

if TYPE_CHECKING:
    from hsd_viz.backends.cuda_graphs.lean import Layer, Shape, Step

#: Query rows (heads of a group times tokens) and keys of one step, and keys of one program at least.
ROWS, KEYS, LEAST = 64, 64, 128
#: Programs wanted: about two for each multiprocessor of a large GPU. A constant, so that a shape has one split.
PROGRAMS = 264


@triton.jit
def _attend(q, k, v, mask, part, peak, total, scale, heads, group, bucket, capacity, n_rows,
            SIZE: tl.constexpr, PADDED: tl.constexpr, ROWS: tl.constexpr, KEYS: tl.constexpr, STEPS: tl.constexpr,
            WIDEN: tl.constexpr):  # fmt: skip
    """A block of query rows of one key head over one span of keys: the unscaled sum, its peak score and its weight."""
    head, split, block = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    row, d = block * ROWS + tl.arange(0, ROWS), tl.arange(0, PADDED)
    token = row // group
    there, inside = row < n_rows, d < SIZE
    at = (token * heads + head * group + row % group)[:, None] * SIZE + d[None, :]
    x = tl.load(q + at, mask=there[:, None] & inside[None, :], other=0.0)
    if WIDEN:
        x = x.to(tl.float32)
    best = tl.full([ROWS], float("-inf"), tl.float32)
    weight = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, PADDED], tl.float32)
    for k_block in range(STEPS):
        key = (split * STEPS + k_block) * KEYS + tl.arange(0, KEYS)
        near = key < bucket
        place = (head * capacity + key).to(tl.int64)[:, None] * SIZE + d[None, :]
        kept = near[:, None] & inside[None, :]
        near_keys = tl.load(k + place, mask=kept, other=0.0)
        value = tl.load(v + place, mask=kept, other=0.0)
        if WIDEN:
            near_keys = near_keys.to(tl.float32)
            value = value.to(tl.float32)
        scores = tl.dot(x, tl.trans(near_keys), input_precision="ieee") * scale
        shown = there[:, None] & near[None, :]
        added = tl.load(mask + token[:, None] * bucket + key[None, :], mask=shown, other=float("-inf"))
        scores += added.to(tl.float32)
        higher = tl.maximum(best, tl.max(scores, 1))
        # Where no key is seen yet the peak is -inf: 0 instead keeps the differences from being NaN.
        base = tl.where(higher == float("-inf"), 0.0, higher)
        p = tl.exp(scores - base[:, None])
        keep = tl.exp(best - base)
        acc = acc * keep[:, None] + tl.dot(p.to(value.dtype), value, input_precision="ieee")
        weight = weight * keep + tl.sum(p, 1)
        best = higher
    to = (split * tl.num_programs(0) + head) * n_rows + row
    tl.store(part + to[:, None] * SIZE + d[None, :], acc, mask=there[:, None] & inside[None, :])
    tl.store(peak + to, best, mask=there)
    tl.store(total + to, weight, mask=there)


@triton.jit
def _join(part, peak, total, out, kv_heads, group, n_rows, splits,
          SIZE: tl.constexpr, PADDED: tl.constexpr, SPLITS: tl.constexpr):  # fmt: skip
    """Join the spans of one query row."""
    row, head = tl.program_id(0), tl.program_id(1)
    split, d = tl.arange(0, SPLITS), tl.arange(0, PADDED)
    there, inside = split < splits, d < SIZE
    at = (split * kv_heads + head) * n_rows + row
    high = tl.load(peak + at, mask=there, other=float("-inf"))
    share = tl.exp(high - tl.max(high, 0))
    share = tl.where(there, share, 0.0)
    weight = tl.sum(share * tl.load(total + at, mask=there, other=0.0), 0)
    parts = tl.load(part + at[:, None] * SIZE + d[None, :], mask=there[:, None] & inside[None, :], other=0.0)
    y = tl.sum(parts * share[:, None], 0) / weight
    to = (row // group * kv_heads + head) * group + row % group
    tl.store(out + to * SIZE + d, y.to(out.dtype.element_ty), mask=inside)


def attend(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor, shape: Shape, step: Step) -> Tensor:
    """Attention with split keys: each key is read once for all rows of its group; ``mask`` is ``[w, bucket]``."""
    # Triton's interpreter has no products in bfloat16.
    width, group, bucket = len(q), shape.heads // shape.kv_heads, step.bucket
    n_rows = width * group
    rows = min(ROWS, max(16, next_power_of_2(n_rows)))
    blocks = triton.cdiv(n_rows, rows)
    wanted = max(1, min(PROGRAMS // (shape.kv_heads * blocks), bucket // LEAST))
    steps = triton.cdiv(triton.cdiv(bucket, wanted), KEYS)
    splits = triton.cdiv(bucket, steps * KEYS)
    make = lambda *sizes: torch.empty(splits, shape.kv_heads, n_rows, *sizes, dtype=torch.float32, device=q.device)
    part, peak, total = make(shape.size), make(), make()
    out = torch.empty(width, shape.heads * shape.size, dtype=q.dtype, device=q.device)
    sizes = {"SIZE": shape.size, "PADDED": max(16, next_power_of_2(shape.size))}
    _attend[shape.kv_heads, splits, blocks](
        q.contiguous(), keys, values, mask, part, peak, total, shape.scale, shape.heads, group, bucket,
        keys.shape[2], n_rows, ROWS=rows, KEYS=KEYS, STEPS=steps,
        WIDEN=q.device.type == "cpu" and q.dtype == torch.bfloat16, **sizes
    )  # fmt: skip
    _join[n_rows, shape.kv_heads](
        part, peak, total, out, shape.kv_heads, group, n_rows, splits, SPLITS=next_power_of_2(splits), **sizes
    )
    return out


@triton.jit
def _rotate(mixed, cos, sin, q_norm, k_norm, positions, places, q, keys, values, eps, heads, kv_heads, capacity,
            NORMED: tl.constexpr, SIZE: tl.constexpr, PADDED: tl.constexpr):  # fmt: skip
    """One head of one token: normalised, rotated, and stored as a query, a key or a value."""
    token, head = tl.program_id(0), tl.program_id(1)
    d = tl.arange(0, PADDED)
    inside = d < SIZE
    source = mixed + (token * (heads + 2 * kv_heads) + head) * SIZE
    x = tl.load(source + d, mask=inside, other=0.0)
    place = tl.load(places + token)
    if head >= heads + kv_heads:
        tl.store(values + ((head - heads - kv_heads) * capacity + place) * SIZE + d, x, mask=inside)
    else:
        other = (d + SIZE // 2) % SIZE
        y = tl.load(source + other, mask=inside, other=0.0).to(tl.float32)
        # Another name: a variable keeps its type through a branch.
        mine = x.to(tl.float32)
        if NORMED:
            norm = q_norm
            if head >= heads:
                norm = k_norm
            root = tl.rsqrt(tl.sum(mine * mine, 0) / SIZE + eps)
            mine = mine * root * tl.load(norm + d, mask=inside, other=0.0).to(tl.float32)
            y = y * root * tl.load(norm + other, mask=inside, other=0.0).to(tl.float32)
        angle = tl.load(positions + token) * SIZE + d
        turned = mine * tl.load(cos + angle, mask=inside, other=0.0).to(tl.float32)
        turned += y * tl.load(sin + angle, mask=inside, other=0.0).to(tl.float32)
        if head < heads:
            tl.store(q + (token * heads + head) * SIZE + d, turned.to(q.dtype.element_ty), mask=inside)
        else:
            at = ((head - heads) * capacity + place) * SIZE + d
            tl.store(keys + at, turned.to(keys.dtype.element_ty), mask=inside)


def rotate(mixed: Tensor, weights: Layer, shape: Shape, keys: Tensor, values: Tensor, step: Step) -> Tensor:
    """Rotate queries and keys (after their norms, where there are any) and write keys and values, in one launch."""
    q = mixed.new_empty(len(mixed), shape.heads, shape.size)
    normed = weights.query_norm is not None
    norms = (weights.query_norm, weights.key_norm) if normed else (mixed, mixed)
    _rotate[len(mixed), shape.heads + 2 * shape.kv_heads](
        mixed, *step.rotary, *norms, step.positions, step.places, q, keys, values, shape.eps, shape.heads,
        shape.kv_heads, keys.shape[2], NORMED=normed, SIZE=shape.size, PADDED=next_power_of_2(shape.size)
    )  # fmt: skip
    return q


@triton.jit
def _gate(mixed, out, inner, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    token, inside = tl.program_id(0), at < inner
    left = tl.load(mixed + token * 2 * inner + at, mask=inside, other=0.0).to(tl.float32)
    right = tl.load(mixed + token * 2 * inner + inner + at, mask=inside, other=0.0).to(tl.float32)
    y = left / (1.0 + tl.exp(-left)) * right
    tl.store(out + token * inner + at, y.to(out.dtype.element_ty), mask=inside)


def gate(mixed: Tensor) -> Tensor:
    """Return silu(left half) * right half in one launch."""
    inner = mixed.shape[1] // 2
    out = mixed.new_empty(len(mixed), inner)
    block = min(1024, next_power_of_2(inner))
    _gate[len(mixed), triton.cdiv(inner, block)](mixed, out, inner, BLOCK=block)
    return out
