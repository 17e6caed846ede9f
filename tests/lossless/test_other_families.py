"""Families that are not the ladder's, in the native runtime: both loops give the tokens of plain
decoding.
"""

from __future__ import annotations

import functools
from itertools import chain

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.options import Sampling
from hsd_viz.drafting.db import DatabaseDrafter
from hsd_viz.native.build import default_build
from hsd_viz.native.drafter import NativeDatabaseDrafter
from hsd_viz.native.loop import NativeLoop
from hsd_viz.native.model import NativeModel
from hsd_viz.stack import DraftSource
from tests.lossless.ladders import native_of, needs_native
from tests.lossless.test_greedy import run
from tests.lossless.toys import levels_of

pytestmark = needs_native
VOCABULARY = 64
TOKENS = 60
_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.6,
    "bos_token_id": None,
    "eos_token_id": None,
}
CONFIGS = {
    "llama with grouped heads and a head of its own": LlamaConfig.from_dict(
        _SIZES | {"tie_word_embeddings": False}
    ),
    "qwen2 with biases": Qwen2Config.from_dict(_SIZES | {"tie_word_embeddings": True}),
}


@functools.cache
def family_model(family: str, noise: float, dtype: str) -> NativeModel:
    """A random model; ``noise`` (relative to each weight's deviation) makes a draft model of it."""
    torch.manual_seed(0)
    module = AutoModelForCausalLM.from_config(CONFIGS[family]).float()
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter += 0.3 * torch.randn_like(parameter)
            parameter += noise * parameter.std(correction=0) * torch.randn_like(parameter)
    return native_of(module, dtype)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("family", CONFIGS)
@pytest.mark.parametrize(
    ("lookaheads", "database"),
    [([4], False), ([2, 5], False), ([], True), ([3], True)],
    ids=["one draft", "two drafts", "db", "db under a draft"],
)
def test_greedy_tokens_are_those_of_plain_decoding(family, dtype, lookaheads, database):
    models = [family_model(family, 0.04 * k, dtype) for k in range(len(lookaheads), -1, -1)]
    bottom = DraftSource("db", ("context",)) if database else None
    accepted = 0
    for start in range(3):
        prompt = [start, 5, 9, start, 5]
        plain, _ = run(models[-1:], [], None, prompt, TOKENS)
        tokens, rounds = run(models, lookaheads, bottom, prompt, TOKENS)
        assert tokens == plain == compiled(models, lookaheads, database, prompt)
        accepted += sum(len(verified.accepted) for verified in rounds)
    assert accepted > 5, "next to nothing was accepted: the test saw no speculation"


def compiled(models, lookaheads, database: bool, prompt: list[int]) -> list[int]:
    """The tokens of the compiled loop."""
    drafter = None
    if database:
        reference = DatabaseDrafter(("context",), {})
        drafter = NativeDatabaseDrafter(default_build().library, reference)
    levels = levels_of((model.session() for model in models), lookaheads)
    loop = NativeLoop(
        LoopInputs(levels, drafter, Sampling(), prompt, max_new_tokens=TOKENS, positions=256)
    )
    list(loop.prefill())
    return list(chain.from_iterable(loop.rounds()))
