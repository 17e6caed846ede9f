"""Drafts by a model's own layers: exact law over tiny transformers, families, and the shared cache."""

from __future__ import annotations

import copy
import functools
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from toys import HOST
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from hsd_viz.audit.enumeration import outcomes
from hsd_viz.audit.stacks import EnumeratedDraws
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.model import HFModel, PrefixSession
from hsd_viz.decoding.sampling import distribution
from hsd_viz.decoding.settings import Sampling
from hsd_viz.drafting import make_drafter
from hsd_viz.engine.drafts import sessions_of
from hsd_viz.ladder.variants import skip_layers
from hsd_viz.stack import parse

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "decoding"))
from families import CONFIGS

TOLERANCE = 1e-12
PROMPT, NEW = (0, 1, 0), 3


@functools.cache
def tiny(vocabulary: int = 3, layers: int = 4) -> HFModel:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    return HFModel("whole", LlamaForCausalLM(config).double())


def without(whole: HFModel, *layers: int) -> HFModel:
    draft = HFModel(f"whole[skip={layers}]", skip_layers(whole.module, layers))
    if min(layers) == whole.layers - len(layers):
        draft.prefix_of = whole.name
    return draft


def loop_of(whole, drafts, sampling, prompt=PROMPT, new=NEW, database=False, cls=Loop) -> Loop:
    """``drafts``: (layers left out, lookahead), the lowest first."""
    models = [*(without(whole, *layers) for layers, _ in drafts), whole]
    looks = [*(look for _, look in drafts), None]
    levels = [Level(m.name, s, g) for m, s, g in zip(models, sessions_of(models), looks, strict=True)]
    drafter = make_drafter(parse("db[context] > target").bottom, costs=None) if database else None
    return cls(levels, drafter, sampling, prompt, backend=HOST, max_new_tokens=new)


def run(loop: Loop) -> list[int]:
    for _ in loop.prefill():
        pass
    for _ in loop.rounds():
        loop.log.take()
    return loop.text


#: (layers left out and lookahead of each draft, database, vocabulary, rule): without the last layers (a shared cache),
#: without others (a cache of its own), both in one stack, a database below.
STACKS = [
    ([((3,), 2)], False, 3, "token"),
    ([((2, 3), 2)], False, 2, "block"),
    ([((1,), 2)], False, 2, "token"),
    ([((0, 2), 2)], False, 3, "block"),
    ([((1, 2, 3), 1), ((3,), 2)], False, 2, "block"),
    ([((2, 3), 1), ((1,), 2)], False, 2, "token"),
    ([((3,), 2)], True, 3, "block"),
]


@pytest.mark.parametrize(("drafts", "database", "vocabulary", "rule"), STACKS, ids=str)
def test_the_law_is_the_whole_models(drafts, database, vocabulary, rule):
    whole, sampling = tiny(vocabulary), Sampling(0.8, rule=rule)
    law: dict[tuple[int, ...], float] = {}

    def decode(choices):
        loop = loop_of(whole, drafts, sampling, database=database)
        loop.draws = EnumeratedDraws(choices)
        return tuple(run(loop)[len(PROMPT) :])

    for text, weight in outcomes(decode):
        law[text] = law.get(text, 0.0) + weight
    for text in itertools.product(range(vocabulary), repeat=NEW):
        ids = [*PROMPT, *text]
        logits = whole.session().forward(ids[:-1], NEW).numpy()
        rows = distribution(logits, sampling)
        assert abs(law.get(text, 0.0) - np.prod([row[t] for row, t in zip(rows, text, strict=True)])) < TOLERANCE


def deep(name: str, layers: int = 4) -> HFModel:
    """A random model of a family, with its kinds of layers in turn."""
    config = copy.deepcopy(CONFIGS[name])
    if kinds := getattr(config, "layer_types", None):
        config.layer_types = [kinds[k % len(kinds)] for k in range(layers)]
    config.num_hidden_layers = layers
    torch.manual_seed(1)
    return HFModel("whole", AutoModelForCausalLM.from_config(config).double())


@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma2, windows and caps", "mistral, window of 5", "qwen3"])
def test_families(name):
    """The text is that of plain decoding; the shared cache gives the drafts that a cache of its own gives."""
    whole = deep(name)
    greedy, prompt = Sampling(), (1, 2, 3, 4, 5, 6, 7, 8)
    plain = run(loop_of(whole, [], greedy, prompt, 40))
    accepted = []
    for layers in [(3,), (2, 3), (1, 2)]:
        draft = without(whole, *layers)
        for shared in {False, draft.prefix_of is not None}:
            draft.prefix_of = whole.name if shared else None
            sessions = sessions_of([draft, whole])
            assert isinstance(sessions[0], PrefixSession) is shared
            levels = [Level("draft", sessions[0], 3), Level("target", sessions[1])]
            loop = Loop(levels, None, greedy, prompt, backend=HOST, max_new_tokens=40)
            for _ in loop.prefill():
                pass
            counts = []
            for verified in loop.rounds():
                loop.log.take()
                counts.append(len(verified.accepted))
            assert loop.text == plain
            accepted.append((layers, counts))
    by_layers = [[counts for at, counts in accepted if at == layers] for layers in [(3,), (2, 3)]]
    assert all(one == other for one, other in by_layers)
    assert sum(sum(counts) for _, counts in accepted) > 0


def test_a_shared_cache_that_hides_text_from_the_target_is_caught(monkeypatch):
    """The mutant: what the draft has read counts as read by the target."""
    whole = tiny()
    plain = run(loop_of(whole, [], Sampling(), new=50))
    assert run(loop_of(whole, [((3,), 3)], Sampling(), new=50)) == plain

    def forward(self, tokens, rows, parents=None, tail=None):
        self._cache.length = self.length
        return super(PrefixSession, self).forward(tokens, rows, parents, tail)

    monkeypatch.setattr(PrefixSession, "forward", forward)
    with pytest.raises((AssertionError, RuntimeError, IndexError, ValueError)):
        assert run(loop_of(whole, [((3,), 3)], Sampling(), new=50)) == plain


def test_the_whole_model_is_not_changed():
    whole = tiny()
    before = whole.session().forward([0, 1, 2], 3)
    draft = without(whole, 1, 2)
    assert draft.module.config.num_hidden_layers == 2 and whole.module.config.num_hidden_layers == 4
    assert draft.parameters < whole.parameters and not torch.equal(draft.session().forward([0, 1, 2], 3), before)
    assert torch.equal(whole.session().forward([0, 1, 2], 3), before)
    shared = {p.data_ptr() for p in whole.module.parameters()}
    assert all(p.data_ptr() in shared for p in draft.module.parameters())
