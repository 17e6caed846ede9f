"""Step times of machines that are not at hand: their parts by hand, published figures, and what is refused."""

from __future__ import annotations

import json

import pytest

from benchmarks import prediction
from hsd_viz.latency.hardware import (
    GPUS,
    MODELS,
    PUBLISHED,
    Efficiency,
    Machine,
    Shape,
    fitted,
    gpu_of,
    shape_of,
)

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
    shape, plain = MODELS["llama-8b"], Machine(GPUS["H100 SXM"])
    for one, many in [(6.0, 6.5), (9.0, 9.0), (12.0, 15.0)]:
        own = fitted(plain, shape, one, many)
        assert own.step_ms(shape) == pytest.approx(one)
        assert own.step_ms(shape, tokens=8) == pytest.approx(many, rel=0.01)
        assert own.efficiency.kind == "measured" and own.efficiency.bandwidth["bf16"] <= 1
    with pytest.raises(ValueError, match=r"shorter than the 4\.48 ms"):
        fitted(plain, shape, 2.0, 3.0)
    with pytest.raises(ValueError, match="must not be shorter"):
        fitted(plain, shape, 7.0, 6.0)


def test_published_figures_are_met():
    """The guard of docs/results.md: rows that nothing was fitted on, of several sources."""
    data = prediction.report()
    held = data["summary"]["held aside, without offline throughput of a large model"]
    print(
        *(
            f"{name}: median {one['median']:.1%}, worst {one['worst']:.1%}"
            for name, one in data["summary"].items()
        ),
        sep="\n",
    )
    assert held["figures"] >= 25 and held["median"] <= 0.15 and held["worst"] <= 0.35
    speedups = data["summary"]["speed-ups, held aside"]
    assert speedups["figures"] >= 25 and speedups["median"] <= 0.15 and speedups["worst"] <= 0.35
    assert not {row.model for row in prediction.HELD_SPEED_UPS} & set(prediction.ROUNDS_FITTED)
    published = json.loads((prediction.DATA / "prediction.json").read_text())["summary"]
    assert published.keys() == data["summary"].keys()
    assert all(
        published[name] == pytest.approx(figures) for name, figures in data["summary"].items()
    )
    sources = {row.source for row in prediction.HELD_ASIDE if not prediction.offline_large(row)}
    assert len(sources) >= 4
    used = {(row.model, row.tp, row.weights, row.source) for row in prediction.FITTED}
    assert not used & {
        (row.model, row.tp, row.weights, row.source) for row in prediction.HELD_ASIDE
    }


def test_a_config_is_read_and_strange_ones_are_refused(tmp_path):
    config = {
        "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "vocab_size": 128256,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = shape_of(str(tmp_path))
    assert found.parameters == MODELS["llama-8b"].parameters
    assert isinstance(found, Shape) and found.name == tmp_path.name
    for changed, words in [
        ({"kv_lora_rank": 512}, "latent or linear attention"),
        ({"hidden_size": None}, "hidden of"),
        ({"num_hidden_layers": 0}, "layers of"),
        ({"num_experts": 4, "num_experts_per_tok": 5}, "4 experts of which each token uses 5"),
    ]:
        (tmp_path / "config.json").write_text(json.dumps(config | changed))
        with pytest.raises(ValueError, match=words):
            shape_of(str(tmp_path))
    with pytest.raises(ValueError, match="not a readable config"):
        shape_of(str(tmp_path / "no" / "config.json"))


def test_names_are_found_and_near_ones_are_named():
    assert gpu_of("h100").name == "H100 SXM" and gpu_of("rtx4090").name == "RTX 4090"
    assert gpu_of("mine", bandwidth=1200, flops=300, memory=48).bandwidth == 1200
    for name, what in (("H10", gpu_of), ("rtx", gpu_of), ("llama", shape_of)):
        with pytest.raises(ValueError, match=f"'{name}' is unknown: use "):
            what(name)
    with pytest.raises(ValueError, match="'lama-8b' is unknown: use llama-8b"):
        shape_of("lama-8b")
    with pytest.raises(ValueError, match="use T4, or give"):
        gpu_of("TPU")
