"""Compare step times and memory with figures computed by hand for simple shapes and cards."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hsd_viz.latency.cards import Gpu, gpu_of
from hsd_viz.latency.configs import shape_of
from hsd_viz.latency.efficiency import Efficiency
from hsd_viz.latency.hardware import Machine
from hsd_viz.latency.shapes import Shape

#: 1000 GB/s, 100 and 200 TFLOP/s, 80 GB.
CARD = Gpu("card", 1000.0, 100.0, 200.0, 80.0)
#: All of the data sheet is reached, and nothing is added.
IDEAL = Efficiency(
    dict.fromkeys(("fp8", "bf16", "int4"), 1.0), 1.0, 0.0, 0.0, 0.0, "assumed", "ideal"
)
#: Heads of width 3: attention 4 * 3 * (2 * 2 + 2 * 1) = 72 per layer, network 3 * 4 * 8 = 96, head
#: and embedding 10 * 4 each. Parameters 2 * 168 + 80 = 416; without the embedding 376. KV cache 2 *
#: 2 * 1 * 3 = 12 per token.
DENSE = Shape("dense", 2, 4, 2, 1, 8, 10, head_dim=3)
#: 4 experts, 2 per token, and a shared one of width 6: 3 * 4 * (4 * 8 + 6) = 456 per layer.
EXPERTS = replace(DENSE, experts=4, used=2, shared=6)


def machine(tp: int = 1, efficiency: Efficiency = IDEAL) -> Machine:
    return Machine(CARD, tp, efficiency)


@pytest.mark.parametrize(
    ("shape", "parameters"),
    [
        pytest.param(DENSE, 416, id="dense"),
        pytest.param(replace(DENSE, tied=True), 376, id="a head that is the embedding"),
        pytest.param(replace(DENSE, head_dim=0), 2 * (48 + 96) + 80, id="width of hidden / heads"),
        pytest.param(EXPERTS, 2 * (72 + 456) + 80, id="experts"),
    ],
)
def test_parameters(shape, parameters):
    assert shape.parameters == parameters


@pytest.mark.parametrize(
    ("shape", "tokens", "touched"),
    [
        pytest.param(DENSE, 5, 376, id="dense"),
        pytest.param(EXPERTS, 1, 2 * (72 + 3 * 4 * (2 * 8 + 6)) + 40, id="one token: 2 experts"),
        # Half of the experts are missed by each token: 4 * (1 - 1/4) = 3.
        pytest.param(EXPERTS, 2, 2 * (72 + 3 * 4 * (3 * 8 + 6)) + 40, id="two tokens: 3 experts"),
    ],
)
def test_parameters_that_a_pass_uses(shape, tokens, touched):
    assert shape.touched(tokens) == pytest.approx(touched)


def test_a_draft_head_is_one_dense_layer_of_the_width_that_a_token_uses():
    head = EXPERTS.head()
    # 2 * 8 + 6 = 22 wide.
    assert head.layers == 1
    assert head.intermediate == 22
    assert head.experts == 0
    assert head.shared == 0


@pytest.mark.parametrize(
    ("weights", "cache", "batch", "numbers"),
    [
        # 376 weights, and 10 places of the cache of 12 elements.
        pytest.param("bf16", "bf16", 1, 376 * 2 + 10 * 12 * 2, id="16 bits"),
        pytest.param("bf16", "fp8", 1, 376 * 2 + 10 * 12, id="a cache of 8 bits"),
        pytest.param("int4", "bf16", 1, 376 * 0.5625 + 10 * 24, id="4 bits and scales"),
        pytest.param("bf16", "bf16", 3, 376 * 2 + 3 * 10 * 24, id="a batch"),
    ],
)
def test_a_step_that_waits_for_memory(weights, cache, batch, numbers):
    ms = machine().step_ms(DENSE, context=9, weights=weights, cache=cache, batch=batch)
    assert ms == pytest.approx(numbers / 1e12 * 1e3)


@pytest.mark.parametrize(
    ("precision", "peak"),
    [pytest.param("bf16", 100e12, id="16 bits"), pytest.param("fp8", 200e12, id="8 bits")],
)
def test_a_step_that_waits_for_arithmetic(precision, peak):
    # Two per weight and token, and 4 * 2 layers * 2 heads * 3 for each of 10 places.
    work = 2 * (2 * 376 + 4 * 2 * 2 * 3 * (8 + 2))
    fast = Machine(replace(CARD, bandwidth=1e9), efficiency=IDEAL)
    ms = fast.step_ms(DENSE, tokens=2, context=8, weights=precision, cache=precision)
    assert ms == pytest.approx(work / peak * 1e3)


@pytest.mark.parametrize(
    ("tp", "us"),
    [
        pytest.param(1, 2 * 10 + 7, id="one card"),
        pytest.param(2, 2 * (10 + 5) + 7, id="two cards reduce in every layer"),
    ],
)
def test_the_fixed_part_of_a_step(tp, us):
    ms = machine(tp, replace(IDEAL, layer_us=10.0, reduce_us=5.0, step_us=7.0)).step_ms(DENSE)
    assert ms == pytest.approx(us * 1e-3, rel=1e-3)


def test_cards_share_reading_and_the_time_of_each_token():
    reading = machine(2).step_ms(DENSE)
    assert reading == pytest.approx(machine().step_ms(DENSE) / 2)
    # 1e9 us per billion parameters is 1 us for each: 376 per token, 6 tokens, over 2 cards.
    each = machine(2, replace(IDEAL, token_us=1e9)).step_ms(DENSE, tokens=3, batch=2)
    assert each == pytest.approx(376 * 6 / 2 * 1e-3, rel=1e-3)


def test_a_round_costs_more_than_its_passes_from_two_tokens_on():
    cost = machine(1, replace(IDEAL, round_us=500.0, step_us=100.0)).cost(DENSE, max_tokens=3)
    assert cost.forward == pytest.approx((0.1, 0.6, 0.6), rel=1e-3)
    assert cost.draft == pytest.approx((0.1, 0.1), rel=1e-3)


def test_the_share_of_the_usable_memory():
    share = machine(tp=2).memory_share((DENSE, DENSE), batch=3, context=5)
    # Of both models 416 weights and 15 places of the cache, in 90 % of 2 * 80 GB.
    assert share == pytest.approx(2 * (416 * 2 + 15 * 12 * 2) / (0.9 * 160e9))


def test_a_card_of_three_figures_is_twice_as_fast_with_8_bits():
    gpu = gpu_of("", bandwidth=1200, flops=300, memory=48)
    assert gpu == Gpu("custom", 1200, 300, 600, 48)


CONFIG = {
    "num_hidden_layers": 2,
    "hidden_size": 4,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "vocab_size": 10,
}


@pytest.mark.parametrize(
    ("more", "shape"),
    [
        pytest.param({}, Shape("m", 2, 4, 2, 2, 8, 10), id="as many key-value heads as heads"),
        pytest.param(
            {"num_key_value_heads": 1, "head_dim": 3, "tie_word_embeddings": True},
            replace(DENSE, name="m", tied=True),
            id="all that is stated",
        ),
        pytest.param(
            {
                "num_experts": 4,
                "num_experts_per_tok": 2,
                "moe_intermediate_size": 5,
                "n_shared_experts": 3,
            },
            Shape("m", 2, 4, 2, 2, 5, 10, experts=4, used=2, shared=15),
            id="experts, and three shared ones",
        ),
    ],
)
def test_the_shape_of_a_config(more, shape, tmp_path):
    path = tmp_path / "m.json"
    path.write_text(json.dumps(CONFIG | more))
    assert shape_of(str(path)) == shape
