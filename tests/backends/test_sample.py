"""A draft made in one call: the tokens, the rows they were drawn from, and where it stops."""

from __future__ import annotations

import pytest
import torch
from models import VOCAB, eager, ids, native

from hsd_viz.backends import NativeModel, default_build
from hsd_viz.backends.host import HostBackend
from hsd_viz.decoding import sampling as reference
from hsd_viz.decoding.sampling import Draws
from hsd_viz.decoding.settings import Sampling

pytestmark = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")

distribution = HostBackend().rows
TYPES = [torch.float32, torch.float64, torch.bfloat16]
SHAPES = [
    Sampling(1.0),
    Sampling(0.7),
    Sampling(100.0),
    Sampling(1e-6),
    Sampling(1.0, top_k=1),
    Sampling(1.3, top_k=17),
    Sampling(1.0, top_p=0.9),
    Sampling(1.0, top_p=1e-9),
    Sampling(0.8, top_k=50, top_p=0.95),
    Sampling(1.0, top_k=10_000, top_p=0.999999),
]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_greedy_is_the_arg_max_of_forwards(dtype):
    model, text = native("llama", dtype), ids(30)
    one, other = model.session(), model.session()
    found, rows = one.sample(text, 12, Sampling(), [], frozenset())
    expected = []
    for _ in range(12):
        expected.append(int(other.forward(text, 1).argmax()))
        text = expected[-1:]
    assert rows is None and found == expected
    assert one.length == other.length == 30 + 11
    probe = ids(4, 1)
    assert torch.equal(one.forward(probe, 4), other.forward(probe, 4))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("sampling", SHAPES, ids=str)
def test_rows_and_draws_are_those_of_the_definition(sampling, dtype):
    """Rows within 1e-6 of ``distribution`` and of the very same support; each token is what ``draw`` draws from its row."""
    model, draws = native("qwen3", dtype), Draws(5)
    for seed in range(20):
        text, chances = ids(9, seed), [*draws.fresh(4), 0.0, 1 - 2.0**-52]
        one, other = model.session(), model.session()
        found, rows = one.sample(text, 6, sampling, chances, frozenset())
        assert rows.dtype == model.compute and rows.shape == (6, VOCAB)
        for k, chance in enumerate(chances):
            expected = distribution(other.forward(text, 1), sampling)[0]
            assert (rows[k] - expected).abs().max() < 1e-6
            assert torch.equal(rows[k] > 0, expected > 0)
            assert abs(float(rows[k].double().sum()) - 1) < 1e-5
            assert reference.draw(rows[k].numpy(), chance) == found[k]
            assert rows[k, found[k]] > 0
            text = [found[k]]
        assert one.length == other.length


def blind(logits: dict[int, float]) -> NativeModel:
    """A model whose logits are the same everywhere: 0 but for those given."""
    torch.manual_seed(0)
    model = eager("llama, biases, long heads")
    module = type(model.module)(model.module.config)
    with torch.no_grad():
        # The final norm gives one number in the first place and zeros elsewhere; the head multiplies it.
        module.model.embed_tokens.weight.zero_()[:, 0] = 1
        for layer in module.model.layers:
            for part in (layer.self_attn.o_proj, layer.mlp.down_proj):
                part.weight.zero_()
                part.bias.zero_()
        module.lm_head.weight.zero_()
        for token, value in logits.items():
            module.lm_head.weight[token, 0] = value / module.config.hidden_size**0.5
    return NativeModel(type(model)("blind", module))


def test_ties():
    """Greedy takes the lowest of the best; top-k and top-p keep all that tie at their border, as the definition does."""
    model = blind({140: 2.0, 17: 2.0, 99: 2.0, 3: 1.0})
    assert model.session().sample([1], 3, Sampling(), [], frozenset())[0] == [17] * 3
    for sampling, kept in [
        (Sampling(1.0, top_k=2), {17, 99, 140}),
        (Sampling(1.0, top_p=0.01), {17, 99, 140}),
        (Sampling(1.0, top_k=4), {3, 17, 99, 140}),
    ]:
        _, rows = model.session().sample([1], 1, sampling, [0.5], frozenset())
        assert set(rows[0].nonzero().flatten().tolist()) == kept
        assert torch.equal(rows > 0, distribution(model.session().forward([1], 1), sampling) > 0)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "sampled"])
def test_it_stops_behind_an_end_token(sampling):
    model, text = native("llama"), ids(10)
    chances = Draws(1).fresh(20)
    whole, rows = model.session().sample(text, 20, sampling, chances, frozenset())
    for place in (0, 1, 7):
        end = whole[place]
        first = whole.index(end)
        session = model.session()
        found, found_rows = session.sample(text, 20, sampling, chances, frozenset({end, 5000}))
        assert found == whole[: first + 1]
        assert session.length == 10 + first
        assert rows is None or torch.equal(found_rows, rows[: first + 1])
