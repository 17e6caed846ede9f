"""Compare probabilities after temperature, top-k and top-p, and descriptions of rows, with figures
computed by hand.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.sampling import describe, distribution

#: Logits of 0.4, 0.3, 0.2 and 0.1.
SCORES = np.log([0.4, 0.3, 0.2, 0.1])


@pytest.mark.parametrize(
    ("sampling", "probabilities"),
    [
        pytest.param(Sampling(temperature=1.0), [0.4, 0.3, 0.2, 0.1], id="as it is"),
        # Squares: 16, 9, 4 and 1 of 30.
        pytest.param(
            Sampling(temperature=0.5), [16 / 30, 9 / 30, 4 / 30, 1 / 30], id="temperature"
        ),
        pytest.param(Sampling(temperature=1.0, top_k=1), [1, 0, 0, 0], id="top-k 1"),
        pytest.param(Sampling(temperature=1.0, top_k=2), [4 / 7, 3 / 7, 0, 0], id="top-k 2"),
        pytest.param(Sampling(temperature=1.0, top_k=4), [0.4, 0.3, 0.2, 0.1], id="top-k of all"),
        pytest.param(
            Sampling(temperature=1.0, top_p=0.3), [1, 0, 0, 0], id="top-p within the first"
        ),
        pytest.param(
            Sampling(temperature=1.0, top_p=0.6),
            [4 / 7, 3 / 7, 0, 0],
            id="the token that reaches top-p",
        ),
        # Of the first three, 4/9 and 3/9 reach 0.7.
        pytest.param(
            Sampling(temperature=1.0, top_k=3, top_p=0.7),
            [4 / 7, 3 / 7, 0, 0],
            id="top-k, then top-p",
        ),
    ],
)
def test_a_distribution(sampling, probabilities):
    assert distribution(SCORES, sampling) == pytest.approx(probabilities)


def test_ties_at_the_border_of_top_k_are_kept():
    scores = np.log([0.4, 0.2, 0.2, 0.2])
    assert distribution(scores, Sampling(temperature=1.0, top_k=2)) == pytest.approx(
        [0.4, 0.2, 0.2, 0.2]
    )


def test_a_row_is_described_in_nats():
    p, entropy, top = describe(SCORES + 5, 1, 2)
    assert p == pytest.approx(0.3)
    assert entropy == pytest.approx(-sum(q * math.log(q) for q in (0.4, 0.3, 0.2, 0.1)))
    assert top == [[0, pytest.approx(0.4)], [1, pytest.approx(0.3)]]
