"""Twelve puzzles, one idea each, from "accept or reject?" to "make three levels lossless"."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from hsd_viz.exercises.check import Case, exercise, formula, show
from hsd_viz.exercises.hunt import Choose, Row, outcomes, residual
from hsd_viz.exercises.lessons_1_4 import PAIRS, RATIOS

_EIGHTHS = [Fraction(n, 8) for n in range(9)]
_THREE = [[Fraction(n, 4) for n in row] for row in ((2, 1, 1), (1, 3, 0), (0, 2, 2), (1, 1, 2))]


@formula(
    "P1", "accept or reject?", list(product(range(3), range(3))), "Greedy: the target would write exactly one token."
)
def accepted(drafted: int, own: int) -> bool:
    return drafted == own


@formula(
    "P2",
    "the free token",
    [(n, k) for n in range(6) for k in range(n + 1)],
    "A correction after a rejection, a bonus after a full acceptance: the target adds one either way.",
)
def emitted(drafted: int, accepted: int) -> int:
    return accepted + 1


@formula(
    "P3",
    "which row?",
    list(product(range(1, 6), range(5))),
    "The target read the text and the draft in one pass. Row i is its distribution after the tokens 0 to i.",
    "The first draft token follows the last token of the text: row n - 1.",
)
def row_of(text: int, place: int) -> int:
    return text - 1 + place


@formula(
    "P4",
    "accept how often?",
    list(product(_EIGHTHS, _EIGHTHS[1:])),
    "p / q, but no probability exceeds 1.",
)
def chance(p: Fraction, q: Fraction) -> Fraction:
    return min(Fraction(1), p / q)


@formula(
    "P5",
    "what acceptance leaves over",
    PAIRS,
    "Acceptance emits min(p, q) of each token. What is missing to p?",
)
def missing(p: Row, q: Row) -> Row:
    return [a - min(a, b) for a, b in zip(p, q, strict=True)]


@formula(
    "P6",
    "a draft without chance",
    [(p, token) for p in _THREE for token in range(3)],
    "A database does not draw: its q is 1 for the token and 0 elsewhere.",
)
def chance_of_copy(p: Row, token: int) -> Fraction:
    return p[token]


@formula(
    "P7",
    "temperature first",
    [(q, power, token) for q in _THREE for power in (1, 2, 3) for token in range(3)],
    "Temperature 1/2 squares the probabilities and divides by their sum. The draft was drawn from that row.",
)
def q_of_test(q: Row, power: int, token: int) -> Fraction:
    return q[token] ** power / sum((v**power for v in q), Fraction(0))


@formula(
    "P8",
    "stop, and keep",
    [
        (rounds, least)
        for n in range(1, 5)
        for rounds in product((1, 2, 4), repeat=n)
        for least in (1, 3, 5)
        if sum(rounds) >= least
    ],
    "Add whole rounds until there are enough tokens. More than enough is fine; a token that was seen stays.",
)
def collected(rounds: Sequence[int], least: int) -> int:
    total = 0
    for n in rounds:
        total += n
        if total >= least:
            break
    return total


@formula(
    "P9",
    "survival",
    [(Fraction(a, 5), k) for a in range(6) for k in range(6)],
    "Token k is emitted from the draft only if all k are accepted.",
)
def survival(alpha: Fraction, k: int) -> Fraction:
    return alpha**k


@formula(
    "P10",
    "a block forgives",
    [(row,) for row in RATIOS if row],
    "w = min(1, w * ratio), token by token, from w = 1.",
)
def block_weight(ratios: Sequence[Fraction]) -> Fraction:
    w = Fraction(1)
    for ratio in ratios:
        w = min(Fraction(1), w * ratio)
    return w


@formula(
    "P11",
    "does it pay?",
    list(product(_EIGHTHS, _EIGHTHS)),
    "One draft token: 1 + alpha tokens in the time 1 + c. Plain decoding: 1 token in the time 1.",
)
def pays(alpha: Fraction, c: Fraction) -> bool:
    return alpha > c


@exercise(
    "P12",
    "make three levels lossless",
    "Two verifications, one after the other: medium verifies small's token, large verifies the result.",
    "What medium emits, accepted or corrected, follows medium's full row: that is the q of the second verification.",
)
def _three_levels(answer: Any) -> Iterator[Case]:
    for small, medium, large in product(_THREE, repeat=3):
        got = lambda rows=(small, medium, large): _law(answer, *rows)
        yield Case(f"law of three_levels({show(small)}, {show(medium)}, {show(large)}, choose)", got, large)


def _law(decode: Callable[..., int], *rows: Row) -> Row:
    found = outcomes(lambda choose: decode(*map(list, rows), choose))
    return [found.get(token, Fraction(0)) for token in range(len(rows[0]))]


def climb(*, handed: int = 1, correct: Callable[[Row, Row], Row] = residual) -> Callable[..., int]:
    """Return a decoder of three levels. ``handed`` is the row given to the second verification: 0 the small model's, 1
    the medium one's, 2 the residual after a correction. ``correct`` gives the row of a correction.
    """

    def decode(small: Row, medium: Row, large: Row, choose: Choose) -> int:
        token, corrected = _verify(choose(small), medium, small, correct, choose)
        q = correct(medium, small) if handed == 2 and corrected else small if handed == 0 else medium
        return _verify(token, large, q, correct, choose)[0]

    return decode


def _verify(token: int, p: Row, q: Row, correct: Callable[[Row, Row], Row], choose: Choose) -> tuple[int, bool]:
    keep = min(Fraction(1), p[token] / q[token]) if q[token] else Fraction(1)
    return (choose(correct(p, q)), True) if choose([keep, 1 - keep]) else (token, False)
