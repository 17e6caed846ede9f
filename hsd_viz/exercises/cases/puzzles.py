"""The inputs of the puzzles: all small cases of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import product

from hsd_viz.exercises import hunt
from hsd_viz.exercises.cases.values import ALPHAS, EIGHTHS, PAIRS, RATIOS, THREE, Inputs, sequences
from hsd_viz.exercises.check import ExerciseCase, Submission, exercise, show
from hsd_viz.measure.audit import enumeration


@exercise("P1")
def greedy_verdicts() -> Inputs:
    yield from product(range(3), range(3))


@exercise("P2")
def emitted_tokens() -> Inputs:
    for drafted, accepted in product(range(6), range(6)):
        if accepted <= drafted:
            yield drafted, accepted


@exercise("P3")
def places_of_rows() -> Inputs:
    yield from product(range(1, 6), range(5))


@exercise("P4")
def acceptance_chances() -> Inputs:
    yield from product(EIGHTHS, EIGHTHS[1:])


@exercise("P5")
def residual_weights() -> Inputs:
    yield from PAIRS


@exercise("P6")
def chances_of_point_masses() -> Inputs:
    yield from product(THREE, range(3))


@exercise("P7")
def rows_at_a_temperature() -> Inputs:
    yield from product(THREE, (1, 2, 3), range(3))


@exercise("P8")
def tokens_of_rounds() -> Inputs:
    for rounds, least in product(sequences((1, 2, 4), range(1, 5)), (1, 3, 5)):
        if sum(rounds) >= least:
            yield rounds, least


@exercise("P9")
def survival() -> Inputs:
    yield from product(ALPHAS, range(6))


@exercise("P10")
def compensated_ratios() -> Inputs:
    yield from RATIOS[1:]


@exercise("P11")
def paying_drafts() -> Inputs:
    yield from product(EIGHTHS, EIGHTHS)


@exercise("P12")
def three_levels() -> Inputs:
    # The small model may draw every token: then no wrong row makes an answer divide by 0.
    for rows in product([row for row in THREE if all(row)], THREE, THREE):
        description = f"law of three_levels({', '.join(map(show, rows))}, choose)"
        yield ExerciseCase(description, partial(_emitted_law, rows), expected=rows[-1])


def _emitted_law(rows: Sequence[hunt.Row], answer: Submission) -> hunt.Row:
    """Return the law of the token that an answer emits from the rows of three levels."""

    def emit(choices: enumeration.EnumeratedChoices) -> int:
        return answer(*map(list, rows), choices.branch)

    emitted = enumeration.law(emit)
    return [emitted.get(token, Fraction(0)) for token in range(3)]
