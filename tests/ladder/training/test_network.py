"""The training network computes what transformers computes; properties of the optimizer and the losses."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from hsd_viz.ladder.training.network import (
    Network,
    causal_attention,
    cross_entropy,
    distillation_loss,
    export,
    to_transformers,
)
from hsd_viz.ladder.training.recipe import PROFILES, SIZES, profile


@pytest.mark.parametrize("name", ["nano", "small"])
@pytest.mark.parametrize("recipe", ["cpu", "long"])
def test_the_logits_are_those_of_transformers(name, recipe) -> None:
    plan = profile(recipe)
    network = Network(SIZES[name], 4096, torch.Generator().manual_seed(0), plan.block)
    with torch.no_grad():
        for i, parameter in enumerate(p for n, p in network.named_parameters() if "norm" in n):
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(i)))
    ids = torch.randint(0, 4096, (2, 300), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        model = to_transformers(network, plan)
        torch.testing.assert_close(network(ids), model(ids).logits, atol=1e-4, rtol=0)
    assert model.config.model_type == plan.block


def test_a_checkpoint_of_the_other_block_is_rejected(tmp_path) -> None:
    network = Network(SIZES["nano"], 4096, None, "qwen3")
    with pytest.raises(ValueError, match="does not fit a LlamaForCausalLM"):
        export(network, profile("cpu"), tmp_path, tmp_path / "out")


@pytest.mark.parametrize("length", [7, 256, 600])
def test_blocked_attention_is_causal_attention(length) -> None:
    q, k, v = torch.randn(3, 2, 2, length, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(causal_attention(q, k, v), expected, atol=1e-6, rtol=1e-5)


def test_distillation_is_least_where_the_rows_agree() -> None:
    generator = torch.Generator().manual_seed(0)
    p, q = torch.randn(2, 5, 11, generator=generator), torch.randn(2, 5, 11, generator=generator)
    targets = torch.randint(0, 11, (2, 5), generator=generator)
    assert distillation_loss(p, p, targets, 1.0).abs() < 1e-6 < distillation_loss(q, p, targets, 1.0)
    torch.testing.assert_close(distillation_loss(q, p, targets, 0.0), cross_entropy(q, targets))


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_are_consistent(name) -> None:
    plan = profile(name)
    for stage, run in plan.runs.items():
        assert run.batch % plan.chunk == 0 and run.steps > run.warmup
        lengths = [window for _, window in run.windows]
        assert lengths == sorted(lengths) and lengths[-1] == plan.chunk and all(plan.chunk % n == 0 for n in lengths)
        assert run.window_at(0, run.steps) == lengths[0] and run.window_at(run.steps - 1, run.steps) == lengths[-1]
        assert (run.distillation > 0) == (stage == "drafts")


def test_the_long_profile_sees_enough_text() -> None:
    runs = profile("long").runs
    assert runs["target"].steps * runs["target"].batch >= 60e6
    assert runs["drafts"].steps * runs["drafts"].batch >= 40e6
