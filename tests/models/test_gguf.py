"""Compare number formats of GGUF files with the package ``gguf``, and names and rows with
transformers.
"""

from __future__ import annotations

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from hsd_viz.errors import BadFile, Unsupported
from hsd_viz.models.blocks import FORMATS
from hsd_viz.models.gguf import GGUFFile
from hsd_viz.models.gguf_model import GGUFTensors, read_form
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.models.rotary import llama3_factors
from hsd_viz.models.tensors import check_shapes
from tests.models.make_gguf import random_blocks, write_gguf

SIZES = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "tie_word_embeddings": False,
}


def small(kind, **changes):
    """A configuration of the sizes above, with changes."""
    return kind.from_dict(SIZES | changes)


def llama(config: LlamaConfig | None = None) -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(config or small(LlamaConfig)).eval()


def qwen2() -> Qwen2ForCausalLM:
    torch.manual_seed(0)
    module = Qwen2ForCausalLM(small(Qwen2Config)).eval()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("bias"):
                parameter.normal_()
    return module


def qwen3() -> Qwen3ForCausalLM:
    torch.manual_seed(0)
    module = Qwen3ForCausalLM(small(Qwen3Config, head_dim=32)).eval()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "_norm" in name:
                parameter.uniform_(0.5, 2)
    return module


MODELS = {"llama": llama, "qwen2": qwen2, "qwen3": qwen3}


def open_tensors(path):
    file = GGUFFile(path)
    form = read_form(file)
    tensors = GGUFTensors(file, form)
    check_shapes("it", form, tensors)
    return form, tensors


@pytest.mark.parametrize("kind", list(map(Kind, FORMATS)), ids=lambda kind: kind.name)
def test_a_format_decodes_to_the_numbers_of_the_package_gguf(tmp_path, kind):
    matrix = np.random.default_rng(0).normal(size=(6, 512)).astype(np.float32)
    if kind in (Kind.Q4_K, Kind.Q5_K, Kind.Q6_K):
        stored = random_blocks(kind, 6, 512)
    else:
        stored = gguf.quants.quantize(matrix, kind)
    expected = gguf.quants.dequantize(stored, kind)
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_tensor("m", stored, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensor = GGUFFile(tmp_path / "m.gguf").read("m")
    if isinstance(tensor, GroupedMatrix):
        tensor = tensor.widened()
    np.testing.assert_array_equal(tensor.astype(np.float32), expected)


@pytest.mark.parametrize("architecture", MODELS)
def test_tensors_are_those_of_the_model_that_was_written(tmp_path, architecture):
    module = MODELS[architecture]()
    form, tensors = open_tensors(write_gguf(tmp_path / "m.gguf", module, architecture))
    state = module.state_dict()
    assert set(tensors.names()) == set(state)
    for name in tensors.names():
        np.testing.assert_array_equal(tensors.read(name), state[name].numpy(), err_msg=name)
    assert form.query_key_value_bias is (architecture == "qwen2")
    assert form.query_key_norm is (architecture == "qwen3")
    assert not form.tied_head


@pytest.mark.parametrize("architecture", MODELS)
def test_transformers_reads_the_same_tensors(tmp_path, architecture):
    module = MODELS[architecture]()
    path = write_gguf(tmp_path / "m.gguf", module, architecture, Kind.Q8_0)
    _, tensors = open_tensors(path)
    loaded = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=module)["tensors"]
    assert set(loaded) == set(tensors.names())
    for name, expected in loaded.items():
        tensor = tensors.read(name)
        if isinstance(tensor, GroupedMatrix):
            tensor = tensor.widened()
        np.testing.assert_array_equal(tensor, expected.numpy(), err_msg=name)


def test_grouped_rows_keep_their_scales_when_they_are_reordered(tmp_path):
    module = llama()
    path = write_gguf(tmp_path / "m.gguf", module, "llama", Kind.Q4_1)
    _, tensors = open_tensors(path)
    loaded = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=module)["tensors"]
    matrix = tensors.read("model.layers.1.self_attn.k_proj.weight")
    assert isinstance(matrix, GroupedMatrix)
    assert matrix.bits == 4
    assert matrix.group_size == 32
    expected = loaded["model.layers.1.self_attn.k_proj.weight"].numpy()
    np.testing.assert_array_equal(matrix.widened(), expected)


def test_numbers_of_the_form_are_those_that_were_written(tmp_path):
    rotary = {"rope_type": "default", "rope_theta": 5e5}
    module = llama(small(LlamaConfig, rms_norm_eps=1e-5, rope_parameters=rotary))
    form, _ = open_tensors(write_gguf(tmp_path / "m.gguf", module))
    assert form.epsilon == 1e-5
    assert form.rotary.theta == 5e5


def test_rotary_factors_of_llama_3_are_recognized(tmp_path):
    scaling = {
        "rope_type": "llama3",
        "rope_theta": 5e5,
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    module = llama(small(LlamaConfig, rope_parameters=scaling, head_dim=64))
    plain = module.config.rope_parameters["rope_theta"] ** -(torch.arange(0, 64, 2) / 64)
    factors = (plain / module.model.rotary_emb.inv_freq).numpy()
    path = tmp_path / "m.gguf"
    write_gguf(path, module, factors=factors)
    form, _ = open_tensors(path)
    assert form.rotary.kind == "llama3"
    assert form.rotary.factor == pytest.approx(32)
    np.testing.assert_allclose(llama3_factors(form.rotary, 64), factors, rtol=1e-5)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("llama.expert_count", 8, "a mixture of experts"),
        ("llama.attention.sliding_window", 64, "a sliding window"),
        ("llama.rope.scaling.type", "yarn", "another rotary scaling"),
        ("llama.rope.dimension_count", 8, "only a part of each head"),
    ],
)
def test_other_forms_are_refused_with_the_reason(tmp_path, key, value, reason):
    write_gguf(tmp_path / "m.gguf", llama(), extra={key: value})
    with pytest.raises(Unsupported, match=reason):
        read_form(GGUFFile(tmp_path / "m.gguf"))


def test_other_architectures_are_refused_with_those_that_are_read(tmp_path):
    write_gguf(tmp_path / "m.gguf", llama(), "gemma")
    with pytest.raises(Unsupported, match=r"'gemma'.*llama, smollm3, qwen2, qwen3"):
        read_form(GGUFFile(tmp_path / "m.gguf"))


def test_a_tensor_of_another_shape_is_refused(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", llama(small(LlamaConfig, num_hidden_layers=1)))
    content = path.read_bytes()
    wider = content.replace(
        b"llama.feed_forward_length\x04\0\0\0" + (96).to_bytes(4, "little"),
        b"llama.feed_forward_length\x04\0\0\0" + (6_000_000).to_bytes(4, "little"),
    )
    assert wider != content
    path.write_bytes(wider)
    with pytest.raises(BadFile, match="6000000"):
        open_tensors(path)
