"""Padded models: the same outputs at a higher price, or less alike the more noise there is."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from hsd_viz.backends.cuda_graphs import GraphModel
from hsd_viz.decoding.model import HFModel
from hsd_viz.ladder.load import load_model
from hsd_viz.ladder.variants import pad, padded_name

IDS = torch.tensor([[5, 99, 7, 300, 42, 11, 8, 20, 64, 3]])


@pytest.fixture(scope="module")
def nano():
    return load_model("nano", dtype="float64")


def rows(module):
    with torch.inference_mode():
        return module(IDS).logits[0]


def test_without_noise_the_logits_are_the_same_and_the_price_is_not(nano):
    before, layers = rows(nano), nano.config.num_hidden_layers
    padded = pad(nano, 5)
    assert torch.equal(rows(padded), before) and torch.equal(rows(nano), before)
    assert nano.config.num_hidden_layers == len(nano.model.layers) == layers
    assert padded.config.num_hidden_layers == len(padded.model.layers) == layers + 5
    extra = sum(p.numel() for layer in padded.model.layers[layers:] for p in layer.parameters())
    width = nano.config.hidden_size
    assert extra > 5 * 3 * nano.config.intermediate_size * width
    assert padded.model.layers[0] is nano.model.layers[0], "the rest is shared"


def test_it_decodes_like_the_model_it_was(nano):
    """Through the caches too: the added layers keep keys and values of their own."""
    padded = HFModel(padded_name("nano", 3), pad(nano, 3))
    for model in (padded, GraphModel(padded)):
        session = model.session()
        session.forward(IDS[0, :4].tolist(), 1)
        assert torch.allclose(session.forward(IDS[0, 4:].tolist(), 6), rows(nano)[4:], atol=1e-5)
    assert GraphModel(padded).not_lean is None
    assert padded.name == "nano+3"


def test_agreement_falls_with_noise(nano):
    p = torch.softmax(rows(nano), -1)
    others = [rows(pad(nano, 4, noise, seed=1)) for noise in (0, 0.05, 0.2, 0.8, 3)]
    alike = [float(torch.minimum(p, torch.softmax(other, -1)).sum(-1).mean()) for other in others]
    assert alike[0] == pytest.approx(1)
    assert all(a > b for a, b in pairwise(alike)) and alike[1] > 0.9 and alike[-1] < 0.5, alike


def test_a_seed_is_a_model(nano):
    one, same, other = (rows(pad(nano, 2, 0.3, seed)) for seed in (1, 1, 2))
    assert torch.equal(one, same) and not torch.equal(one, other)


@pytest.mark.parametrize(("layers", "noise"), [(-1, 0), (1, -0.1), (1, 11)])
def test_numbers_out_of_range(nano, layers, noise):
    with pytest.raises(ValueError, match="out of range"):
        pad(nano, layers, noise)


def test_other_architectures_are_refused():
    from transformers import GPT2Config, GPT2LMHeadModel

    with pytest.raises(ValueError, match="gpt2 cannot be padded"):
        pad(GPT2LMHeadModel(GPT2Config(vocab_size=20, n_embd=16, n_layer=1, n_head=2)), 1)
