"""Whole stacks by exact enumeration: every outcome of every random decision of the loop itself,
1e-12.

The loop runs over toy tables with numbers that only comparisons decide
(``hsd_viz.measure.audit``), so the law of its output is exact: drafts, verification, correction,
early stops by "at least n", end tokens and limits included.
"""

from __future__ import annotations

import functools
from unittest.mock import patch

import numpy as np
import pytest

from hsd_viz.decoding import verify
from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import distribution
from hsd_viz.decoding.verify import RuleDecision
from hsd_viz.measure.audit import enumeration
from hsd_viz.measure.audit.exact import exact
from hsd_viz.measure.audit.stacks import EnumeratedDraws, ToySession, loop_decoder
from hsd_viz.stack import parse
from hsd_viz.trace.tables import RULES
from tests.lossless import mutants
from tests.lossless.toys import Guesser, levels_of, loop_of, models, sample

TOLERANCE = 1e-12
#: (stack, vocabulary, new tokens). Two instances each, one with an end token; the limit cuts drafts
#: short.
STACKS = [
    ("nano:1 > target", 3, 3),
    ("nano:2 > target", 3, 3),
    ("nano:3 > target", 2, 5),
    ("nano:1 > small:2 > target", 3, 3),
    ("nano:2 > small:3 > target", 2, 4),
    ("nano:1 > small:1 > target", 2, 4),
    ("nano:1 > small:2 > base:3 > target", 2, 4),
    ("db[context] > target", 3, 4),
    ("db[context] > nano:2 > target", 2, 4),
    ("db[context] > nano:1 > small:2 > target", 2, 4),
    ("lookup > nano:2 > target", 3, 3),
]


def audit(stack: str, rule: str, vocabulary: int, new_tokens: int, cls: type[Loop] = Loop):
    decode = loop_decoder(parse(stack), rule, cls)
    return exact(
        decode,
        models=len(parse(stack).models),
        vocabulary=vocabulary,
        new_tokens=new_tokens,
        instances=2,
    )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("stack", "vocabulary", "new_tokens"), STACKS, ids=str)
def test_the_law_of_a_stack_is_the_targets(stack, vocabulary, new_tokens, rule):
    result = audit(stack, rule, vocabulary, new_tokens)
    assert result.lossless, str(result)
    assert result.error < TOLERANCE, str(result)


def shaped_error(seed: int, rule: str, cls: type[Loop] = Loop) -> float:
    """Return the largest error of the law of a random stack over random tables (two or three
    levels, chains of up to 5 tokens, vocabularies of 3 to 5), sampled with top-k, top-p or min-p;
    limits cut drafts, every second instance has an end token.
    """
    random = np.random.default_rng(seed)
    levels = int(random.integers(2, 4))
    v = int(random.integers(3, 6))
    cut = ("top-p", "top-k", "min-p")[seed % 3]
    new_tokens = int(random.integers(2, 4 if cut != "top-k" or levels == 3 else 7))
    sampling = Sampling(
        temperature=float(random.uniform(0.6, 1.5)),
        top_k=2 if cut == "top-k" else 0,
        top_p=float(random.uniform(0.4, 0.7)) if cut == "top-p" else 1.0,
        min_p=float(random.uniform(0.2, 0.6)) if cut == "min-p" else 0.0,
        rule=rule,
    )
    tables = [2 * random.normal(size=(v, v, v))]
    for _ in range(levels - 1):
        tables.append(tables[-1] + random.normal(size=(v, v, v)))
    lookaheads = [
        int(random.integers(1, 6 if levels == 2 else 4)),
        *([int(random.integers(1, 3))] * (levels - 2)),
    ]
    prompt = [0, 1]
    eos = frozenset({v - 1} if seed % 2 else ())

    def text(choices) -> tuple[int, ...]:
        levels = levels_of(map(ToySession, tables), lookaheads)
        loop = cls(LoopInputs(levels, None, sampling, prompt, max_new_tokens=new_tokens, eos=eos))
        loop.draws = EnumeratedDraws(choices)
        list(loop.prefill())
        return tuple(sample(loop))

    law = enumeration.law(text)

    def compare(prefix: tuple[int, ...], weight: float) -> float:
        if len(prefix) == new_tokens or (prefix and prefix[-1] in eos):
            return abs(law.pop(prefix, 0.0) - weight)
        row = distribution(tables[-1][(*prompt, *prefix)[-2:]][None], sampling)[0]
        return max(compare((*prefix, token), weight * float(p)) for token, p in enumerate(row) if p)

    return max(compare((), 1.0), sum(law.values()))


@pytest.mark.parametrize(
    ("rule", "part"), [("token", 0), ("block", 0), *(("branch", part) for part in range(4))]
)
def test_the_law_of_random_stacks_after_top_k_and_top_p(rule, part):
    """For the branch rule 200 instances; the others differ from it in ``judge`` alone."""
    # Three take as long as all others.
    for seed in sorted({*range(51 * part, 51 * part + 51)} - {94, 98, 188}):
        assert shaped_error(seed, rule) < TOLERANCE, seed


def test_a_drafters_row_instead_of_the_middle_models_is_caught_there():
    assert (
        max(shaped_error(seed, "branch", mutants.DraftersRowProposed) for seed in range(20)) > 1e-3
    )


def mutated(tokens, q, p, u, *, mistake: str | None) -> RuleDecision:
    """Block verification as published, with one mistake."""
    n = len(tokens)
    w = [1.0]
    for k, token in enumerate(tokens):
        ratio = w[k] * p[k, token] / q[k, token]
        w.append(ratio if mistake == "unclipped" else min(1.0, ratio))

    def left(k: int) -> np.ndarray:
        return np.maximum(w[k] * p[k] - q[k], 0)

    def passes(k: int) -> bool:
        s = float(left(k).sum()) if k < n else 0.0
        if k == n:
            chance = w[k]
        elif w[k] >= 1:
            chance = 1.0
        else:
            chance = s / (s + 1 - w[k])
        return u[k - 1] < chance

    if mistake == "first_failure":
        k = next((k for k in range(n) if not passes(k + 1)), n)
    else:
        k = next((k for k in range(n, 0, -1) if passes(k)), 0)
    if k == n:
        residual = None
    elif mistake == "token_residual":
        residual = np.maximum(p[k] - q[k], 0)
    else:
        residual = left(k)
    return RuleDecision(k, residual, range(n), [0.0] * n)


@pytest.mark.parametrize("mutant", [None, "unclipped", "token_residual", "first_failure"])
@pytest.mark.parametrize("stack", ["nano:2 > target", "nano:1 > small:2 > target"])
def test_mutants_of_block_verification_are_caught(stack, mutant):
    """The products of ratios not bounded by 1; the token rule's residual; no place tried after
    the first that fails.
    """
    rule = functools.partial(mutated, mistake=mutant)
    with patch.dict(verify.RULES, {"block": rule}):
        result = audit(stack, "block", 4, 3)
    assert result.lossless is (mutant is None), str(result)
    assert mutant is None or result.error > 1e-4


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "mutant",
    [
        mutants.MiddleSamplesItsRow,
        mutants.ResidualProposed,
        mutants.DraftersRowProposed,
        mutants.OneNumberForAllPlaces,
        mutants.OneNumberForADraft,
        mutants.UnlikelyTokenDropped,
    ],
    ids=lambda c: c.__name__,
)
def test_mutants_of_the_loop_are_caught(mutant, rule):
    of_drafting = mutant in (mutants.OneNumberForADraft, mutants.UnlikelyTokenDropped)
    result = audit(
        "nano:3 > target" if of_drafting else "nano:2 > small:2 > target", rule, 3, 3, mutant
    )
    assert not result.lossless, str(result)
    assert result.error > 1e-4, str(result)


def test_stopping_early_while_keeping_the_token_is_exact():
    result = audit("nano:3 > target", "token", 3, 3, mutants.StopsAfterUnlikelyToken)
    assert result.lossless, str(result)
    assert result.error < TOLERANCE, str(result)


@pytest.mark.parametrize(
    ("lookaheads", "database", "temperature"),
    [([3], False, 0.0), ([2, 4], False, 0.0), ([], True, 1.0)],
)
def test_greedy_decoding_and_point_masses_do_not_depend_on_the_rule(
    lookaheads, database, temperature
):
    """The same tokens and the same verdicts, bit for bit."""
    decodes = []
    for rule in RULES:
        tables = models(len(lookaheads) + 1, seed=2)
        drafter = Guesser(models(2)[0]) if database else None
        loop = loop_of(
            tables, lookaheads, Sampling(temperature=temperature, seed=3, rule=rule), 200, drafter
        )
        rounds = []
        for r in loop.rounds():
            rounds.append((r.draft.tree.tokens, r.verdict.p, r.verdict.u, r.verdict.h, r.tokens))
        decodes.append((loop.text, rounds))
    assert decodes[0] == decodes[1]
    assert sum(len(tokens) > 1 for *_, tokens in decodes[0][1]), (
        "nothing was accepted: the test saw no speculation"
    )
