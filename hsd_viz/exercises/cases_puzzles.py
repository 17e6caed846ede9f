"""The inputs of the puzzles: all small cases of a kind."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from hsd_viz.audit import enumeration
from hsd_viz.exercises import hunt
from hsd_viz.exercises.cases import ALPHAS, EIGHTHS, PAIRS, RATIOS, THREE, sequences
from hsd_viz.exercises.check import ExerciseCase, Submission, exercise, show


def _is_within(pair: tuple[int, int]) -> bool:
    """Return whether no more draft tokens are accepted than there are."""
    drafted, accepted = pair
    return accepted <= drafted


def _has_enough(case: tuple[Sequence[int], int]) -> bool:
    """Return whether rounds bring at least so many tokens."""
    rounds, least = case
    return sum(rounds) >= least


exercise("P1")(lambda: product(range(3), range(3)))
exercise("P2")(lambda: filter(_is_within, product(range(6), range(6))))
exercise("P3")(lambda: product(range(1, 6), range(5)))
exercise("P4")(lambda: product(EIGHTHS, EIGHTHS[1:]))
exercise("P5")(lambda: PAIRS)
exercise("P6")(lambda: product(THREE, range(3)))
exercise("P7")(lambda: product(THREE, (1, 2, 3), range(3)))
ROUNDS = sequences((1, 2, 4), range(1, 5))
exercise("P8")(lambda: filter(_has_enough, product(ROUNDS, (1, 3, 5))))
exercise("P9")(lambda: product(ALPHAS, range(6)))
exercise("P10")(lambda: RATIOS[1:])
exercise("P11")(lambda: product(EIGHTHS, EIGHTHS))


@exercise("P12")
def _three_levels() -> Iterator[ExerciseCase]:
    # The small model may draw every token: then no wrong row makes an answer divide by 0.
    for rows in product([row for row in THREE if all(row)], THREE, THREE):

        def law(answer: Submission, rows: Sequence[hunt.Row] = rows) -> hunt.Row:
            emitted = enumeration.law(lambda choices: answer(*map(list, rows), choices.branch))
            return [emitted.get(token, Fraction(0)) for token in range(3)]

        yield ExerciseCase(
            f"law of three_levels({', '.join(map(show, rows))}, choose)", law, expected=rows[-1]
        )
