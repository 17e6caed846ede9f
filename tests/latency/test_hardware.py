"""Test predicted step times of machines: their parts by hand, published figures, and refused
settings.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks import prediction, published, published_figures
from hsd_viz.cli import main
from hsd_viz.latency.cards import GPUS, gpu_of
from hsd_viz.latency.configs import shape_of, shape_of_config
from hsd_viz.latency.efficiency import (
    APPLE,
    GAUDI,
    INSTINCT,
    LLAMA_CPP,
    PUBLISHED,
    Efficiency,
    efficiency_of,
)
from hsd_viz.latency.hardware import Machine, fitted
from hsd_viz.latency.shapes import MODELS, Shape
from tests.rows import column

IDEAL = Efficiency(dict.fromkeys(PUBLISHED.bandwidth, 1.0), 1.0, 0.0, 0.0, 0.0, "assumed", "ideal")
H100 = Machine(GPUS["H100 SXM"], efficiency=IDEAL)


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("llama-1b", 1.24),
        ("llama-8b", 8.03),
        ("llama-70b", 70.6),
        ("llama-405b", 405.9),
        ("qwen3-30b-a3b", 30.5),
    ],
)
def test_shapes_have_their_published_sizes(name, billions):
    assert MODELS[name].parameters / 1e9 == pytest.approx(billions, rel=0.01)


def test_a_step_is_bytes_or_arithmetic():
    shape = MODELS["llama-8b"]
    read = 2 * (shape.parameters - shape.vocabulary * shape.hidden)
    assert H100.step_ms(shape) == pytest.approx(1e3 * (read + shape.cache * 2) / 3350e9)
    cached = H100.step_ms(shape, batch=8, context=4096) - H100.step_ms(shape, batch=8)
    assert cached == pytest.approx(1e3 * 8 * 4096 * shape.cache * 2 / 3350e9)
    many = H100.step_ms(shape, batch=64, tokens=64)
    assert many == pytest.approx(1e3 * 2 * shape.touched(1) * 4096 / 989e12, rel=0.05)
    assert H100.step_ms(shape, tokens=8) < 1.01 * H100.step_ms(shape)
    four = Machine(H100.gpu, 4, IDEAL)
    assert four.step_ms(shape) == pytest.approx(H100.step_ms(shape) / 4)


def test_verification_touches_more_experts():
    moe = MODELS["mixtral-8x7b"]
    dense = 3 * moe.hidden * moe.intermediate * moe.layers
    assert (moe.touched(2) - moe.touched(1)) / dense == pytest.approx(8 * (1 - 0.75**2) - 2)
    assert moe.touched(1e6) == pytest.approx(moe.parameters - moe.vocabulary * moe.hidden)
    small = MODELS["llama-8b"]
    assert (
        H100.step_ms(moe, tokens=8) / H100.step_ms(moe)
        > 2
        > H100.step_ms(small, tokens=8) / H100.step_ms(small)
    )


def test_two_step_times_are_met():
    shape = MODELS["llama-8b"]
    plain = Machine(GPUS["H100 SXM"])
    for one, many in [(6.0, 6.5), (9.0, 9.0), (12.0, 15.0)]:
        own = fitted(plain, shape, one, many)
        assert own.step_ms(shape) == pytest.approx(one)
        assert own.step_ms(shape, tokens=8) == pytest.approx(many, rel=0.01)
        assert own.efficiency.kind == "measured"
        assert own.efficiency.bandwidth["bf16"] <= 1
    with pytest.raises(ValueError, match=r"shorter than the 4\.48 ms"):
        fitted(plain, shape, 2.0, 3.0)
    with pytest.raises(ValueError, match="must not be shorter"):
        fitted(plain, shape, 7.0, 6.0)


def test_published_figures_are_met():
    """Guard docs/results.md with rows of several sources to which nothing was fitted."""
    data = prediction.report()
    held = data["summary"]["held aside, without Gaudi at full load"]
    for name, errors in data["summary"].items():
        print(f"{name}: median {errors['median']:.1%}, worst {errors['worst']:.1%}")
    assert held["figures"] >= 40
    assert held["median"] <= 0.08
    assert held["worst"] <= 0.3
    speedups = data["summary"]["speed-ups, held aside"]
    assert speedups["figures"] >= 25
    assert speedups["median"] <= 0.15
    assert speedups["worst"] <= 0.35
    assert not set(column(published_figures.HELD_SPEED_UPS, "model")) & set(published.ROUNDS_FITTED)
    stored = json.loads((published.DATA / "prediction.json").read_text())["summary"]
    assert stored.keys() == data["summary"].keys()
    for name, figures in data["summary"].items():
        assert stored[name] == pytest.approx(figures)
    kept = [row for row in published_figures.HELD_ASIDE if not published.at_full_load(row)]
    assert len(set(column(kept, "source"))) >= 4
    assert sum(abs(row.error()) > 0.2 for row in kept) <= 3
    assert {GPUS[row.gpu].vendor for row in kept} == {"nvidia", "amd", "apple"}
    assert not set(published_figures.FITTED) & set(published_figures.HELD_ASIDE)


def test_a_cache_that_heads_share_may_be_read_once_for_each_of_them():
    """Llama 70B has 8 attention heads per head of the cache, Llama 2 7B has one."""

    def step_ms(machine, model):
        return machine.step_ms(model, batch=64, context=4096, weights="fp8", cache="fp8")

    shared = Machine(GPUS["H100 SXM"], 2)
    again = replace(shared, efficiency=replace(PUBLISHED, rereads=1.0))
    one = MODELS["llama-2-7b"]
    assert step_ms(again, one) == step_ms(shared, one)
    many = MODELS["llama-70b"]
    cache_ms = 64 * many.cached(4097) / (3350e9 * 0.825) / 2 * 1e3
    more = step_ms(again, many) - step_ms(shared, many)
    assert more == pytest.approx(7 * cache_ms, rel=0.01)


def test_a_card_has_the_efficiency_of_what_usually_runs_on_it():
    known = {
        "H100 SXM": PUBLISHED,
        "RTX 4090": LLAMA_CPP,
        "RX 7900 XTX": LLAMA_CPP,
        "Arc B580": LLAMA_CPP,
        "M3 Max": APPLE,
        "MI300X": INSTINCT,
        "Gaudi 3": GAUDI,
    }
    assert {name: efficiency_of(GPUS[name]) for name in known} == known


def test_a_config_is_read_and_strange_ones_are_refused(tmp_path):
    config = {
        "num_hidden_layers": 32,
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 14336,
        "vocab_size": 128256,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    shape = shape_of(str(tmp_path))
    assert shape.parameters == MODELS["llama-8b"].parameters
    assert isinstance(shape, Shape)
    assert shape.name == tmp_path.name
    for changed, words in [
        ({"kv_lora_rank": 512}, "latent or linear attention"),
        ({"hidden_size": None}, "hidden of"),
        ({"num_hidden_layers": 0}, "layers of"),
        ({"num_experts": 4, "num_experts_per_tok": 5}, "4 experts of which each token uses 5"),
    ]:
        (tmp_path / "config.json").write_text(json.dumps(config | changed))
        with pytest.raises(ValueError, match=words):
            shape_of(str(tmp_path))
    with pytest.raises(ValueError, match="cannot read the config file"):
        shape_of(str(tmp_path / "no" / "config.json"))


def test_names_are_found_and_near_ones_are_named():
    assert gpu_of("h100").name == "H100 SXM"
    assert gpu_of("rtx4090").name == "RTX 4090"
    assert gpu_of("mine", bandwidth=1200, flops=300, memory=48).bandwidth == 1200
    for name, what in (("H10", gpu_of), ("rtx", gpu_of), ("llama", shape_of)):
        with pytest.raises(ValueError, match=f"'{name}' is unknown: use "):
            what(name)
    with pytest.raises(ValueError, match="'lama-8b' is unknown: use llama-8b"):
        shape_of("lama-8b")
    with pytest.raises(ValueError, match="use T4, or give"):
        gpu_of("TPU")


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA A100-SXM4-40GB", "A100 SXM 40GB"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("Tesla T4", "T4"),
        ("AMD Instinct MI300X OAM", "MI300X"),
        ("Intel(R) Arc(TM) B580 Graphics", "Arc B580"),
        ("Apple M2 Ultra", "M2 Ultra"),
    ],
)
def test_cards_have_the_names_that_their_drivers_print(printed, name):
    assert gpu_of(printed).name == name


def test_models_have_their_names_of_the_hub():
    assert shape_of("meta-llama/Llama-3.1-8B-Instruct").name == "llama-8b"
    assert shape_of("Qwen/Qwen3-Coder-30B-A3B-Instruct").name == "qwen3-30b-a3b"


LAYER = {
    "num_hidden_layers": 12,
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "intermediate_size": 4096,
    "vocab_size": 32000,
}
EXPERTS = {"num_local_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 512}


@pytest.mark.parametrize(
    ("config", "fields"),
    [
        ({"sliding_window": 256, "sliding_window_pattern": 6}, (256, 10, 0)),
        ({"sliding_window": 256, "layer_types": ["full_attention", "sliding_attention"] * 6},
         (256, 6, 0)),
        ({"sliding_window": 256, "use_sliding_window": False}, (0, 0, 0)),
        ({"sliding_window": 256}, (256, 12, 0)),
        (EXPERTS | {"first_k_dense_replace": 3}, (0, 0, 3)),
        (EXPERTS | {"interleave_moe_layer_step": 2}, (0, 0, 6)),
    ],
)  # fmt: skip
def test_windows_and_interleaved_experts_are_counted(config, fields):
    shape = shape_of_config("x", LAYER | config)
    assert (shape.window, shape.windowed_layers, shape.dense_layers) == fields


def test_dense_layers_and_layers_of_experts_by_hand():
    """3 dense layers of 4 096 and 9 layers of 8 experts of 512: 3 · 1024 · (3 · 4096 + 9 · 8 ·
    512).
    """
    shape = shape_of_config("x", LAYER | EXPERTS | {"first_k_dense_replace": 3})
    attention = 12 * 1024 * 64 * (2 * 16 + 2 * 4)
    mlps = 3 * 1024 * (3 * 4096 + 9 * 8 * 512)
    assert shape.parameters == attention + mlps + 2 * 32000 * 1024


@pytest.mark.parametrize("key", ["kv_lora_rank", "ssm_state_size"])
def test_what_is_not_modelled_is_refused(key):
    with pytest.raises(ValueError, match="not modelled"):
        shape_of_config("x", LAYER | {key: 512})


def test_a_head_without_a_vocabulary_has_that_of_its_target():
    """The config is that of EAGLE-1, with its layer below ``model``."""
    head = shape_of_config("e", {"model_type": "eagle", "model": LAYER | {"num_hidden_layers": 1}})
    assert head.is_head
    assert head.with_target(MODELS["llama-8b"]).vocabulary == 128_256


def test_a_speculator_that_drafts_in_parallel_is_refused():
    with pytest.raises(ValueError, match="a speculator of the type 'dflash', whose cost is not"):
        shape_of_config(
            "s", {"speculators_model_type": "dflash", "transformer_layer_config": LAYER}
        )


GROUP = {"weights": {"num_bits": 4, "type": "int"}}


@pytest.mark.parametrize(
    ("quantization", "stored"),
    [
        (None, ""),
        ({"quant_method": "mxfp4"}, "fp4"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "fp4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        ({"quant_method": "bitsandbytes"}, ""),
        ({"quant_method": "a new one", "bits": 4}, ""),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": GROUP}}, "int4"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "awq", "w_bit": 4}, "int4"),
        ({"quant_method": "gptq", "bits": 3}, ""),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": 7}}, ""),
    ],
)
def test_the_format_of_the_weights_is_what_the_config_states(quantization, stored):
    config = LAYER | {"num_hidden_layers": 2, "quantization_config": quantization}
    assert shape_of_config("x", config).stored == stored


def test_a_known_card_keeps_what_is_not_given():
    assert gpu_of("H100", bandwidth=3000).bandwidth == 3000
    assert gpu_of("H100", bandwidth=3000).memory == 80


@pytest.mark.parametrize(
    "config",
    [
        pytest.param({"transformer_layer_config": {}}, id="speculators"),
        pytest.param({"model_type": "eagle", "model": {}}, id="eagle"),
        pytest.param({"architectures": ["LlamaForCausalLMEagle3"]}, id="eagle 3"),
    ],
)
def test_a_stack_refuses_a_draft_head(tmp_path, capsys, config):
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert main(["decode", "--stack", f"{tmp_path}:3 > target", "--prompt", "x"]) == 2
    assert "draft heads run in serving engines only" in capsys.readouterr().err
