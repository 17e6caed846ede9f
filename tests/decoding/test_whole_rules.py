"""Compare block and branch verification with results computed by hand, for a draft with ratios p /
q of 1/2, 2 and 1/2.
"""

from __future__ import annotations

import numpy as np
import pytest

from hsd_viz.decoding.verify import block_rule, branch_rule, token_rule

TOKENS = [0, 0, 0]
Q = np.array([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]])
P = np.array([[0.25, 0.75], [0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
RULES = [pytest.param(block_rule, id="block"), pytest.param(branch_rule, id="branch")]


@pytest.mark.parametrize(
    ("u", "accepted"),
    [([0.49, 0.99, 0.49], 3), ([0.49, 0.99, 0.5], 2), ([0.5, 0.0, 0.0], 0)],
)
def test_the_token_rule_accepts_each_token_with_its_ratio(u, accepted):
    assert token_rule(TOKENS, Q, P, u).accepted == accepted


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("last", "accepted"),
    [
        pytest.param(0.49, 3, id="all with 1/2"),
        pytest.param(0.5, 2, id="else two for certain, as w is 1 there"),
    ],
)
def test_a_second_token_makes_up_for_the_first(rule, last, accepted):
    assert rule(TOKENS, Q, P, [0.99, 0.99, last]).accepted == accepted


@pytest.mark.parametrize("rule", RULES)
def test_thresholds_by_hand(rule):
    # h_3 = w_3 = 1/2 and h_2 = 1 as w_2 = 1. After the first token (w_1 = 1/2 and rows 1/2, 1/4 and
    # 1/2, 3/4) nothing of w p exceeds q, so h_1 = 0. All of h is known if no u is below it.
    verdict = rule(TOKENS, Q, P, [2.0, 2.0, 2.0])
    assert verdict.h == pytest.approx([0.0, 1.0, 0.5])
    assert verdict.accepted == 0


@pytest.mark.parametrize("rule", RULES)
def test_w_is_an_average_over_the_later_tokens(rule):
    """Given the first token, at least one token is accepted with probability w_1 = 1/2, averaged
    over second tokens drawn from q.
    """
    chance = 0.0
    for second, drafted in enumerate(Q[1]):
        # h alone decides: P(accept at least one) = 1 - (1 - h_1)(1 - h_2).
        h = rule([0, second], Q[:2], P[:3], [2.0, 2.0]).h
        chance += drafted * (1 - (1 - h[0]) * (1 - h[1]))
    assert chance == pytest.approx(0.5)
