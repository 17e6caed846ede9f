"""The formulas of the course and of the docs, evaluated as they are written, beside the code
that they describe.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import mul
from pathlib import Path

import numpy as np
import pytest

import hsd_viz as hsd
from hsd_viz.decoding.verify import block_rule, branch_rule, token_rule
from hsd_viz.exercises.check import solution
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import predict
from hsd_viz.measure.audit import schedules
from hsd_viz.measure.doctor.diagnosis import Diagnosis
from tests.rows import find

ROOT = Path(__file__).resolve().parents[1]
COURSE = "notebooks/course/master"
ALPHA = 0.7
GAMMA = 4
#: A draft of three tokens and the rows of both models at its places; the last row follows the
#: draft.
TOKENS = (0, 1, 2)
Q = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.4, 0.5]])
P = np.array([[0.4, 0.4, 0.2], [0.1, 0.7, 0.2], [0.5, 0.2, 0.3], [0.3, 0.3, 0.4]])
NEVER = (1.0, 1.0, 1.0)
RATIOS = [float(P[k, t] / Q[k, t]) for k, t in enumerate(TOKENS)]


def one_draft(draft: float, target: float) -> float:
    """Return the ms per token of one draft model by the law of the code."""
    costs = {"draft": LevelCost((draft,)), "target": LevelCost((target,))}
    pair = ("draft", "target")
    measured = Calibration(pair, costs, {pair: Edge(tail=ALPHA)})
    return predict(f"draft:{GAMMA} > target", measured).ms_per_token


def three_levels() -> float:
    """Return the ms per token of a: 1 > b: 1 > target by the law of the code."""
    costs = {name: LevelCost((ms,)) for name, ms in (("a", 1.0), ("b", 3.0), ("target", 20.0))}
    edges = {("a", "b"): Edge(tail=0.8), ("b", "target"): Edge(tail=ALPHA)}
    measured = Calibration(("a", "b", "target"), costs, edges)
    return predict("a:1 > b:1 > target", measured).ms_per_token


def three_levels_by_hand() -> float:
    """Return l_2 by the recursion: with lookahead 1 a call of b is one round, of 2 tokens with
    0.8, else of 1.
    """
    l_0 = 1.0
    rounds_of_b = 1.8
    l_1 = (1 * l_0 + 3.0) / rounds_of_b
    drafted = 1.8
    gained = 1 + ALPHA + ALPHA**2 * 0.8
    return (drafted * l_1 + 20.0) / gained


def weights() -> list[float]:
    """Return w after each token: min(1, w p / q), from 1."""
    return list(accumulate(RATIOS, lambda w, ratio: min(1.0, w * ratio), initial=1.0))[1:]


def thresholds(rule: Callable) -> list[float]:
    return list(rule(TOKENS, Q, P, NEVER).h)


def h_in_three_lines() -> list[float]:
    thresholds = []
    for k, w in enumerate(weights()[:-1], 1):
        s = sum(max(0.0, w * p - q) for p, q in zip(P[k], Q[k], strict=True))
        thresholds.append(s / (s + 1 - w))
    return [*thresholds, weights()[-1]]


def log_weights() -> list[float]:
    """Return S_k - max(0, S_1, ..., S_k), the sums of log(p / q)."""
    sums = list(accumulate(map(math.log, RATIOS)))
    return [s - max(0.0, *sums[: k + 1]) for k, s in enumerate(sums)]


def capped_products() -> list[float]:
    products = list(accumulate(RATIOS, mul))
    return [product / max(1.0, *products[: k + 1]) for k, product in enumerate(products)]


def accepted_share() -> float:
    """Return how often the token rule accepts a first token, over a fine grid of u, weighted by
    q.
    """
    grid = (np.arange(2000) + 0.5) / 2000
    total = 0.0
    for token in range(3):
        accepted = [token_rule((token,), Q, P, (u,)).accepted for u in grid]
        total += Q[0, token] * np.mean(accepted)
    return total


def chi_square() -> float:
    return solution("4.2")([5, 3, 2], [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)])


def dropped_by_the_audit() -> Fraction:
    rule = find(schedules.SCHEDULE_RULES, name="dropped")
    return Fraction(schedules.audit_rule(rule).found)


def diagnosis() -> Diagnosis:
    return hsd.doctor(
        acceptance=(0.8, 0.5),
        lookahead=2,
        known=hsd.Known(step_ms=10.0, verify_ms=12.0, draft_ms=3.0, overhead_ms=1.0),
    )


@dataclass(frozen=True)
class Formula:
    """A formula as a page has it.

    Attributes:
        page: the page.
        text: the formula as it is written there.
        evaluate: its value by hand.
        code: the same by the code.
        tolerance: how far both may differ, relatively.
    """

    page: str
    text: str
    evaluate: Callable[[], object]
    code: Callable[[], object]
    tolerance: float = 1e-9


FORMULAS = [
    Formula(
        f"{COURSE}/7-latency-law.md",
        "G(α, γ) = 1 + α + α<sup>2</sup> + … + α<sup>γ</sup>",
        lambda: 1 + ALPHA + ALPHA**2 + ALPHA**3 + ALPHA**4,
        lambda: 1 / one_draft(0.0, 1.0),
    ),
    Formula(
        "docs/report.md",
        "(γ c_0 + c_1)(1 - α) / (1 - α^{γ+1})",
        lambda: (GAMMA * 2.0 + 9.0) * (1 - ALPHA) / (1 - ALPHA ** (GAMMA + 1)),
        lambda: one_draft(2.0, 9.0),
    ),
    Formula(
        "docs/report.md",
        "ℓ_0 = c_0,  ℓ_i = (E[N_{i-1}] ℓ_{i-1} + c_i) / E[R_i]",
        three_levels_by_hand,
        three_levels,
    ),
    Formula(
        "docs/explanation/hierarchies.md",
        "w = min(1, w · p / q)",
        lambda: weights()[-1],
        lambda: thresholds(block_rule)[-1],
    ),
    Formula(
        "docs/explanation/hierarchies.md",
        "h = s / (s + 1 − w), and h = w at the last token",
        h_in_three_lines,
        lambda: thresholds(block_rule),
    ),
    Formula(
        "docs/report.md",
        "h_k = S_k / (S_k + 1 - w_k) with S_k = Σ_x (w_k p_{k+1}(x) - q_{k+1}(x))+",
        h_in_three_lines,
        lambda: thresholds(block_rule),
    ),
    Formula(
        "docs/explanation/hierarchies.md",
        "E / D = E / (E + 1 − w_k)",
        h_in_three_lines,
        lambda: thresholds(branch_rule),
    ),
    Formula(
        "docs/explanation/hierarchies.md",
        "log w_k = S_k − max(0, S_1, …, S_k)",
        log_weights,
        lambda: list(map(math.log, weights())),
    ),
    Formula(
        f"{COURSE}/3-why-sampling-stays-exact.md",
        "w = (r₁ r₂ … r_k) / max(1, r₁, r₁ r₂, …)",
        capped_products,
        lambda: solution("3.4")(RATIOS),
    ),
    Formula(
        f"{COURSE}/3-why-sampling-stays-exact.md",
        "P(accept) = Σ min(p, q)",
        lambda: sum(min(p, q) for p, q in zip(P[0], Q[0], strict=True)),
        accepted_share,
        1e-3,
    ),
    Formula(
        f"{COURSE}/4-lossy-bug-hunt.md",
        "Σ (observed − expected)² / expected",
        lambda: (5 - 5) ** 2 / 5 + (3 - 2.5) ** 2 / 2.5 + (2 - 2.5) ** 2 / 2.5,
        chi_square,
    ),
    Formula(
        "docs/explanation/stopping.md",
        "3/5 · 2/3 + 2/5 · 2/5 = 14/25",
        lambda: Fraction(3, 5) * Fraction(2, 3) + Fraction(2, 5) * Fraction(2, 5),
        dropped_by_the_audit,
    ),
    Formula(
        "docs/how-to/doctor.md",
        "the speed-up is *L* / *w*",
        lambda: (1 + 0.8 + 0.5) / (1 + 3 / 10 + 2 / 10 + 1 / 10),
        lambda: diagnosis().speedup.value,
    ),
    Formula(
        "docs/how-to/doctor.md",
        "log((*D* + 1) / *L*)",
        lambda: math.log(3 / 2.3) / math.log(3 / (2.3 / 1.6)),
        lambda: diagnosis().shares["acceptance"],
    ),
]


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.text)
def test_a_formula_is_on_its_page_and_says_what_the_code_does(formula):
    page = re.sub(r"\s+", " ", (ROOT / formula.page).read_text(encoding="utf-8"))
    assert re.sub(r"\s+", " ", formula.text) in page

    by_hand = np.array(formula.evaluate(), dtype=float)
    by_code = np.array(formula.code(), dtype=float)
    assert by_code == pytest.approx(by_hand, rel=formula.tolerance)


def test_the_table_of_rules_that_change_the_text_is_the_audit_s():
    page = (ROOT / "docs/explanation/stopping.md").read_text(encoding="utf-8")
    for name in ("dropped", "drawn again", "best cut", "likeliest, by its row"):
        rule = find(schedules.SCHEDULE_RULES, name=name)
        row = schedules.audit_rule(rule)
        assert f"| {row.distance} |" in page, name
        assert f"{row.found} instead of {row.wanted}" in page, name
