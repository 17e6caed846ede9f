"""Every conversion of engines' metrics by hand, on one request of four verifications."""

from __future__ import annotations

import pytest

from hsd_viz.records.convert import _RULES, complete

#: Four drafts of three tokens, of which 2, 0, 3 and 0 were accepted: 3 + 1 + 4 + 1 tokens.
REQUEST = {
    "emitted": [3, 1, 4, 1],
    "emitted_less_one": [2, 0, 3, 0],
    "tokens": 9,
    "forwards": 4,
    "verifications": 4,
    "drafted": 12,
    "accepted": 5,
    "histogram": [2, 0, 1, 1],
    "by_position": [2, 2, 1],
    "position_rate": [0.5, 0.5, 0.25],
    "rate": 5 / 12,
    "length_drafts": 1 + 5 / 4,
    "length_forwards": 9 / 4,
    "length_tokens": 9 / 4,
}


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        pytest.param(name, needs, id=f"{name} from {' and '.join(needs)}")
        for name, needs, _ in _RULES
    ],
)
def test_a_quantity_follows(name, needs):
    completed = complete({need: REQUEST[need] for need in needs})
    assert completed[name] == pytest.approx(REQUEST[name])
