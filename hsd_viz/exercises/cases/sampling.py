"""The inputs of lessons 3 and 4: sampling that stays exact, and the hunt for lossy decoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

from hsd_viz.exercises import data, hunt
from hsd_viz.exercises.cases.values import EIGHTHS, LAWS, PAIRS, RATIOS, Inputs
from hsd_viz.exercises.check import ExerciseCase, Submission, call, exercise, show

# Lesson 3: why sampling stays exact.


@exercise("3.1")
def acceptance_tests() -> Inputs:
    for name, d in data.acceptance_tests():
        description = (
            f"{d.text!r} in round {d.round} of {name!r}, "
            f"accept(u={show(d.u)}, p={show(d.p)}, q={show(d.q)})"
        )
        yield ExerciseCase(description, call(d.u, d.p, d.q), expected=d.verdict == "accepted")
    # On this grid u * q = p occurs: the test is strict.
    yield from product(EIGHTHS[:-1], EIGHTHS, EIGHTHS[1:])


@exercise("3.2")
def residuals() -> Inputs:
    # Equal rows come last: as a first counter-example they would hide what is wrong with all
    # others.
    yield from sorted(PAIRS, key=_are_equal)


def _are_equal(rows: Sequence[Any]) -> bool:
    return rows[0] == rows[1]


@exercise("3.3")
def acceptance_rates() -> Inputs:
    yield from PAIRS


@exercise("3.4")
def capped_ratios() -> Inputs:
    yield from RATIOS


# Lesson 4: lossy-bug hunt.


@exercise("4.1")
def tested_decoders() -> Inputs:
    for name, decode in hunt.RIGHT.items():
        description = f"the right decoder '{name}'"
        yield ExerciseCase(description, partial(_reason, decode), _verdict_and_why, "")
    for n, decode in enumerate(hunt.mutants, 1):
        yield ExerciseCase(f"mutant {n}", partial(_is_rejected, decode), _verdict, True)


def _reason(decode: Callable, test: Submission) -> str:
    """Return why a test rejects a decoder, "" if it does not."""
    return hunt.rejected(test, decode)


def _is_rejected(decode: Callable, test: Submission) -> bool:
    return bool(hunt.rejected(test, decode))


def _verdict_and_why(why: str) -> str:
    return f"rejected ({why})" if why else "accepted"


def _verdict(is_rejected: bool) -> str:
    return "rejected" if is_rejected else "accepted"


@exercise("4.2")
def squared_differences() -> Inputs:
    counts = filter(any, product((0, 3, 8), repeat=3))
    yield from product(map(list, counts), filter(all, LAWS))
