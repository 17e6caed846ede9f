"""Greedy decoding with any stack gives the very tokens of plain greedy decoding.

On random models in float64, and in the native runtime in float32 too, without exception; on the
shipped ladder in float64 without exception, in float32 but for near-ties (the two best logits of
the float64 row closer than 1e-3), which are shown.
"""

from __future__ import annotations

import functools
from functools import partial

import pytest
import torch

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.drafting import make_drafter
from hsd_viz.stack import DraftSource
from tests.lossless.ladders import (
    NEAR_TIE,
    bundled_prompts,
    ladder_engine,
    needs_native,
    random_model,
    top_gap,
)
from tests.lossless.toys import levels_of

STACKS = [
    "nano:4 > target",
    "nano:3 > small:6 > target",
    "db > target",
    "db > nano:4 > target",
    "db[statistics,context] > small:5 > target",
    "lookup > target",
    "hd > target",
    "retrieval > target",
    "db[context,model,statistics,logits] > target",
    "db[context,semantic,model,statistics] > target",
    "hd[context,semantic] > target",
]


# --- random models, in memory ---------------------------------------------------------------------


def run(models, lookaheads, bottom, prompt, tokens, eos=frozenset(), sampling=None, positions=256):
    levels = levels_of((model.session() for model in models), lookaheads)
    sampling = sampling or Sampling()
    drafter = make_drafter(bottom, eos=min(eos, default=None), costs=None) if bottom else None
    loop = Loop(
        LoopInputs(
            levels, drafter, sampling, prompt, max_new_tokens=tokens, positions=positions, eos=eos
        )
    )
    list(loop.prefill())
    rounds = list(loop.rounds())
    return loop.text[len(prompt) :], rounds


PARTS = [
    ([4], None),
    ([1], None),
    ([3, 6], None),
    ([2, 2, 5], None),
    ([], DraftSource("db", ("context",))),
    ([], DraftSource("lookup")),
    ([], DraftSource("db", ("context", "logits"))),
    ([4], DraftSource("db", ("context",))),
    ([4], DraftSource("db", ("logits", "context"))),
    ([2, 7], DraftSource("lookup")),
    ([], DraftSource("hd")),
    ([], DraftSource("db", ("context", "semantic"))),
    ([4], DraftSource("db", ("semantic",))),
    ([], DraftSource("hd", ("semantic", "context"))),
    ([], DraftSource("lookup", ("original",))),
    ([], DraftSource("sam")),
    ([], DraftSource("suffix")),
    ([], DraftSource("recycling")),
    ([], DraftSource("ngram-cache")),
    ([3], DraftSource("recycling")),
]


@functools.cache
def plain_decode(
    runtime: str, dtype: torch.dtype, temperature: float, seed: int, tokens: int
) -> tuple[list[int], list[int]]:
    """Return a prompt, and the tokens that every stack must give after it."""
    generator = torch.Generator().manual_seed(seed)
    prompt = torch.randint(0, 64, (5 + seed,), generator=generator).tolist()
    target = random_model(0, dtype=dtype, runtime=runtime)
    sampling = Sampling(temperature=temperature, seed=seed)
    return prompt, run([target], [], None, prompt, tokens, sampling=sampling)[0]


#: The native runtime gives the same bits for any width, so that it needs no float64 to be exact.
RUNTIMES = [
    pytest.param("eager", torch.float64, id="eager"),
    pytest.param("native", torch.float32, id="native float32", marks=needs_native),
]


@pytest.mark.parametrize(("lookaheads", "bottom"), PARTS, ids=lambda v: str(v))
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize(("runtime", "dtype"), RUNTIMES)
def test_random_models(lookaheads, bottom, temperature, runtime, dtype):
    """Token-identical: greedy for every stack; at temperature 1 for those whose drafts are point
    masses.
    """
    if temperature and lookaheads:
        pytest.skip(
            "stacks with models equal plain sampling in distribution only: see test_chi_square"
        )
    target = random_model(0, dtype=dtype, runtime=runtime)
    drafts = [
        random_model(0, noise=0.15 * (k + 1), dtype=dtype, runtime=runtime)
        for k in range(len(lookaheads))
    ][::-1]
    length = 60
    accepted = 0
    for seed in range(6 if runtime == "native" else 3):  # the same loop, with slower models
        sampling = Sampling(temperature=temperature, seed=seed)
        prompt, plain = plain_decode(runtime, dtype, temperature, seed, length)
        assert len(plain) == length
        for eos in (frozenset(), frozenset([plain[30]]), frozenset([plain[0]])):
            for tokens in (length, 7):
                expected = plain[:tokens]
                ends = [k for k, t in enumerate(expected) if t in eos]
                expected = expected[: ends[0] + 1] if ends else expected
                out, rounds = run(
                    [*drafts, target], lookaheads, bottom, prompt, tokens, eos, sampling
                )
                assert out == expected
                accepted += sum(len(r.accepted) for r in rounds)
    assert accepted > 0, "nothing was ever accepted: the test saw no speculation"


@pytest.mark.parametrize(("runtime", "dtype"), RUNTIMES)
def test_context_ends_every_stack_at_the_same_place(runtime, dtype):
    target = random_model(0, noise=0.0, dtype=dtype, runtime=runtime)
    draft = random_model(0, noise=0.1, dtype=dtype, runtime=runtime)
    prompt = list(range(10))
    plain, _ = run([target], [], None, prompt, 500, positions=40)
    assert len(plain) == 30
    for lookaheads, bottom in [([8], None), ([], DraftSource("lookup")), ([3, 8], None)]:
        models = [draft] * len(lookaheads) + [target]
        assert run(models, lookaheads, bottom, prompt, 500, positions=40)[0] == plain


# --- the shipped ladder ---------------------------------------------------------------------------


def compare(dtype: str, prompts: list[str], tokens: int) -> list[str]:
    """Every stack against ``target``; returns the near-ties, raises for any other difference."""
    engine = ladder_engine(dtype)
    ties = []
    for prompt in prompts:
        plain = engine.run(prompt, "target", max_new_tokens=tokens, record=False)
        for stack in STACKS:
            ids = engine.run(prompt, stack, max_new_tokens=tokens, record=False).token_ids
            if ids == plain.token_ids:
                continue
            place = next(
                k for k, (a, b) in enumerate(zip(ids, plain.token_ids, strict=False)) if a != b
            )
            gap = top_gap(plain.meta["prompt_ids"] + plain.token_ids[:place])
            assert dtype != "float64", (
                f"{stack} differs at token {place} of {prompt[:40]!r}, gap {gap:.2e}"
            )
            assert gap < NEAR_TIE, (
                f"{stack} differs at token {place} of {prompt[:40]!r}, gap {gap:.2e}"
            )
            ties.append(f"{stack}: token {place} of {prompt[:30]!r}, gap {gap:.1e}")
    return ties


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_ladder(dtype):
    print(compare(dtype, bundled_prompts(3), 48))


@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_database_stacks_equal_plain_sampling_token_for_token(temperature):
    engine = ladder_engine("float64")
    for seed, prompt in enumerate(bundled_prompts(3)):
        run = partial(
            engine.run, max_new_tokens=40, temperature=temperature, seed=seed, record=False
        )
        plain = run(prompt, "target").token_ids
        for stack in (
            "db > target",
            "db[statistics,context] > target",
            "db[semantic] > target",
            "db[context,semantic,model] > target",
            "hd[semantic] > target",
            "lookup > target",
        ):
            assert run(prompt, stack).token_ids == plain
