"""Test that unsupported models are refused with a reason, from the config or from their rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertGenerationConfig,
    BloomConfig,
    JambaConfig,
    MambaConfig,
    MixtralConfig,
    MptConfig,
    Phi3Config,
    Qwen3NextConfig,
    T5Config,
    ViTConfig,
)
from transformers.models.llama4 import Llama4TextConfig

from hsd_viz.torch_models.eager import HFModel, context
from hsd_viz.torch_models.suitable import check_config, check_forward
from tests.torch_models.families import module, text_of

REFUSED = [
    (MambaConfig(), "cannot be rolled back"),
    (JambaConfig(), "cannot be rolled back"),
    (Qwen3NextConfig(), r"cannot be rolled back \(linear_attention\)"),
    (T5Config(), "encoder-decoder"),
    (ViTConfig(), "of the type vit: only causal"),
]


@pytest.mark.parametrize(("config", "says"), REFUSED, ids=lambda v: type(v).__name__)
def test_an_unsuitable_config_is_refused_in_one_line(config, says):
    with pytest.raises(ValueError, match=says) as error:
        check_config("it", config)
    assert "\n" not in str(error.value)


SMALL = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "initializer_range": 0.3,
}
REFUSED_BY_ROWS = {
    "looks ahead": BertGenerationConfig.from_dict(SMALL),
    "an encoder": BertConfig.from_dict(SMALL),
    "masks of its own": MptConfig(
        vocab_size=64, d_model=32, n_layers=2, n_heads=4, initializer_range=0.3
    ),
    "no four-dimensional mask": BloomConfig(vocab_size=64, hidden_size=32, n_layer=2, n_head=4),
}


@pytest.mark.parametrize("kind", REFUSED_BY_ROWS)
def test_a_model_with_unsuitable_rows_is_refused_in_one_line(kind):
    torch.manual_seed(0)
    model = HFModel("it", AutoModelForCausalLM.from_config(REFUSED_BY_ROWS[kind]))
    with pytest.raises(ValueError, match="it cannot be decoded here") as error:
        check_forward(model)
    assert "\n" not in str(error.value)


OTHERS = {
    "experts and a window": MixtralConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.3,
        num_local_experts=4,
        sliding_window=5,
    ),
    "chunks": Llama4TextConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        intermediate_size_mlp=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=256,
        initializer_range=0.3,
        num_local_experts=4,
        attention_chunk_size=4,
        no_rope_layers=[1, 0],
    ),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_layers_give_the_rows_of_the_text(kind):
    """Experts run only in float32; the probe's text is longer than the window and chunk."""
    torch.manual_seed(0)
    model = HFModel(kind, AutoModelForCausalLM.from_config(OTHERS[kind]))
    with torch.no_grad():
        for name, weight in model.module.named_parameters():
            if "experts" in name:  # made without values
                weight.copy_(0.3 * torch.randn_like(weight))
    check_config(kind, model.module.config)
    check_forward(model)


def test_half_precision_is_no_wrong_mask():
    check_forward(HFModel("it", module("gemma2, windows and caps").bfloat16()))
    module.cache_clear()


def test_stretched_positions_end_at_the_original_context():
    """Rotary tables depend on the reach of a forward pass; longer drafts would change the text."""
    stretch = {
        "rope_type": "longrope",
        "rope_theta": 1e4,
        "short_factor": [1.0] * 4,
        "long_factor": [2.0] * 4,
    }
    stretched = Phi3Config(
        hidden_size=32,
        num_attention_heads=4,
        max_position_embeddings=512,
        original_max_position_embeddings=128,
        pad_token_id=0,
        rope_parameters=stretch,
    )
    assert context(stretched) == 128
    assert context(Phi3Config(max_position_embeddings=512)) == 512
    assert context(MptConfig()) is None


# --- sessions -------------------------------------------------------------------------------------


def test_a_cache_grows_past_its_first_capacity():
    model = HFModel("llama", module("llama"))
    text = text_of(700)
    session = model.session()
    for start in range(0, 700, 100):
        rows = session.forward(text[start : start + 100], 2)
    with torch.inference_mode():
        fresh = model.module(torch.tensor([text]), use_cache=False).logits[0, -2:].numpy()
    assert np.allclose(rows, fresh, rtol=1e-4, atol=1e-5)


def test_rows_end_where_the_tokenizer_does():
    """Checkpoints pad their embeddings; a padded id is not a token and must never be drawn."""
    padded = module("llama")
    narrow = HFModel("llama", padded, tokens=44)
    wide = HFModel("llama", padded, tokens=999)
    assert narrow.vocab_size == 44
    assert wide.vocab_size == 50
    rows = narrow.session().forward(text_of(9), 3)
    assert rows.shape == (3, 44)
    assert np.array_equal(rows, wide.session().forward(text_of(9), 3)[:, :44])
