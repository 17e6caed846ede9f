"""Compare checkpoints in folders with transformers: forms, tensors and stop tokens."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from hsd_viz.errors import BadFile, Unsupported
from hsd_viz.models.config import read_config
from hsd_viz.models.files import cached_folder, open_model, weights_hash
from hsd_viz.models.safetensors import weight_files
from hsd_viz.torch_models.llama_modules import load_module
from tests.models.small_models import FORMS, save_form

TEXT = torch.tensor([[3, 141, 59, 26, 53, 58, 97, 93, 23, 84, 62, 64]])


def change_config(folder, changes: dict) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@torch.inference_mode()
def logits(module) -> np.ndarray:
    return module(TEXT).logits[0].numpy()


@pytest.mark.parametrize("form", FORMS)
def test_a_form_gives_the_logits_of_transformers(tmp_path, form):
    module = save_form(tmp_path, form)
    loaded = load_module(open_model(tmp_path), torch.float32)
    np.testing.assert_allclose(logits(loaded), logits(module), rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_weights_of_every_float_type_are_read(tmp_path, dtype):
    module = save_form(tmp_path, "llama", dtype)
    tensors = open_model(tmp_path).tensors
    for name, expected in module.state_dict().items():
        tensor = tensors.read(name).astype(np.float32)
        np.testing.assert_array_equal(tensor, expected.numpy(), err_msg=name)


def test_shards_are_one_model(tmp_path):
    module = save_form(tmp_path, "llama", max_shard_size="50KB")
    assert len(weight_files(tmp_path)) > 1
    files = open_model(tmp_path)
    assert set(files.tensors.names()) == set(module.state_dict())
    np.testing.assert_array_equal(
        files.tensors.read("model.norm.weight"), module.model.norm.weight.detach().numpy()
    )


def test_a_config_of_an_earlier_transformers_gives_the_same_form(tmp_path):
    save_form(tmp_path, "llama-llama3")
    expected = open_model(tmp_path).form
    config = read_config(tmp_path)
    rotary = config.pop("rope_parameters")
    config["rope_theta"] = rotary.pop("rope_theta")
    config["rope_scaling"] = rotary
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert open_model(tmp_path).form == expected


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "gpt2"}, "the model type 'gpt2': native are llama, mistral"),
        ({"model_type": "mistral", "sliding_window": 32}, "a sliding window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "'sliding_attention'"),
        ({"hidden_act": "gelu"}, "another activation than SiLU"),
        ({"attention_bias": True}, "a bias of the attention's output"),
        ({"mlp_bias": True}, "biases in its gated network"),
        ({"quantization_config": {"quant_method": "gptq"}}, "weights of a quantization library"),
        ({"partial_rotary_factor": 0.5}, "a part of each head"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "rotary scaling 'yarn'"),
        ({"num_local_experts": 8}, "a mixture of experts"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_other_forms_are_refused_with_the_reason(tmp_path, changes, reason):
    save_form(tmp_path, "llama")
    change_config(tmp_path, changes)
    with pytest.raises(Unsupported, match=reason):
        open_model(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_size": 6_000_000}, "embed_tokens.*its form has .260, 6000000."),
        ({"num_hidden_layers": 9_999}, "no tensor model.layers.2.input_layernorm.weight"),
        ({"vocab_size": 10**12}, "vocabulary is 1000000000000"),
        ({"hidden_size": -1}, "width is -1"),
        ({"num_attention_heads": 0}, "number of heads is 0"),
        ({"num_key_value_heads": 3}, "4 heads cannot share 3"),
        ({"head_dim": "x"}, "head_dim is 'x' in its config, expected a whole number"),
        ({"head_dim": 15}, "size of a head is 15, expected an even number"),
        ({"rms_norm_eps": "tiny"}, "rms_norm_eps is 'tiny' in its config, expected a number"),
        ({"rms_norm_eps": float("nan")}, "epsilon of its norms is nan"),
        ({"rope_parameters": 7}, "rope_parameters is 7, expected a JSON object"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings is 'yes'.*expected true or false"),
        ({"num_hidden_layers": None}, "num_hidden_layers is None in its config"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_impossible_values_are_refused_before_anything_is_allocated(tmp_path, changes, words):
    save_form(tmp_path, "llama")
    change_config(tmp_path, changes)
    with pytest.raises(BadFile, match=words) as error:
        open_model(tmp_path)
    assert "\n" not in str(error.value)


def test_a_missing_head_is_reported(tmp_path):
    save_form(tmp_path, "llama-tied")
    change_config(tmp_path, {"tie_word_embeddings": False})
    with pytest.raises(BadFile, match=r"no tensor lm_head.weight; expected shape \[260, 64\]"):
        open_model(tmp_path)


def test_stop_tokens_are_those_of_the_generation_config(tmp_path):
    save_form(tmp_path, "llama")
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [257, 259]}')
    files = open_model(tmp_path)
    assert files.ends(files.tokenizer()) == {257, 259}


def test_stop_tokens_fall_back_to_the_tokenizer(tmp_path):
    save_form(tmp_path, "llama")
    (tmp_path / "generation_config.json").unlink()
    change_config(tmp_path, {"eos_token_id": None})
    files = open_model(tmp_path)
    assert files.ends(files.tokenizer()) == {257}


def test_a_hub_model_is_found_in_the_local_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--owner--tiny"
    folder = repository / "snapshots" / "abc"
    save_form(folder, "llama")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    assert cached_folder("owner/tiny") == folder
    assert cached_folder("owner/other") is None
    (folder / "model.safetensors").unlink()
    assert cached_folder("owner/tiny") is None


def test_the_hash_of_files_does_not_depend_on_their_folders(tmp_path):
    hashes = set()
    for first, second in (("a", "b"), ("b", "a")):
        lent = tmp_path / first / "lent.gguf"
        own = tmp_path / second / "own.safetensors"
        for file in (lent, own):
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(file.name.encode())
        hashes.add(weights_hash([lent, own]))
    assert len(hashes) == 1
