"""The native runtime is lossless: token for token where that is promised, and in distribution where
drafts are sampled.

No near-tie is excused here: its logits do not depend on how tokens were fed.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
import torch

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.draft import SampledChain
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import distribution
from hsd_viz.decoding.session import VerifySession
from hsd_viz.ladder.torch_modules import load_tokenizer
from hsd_viz.measure.audit import enumeration
from hsd_viz.measure.audit.stacks import EnumeratedDraws
from hsd_viz.models.families import CODE
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import load
from hsd_viz.stack import DraftSource
from hsd_viz.trace.tables import RULES
from tests.lossless.ladders import bundled_prompts, native_of, needs_native, random_module
from tests.lossless.mutants import MiddleSamplesItsRow
from tests.lossless.test_chi_square import LEVEL, SHAPED, p_value
from tests.lossless.test_greedy import run
from tests.lossless.toys import V, levels_of, sample

pytestmark = needs_native
#: Texts of each stack. Attention reads the whole text, so several short ones take less time.
TEXTS = 5
TOKENS = 2_000

# --- the shipped ladder, token for token ----------------------------------------------------------


@functools.cache
def shipped(name: str, dtype: str) -> NativeModel:
    return NativeModel(load(CODE.path(name), dtype))


LADDER = {
    "nano:4 > target": (["nano", "target"], [4], None),
    "nano:3 > small:6 > target": (["nano", "small", "target"], [3, 6], None),
    "nano:1 > target": (["nano", "target"], [1], None),
    "db[context] > target": (["target"], [], DraftSource("db", ("context",))),
    "db[context] > nano:4 > target": (["nano", "target"], [4], DraftSource("db", ("context",))),
    "lookup > small:7 > target": (["small", "target"], [7], DraftSource("lookup")),
}


@functools.cache
def plain_decodes(dtype: str) -> list[tuple[list[int], list[int]]]:
    """Return six prompts, each with the tokens that every stack must give."""
    tokenizer = load_tokenizer()
    prompts = [tokenizer.encode(text)[-600:] for text in bundled_prompts(6)]
    target = shipped("target", dtype)
    return [(prompt, run([target], [], None, prompt, 96, positions=2048)[0]) for prompt in prompts]


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("stack", LADDER)
def test_ladder(stack, dtype):
    """The very tokens of plain greedy decoding."""
    names, lookaheads, bottom = LADDER[stack]
    accepted = 0
    for prompt, plain in plain_decodes(dtype):
        out, rounds = run(
            [shipped(name, dtype) for name in names], lookaheads, bottom, prompt, 96, positions=2048
        )
        assert out == plain
        accepted += sum(len(r.accepted) for r in rounds)
    assert accepted > 100, "next to nothing was accepted: the test saw no speculation"


# --- sampled drafts, in distribution --------------------------------------------------------------


@functools.cache
def blind(noise: float = 0.0, dtype: str = "float32") -> NativeModel:
    """One layer without attention: its row is a function of the last token, wherever it is."""
    module = random_module(
        3, noise, torch.float32, width=16, layers=1, vocab_size=V, max_position_embeddings=1 << 17
    )
    with torch.no_grad():
        module.model.layers[0].self_attn.o_proj.weight.zero_()
    return native_of(module, dtype)


def exact_rows(sampling: Sampling) -> np.ndarray:
    """``[V * V, V]``: the target's row after each pair."""
    pairs = []
    for a in range(V):
        for b in range(V):
            pairs.append(blind().session().forward([a, b], 1))
    return distribution(np.concatenate(pairs), sampling).astype(float)


def sampled(
    lookaheads: list[int], sampling: Sampling, session_of=NativeModel.session
) -> list[list[int]]:
    """Return ``TEXTS`` texts of ``TOKENS`` tokens, each of a seed of its own."""
    models = [blind(0.12 * k) for k in range(len(lookaheads), -1, -1)]
    texts = []
    accepted = drafted = 0
    for number in range(TEXTS):
        levels = levels_of(map(session_of, models), lookaheads)
        seeded = dataclasses.replace(sampling, seed=sampling.seed + number)
        loop = Loop(LoopInputs(levels, None, seeded, [0], max_new_tokens=TOKENS))
        for verified in loop.rounds():
            loop.log.take()
            accepted = accepted + len(verified.accepted)
            drafted = drafted + len(verified.draft)
        texts.append(loop.text[1:])
    assert 0.2 < accepted / drafted < 0.98
    return texts


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "sampling", [Sampling(temperature=1.0, seed=1), SHAPED], ids=["temperature 1", "shaped"]
)
@pytest.mark.parametrize("lookaheads", [[4], [3, 6]], ids=str)
def test_sampled_drafts(lookaheads, sampling, rule):
    sampling = dataclasses.replace(sampling, rule=rule)
    texts = sampled(lookaheads, sampling)
    exact = exact_rows(sampling)
    assert min(p_value(texts, exact, 2), p_value(texts, exact, 3)) > LEVEL


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("lookaheads", "cls", "lossless"), [
    ([2], Loop, True), ([1, 1], Loop, True), ([1, 1], MiddleSamplesItsRow, False),
])  # fmt: skip
def test_int8_by_enumeration(lookaheads, cls, lossless, rule):
    """Every outcome of the loop over models in int8: its law is the target's, whose rows are
    rounded to float32.
    """
    models = [blind(0.5 * k, "int8") for k in range(len(lookaheads), -1, -1)]
    sampling = Sampling(temperature=1.0, top_k=3, rule=rule)  # fewer outcomes

    def decode(choices):
        levels = levels_of((model.session() for model in models), lookaheads)
        loop = cls(LoopInputs(levels, None, sampling, [0], max_new_tokens=3))
        loop.draws = EnumeratedDraws(choices)
        return tuple(sample(loop))

    law = enumeration.law(decode)
    exact = {(): 1.0}
    for _ in range(3):
        longer = {}
        for text, chance in exact.items():
            row = models[-1].session().forward([0, *text], 1)[0]
            for token, p in enumerate(distribution(row, sampling).astype(float)):
                longer[*text, token] = chance * p
        exact = longer
    assert bool(max(abs(law.get(text, 0.0) - p) for text, p in exact.items()) < 1e-6) is lossless


@VerifySession.register
class Mutant:
    """A session with a mistake in its drafts."""

    def __init__(self, session) -> None:
        self._session = session

    def __getattr__(self, name):
        return getattr(self._session, name)


class RowsBeforeShaping(Mutant):
    """The mistake rule 5 forbids: tokens drawn after top-k and top-p, proposed with rows from
    before.
    """

    def sample(self, pending, n, sampling, numbers, eos, confidence=0.0):
        base = self.length
        tokens = self._session.sample(pending, n, sampling, numbers, eos).tokens
        self._session.truncate(base)
        logits = self._session.forward([*pending, *tokens[:-1]], len(tokens))
        return SampledChain(
            tokens, distribution(logits, Sampling(temperature=sampling.temperature)), len(tokens)
        )


class OneNumberForAll(Mutant):
    """All tokens of a draft drawn with one number: each row is right, the tokens are not
    independent.
    """

    def sample(self, pending, n, sampling, numbers, eos, confidence=0.0):
        return self._session.sample(
            pending, n, sampling, numbers._replace(r=numbers.r[:1] * n), eos
        )


#: Rows that the transforms change most.
SHARP = Sampling(temperature=1.5, top_k=2, seed=2, rule="token")


@pytest.mark.parametrize("mutant", [RowsBeforeShaping, OneNumberForAll])
def test_mutants_are_caught(mutant):
    def session_of(model):
        session = model.session()
        return session if model is blind() else mutant(session)

    texts = sampled([4], SHARP, session_of)
    exact = exact_rows(SHARP)
    assert min(p_value(texts, exact, 2), p_value(texts, exact, 3)) < LEVEL
