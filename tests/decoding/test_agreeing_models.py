"""Test the rows of a draft model whose vocabulary differs from the target's in a few tokens."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from hsd_viz.decoding.bridges.agreeing import AgreeingModel


class Fixed:
    """A session with fixed rows that records the tokens that it is fed."""

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows
        self.fed: list[int] = []

    def feed(self, tokens) -> None:
        self.fed += tokens

    def forward(self, tokens, rows, parents=None) -> np.ndarray:
        self.fed += tokens
        return self._rows


def test_a_row_has_each_score_at_the_targets_id_of_its_token():
    """The target's tokens 0, 1 and 3 are the draft's 0, 2 and 1; the target's 2 is unknown to
    it.
    """
    session = Fixed(np.array([[0.5, 1.5, 2.5, 9.0]], np.float32))
    inner = SimpleNamespace(
        name="draft",
        dtype="float32",
        runtime="native",
        parameters=4,
        positions=64,
        vocab_size=4,
        session=lambda room: session,
    )
    model = AgreeingModel(inner, {0: 0, 1: 2, 3: 1}, vocab_size=5, substitute=3)
    opened = model.session()
    opened.feed([1, 3])
    (row,) = opened.forward([0, 2], 1)
    assert row.tolist() == [0.5, 2.5, -np.inf, 1.5, -np.inf]
    assert session.fed == [2, 1, 0, 3]
