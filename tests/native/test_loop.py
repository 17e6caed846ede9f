"""Compare all events of the compiled loop with those of Python's: all rows except times, bit for
bit.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import chain

import pytest
import torch

from hsd_viz.decoding.base_loop import BaseLoop, LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.drafting.db import DatabaseDrafter
from hsd_viz.drafting.index.read import Index
from hsd_viz.drafting.tree import Drafter
from hsd_viz.native.build import default_build
from hsd_viz.native.drafter import NativeDatabaseDrafter
from hsd_viz.native.loop import NativeLoop
from hsd_viz.trace.tables import RULES, TABLES
from tests.native.models import REDUCED, VOCAB, ids, native
from tests.native.test_native_drafter import habits, write

pytestmark = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)

APART = {"start_ns", "duration_ns"}
#: Combinations in one test, and tests.
COMBINATIONS = 30
PARTS = 8


def opened(levels: list[Level]) -> list[Level]:
    """Return levels with new sessions of their models."""
    return [replace(level, session=level.session.session()) for level in levels]


@dataclass(slots=True)
class Case:
    """A decode that both loops run.

    Attributes:
        levels: the levels of the models.
        drafter: the drafter below the models, in Python.
        sampling: the sampling settings.
        prompt: the token ids of the prompt.
        max_new_tokens: the number of tokens that ends the text.
        eos: the tokens that end the text.
        details: the number of likeliest tokens that are recorded.
        positions: the size of the context, in tokens.
        budget: the largest number of tokens in a draft from databases.
    """

    levels: list[Level]
    drafter: DatabaseDrafter | None
    sampling: Sampling
    prompt: list[int]
    max_new_tokens: int
    eos: frozenset[int] = frozenset()
    details: int = 0
    positions: int | None = None
    budget: int | None = None

    def loop(self, cls: type[BaseLoop], drafter: Drafter | None) -> BaseLoop:
        """Return a decode that has not begun."""
        return cls(
            LoopInputs(
                opened(self.levels),
                drafter,
                self.sampling,
                self.prompt,
                max_new_tokens=self.max_new_tokens,
                positions=self.positions,
                eos=self.eos,
                budget=self.budget,
                details=self.details,
            )
        )


def reference(case: Case) -> dict[str, dict[str, list]]:
    """Return the tables of a decode by the loop in Python."""
    loop = case.loop(Loop, case.drafter)
    list(loop.prefill())
    list(loop.rounds())
    return loop.log.take()


def compiled(case: Case, ns: int = 40_000_000) -> dict[str, dict[str, list]]:
    """Return the tables of a decode by the compiled loop."""
    drafter = None
    if case.drafter is not None:
        drafter = NativeDatabaseDrafter(default_build().library, case.drafter)
    loop = case.loop(NativeLoop, drafter)
    list(loop.prefill())
    batches = [loop.take()() for _ in loop.rounds(ns)]
    tables = {}
    for name, table in TABLES.items():
        columns = {}
        for field in table.columns:
            columns[field] = list(chain(*(batch[name][field] for batch in batches)))
        tables[name] = columns
    return tables


def check_same(expected: dict, recorded: dict, seed: int | None = None) -> None:
    """Compare the tables of two decodes; ``seed`` is that of a random case."""
    for name, columns in expected.items():
        for field in set(columns) - APART:
            where = f"{name}.{field}" if seed is None else f"{name}.{field} of seed {seed}"
            assert recorded[name][field] == columns[field], where


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    paths = write(tmp_path_factory.mktemp("databases"), VOCAB, habits(0, VOCAB, 40, 150))
    return {name: Index(path) for name, path in paths.items()}


def combination(seed: int, files: dict) -> Case:
    """Return a random stack with settings, a text and limits."""
    choose = random.Random(seed)
    n = choose.choice([1, 2, 2, 3, 4])
    dtype = choose.choice(["int8", "int8 groups", torch.float32, torch.float64])
    names = ["odd", "long heads", "llama", "qwen2", "smollm3", REDUCED]
    models = [native(choose.choice(names), dtype) for _ in range(n)]
    levels = []
    for k, model in enumerate(models):
        levels.append(Level(f"m{k}", model, None if k == n - 1 else choose.randint(1, 7)))
    temperature = choose.choice([0.0, 0.3, 0.7, 1.0, 2.0])
    top_k = choose.choice([0, 0, 1, 5, 40])
    top_p = choose.choice([1.0, 1.0, 0.9, 0.5])
    sampling = Sampling(
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=choose.choice([0.0, 0.0, 0.02, 0.3]),
        seed=choose.randrange(2**62),
        rule=choose.choice(RULES),
    )
    prompt = ids(choose.choice([1, 2, 7, 40, 600]), seed)
    if choose.random() < 0.5:
        prompt = (ids(5, seed) * 120)[: len(prompt)]
    drafter = None
    eos = frozenset(choose.sample(range(VOCAB), choose.choice([0, 1, 20])))
    if choose.random() < 0.6:
        sources = choose.choice(
            [
                ("context",),
                ("context", "model", "statistics"),
                ("model",),
                ("semantic",),
                ("context", "semantic", "model"),
            ]
        )
        costs = choose.choice([None, 0.02, 0.15])
        drafter = DatabaseDrafter(sources, files, eos=eos, costs=costs, temperature=temperature)
    case = Case(
        levels,
        drafter,
        sampling,
        prompt,
        max_new_tokens=choose.choice([1, 2, 5, 30]),
        eos=eos,
        details=choose.choice([0, 5]),
    )
    if choose.random() < 0.2:
        case.positions = len(prompt) + choose.randint(1, 20)
    if choose.random() < 0.3:
        case.budget = choose.randint(1, 40)
    for level in levels[:-1]:
        if choose.random() < 0.4:
            level.positions = len(prompt) + choose.randint(-3, 20)
    for level in levels[:-1]:
        if choose.random() < 0.6:
            level.confidence = choose.choice([1e-6, 1e-4, 0.01, 0.1, 0.9])
    return case


@pytest.mark.parametrize("part", range(PARTS))
def test_the_loops_are_equal_event_for_event(part, files):
    """Stacks, rules, sampling settings, seeds, prompts, limits and end tokens are random."""
    seen: set[str] = set()
    left_levels = 0
    for seed in range(part * COMBINATIONS, (part + 1) * COMBINATIONS):
        case = combination(seed, files)
        expected = reference(case)
        length = len(case.prompt) + len(expected["tokens"]["index"])
        left_levels += any((level.positions or length) < length for level in case.levels)
        check_same(expected, compiled(case, ns=seed % 2 * 40_000_000), seed)
        seen |= {
            *expected["drafts"]["verdict"],
            *expected["rounds"]["outcome"],
            *expected["tokens"]["kind"],
            *expected["rounds"]["draft_end"],
        }
    assert seen >= {"accepted", "rejected", "unreached", "correction", "bonus", "plain"}
    # Some texts continued without a draft model whose context was full.
    assert left_levels >= 3
    assert seen >= {"length", "confidence", None}


@pytest.mark.parametrize("dtype", ["int8", "int8 groups", torch.float32], ids=str)
@pytest.mark.parametrize("sources", [("semantic",), ("context", "semantic")], ids=",".join)
@pytest.mark.parametrize("below", [0, 2], ids=["alone", "below a draft model"])
def test_drafts_by_states_are_equal(dtype, sources, below):
    """The text repeats itself, so that all of these decodes draft by hidden states."""
    levels = [Level("target", native("odd", dtype))]
    if below:
        levels.insert(0, Level("draft", native("long heads", dtype), below))
    prompt = ids(9, 3) * 4
    for temperature in (0.0, 0.7):
        drafter = DatabaseDrafter(sources, {}, costs=None, temperature=temperature)
        sampling = Sampling(temperature=temperature, seed=5)
        case = Case(levels, drafter, sampling, prompt, max_new_tokens=20, budget=6, details=5)
        expected = reference(case)
        check_same(expected, compiled(case))
        assert any(cosine is not None for cosine in expected["drafts"]["cosine"])


@pytest.mark.parametrize("n", [1, 2, 513, 514, 1026])
def test_a_prompt_is_fed_in_parts_but_for_its_last_token(n):
    levels = []
    for name, look in (("odd", 4), ("long heads", None)):
        levels.append(Level(name, native(name).session(), look))
    drafter = NativeDatabaseDrafter(default_build().library, DatabaseDrafter(("context",), {}))
    loop = NativeLoop(
        LoopInputs(levels, drafter, Sampling(), (ids(600, n) * 2)[:n], max_new_tokens=2)
    )
    stages = [*loop.prefill()]
    assert [name for name, done, total in stages if done == total] == ["odd", "long heads"][
        : 2 * (n > 1)
    ]
    assert [*loop.rounds()]
    calls = loop.take()()["calls"]
    kinds = zip(calls["level"], calls["fed"], calls["kind"], strict=True)
    whole = [min(512, n - 1 - begin) for begin in range(0, n - 1, 512)]
    fed = [(0, n), *((1, part) for part in whole), *((2, part) for part in whole)]
    assert [(level, fed) for level, fed, kind in kinds if kind == "prefill"] == fed
    assert (
        sum(calls["duration_ns"]) <= calls["start_ns"][-1] + calls["duration_ns"][-1] <= loop.now()
    )


def test_a_token_outside_of_the_vocabulary_is_refused():
    loop = NativeLoop(
        LoopInputs(
            [Level("odd", native("odd").session())],
            None,
            Sampling(),
            [1, 5000, 3],
            max_new_tokens=2,
        )
    )
    with pytest.raises(ValueError, match="vocabulary"):
        list(loop.prefill())
