"""The attention, the losses and the profiles of training."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from training.model import build, causal_attention, cross_entropy, distillation_loss, export
from training.recipe import PROFILES, profile


def test_the_export_computes_what_training_computes(tmp_path) -> None:
    from hsd_viz.ladder.torch_modules import load_model

    network = build("small", profile("tiny"), torch.Generator().manual_seed(0))
    for parameter in network.parameters():
        parameter.data = parameter.data.half().float()
    ids = torch.randint(0, 512, (2, 200), generator=torch.Generator().manual_seed(1))
    (tmp_path / "tokenizer").mkdir()
    export(network, tmp_path / "tokenizer", tmp_path / "out")
    model = load_model(str(tmp_path / "out"))
    assert model.config._attn_implementation != network.config._attn_implementation
    with torch.no_grad():
        torch.testing.assert_close(network(ids).logits, model(ids).logits, atol=1e-4, rtol=0)


@pytest.mark.parametrize("length", [7, 256, 600])
def test_blocked_attention_is_causal_attention(length) -> None:
    q, k, v = torch.randn(
        3, 2, 2, length, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(causal_attention(q, k, v), expected, atol=1e-6, rtol=1e-5)


def test_distillation_is_least_where_the_rows_agree() -> None:
    generator = torch.Generator().manual_seed(0)
    p = torch.randn(2, 5, 11, generator=generator)
    q = torch.randn(2, 5, 11, generator=generator)
    targets = torch.randint(0, 11, (2, 5), generator=generator)
    assert (
        distillation_loss(p, p, targets, 1.0).abs() < 1e-6 < distillation_loss(q, p, targets, 1.0)
    )
    torch.testing.assert_close(distillation_loss(q, p, targets, 0.0), cross_entropy(q, targets))


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_are_consistent(name) -> None:
    plan = profile(name)
    for stage, run in plan.runs.items():
        assert run.batch % plan.chunk == 0
        assert run.steps > run.warmup
        lengths = [window for _, window in run.windows]
        assert lengths == sorted(lengths)
        assert lengths[-1] == plan.chunk
        for length in lengths:
            assert plan.chunk % length == 0
        assert run.window_at(0, run.steps) == lengths[0]
        assert run.window_at(run.steps - 1, run.steps) == lengths[-1]
        assert (run.distillation > 0) == (stage == "drafts")
