"""What is recorded of a row, by every way of computing it, against float64 arithmetic written out."""

from __future__ import annotations

import pytest
import torch

from hsd_viz.backends.device import TorchBackend
from hsd_viz.backends.host import HostBackend, NativeBackend
from hsd_viz.backends.native.build import default_build
from hsd_viz.decoding.record import _details

ROWS, TOKENS = [0, 1, 2, 4, 5], [1, 2, 3, 0, 5]


def native(logits, rows, tokens):
    build = default_build()
    if not build.wait():
        pytest.skip(f"there is no native runtime: {build.reason}")
    return NativeBackend(build.library).describe(logits, rows, tokens)


def read(describe):
    return lambda logits, rows, tokens: _details(describe(logits, rows, tokens), len(rows))


WAYS = {
    name: read(way)
    for name, way in {
        "host": HostBackend().describe,
        "device": TorchBackend(torch.device("cpu")).describe,
        "native": native,
    }.items()
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("vocabulary", [6, 50, 4096, 5003])
@pytest.mark.parametrize("way", WAYS)
def test_probability_entropy_and_likeliest(way, vocabulary, dtype):
    torch.manual_seed(vocabulary)
    logits = torch.randn(6, vocabulary, dtype=dtype) * 5
    logits[2, [1, 5]] = -torch.inf  # forbidden tokens
    logits[4] *= 40  # next to certain
    logits[5] *= 1e-3  # next to uniform
    found = WAYS[way](logits, ROWS, TOKENS)
    exact = torch.log_softmax(logits.double(), dim=-1)[ROWS]
    for (p, entropy, top), row, token in zip(found, exact, TOKENS, strict=True):
        best = row.exp().topk(5)
        assert p == pytest.approx(float(row[token].exp()), rel=1e-4, abs=1e-30)
        assert entropy == pytest.approx(float(-(row.exp() * row.clamp_min(-1e4)).sum()), rel=1e-4, abs=1e-4)
        # Where the probability itself is lost in rounding, so is the order.
        there = best.values > 1e-30
        assert [t for t, _ in top][: there.sum()] == best.indices[there].tolist()
        assert [v for _, v in top] == pytest.approx(best.values.tolist(), rel=1e-4, abs=1e-30)


@pytest.mark.parametrize("way", ["host", "native"])
def test_equal_scores_come_by_their_number(way):
    logits = torch.zeros(6, 300)
    logits[0, [250, 7, 123]] = 1.0
    assert [t for t, _ in WAYS[way](logits, [0, 1], [0, 0])[0][2]] == [7, 123, 250, 0, 1]


@pytest.mark.parametrize("backend", [HostBackend(), TorchBackend(torch.device("cpu"))], ids=["host", "device"])
def test_the_likeliest_of_weights_and_their_sum(backend):
    weights = torch.tensor([0.0, 0.3, 0.0, 0.1])
    top, whole = backend.likeliest(weights)
    assert [token for token, _ in top] == [1, 3]
    assert [p for _, p in top] == pytest.approx([0.75, 0.25])
    assert whole == pytest.approx(0.4)
