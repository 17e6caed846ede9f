"""Two small models in fractions, and token-wise verification of one's drafts by the other.

The verification (Leviathan et al. 2023) is implemented here separately, in fractions, so that even
the smallest bias is exact.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from hsd_viz.measure.audit.enumeration import EnumeratedChoices, Text, plain_law

Row = tuple[Fraction, ...]


def _rows(*tenths: tuple[int, ...]) -> tuple[Row, ...]:
    """Return rows of probabilities from tenths."""
    rows = []
    for row in tenths:
        rows.append(tuple(Fraction(share, 10) for share in row))
    return tuple(rows)


#: Rows after each token, of the target and of the draft model.
TARGET = _rows((4, 4, 2), (3, 3, 4), (2, 6, 2))
DRAFT = _rows((6, 3, 1), (2, 5, 3), (1, 4, 5))
START = 0


class Chain(NamedTuple):
    """A draft.

    Attributes:
        tokens: the tokens.
        rows: the rows with which they are verified; for a point mass, 1 for its token.
    """

    tokens: list[int]
    rows: list[Row]

    def first(self, length: int) -> Chain:
        """Return the first ``length`` tokens of the draft."""
        return Chain(self.tokens[:length], self.rows[:length])


def point_mass(token: int) -> Row:
    """Return the row in which a token has probability 1."""
    return tuple(Fraction(k == token) for k in range(len(DRAFT)))


def likeliest(row: Row) -> int:
    """Return the likeliest token of a row; the first among equals."""
    return row.index(max(row))


def residual(p: Row, q: Row) -> list[Fraction]:
    """Return the residual max(0, p - q), not normalized."""
    return [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]


def reach(chain: Chain) -> Fraction:
    """Return the probability of a draft by the rows of its tokens."""
    product = Fraction(1)
    for token, row in zip(chain.tokens, chain.rows, strict=True):
        product *= row[token]
    return product


def verify(last: int, chain: Chain, choices: EnumeratedChoices) -> tuple[list[int], int]:
    """Return the accepted tokens of a chain after the token ``last``, and the target's own token
    after them.
    """
    accepted: list[int] = []
    for token, q in zip(chain.tokens, chain.rows, strict=True):
        p = TARGET[last]
        chance = min(Fraction(1), p[token] / q[token])
        if choices.branch([chance, 1 - chance]):
            return accepted, choices.branch(residual(p, q))
        accepted.append(token)
        last = token
    return accepted, choices.branch(TARGET[last])


def true_law(lengths: tuple[int, ...]) -> dict[Text, Fraction]:
    """Return the target's distribution of the concatenated texts of requests of these lengths."""
    whole: dict[Text, Fraction] = {(): Fraction(1)}
    for length in lengths:
        longer: dict[Text, Fraction] = {}
        for before, weight in whole.items():
            for text, probability in _law_of_request(length).items():
                longer[before + text] = weight * probability
        whole = longer
    return whole


def _law_of_request(length: int) -> dict[Text, Fraction]:
    """Return the target's distribution of the texts of ``length`` tokens."""
    return plain_law(
        row=lambda text: TARGET[text[-1] if text else START],
        ended=lambda text: len(text) == length,
    )
