"""Compiled sessions, on the CPU by inductor: the rows of eager ones whatever is fed, kept and rolled back."""

from __future__ import annotations

import functools
import itertools
import random

import numpy as np
import pytest
import torch
from families import CONFIGS, VOCABULARY, text_of
from transformers import AutoModelForCausalLM, LlamaConfig

from hsd_viz.decoding.sampling import Sampling
from hsd_viz.decoding.verify import Numbers
from hsd_viz.torch_models import compiled
from hsd_viz.torch_models.compiled import CompiledModel
from hsd_viz.torch_models.eager import HFModel

#: One width: each one is compiled by itself, which takes seconds.
WIDTH = 8


@pytest.fixture(scope="module", autouse=True)
def one_compiler():
    """Compile in this process: its helpers would each import torch first; and without trying the compiler's vectors."""
    with torch._inductor.config.patch({"compile_threads": 1, "cpp.vec_isa_ok": False}):
        yield


@functools.cache
def eager(family: str, dtype: torch.dtype) -> HFModel:
    torch.manual_seed(0)
    return HFModel(family, AutoModelForCausalLM.from_config(CONFIGS[family]).to(dtype))


@functools.cache
def windowed() -> CompiledModel:
    return CompiledModel(eager("mistral, window of 5", torch.float32), widths=(WIDTH,))


@functools.cache
def strict() -> CompiledModel:
    return CompiledModel(eager("llama", torch.bfloat16), strict=True, widths=(1, WIDTH))


def close(a, b) -> bool:
    return np.allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_anything_fed_kept_and_rolled_back_gives_the_rows_of_an_eager_session():
    rng, model = random.Random(1), windowed()
    session, plain = model.session(1), model.eager.session()
    some = lambda n: [rng.randrange(VOCABULARY) for _ in range(n)]
    for step in range(60):
        kind = "long" if step in (0, 20) else rng.choice(["chain", "chain", "tree", "back", "feed"])
        tokens, base = (
            some(600 if kind == "long" else rng.choice([1, 1, 2, 5, 9, 20])),
            session.length,
        )
        if kind in ("feed", "long"):
            session.feed(tokens)
            plain.feed(tokens)
        elif kind == "chain":
            rows = rng.randint(1, len(tokens))
            assert close(session.forward(tokens, rows), plain.forward(tokens, rows))
        elif kind == "tree":
            parents = [
                rng.randint(-1, k - 1) if rng.random() < 0.5 else k - 1 for k in range(len(tokens))
            ]
            assert close(
                session.forward(tokens, len(tokens), parents),
                plain.forward(tokens, len(tokens), parents),
            )
            path, node = [], len(tokens) - 1
            while node >= 0:
                path.insert(0, node)
                node = parents[node]
            session.keep(base, path)
            plain.keep(base, path)
        else:
            length = rng.randint(max(1, base - 12), base + 2)
            session.truncate(length)
            plain.truncate(length)
        assert session.length == plain.length
    assert session.cache.places > 1024, "the cache grew"


def test_a_greedy_draft_stays_on_the_device_until_it_is_whole():
    model = windowed()
    for eos in (frozenset(), frozenset(range(25))):
        session, plain = model.session(), model.eager.session()
        found, own = (s.sample(text_of(7), 6, Sampling(), None, eos) for s in (session, plain))
        assert found.tokens == own.tokens and session.length == plain.length
        assert close(session.forward(found.tokens[-1:], 1), plain.forward(found.tokens[-1:], 1))
    sampled = [
        s.sample(text_of(7), 4, Sampling(1.0), Numbers([0.3] * 4), frozenset())
        for s in (model.session(), plain)
    ]
    assert len(sampled[0].tokens) == 4 and sampled[0].rows.shape == (4, VOCABULARY)


def test_strict_rows_do_not_depend_on_what_is_fed_with_them():
    """In bfloat16, bit for bit: one token at a time, as a verification of any width, behind any number of others."""
    model, text = strict(), text_of(30)
    assert model.runtime == "strict" and model.widths == (WIDTH,)
    alone, parts = model.session(), model.session()
    rows = np.concatenate([alone.forward([token], 1) for token in text])
    cuts = [0, 1, 4, 11, 13, 30]
    found = [parts.forward(text[a:b], b - a) for a, b in itertools.pairwise(cuts)]
    assert np.array_equal(np.concatenate(found), rows)


def test_what_cannot_be_compiled_is_refused():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
    )
    model = HFModel("odd", AutoModelForCausalLM.from_config(config))
    inner = model.module.forward

    def breaks(*args, **options):
        print("a side effect that no graph has")
        torch._dynamo.graph_break()
        return inner(*args, **options)

    model.module.forward = breaks
    with pytest.raises(ValueError, match="odd") as error:
        CompiledModel(model, widths=(WIDTH,))
    assert "\n" not in str(error.value)


def test_a_text_that_outgrows_its_cache_keeps_its_keys_and_values(monkeypatch):
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    monkeypatch.setattr(compiled, "FIRST_CAPACITY", 16)
    model = CompiledModel(eager("llama", torch.float32), widths=(4,))
    session, plain, text = model.session(), model.eager.session(), text_of(60)
    first = session.cache.places
    for start in range(0, 60, 3):
        part = text[start : start + 3]
        assert close(session.forward(part, 3), plain.forward(part, 3))
    assert (first, session.cache.places) == (16, 64)


def test_every_width_is_compiled_once_before_anything_is_timed(monkeypatch):
    monkeypatch.setattr(
        torch, "compile", functools.partial(torch.compile, backend="eager")
    )  # the graphs are the same
    model = CompiledModel(eager("llama", torch.float32), widths=(1, 4))
    model.session()
    torch._dynamo.utils.counters.clear()
    compiled = lambda: torch._dynamo.utils.counters["stats"]["unique_graphs"]
    model.warm_up()
    first = compiled()
    model.warm_up()
    session = model.session()
    for tokens in ([1], [1, 2, 3], [1]):
        session.forward(tokens, len(tokens))
    assert compiled() == first
    assert all(cache.warm for free in model._free.values() for cache in free)
    # A session may be collected in the middle of this, and then needs the lock, too.
    taken = [model._lock.acquire(blocking=False) for _ in "ab"]
    for _ in filter(None, taken):
        model._lock.release()
    assert all(taken)
