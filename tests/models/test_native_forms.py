"""Test custom models in the engine: native if their form is supported, with the texts of
transformers.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from safetensors.numpy import save_file
from transformers import LlamaConfig, LlamaForCausalLM

from hsd_viz.engine import load_engine
from hsd_viz.errors import Unsupported
from hsd_viz.models.blocks import FORMATS
from hsd_viz.models.files import open_model
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.native.build import default_build
from tests.models.make_gguf import write_gguf
from tests.models.small_models import FORMS, SIZES, make_model, save_form, small
from tests.rows import column

PROMPT = [3, 141, 59, 26, 53, 58, 97, 93, 23, 84]
needs_compiler = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)


def greedy(path, dtype: str = "float32", stack: str = "target") -> list[int]:
    """Decode natively, without a token that ends the text."""
    with load_engine(str(path), device="cpu", dtype=dtype, threads=1) as engine:
        trace = engine.run(PROMPT, stack, max_new_tokens=12)
    assert trace.meta["runtime"] == "native"
    assert trace.meta["runtime_note"] is None
    return trace.token_ids


@needs_compiler
@pytest.mark.parametrize("form", FORMS)
def test_a_form_decodes_natively_with_the_text_of_transformers(tmp_path, form):
    module = save_form(tmp_path, form)
    with torch.inference_mode():
        output = module.generate(
            torch.tensor([PROMPT]), max_new_tokens=12, do_sample=False, eos_token_id=257
        )
    expected = output[0, len(PROMPT) :].tolist()
    assert greedy(tmp_path) == expected
    assert greedy(tmp_path, stack="db[context] > target") == expected


@needs_compiler
@pytest.mark.parametrize("form", FORMS)
def test_drafts_change_no_text_in_integers(tmp_path, form):
    save_form(tmp_path, form)
    assert greedy(tmp_path, "int8", "lookup > target") == greedy(tmp_path, "int8")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"attention_bias": True}, "a bias of the attention's output"),
        ({"mlp_bias": True}, "biases in its gated network"),
        ({"hidden_act": "relu"}, "another activation than SiLU"),
    ],
)
def test_other_forms_are_handed_to_torch_with_the_reason(tmp_path, changes, reason):
    save_form(tmp_path, "llama")  # for the tokenizer
    LlamaForCausalLM(LlamaConfig.from_dict(SIZES | changes)).save_pretrained(tmp_path)
    with load_engine(str(tmp_path), device="cpu") as engine:
        assert engine.dtype == "float32"
        trace = engine.run(PROMPT, max_new_tokens=2)
    assert trace.meta["runtime"] == "eager"
    assert reason in trace.meta["runtime_note"]


def widen_into(folder, path) -> None:
    """Write the model of a GGUF file as a folder with float32 safetensors."""
    files = open_model(path)
    state = {}
    for name in files.tensors.names():
        tensor = files.tensors.read(name)
        wide = tensor.widened() if isinstance(tensor, GroupedMatrix) else tensor
        state[name] = np.ascontiguousarray(wide, np.float32)
    save_file(state, folder / "model.safetensors")


@needs_compiler
@pytest.mark.parametrize("kind", list(map(Kind, FORMATS)), ids=lambda kind: kind.name)
def test_a_gguf_file_writes_the_text_of_its_weights_in_safetensors(tmp_path, kind):
    torch.manual_seed(0)
    config = small(LlamaConfig, hidden_size=256, intermediate_size=256, num_hidden_layers=1)
    module = LlamaForCausalLM(config)
    save_form(tmp_path, "llama")  # for the tokenizer
    module.config.save_pretrained(tmp_path)
    tokens = json.loads((tmp_path / "tokenizer.json").read_text())
    vocabulary = tokens["model"]["vocab"]
    pieces = sorted(vocabulary, key=vocabulary.get)
    pieces += column(tokens["added_tokens"], "content")
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.token_type": [1] * 256 + [3] * 4,
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.eos_token_id": 257,
    }
    metadata["tokenizer.ggml.tokens"][255] = "ab"
    path = write_gguf(tmp_path / "m.gguf", module, kind=kind, extra=metadata)
    widen_into(tmp_path, path)
    assert greedy(path) == greedy(tmp_path)


def test_a_gguf_file_of_another_architecture_is_refused_in_one_line(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", make_model("llama"), "gemma")
    with pytest.raises(Unsupported, match="has the architecture 'gemma': these are read") as error:
        load_engine(str(path), device="cpu")
    assert "\n" not in str(error.value)
