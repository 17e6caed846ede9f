"""The inputs of lessons 1 and 2: the cost of a pass, and drafts verified with greedy decoding."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from hsd_viz.exercises import data
from hsd_viz.exercises.cases.values import ONE, Inputs
from hsd_viz.exercises.check import ExerciseCase, Submission, call, exercise, show
from hsd_viz.models.families import LEVELS

# Lesson 1: one pass, many tokens.


@exercise("1.1")
def fits() -> Inputs:
    for model, runtime in product(LEVELS, ("native", "eager")):
        yield ExerciseCase(f"a, b of {model}, {runtime}", call(data.cost_curve(model, runtime)))
    yield ExerciseCase("a, b of smollm2", call(data.cost_curve("smollm2")))


@exercise("1.2")
def largest_speedups() -> Inputs:
    constants = (ONE, Fraction(5, 2))
    slopes = (Fraction(0), Fraction(1, 8), Fraction(2))
    yield from product(constants, slopes, range(1, 9))


# Lesson 2: draft, verify, accept.


@exercise("2.1")
def verified_drafts() -> Inputs:
    for r in data.greedy_rounds():
        # After the first difference the target's tokens are unknown and must not matter: they agree
        # with the draft.
        own = (r.own + r.draft[len(r.own) :] + r.draft[-1:])[: len(r.draft) + 1]
        description = (
            f"round {r.id} of '{r.trace.stack}', draft {r.words(r.draft)}, "
            f"the target's own tokens {r.words(own)}"
        )
        yield ExerciseCase(description, call(r.draft, own), partial(_verdict, r))
    for n in range(4):
        drafts = map(list, product((0, 1), repeat=n))
        yield from product(drafts, map(list, product((0, 1), repeat=n + 1)))


def _verdict(r: data.Round, value: Any) -> str:
    return f"{show(value[0])} accepted and {r.words(value[1])} emitted"


@exercise("2.2")
def decoded_texts() -> Inputs:
    for seed, lookahead, length in product(range(6), (1, 2, 4), (1, 5, 12)):
        description = (
            f"decode(target, drafter, prompt=[{seed}], length={length}, lookahead={lookahead})"
        )
        yield ExerciseCase(
            f"(text, calls of target) of {description}", partial(_decoded, seed, length, lookahead)
        )


def _decoded(seed: int, length: int, lookahead: int, answer: Submission) -> tuple[Any, int]:
    """Return the text of an answer with a target and a drafter over seven tokens, and the passes
    of the target.
    """
    passes = []

    def after(token: int) -> int:
        return (3 * token + seed) % 7

    def target(text: Sequence[int], draft: Sequence[int]) -> list[int]:
        passes.append(draft)
        return [after(token) for token in [text[-1], *draft]]

    def drafter(text: Sequence[int], n: int) -> list[int]:
        tokens = [text[-1]]
        for _ in range(n):
            # Every third token is followed by a wrong guess.
            tokens.append((after(tokens[-1]) + (tokens[-1] % 3 == 0)) % 7)
        return tokens[1:]

    return answer(target, drafter, [seed], length, lookahead), len(passes)
