"""At least 200 000 tokens through the engine's own loop over table models, held against the exact distribution.

Each stack's output must pass a chi-square test of its bigrams and of its trigrams (does the next token depend on anything but
the last one?); each mutant, one deliberate mistake of the kind that breaks losslessness, must fail it.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from scipy.stats import chi2
from toys import Guesser, Launching, V, distribution, draw, loop_of, models, sample

from hsd_viz.decoding import state
from hsd_viz.decoding.loop import Draft, Loop
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import Verdict, walk

TOKENS = 200_000
FEWER_TOKENS = 40_000
# Seeds are fixed, so a right loop passes always; the level only has to be far from both sides.
LEVEL = 1e-4


def p_value(tokens: list[int], exact: np.ndarray, order: int) -> float:
    """Chi-square of the next token given the last ``order`` tokens; ``exact[v]`` is the true row after token v.

    With ``exact`` ``[V * V, V]`` the true row depends on the last two tokens: row ``V * a + b`` follows a, b.
    """
    t = np.asarray(tokens)
    context = np.zeros(len(t) - order, dtype=np.int64)
    for k in range(order):
        context = context * V + t[k : len(t) - order + k]
    counts = np.zeros((V**order, V))
    np.add.at(counts, (context, t[order:]), 1)
    expected = counts.sum(1, keepdims=True) * exact[np.arange(V**order) % len(exact)]
    possible = expected > 0
    assert not counts[~possible].any(), "a token of probability 0 was emitted"
    enough = (expected >= 5) & possible
    statistic = (((counts - expected) ** 2)[enough] / expected[enough]).sum()
    freedom = enough.sum() - (enough.sum(1) > 0).sum()
    return float(chi2.sf(statistic, freedom))


def p_values(loop: Loop) -> tuple[float, float]:
    target = loop.levels[-1].model.logits
    exact = distribution(target, loop.sampling).numpy()
    tokens = sample(loop)
    return p_value(tokens, exact, 1), p_value(tokens, exact, 2)


ONE = Sampling(temperature=1.0, seed=1, rule="token")
TWO = Sampling(temperature=0.7, top_k=4, seed=1, rule="token")
SHAPED = Sampling(temperature=0.8, top_k=5, top_p=0.95, seed=2, rule="token")
STACKS = {
    "one draft": lambda s, n: loop_of(models(2), [4], s, n),
    "two drafts": lambda s, n: loop_of(models(3), [3, 6], s, n),
    "database": lambda s, n: loop_of(models(2)[1:], [], s, n, Guesser(models(2)[0])),
    "database under a draft": lambda s, n: loop_of(models(2), [5], s, n, Guesser(models(2)[0])),
    "database under two drafts": lambda s, n: loop_of(models(3), [3, 6], s, n, Guesser(models(3)[0])),
    "three drafts": lambda s, n: loop_of(models(4), [2, 3, 6], s, n),
    "two drafts in one launch": lambda s, n: loop_of(models(3), [3, 6], s, n, model=Launching),
}


@pytest.mark.parametrize("name", STACKS)
def test_lossless(name):
    assert min(p_values(STACKS[name](ONE, TOKENS))) > LEVEL


@pytest.mark.parametrize("name", ["one draft", "database under two drafts", "two drafts in one launch"])
def test_block_verification_is_lossless(name):
    assert min(p_values(STACKS[name](dataclasses.replace(ONE, rule="block"), TOKENS))) > LEVEL


@pytest.mark.parametrize("name", ["one draft", "two drafts in one launch"])
def test_block_verification_is_lossless_after_temperature_top_k_and_top_p(name):
    assert min(p_values(STACKS[name](dataclasses.replace(SHAPED, rule="block"), FEWER_TOKENS))) > LEVEL


@pytest.mark.parametrize("name", ["one draft", "database under a draft", "two drafts in one launch"])
def test_lossless_after_temperature_top_k_and_top_p(name):
    assert min(p_values(STACKS[name](SHAPED, FEWER_TOKENS))) > LEVEL


# --- mutants -----------------------------------------------------------------------------------------------------------


class MiddleSamplesItsRow(Loop):
    """Rule 1: on rejection a middle level draws from p instead of the residual."""

    def _judge(self, i, draft, forward):
        verdict, p = super()._judge(i, draft, forward)
        if verdict.residual is not None and i < len(self.levels) - 1:
            r = torch.tensor(self.draws.fresh(1), dtype=torch.float64)
            verdict.token = int(draw(p[verdict.row][None], r))
        return verdict, p


class ResidualProposed(Loop):
    """Rule 2: the residual is proposed as the row of a corrected token."""

    def verify(self, i, draft):
        verified = super().verify(i, draft)
        residual = verified.verdict.residual
        if verified.p is not None and residual is not None:
            verified.p[-1] = residual / residual.sum()
        return verified


class DraftersRowProposed(Loop):
    """Rule 3: accepted tokens are proposed with the drafter's rows."""

    def verify(self, i, draft):
        verified = super().verify(i, draft)
        if verified.p is not None and draft.rows is not None:
            n = len(verified.accepted)
            verified.p[:n] = draft.rows[:n]
        return verified


class UnlikelyTokenDropped(Loop):
    """Rule 4: a token is dropped after it was seen."""

    def draft(self, chain, room):
        out = super().draft(chain, room)
        if len(chain) == 1 and len(out) > 1:
            last = out.tree.tokens[-1]
            if out.rows[-1, last] < 0.25:
                n = len(out) - 1
                out = Draft(out.tree.within(n), out.paths[:n], out.rows[:n])
        return out


class StopsAfterUnlikelyToken(Loop):
    """The lossless cousin of the mutant above: stop early, but keep the token."""

    def draft(self, chain, room):
        out = super().draft(chain, room)
        if len(chain) != 1:
            return out
        for n in range(1, len(out)):
            if out.rows[n - 1, out.tree.tokens[n - 1]] < 0.25:
                self.levels[0].model.truncate(len(self.text) + n - 1)
                return Draft(out.tree.within(n), out.paths[:n], out.rows[:n])
        return out


class RowBeforeTemperature(Loop):
    """Rule 5: q is taken before temperature, top-k and top-p."""

    def _sample(self, i, n):
        out = super()._sample(i, n)
        before = [self.text[-1], *out.tree.tokens[:-1]]
        out.rows = torch.softmax(self.levels[i].model.logits[torch.tensor(before)], dim=-1)
        return out


class SoftmaxOfArgMax(Loop):
    """Rule 6: the draft is the arg-max, its q the softmax."""

    def _sample(self, i, n):
        level = self.levels[i]
        out, base = Draft(), len(self.text)
        rows = []
        for _ in range(n):
            row = level.model.forward(self.text[level.model.length :], 1)
            rows.append(distribution(row, self.sampling))
            out.tree.add(int(row.argmax()), len(out) - 1, level.name)
            out.paths.append((i,))
            self.text.append(out.tree.tokens[-1])
        del self.text[base:]
        out.rows = torch.cat(rows)
        return out


class EachSiblingTriedAlone(Loop):
    """The tree rule's mistake: every child is accepted with its own probability, nothing is renormalised after a rejection."""

    def _judge(self, i, draft, forward):
        p = distribution(forward.logits, self.sampling)
        drawn = draw(p, torch.tensor(self.draws.fresh(len(draft) + 1), dtype=torch.float64)).tolist()
        for row in range(len(draft) + 1):
            for node, parent in enumerate(draft.tree.parents):
                if parent == row - 1 and self.draws.fresh(1)[0] < p[row, draft.tree.tokens[node]]:
                    drawn[row] = draft.tree.tokens[node]
                    break
        verdict: Verdict = walk(draft.tree, drawn, [0.0] * len(draft))
        return verdict, p


MUTANTS = [
    (MiddleSamplesItsRow, 3, [3, 6], ONE),
    (ResidualProposed, 3, [3, 6], ONE),
    (DraftersRowProposed, 3, [3, 6], ONE),
    (UnlikelyTokenDropped, 2, [4], ONE),
    (RowBeforeTemperature, 2, [4], TWO),
    (SoftmaxOfArgMax, 2, [4], ONE),
]


@pytest.mark.parametrize(("mutant", "n", "lookaheads", "sampling"), MUTANTS, ids=[m[0].__name__ for m in MUTANTS])
def test_mutant_is_caught(mutant, n, lookaheads, sampling):
    assert min(p_values(loop_of(models(n), lookaheads, sampling, FEWER_TOKENS, cls=mutant))) < LEVEL
    # The same loop without the mistake passes at the same length: it is the mistake that was caught.
    assert min(p_values(loop_of(models(n), lookaheads, sampling, FEWER_TOKENS))) > LEVEL


def test_tree_mutant_is_caught():
    def loop(cls):
        return loop_of(models(2)[1:], [], ONE, FEWER_TOKENS, Guesser(models(2)[0]), cls=cls)

    assert min(p_values(loop(EachSiblingTriedAlone))) < LEVEL
    assert min(p_values(loop(Loop))) > LEVEL


def test_a_launch_with_one_number_for_all_its_tokens_is_caught():
    class OneNumber(Launching):
        def sample(self, tokens, n, sampling, chances, eos):
            return super().sample(tokens, n, sampling, chances[:1] * n, eos)

    assert min(p_values(loop_of(models(2), [4], ONE, FEWER_TOKENS, model=OneNumber))) < LEVEL
    assert min(p_values(loop_of(models(2), [4], ONE, FEWER_TOKENS, model=Launching))) > LEVEL


def test_reused_numbers_are_caught(monkeypatch):
    """Draws of the target and of its draft that share a number tie the two together."""

    class Shared(state.Draws):
        def fresh(self, n):
            return [self.at(10_000_000 + k) for k in range(n)]

    monkeypatch.setattr(state, "Draws", Shared)
    assert min(p_values(loop_of(models(2), [4], ONE, FEWER_TOKENS))) < LEVEL


def test_stopping_early_while_keeping_the_token_is_lossless():
    assert min(p_values(loop_of(models(2), [6], ONE, FEWER_TOKENS, cls=StopsAfterUnlikelyToken))) > LEVEL
