"""Compiled models on a GPU: recorded graphs give the module's rows and the loop's texts, and
strict rows are bit-equal.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.torch_models.compiled import CompiledModel
from hsd_viz.torch_models.device_loop import DeviceLoop
from hsd_viz.torch_models.eager import HFModel

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here"),
]


def eager(dtype: torch.dtype, noise: float = 0.0) -> HFModel:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        bos_token_id=None,
        eos_token_id=None,
        initializer_range=0.2,
    )
    module = LlamaForCausalLM(config)
    with torch.no_grad():
        for weight in module.parameters():
            weight += noise * weight.std(correction=0) * torch.randn_like(weight)
    return HFModel("random", module.to("cuda", dtype))


def text(n: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, 512, n).tolist()


def decoded(loop_class: type[Loop], models: list, sampling: Sampling) -> list[int]:
    levels = []
    for model, lookahead in zip(models, [*[3, 6][: len(models) - 1], None], strict=True):
        levels.append(Level("m", model.session(80), lookahead))
    loop = loop_class(LoopInputs(levels, None, sampling, text(12), max_new_tokens=60))
    for _ in loop.prefill():
        pass
    for _ in loop.rounds():
        pass
    return loop.text


def test_graphs_give_the_rows_of_the_module():
    model = eager(torch.float32)
    session = CompiledModel(model).session()
    plain = model.session()
    for step, n in enumerate((40, 1, 4, 9, 1, 5, 16, 1, 30)):
        tokens = text(n, step)
        base = session.length
        parents = [k // 2 - 1 for k in range(n)] if step % 2 else None
        ours = session.forward(tokens, n, parents)
        own = plain.forward(tokens, n, parents)
        assert np.allclose(ours, own, rtol=1e-3, atol=1e-3)
        for each in (session, plain):
            each.keep(base, [0] if parents else range(n))


@pytest.mark.parametrize(
    "sampling", [Sampling(), Sampling(temperature=0.7, top_p=0.9, seed=1)], ids=str
)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_recorded_steps_give_the_texts_of_the_loop(depth, sampling):
    """In float64; most steps are replays, and a second decode replays all of its steps."""
    plain = [eager(torch.float64, noise) for noise in (0.2, 0.1, 0.0)][-depth:]
    models = list(map(CompiledModel, plain))
    expected = decoded(Loop, plain, sampling)
    for _ in range(2):
        assert decoded(DeviceLoop, models, sampling) == expected


def test_strict_rows_are_bit_equal():
    model = CompiledModel(eager(torch.bfloat16), strict=True)
    alone = model.session()
    parts = model.session()
    tokens = text(40)
    rows = np.concatenate([alone.forward([token], 1) for token in tokens])
    cuts = ((0, 1), (1, 6), (6, 23), (23, 40))
    assert np.array_equal(
        np.concatenate([parts.forward(tokens[a:b], b - a) for a, b in cuts]), rows
    )


def test_strict_greedy_texts_do_not_depend_on_drafts():
    models = [CompiledModel(eager(torch.bfloat16, noise), strict=True) for noise in (0.1, 0.0)]
    plain = decoded(DeviceLoop, models[-1:], Sampling())
    assert decoded(DeviceLoop, models, Sampling()) == plain
