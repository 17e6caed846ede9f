"""Long decodes over table models, against the exact distribution: what enumeration cannot reach.

Each stack's output must pass a chi-square test of its bigrams and of its trigrams (does the next
token depend on anything but the last one?); each mutant, one deliberate mistake of the kind that
breaks losslessness, must fail it.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.stats import chi2

from hsd_viz.decoding import loop as loop_module
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import distribution
from tests.lossless import mutants
from tests.lossless.toys import Guesser, V, loop_of, models, sample

TOKENS = 8_000
# Seeds are fixed, so a right loop passes always; the level only has to be far from both sides.
LEVEL = 1e-4


def p_value(texts: list[list[int]], exact: np.ndarray, order: int) -> float:
    """Chi-square of the next token given the last ``order`` tokens of the same text; ``exact[v]``
    is the true row after token v.

    With ``exact`` ``[V * V, V]`` the true row depends on the last two tokens: row ``V * a + b``
    follows a, b.
    """
    counts = np.zeros((V**order, V))
    for text in texts:
        t = np.asarray(text)
        context = np.zeros(len(t) - order, dtype=np.int64)
        for k in range(order):
            context = context * V + t[k : len(t) - order + k]
        np.add.at(counts, (context, t[order:]), 1)
    expected = counts.sum(1, keepdims=True) * exact[np.arange(V**order) % len(exact)]
    possible = expected > 0
    assert not counts[~possible].any(), "a token of probability 0 was emitted"
    enough = (expected >= 5) & possible
    statistic = (((counts - expected) ** 2)[enough] / expected[enough]).sum()
    freedom = enough.sum() - (enough.sum(1) > 0).sum()
    return float(chi2.sf(statistic, freedom))


def fit(loop: Loop) -> float:
    """The smaller p-value of bigrams and trigrams."""
    exact = distribution(loop.levels.models[-1].session.logits, loop.sampling)
    texts = [sample(loop)]
    return min(p_value(texts, exact, 1), p_value(texts, exact, 2))


ONE = Sampling(temperature=1.0, seed=1, rule="token")
TWO = Sampling(temperature=0.7, top_k=4, seed=1, rule="token")
SHAPED = Sampling(temperature=0.8, top_k=5, top_p=0.95, seed=2, rule="token")


def one_draft(sampling: Sampling, cls: type[Loop] = Loop) -> Loop:
    return loop_of(models(2), [4], sampling, TOKENS, cls=cls)


def two_drafts(sampling: Sampling, cls: type[Loop] = Loop) -> Loop:
    return loop_of(models(3), [3, 6], sampling, TOKENS, cls=cls)


def database(sampling: Sampling, cls: type[Loop] = Loop) -> Loop:
    below, target = models(2)
    return loop_of([target], [], sampling, TOKENS, Guesser(below), cls)


def database_under_two_drafts(sampling: Sampling, cls: type[Loop] = Loop) -> Loop:
    tables = models(3)
    return loop_of(tables, [3, 6], sampling, TOKENS, Guesser(tables[0]), cls)


STACKS = {
    "one draft": one_draft,
    "two drafts": two_drafts,
    "database": database,
    "database under two drafts": database_under_two_drafts,
}


RUNS = [*((name, ONE) for name in STACKS), ("one draft", TWO)]
RUNS += [("one draft", dataclasses.replace(SHAPED, rule=rule)) for rule in ("token", "block")]


@pytest.mark.parametrize(("name", "sampling"), RUNS)
def test_lossless(name, sampling):
    assert fit(STACKS[name](sampling)) > LEVEL


MUTANTS = [
    (mutants.ResidualProposed, "two drafts", ONE),
    (mutants.RowBeforeTemperature, "one draft", TWO),
    (mutants.SoftmaxOfArgMax, "one draft", ONE),
    (mutants.EachSiblingTriedAlone, "database", ONE),
]


@pytest.mark.parametrize(
    ("mutant", "stack", "sampling"), MUTANTS, ids=[m[0].__name__ for m in MUTANTS]
)
def test_mutant_is_caught(mutant, stack, sampling):
    assert fit(STACKS[stack](sampling, cls=mutant)) < LEVEL


def test_reused_numbers_are_caught(monkeypatch):
    """Draws of the target and of its draft that share a number tie the two together."""

    class Shared(loop_module.Draws):
        def fresh(self, n):
            return [self.at(10_000_000 + k) for k in range(n)]

    monkeypatch.setattr(loop_module, "Draws", Shared)
    assert fit(STACKS["one draft"](ONE)) < LEVEL
