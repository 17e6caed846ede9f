"""Compiled sessions on a GPU: recorded graphs give the rows of the module, and strict rows are bit-equal."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from hsd_viz.decoding.sampling import Sampling
from hsd_viz.torch_models.compiled import CompiledModel
from hsd_viz.torch_models.eager import HFModel

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here"),
]


def eager(dtype: torch.dtype) -> HFModel:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
    )
    return HFModel("random", LlamaForCausalLM(config).to("cuda", dtype))


def text(n: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, 512, n).tolist()


def test_graphs_give_the_rows_of_the_module():
    model = eager(torch.float32)
    session, plain = CompiledModel(model).session(), model.session()
    for step, n in enumerate((40, 1, 4, 9, 1, 5, 16, 1, 30)):
        tokens, base = text(n, step), session.length
        parents = [k // 2 - 1 for k in range(n)] if step % 2 else None
        ours, own = session.forward(tokens, n, parents), plain.forward(tokens, n, parents)
        assert np.allclose(ours, own, rtol=1e-3, atol=1e-3)
        for each in (session, plain):
            each.keep(base, [0] if parents else range(n))
    found, own = (
        each.sample(text(3), 6, Sampling(), None, frozenset()) for each in (session, plain)
    )
    assert found.tokens == own.tokens


def test_strict_rows_are_bit_equal():
    model = CompiledModel(eager(torch.bfloat16), strict=True)
    alone, parts = model.session(), model.session()
    tokens = text(40)
    rows = np.concatenate([alone.forward([token], 1) for token in tokens])
    cuts = ((0, 1), (1, 6), (6, 23), (23, 40))
    assert np.array_equal(
        np.concatenate([parts.forward(tokens[a:b], b - a) for a, b in cuts]), rows
    )
