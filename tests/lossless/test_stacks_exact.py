"""Whole stacks by exact enumeration: every outcome of every random decision of the engine's own loop, 1e-12.

The loop runs over toy tables with numbers that only comparisons decide (``hsd_viz.audit``), so the law of its output is
exact: drafts, verification, correction, early stops by "at least n", end tokens and limits included.
"""

from __future__ import annotations

import functools
from unittest.mock import patch

import numpy as np
import pytest
from toys import Guesser, loop_of, models

from hsd_viz.audit.exact import exact
from hsd_viz.audit.stacks import loop_decoder, models_in
from hsd_viz.decoding import verify
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.sampling import draw
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import Verdict
from hsd_viz.trace.records import RULES

TOLERANCE = 1e-12
#: (stack, vocabulary, new tokens). Two instances each, one with an end token; the limit cuts drafts short.
STACKS = [
    ("nano:1 > target", 3, 3),
    ("nano:2 > target", 3, 3),
    ("nano:3 > target", 2, 5),
    ("nano:2 > target", 2, 6),
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
    decode = loop_decoder(stack, rule, cls)
    return exact(decode, models=models_in(stack), vocabulary=vocabulary, new_tokens=new_tokens, instances=2)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("stack", "vocabulary", "new_tokens"), STACKS, ids=str)
def test_the_law_of_a_stack_is_the_targets(stack, vocabulary, new_tokens, rule):
    found = audit(stack, rule, vocabulary, new_tokens)
    assert found.lossless and found.error < TOLERANCE, str(found)
    print(f"{stack}, {rule}: {found}")


# --- mutants of block verification --------------------------------------------------------------------------------------


def mutated(tokens, q, p, u, r, *, unclipped=False, token_residual=False, first_failure=False) -> Verdict:
    """Block verification as published, with one mistake."""
    n = len(tokens)
    p_of, q_of = ([float(rows[k, t]) for k, t in enumerate(tokens)] for rows in (p, q))
    w = [1.0]
    for mine, theirs in zip(p_of, q_of, strict=True):
        w.append(w[-1] * mine / theirs if unclipped else min(1.0, w[-1] * mine / theirs))

    def left(k: int) -> np.ndarray:
        return np.maximum(w[k] * p[k] - q[k], 0)

    def passes(k: int) -> bool:
        s = float(left(k).sum()) if k < n else 0.0
        return u[k - 1] < (w[k] if k == n else 1.0 if w[k] >= 1 else s / (s + 1 - w[k]))

    if first_failure:
        k = next((k for k in range(n) if not passes(k + 1)), n)
    else:
        k = next((k for k in range(n, 0, -1) if passes(k)), 0)
    residual = None if k == n else np.maximum(p[k] - q[k], 0) if token_residual else left(k)
    if residual is not None and not residual.sum() > 0:
        residual = p[k].copy()
    token = draw(p[k] if residual is None else residual, r[k])
    return Verdict.of_block(tokens, k, token, p_of, q_of, u, [0.0] * n, residual)


MUTANTS = ("unclipped", "token_residual", "first_failure")


@pytest.mark.parametrize("mutant", [None, *MUTANTS])
@pytest.mark.parametrize("stack", ["nano:2 > target", "nano:1 > small:2 > target"])
def test_mutants_of_block_verification_are_caught(stack, mutant):
    """The products of ratios not bounded by 1; the token rule's residual; no place tried after the first that fails."""
    rule = mutated if mutant is None else functools.partial(mutated, **{mutant: True})
    with patch.dict(verify.CHAIN_RULES, {"block": rule}):
        found = audit(stack, "block", 4, 3)
    assert found.lossless is (mutant is None), str(found)
    assert mutant is None or found.error > 1e-4


# --- mutants of the loop, under both rules ------------------------------------------------------------------------------


class MiddleSamplesItsRow(Loop):
    """On rejection a middle level draws from p, not from the residual."""

    def _judge(self, i, draft, forward):
        verdict, p = super()._judge(i, draft, forward)
        if verdict.residual is not None and i < len(self.levels) - 1:
            verdict.token = draw(p[verdict.row].numpy(), self.draws.fresh(1)[0])
        return verdict, p


class ResidualProposed(Loop):
    """A middle level proposes the residual as the row of a corrected token."""

    def verify(self, i, draft):
        verified = super().verify(i, draft)
        if verified.p is not None and verified.verdict.residual is not None and verified.outcome == "correction":
            verified.p[-1] = verified.verdict.residual / verified.verdict.residual.sum()
        return verified


class DraftersRowProposed(Loop):
    """A middle level proposes accepted tokens with the drafter's rows."""

    def verify(self, i, draft):
        verified = super().verify(i, draft)
        if verified.p is not None and draft.rows is not None:
            n = len(verified.accepted)
            verified.p[:n] = draft.rows[:n]
        return verified


class OneNumberForAllPlaces(Loop):
    """All places of a draft are judged with one random number."""

    def _judge(self, i, draft, forward):
        fresh = self.draws.fresh
        self.draws.fresh = lambda n: fresh(1) * n
        try:
            return super()._judge(i, draft, forward)
        finally:
            self.draws.fresh = fresh


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "mutant",
    [MiddleSamplesItsRow, ResidualProposed, DraftersRowProposed, OneNumberForAllPlaces],
    ids=lambda c: c.__name__,
)
def test_mutants_of_the_loop_are_caught(mutant, rule):
    found = audit("nano:2 > small:2 > target", rule, 3, 3, mutant)
    assert not found.lossless and found.error > 1e-4, str(found)


def test_the_block_rule_accepts_no_less():
    """Expected accepted tokens by the definition of both rules, over every chain of random tables."""
    gains = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        v, n = 3, 3
        p, q = (random.dirichlet(np.ones(v), size=(v,) * n).astype(float) for _ in range(2))
        token = block = 0.0
        for chain in np.ndindex(*(v,) * n):
            before = [(*chain[:k], *(0,) * (n - k)) for k in range(n)]
            ratio = [p[b][t] / q[b][t] for b, t in zip(before, chain, strict=True)]
            chance = float(np.prod([q[b][t] for b, t in zip(before, chain, strict=True)]))
            w = accepted = 1.0
            for r in ratio:
                w, accepted = min(1.0, w * r), accepted * min(1.0, r)
                token, block = token + chance * accepted, block + chance * w
        gains.append(block / token - 1)
    assert min(gains) > -TOLERANCE and max(gains) > 0.01


@pytest.mark.parametrize(
    ("lookaheads", "database", "temperature"), [([3], False, 0.0), ([2, 4], False, 0.0), ([], True, 1.0)]
)
def test_greedy_decoding_and_point_masses_do_not_depend_on_the_rule(lookaheads, database, temperature):
    """The same tokens and the same rounds, bit for bit."""
    found = []
    for rule in RULES:
        tables = models(len(lookaheads) + 1)
        drafter = Guesser(models(2)[0]) if database else None
        loop = loop_of(tables, lookaheads, Sampling(temperature, seed=3, rule=rule), 200, drafter)
        rounds = []
        for _ in loop.rounds():
            drafts, rows, _ = loop.log.take()
            rounds += [(d.tree.tokens, d.p, d.q, d.u, d.h) for d in drafts] + [row[:8] + row[10:] for row in rows]
        found.append((loop.text, rounds))
    assert found[0] == found[1]
    assert any(row[5] for row in found[0][1] if len(row) > 5), "nothing was accepted: the test saw no speculation"
