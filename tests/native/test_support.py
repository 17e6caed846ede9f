"""Which models have a native forward; the others are told why not, and none is used that does not give the module's logits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from models import _SMALL
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, LlamaForCausalLM

from hsd_viz.native.build import default_build
from hsd_viz.torch_models.eager import HFModel
from hsd_viz.torch_models.native import native_model, unsupported

pytestmark = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")


def llama(**options) -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**{**_SMALL, **options}))


class Tinkered(LlamaForCausalLM):
    pass


def quantized() -> LlamaForCausalLM:
    class Int8Linear(torch.nn.Linear):
        pass

    module = llama()
    module.model.layers[1].mlp.up_proj.__class__ = Int8Linear
    return module


def dynamic() -> LlamaForCausalLM:
    return llama(rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: AutoModelForCausalLM.from_config(GPT2Config(vocab_size=20, n_embd=16, n_layer=1, n_head=2)),
            "GPT2LMHeadModel is not one of LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM",
        ),
        (
            lambda: Tinkered(LlamaConfig(**_SMALL)),
            "Tinkered is not one of LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM",
        ),
        (lambda: llama(hidden_act="gelu"), "the activation gelu is not supported"),
        (lambda: llama().half(), "float16 has no native forward pass"),
        (dynamic, "rotary angles of type dynamic depend on the text's length"),
        (quantized, "model.layers.1.mlp.up_proj is a Int8Linear, which is not supported"),
        (lambda: llama().to("meta"), "the native forward pass is for the CPU, and weights are on meta"),
    ],
)
def test_the_others_are_told_why(make, said):
    module = make()
    assert unsupported(module) == said
    if module.device.type == "cpu":
        with pytest.raises(ValueError, match=said):
            native_model(HFModel("m", module))


def test_a_module_that_computes_something_else_is_refused():
    """What no attribute shows, a changed forward, the probe finds."""
    module = llama()
    module.model.layers[2].mlp.register_forward_hook(lambda part, arguments, out: out * 1.05)
    with pytest.raises(ValueError, match=r"m: the rows of this runtime differ from the model's own by"):
        native_model(HFModel("m", module))


def test_rows_beyond_the_tokenizer_are_cut_off():
    module = llama()
    cut, whole = native_model(HFModel("m", module, tokens=131)), native_model(HFModel("m", module))
    assert cut.vocab_size == 131
    assert np.array_equal(cut.session().forward([1, 2, 3], 3), whole.session().forward([1, 2, 3], 3)[:, :131])
