"""Triton kernels against the operations that they replace: for every width, group, head, bucket and mask.

Run on the CPU by Triton's interpreter; on a GPU, where there is one, compiled.
"""

from __future__ import annotations

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton")

from hsd_viz.backends.cuda_graphs import lean
from hsd_viz.backends.cuda_graphs.forward import WIDTHS
from hsd_viz.backends.cuda_graphs.fused import chosen, ops_with

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
#: Heads of queries and of keys, and their size.
HEADS = {"one group": (2, 2, 16), "pairs": (4, 2, 32), "eight": (8, 1, 64), "odd size": (3, 3, 24), "five": (5, 1, 16)}
CLOSE = {torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}
OURS = ops_with(["attention", "rope", "silu"])


def setting(heads: str, width: int, bucket: int, dtype: torch.dtype, mask: str):
    """A shape, a step and random buffers: ``capacity`` is larger than the bucket, and what is stale is huge."""
    n, kv, size = HEADS[heads]
    random = torch.Generator().manual_seed(width * 1000 + bucket)
    shape, capacity = lean.Shape(n, kv, size, 1e-6, size**-0.5), 2 * bucket
    make = lambda *sizes: torch.randn(*sizes, generator=random).to(DEVICE, dtype)
    length = bucket - width - 3
    keys, values = make(1, kv, capacity, size), make(1, kv, capacity, size)
    keys[:, :, length + width :] = 100.0
    seen = torch.zeros(width, bucket, dtype=torch.bool)
    seen[:, :length] = mask != "window" or (torch.arange(length) >= length - 5)
    for k in range(width):
        above = {"chain": range(k + 1), "window": range(max(0, k - 4), k + 1), "tree": (*range(0, k, 3), k)}[mask]
        seen[k, [length + j for j in above]] = True
    added = torch.where(seen, 0.0, -torch.inf).to(DEVICE, dtype)
    places = torch.arange(length, length + width, device=DEVICE)
    angles = torch.rand(capacity, 1, size, generator=random) * 6
    rotary = angles.cos().to(DEVICE, dtype), angles.sin().to(DEVICE, dtype)
    positions = torch.randint(0, capacity, (width,), generator=random).to(DEVICE)
    step = lean.Step(places, bucket, {}, rotary, positions, None)
    return shape, step, keys, values, added, make


def same(a: torch.Tensor, b: torch.Tensor) -> None:
    assert a.shape == b.shape and a.dtype == b.dtype
    error = (a.double() - b.double()).norm() / b.double().norm()
    assert error < CLOSE[a.dtype], float(error)


@pytest.mark.parametrize("mask", ["chain", "window", "tree"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("heads", ["one group", "pairs", "eight"])
def test_attention(heads, width, mask):
    check_attention(heads, width, 256, mask, torch.float32)


@pytest.mark.parametrize("bucket", [128, 512, 768, 1024, 1536])
@pytest.mark.parametrize("heads", ["one group", "pairs", "eight"])
def test_attention_by_bucket(heads, bucket):
    check_attention(heads, 3, bucket, "tree", torch.float32)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize(("width", "bucket"), [(1, 512), (5, 256)])
def test_attention_in_half_precision_and_of_odd_sizes(heads, width, bucket, dtype):
    check_attention(heads, width, bucket, "tree", dtype)


def check_attention(heads, width, bucket, mask, dtype):
    shape, step, keys, values, added, make = setting(heads, width, bucket, dtype, mask)
    q = make(width, shape.heads, shape.size)
    wide = [t.float() for t in (q, keys, values)]
    exact = lean.attend(*wide, added.float().repeat(shape.heads // shape.kv_heads, 1), shape, step)
    same(OURS.attend(q, keys, values, added, shape, step), exact.to(dtype))


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("heads", HEADS)
def test_rotation_and_writing(heads, width, dtype, normed):
    shape, step, keys, values, _, make = setting(heads, width, 128, dtype, "chain")
    mixed = make(width, shape.heads + 2 * shape.kv_heads, shape.size)
    norms = (make(shape.size), make(shape.size)) if normed else (None, None)
    weights = lean.Layer(*[None] * 3, *norms, *[None] * 8)  # type: ignore[arg-type]
    exact = keys.float(), values.float()
    wide = lean.Layer(*[None] * 3, *(n if n is None else n.float() for n in norms), *[None] * 8)  # type: ignore[arg-type]
    table = lean.Step(step.places, step.bucket, {}, tuple(t.float() for t in step.rotary), step.positions, None)
    q = lean.rotate(mixed.float(), wide, shape, *exact, table)
    same(OURS.rotate(mixed, weights, shape, keys, values, step), q.to(dtype))
    same(keys, exact[0].to(dtype)), same(values, exact[1].to(dtype))
    assert torch.equal(values, exact[1].to(dtype))


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("width", [1, 6])
@pytest.mark.parametrize("inner", [48, 1024, 1500])
def test_gate(inner, width, dtype):
    mixed = (torch.randn(width, 2 * inner, generator=torch.Generator().manual_seed(inner)) * 4).to(DEVICE, dtype)
    same(OURS.gate(mixed), lean.gate(mixed.float()).to(dtype))


def test_a_mask_that_is_not_applied_is_noticed():
    """The mutant of the tests above: without its mask the attention differs by far more than rounding."""
    shape, step, keys, values, added, make = setting("pairs", 6, 128, torch.float32, "tree")
    q = make(6, shape.heads, shape.size)
    right, wrong = (OURS.attend(q, keys, values, mask, shape, step) for mask in (added, torch.zeros_like(added)))
    assert (right - wrong).norm() > 0.1 * right.norm()


def test_unknown_kernels_are_refused():
    with pytest.raises(ValueError, match="unknown kernel 'gelu': use attention, rope, silu"):
        chosen(["gelu"], torch.device("cpu"), torch.float32)
    assert chosen(None, torch.device("cpu"), torch.float32) == frozenset()
