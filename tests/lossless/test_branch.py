"""The branch rule (arXiv 2601.05724) by exact enumeration, beside block verification and the linear
program that bounds every lossless rule, with the mistakes that it invites.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

from hsd_viz.decoding.verify import RuleDecision, block_rule, branch_rule

NEVER = 2.0
ALWAYS = -1.0


def tables(seed: int, length: int, v: int) -> tuple[dict, dict]:
    """Return rows of a verifier and of a drafter for every prefix. In every second instance a third
    of the entries is 0, as after top-k and top-p.
    """
    random = np.random.default_rng(seed)
    prefixes = []
    for n in range(length + 1):
        prefixes += itertools.product(range(v), repeat=n)
    p = random.dirichlet(np.full(v, 0.6), len(prefixes))
    q = random.dirichlet(np.full(v, 0.6), len(prefixes))
    if seed % 2:
        for rows, always in ((p, -1), (q, 0)):
            rows[random.random(rows.shape) < 0.3] = 0
            rows[:, always] += 0.05
            rows /= rows.sum(1, keepdims=True)
    return dict(zip(prefixes, p, strict=True)), dict(zip(prefixes, q, strict=True))


def stops(rule, tokens, q, p) -> list[tuple[int, float, np.ndarray]]:
    """Return (accepted, chance, row of the next token) for each number of accepted tokens, asked
    of the rule itself.
    """
    n = len(tokens)
    verdicts: list[RuleDecision] = []
    for stop in range(n, -1, -1):
        u = [NEVER] * n
        if stop:
            u[stop - 1] = ALWAYS
        verdicts.append(rule(tokens, q, p, u))
    h = rule(tokens, q, p, [NEVER] * n).h
    left = 1.0
    out = []
    for judged in verdicts:
        k = judged.accepted
        chance = left * (h[k - 1] if k else 1.0)
        left -= chance
        row = p[k] if judged.residual is None or not judged.residual.sum() > 0 else judged.residual
        out.append((k, chance, row / row.sum()))
    return out


def audit(rule, seed: int, length: int, v: int) -> tuple[float, float]:
    """Return the largest error of the law of ``length + 1`` tokens, and the expected number of
    accepted ones.
    """
    p_of, q_of = tables(seed, length, v)
    #: The chance that a round ends with a text.
    ended: dict[tuple[int, ...], float] = {}
    accepted = 0.0
    for chain in itertools.product(range(v), repeat=length):
        q = np.stack([q_of[chain[:k]] for k in range(length)])
        drafted = float(np.prod([q[k, token] for k, token in enumerate(chain)]))
        if not drafted:
            continue
        p = np.stack([p_of[chain[:k]] for k in range(length + 1)])
        for k, chance, row in stops(rule, chain, q, p):
            accepted += drafted * chance * k
            for token, share in enumerate(row):
                text = (*chain[:k], token)
                ended[text] = ended.get(text, 0.0) + drafted * chance * share
    # A shorter text continues as the verifier writes it.
    law = {(): 0.0}
    exact = {(): 1.0}
    for _ in range(length + 1):
        law = longer(law, p_of)
        exact = longer(exact, p_of)
        for text in law:
            law[text] += ended.get(text, 0.0)
    return max(abs(law[text] - exact[text]) for text in exact), accepted


def longer(chances: dict, rows: dict) -> dict:
    """Return the chances of the texts that are a token longer, by the row after each text."""
    extended = {}
    for text, chance in chances.items():
        for token, share in enumerate(rows[text]):
            extended[*text, token] = chance * float(share)
    return extended


SIZES = [(1, 3), (1, 5), (2, 3), (2, 4), (2, 5), (3, 3), (3, 4), (4, 3), (5, 3), (4, 4)]


@pytest.mark.parametrize(("length", "v"), SIZES, ids=str)
def test_the_law_is_the_verifiers_and_as_much_is_accepted_as_by_block(length, v):
    """Over all sizes, 200 instances."""
    for seed in range(20):
        error, accepted = audit(branch_rule, seed, length, v)
        assert error < 1e-12, seed
        assert accepted == pytest.approx(audit(block_rule, seed, length, v)[1], abs=1e-12)


def most_accepted(seed: int, length: int, v: int) -> float:
    """Return the largest expected number of accepted tokens of any lossless rule: a linear program
    over the chances of each end (accepted tokens, next token) of each draft, which may depend on
    all rows of both models.
    """
    p_of, q_of = tables(seed, length, v)

    def chance(rows, text, first=0):
        return float(np.prod([rows[text[:k]][text[k]] for k in range(first, len(text))]))

    texts = list(itertools.product(range(v), repeat=length + 1))
    chains = list(itertools.product(range(v), repeat=length))
    number = {text: k for k, text in enumerate(texts)}
    ends = list(itertools.product(range(len(chains)), range(length + 1), range(v)))
    entries = []
    for column, (chain, k, token) in enumerate(ends):
        entries.append((len(texts) + chain, column, 1.0))
        for rest in itertools.product(
            range(v), repeat=length - k
        ):  # the text continues as the verifier writes it
            text = (*chains[chain][:k], token, *rest)
            entries.append((number[text], column, chance(p_of, text, k + 1)))
    rows, columns, values = zip(*entries, strict=True)
    equal = [*(chance(p_of, text) for text in texts), *(chance(q_of, chain) for chain in chains)]
    optimum = linprog(
        [-k for _, k, _ in ends],
        A_eq=coo_array((values, (rows, columns))),
        b_eq=equal,
        method="highs",
    )
    assert optimum.success
    return -optimum.fun


@pytest.mark.parametrize(("length", "v"), [(1, 3), (1, 5), (2, 3), (2, 4), (3, 2), (3, 3)], ids=str)
def test_no_lossless_rule_accepts_more(length, v):
    """Block verification is optimal (Sun et al. 2024), so a rule that accepts more is not
    lossless.
    """
    for seed in range(4):
        most = most_accepted(seed, length, v)
        for rule in (block_rule, branch_rule):
            assert audit(rule, seed, length, v)[1] == pytest.approx(most, 1e-9)


def test_branch_and_block_give_one_verdict():
    random = np.random.default_rng(0)
    for _ in range(2000):
        n = int(random.integers(1, 13))
        v = int(random.integers(2, 9))
        q = random.dirichlet(np.full(v, 0.7), n)
        p = random.dirichlet(np.full(v, 0.7), n + 1)
        tokens = [int(random.choice(v, p=row)) for row in q]
        u = random.random(n).tolist()
        block = block_rule(tokens, q, p, u)
        branch = branch_rule(tokens, q, p, u)
        assert block.accepted == branch.accepted
        assert block.compared == branch.compared
        assert branch.h == pytest.approx(block.h, rel=1e-12, abs=1e-14)
        if block.residual is not None:
            np.testing.assert_allclose(branch.residual, block.residual, rtol=1e-9, atol=1e-14)


def test_ratios_beyond_the_largest_number_are_judged():
    n = 40
    q = np.full((n, 2), [1 - 1e-30, 1e-30])
    p = np.full((n + 1, 2), 0.5)
    judged = branch_rule([1] * n, q, p, [0.999999] * n)
    assert judged.accepted == n
    assert np.isfinite(judged.h).all()


def mutant(tokens, q, p, u, *, mistake: str) -> RuleDecision:
    """The branch rule with one mistake."""
    n = len(tokens)
    ratio = 1.0
    cap = 1.0
    w = [1.0]
    joint = [1.0]
    for k, token in enumerate(tokens):
        ratio *= float(p[k, token]) / float(q[k, token])
        cap = max(cap, ratio)
        w.append(ratio if mistake == "no cap" else min(1.0, ratio / cap))
        joint.append(min(1.0, ratio))
        if mistake == "forgotten cap":
            cap = max(1.0, ratio)
    h = [0.0] * n
    k = n
    residual = None
    while True:
        if k < n:
            residual = np.maximum((1.0 if mistake == "token residual" else w[k]) * p[k] - q[k], 0)
        if k == 0:
            break
        s = 0.0 if residual is None else float(np.maximum(w[k] * p[k] - q[k], 0).sum())
        last = joint[n] if mistake == "uncapped whole draft" else min(1.0, w[n])
        if k == n:
            h[k - 1] = last
        elif w[k] >= 1:
            h[k - 1] = 1.0
        else:
            h[k - 1] = s / (s + 1 - w[k])
        if u[k - 1] < h[k - 1]:
            break
        k -= 1
    return RuleDecision(k, residual, range(max(0, k - 1), n), h)


def test_the_mutants_without_a_mistake_are_the_rule():
    assert audit(functools.partial(mutant, mistake=""), 2, 3, 3)[0] < 1e-12


@pytest.mark.parametrize(
    "mistake", ["uncapped whole draft", "no cap", "forgotten cap", "token residual"]
)
def test_mutants_are_caught(mistake):
    """The first is how the authors' published code judges a whole draft (their repository, revision
    b8575e2): it accepts more, and its output is not the verifier's.
    """
    rule = functools.partial(mutant, mistake=mistake)
    audits = [audit(rule, seed, 3, 3) for seed in range(6)]
    assert max(error for error, _ in audits) > 1e-3
    if mistake == "uncapped whole draft":
        exact = [audit(branch_rule, seed, 3, 3)[1] for seed in range(6)]
        for (_, more), enough in zip(audits, exact, strict=True):
            assert more >= enough - 1e-12
        assert any(more > enough + 0.01 for (_, more), enough in zip(audits, exact, strict=True))
