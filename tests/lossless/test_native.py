"""The native runtime is lossless: token for token where that is promised, and in distribution where drafts are sampled.

No near-tie is excused here: its logits do not depend on how tokens were fed.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
import torch
from ladders import bundled_prompts, needs_native
from test_chi_square import FEWER_TOKENS, LEVEL, SHAPED, p_value
from test_greedy import run
from toys import V, distribution
from transformers import MistralConfig, MistralForCausalLM

from hsd_viz.backends import NativeModel
from hsd_viz.backends.choose import backend_for
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.model import HFModel
from hsd_viz.decoding.settings import Sampling
from hsd_viz.ladder.load import load_model, load_tokenizer
from hsd_viz.stack import DraftSource
from hsd_viz.trace.records import RULES

pytestmark = needs_native

# --- the shipped ladder, token for token -------------------------------------------------------------------------------


@functools.cache
def shipped(name: str) -> NativeModel:
    return NativeModel(HFModel(name, load_model(name)))


LADDER = {
    "nano:4 > target": (["nano", "target"], [4], None),
    "nano:3 > small:6 > target": (["nano", "small", "target"], [3, 6], None),
    "nano:1 > target": (["nano", "target"], [1], None),
    "db[context] > target": (["target"], [], DraftSource("db", ("context",))),
    "db[context] > nano:4 > target": (["nano", "target"], [4], DraftSource("db", ("context",))),
    "lookup > small:7 > target": (["small", "target"], [7], DraftSource("lookup")),
}


@pytest.mark.parametrize("stack", LADDER)
def test_ladder(stack):
    """The very tokens of plain greedy decoding, in float32."""
    names, lookaheads, bottom = LADDER[stack]
    tokenizer, accepted = load_tokenizer(), 0
    for text in bundled_prompts(6):
        prompt = tokenizer.encode(text)[-600:]
        plain, _ = run([shipped("target")], [], None, prompt, 96, positions=2048)
        out, rounds = run([shipped(name) for name in names], lookaheads, bottom, prompt, 96, positions=2048)
        assert out == plain
        accepted += sum(len(r.accepted) for r in rounds)
    assert accepted > 100, "next to nothing was accepted: the test saw no speculation"


# --- sampled drafts, in distribution -----------------------------------------------------------------------------------


@functools.cache
def second_order(noise: float = 0.0) -> NativeModel:
    """One layer that sees two tokens: its row is a function of the last two, wherever they stand."""
    torch.manual_seed(3)
    config = MistralConfig(
        vocab_size=V,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        sliding_window=2,
        max_position_embeddings=1 << 17,
        initializer_range=0.6,
    )
    module = MistralForCausalLM(config)
    with torch.no_grad():
        for weight in module.parameters():
            weight += noise * weight.std(correction=0) * torch.randn(weight.shape)
    return NativeModel(HFModel("second order", module))


def exact_rows(sampling: Sampling) -> np.ndarray:
    """``[V * V, V]``: the target's row after each pair."""
    pairs = [second_order().session().forward([a, b], 1) for a in range(V) for b in range(V)]
    return distribution(torch.cat(pairs), sampling).double().numpy()


def sampled(lookaheads: list[int], sampling: Sampling, session_of=NativeModel.session) -> list[int]:
    """``FEWER_TOKENS`` tokens of one decode."""
    models = [second_order(0.12 * k) for k in range(len(lookaheads), -1, -1)]
    levels = [
        Level(f"m{k}", session_of(m), look) for k, (m, look) in enumerate(zip(models, [*lookaheads, None], strict=True))
    ]
    loop = Loop(levels, None, sampling, [0], max_new_tokens=FEWER_TOKENS, backend=backend_for(models[-1]))
    accepted = drafted = 0
    for verified in loop.rounds():
        loop.log.take()
        accepted, drafted = accepted + len(verified.accepted), drafted + len(verified.draft)
    assert 0.2 < accepted / drafted < 0.98
    return loop.text[1:]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("sampling", [Sampling(temperature=1.0, seed=1), SHAPED], ids=["temperature 1", "shaped"])
@pytest.mark.parametrize("lookaheads", [[4], [3, 6]], ids=str)
def test_sampled_drafts(lookaheads, sampling, rule):
    sampling = dataclasses.replace(sampling, rule=rule)
    tokens, exact = sampled(lookaheads, sampling), exact_rows(sampling)
    assert min(p_value(tokens, exact, 2), p_value(tokens, exact, 3)) > LEVEL


class RowsBeforeShaping:
    """The mistake rule 5 forbids, in a launch: tokens drawn after top-k and top-p, proposed with rows from before."""

    def __init__(self, session) -> None:
        self._session = session

    def __getattr__(self, name):
        return getattr(self._session, name)

    def sample(self, tokens, n, sampling, chances, eos):
        base = self.length
        ids, _ = self._session.sample(tokens, n, sampling, chances, eos)
        self._session.truncate(base)
        logits = self._session.forward([*tokens, *ids[:-1]], len(ids))
        return ids, distribution(logits, Sampling(sampling.temperature))


class OneChanceForAll(RowsBeforeShaping):
    """All tokens of a launch drawn with one number: each row is right, the tokens are not independent."""

    def sample(self, tokens, n, sampling, chances, eos):
        return self._session.sample(tokens, n, sampling, [chances[0]] * n, eos)


@pytest.mark.parametrize("mutant", [RowsBeforeShaping, OneChanceForAll])
def test_mutants_are_caught(mutant):
    def session_of(model):
        session = model.session()
        return session if model is second_order() else mutant(session)

    tokens, exact = sampled([4], SHAPED, session_of), exact_rows(SHAPED)
    assert min(p_value(tokens, exact, 2), p_value(tokens, exact, 3)) < LEVEL
