"""The inputs of lessons 5 and 6: databases, and draft trees within a budget."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from hsd_viz.exercises import data
from hsd_viz.exercises.cases.values import ONE, Inputs, sequences
from hsd_viz.exercises.check import ExerciseCase, Submission, call, exercise, show

# Lesson 5: databases.


@exercise("5.1")
def lookups() -> Inputs:
    for small in sequences((1, 2), range(1, 8)):
        yield list(small), 8
    for trace, ids, prompt in data.texts():
        for end in range(prompt, len(ids) + 1):
            text = [trace.pieces[i] for i in ids[:end]]
            where = (
                f"the first {end} tokens of '{trace.stack}', which end with {''.join(text[-12:])!r}"
            )
            say = partial(_match_in, text)
            yield ExerciseCase(f"lookup(ids, longest=8), ids: {where}", call(ids[:end], 8), say)


def _match_in(text: list[str], match: tuple[int, int]) -> str:
    """Return a match of ``lookup`` with the text that follows it."""
    start = match[1]
    follows = "".join(text[start : start + 4])
    return f"{show(match)}, after which {follows!r} follows"


@exercise("5.2")
def replays() -> Inputs:
    # The first draft is accepted, which it need not be in a recorded text.
    texts = [("[1, 2] * 6", [1, 2] * 6, 3)]
    for trace, ids, prompt in data.texts():
        texts.append((trace.stack, ids, prompt))
    for (name, ids, prompt), n in product(texts, (0, 1, 4)):
        got = call(ids[:prompt], ids[prompt:], partial(_copied, n))
        yield ExerciseCase(f"rounds of '{name}' with {n} copied tokens", got)


def _copied(n: int, text: Sequence[int]) -> list[int]:
    """Return the ``n`` tokens after the latest earlier occurrence of the last token."""
    for place in reversed(range(len(text) - 1)):
        if text[place] == text[-1]:
            return list(text[place + 1 :][:n])
    return []


# Lesson 6: trees and budgets.


def small_trees() -> Iterator[tuple[list[int], list[Fraction]]]:
    """Yield draft trees as parents (-1: the text) and the probability of each node once its parent
    is accepted. Each budget has one best tree.
    """
    # A child can be as probable as its parent.
    yield [-1, 0, -1], [Fraction(1, 2), ONE, Fraction(1, 4)]
    numbers = random.Random(0)
    for size in (1, 2, 4, 6, 8) * 6:
        parents = [numbers.randrange(-1, node) for node in range(size)]
        # Products of primes differ. Siblings exclude each other: their probabilities sum to less
        # than 1.
        primes = numbers.sample((3, 7, 11, 13, 17, 19, 23, 29), size)
        yield parents, [Fraction(prime, 128) for prime in primes]


@exercise("6.1")
def expected_lengths() -> Inputs:
    yield from small_trees()


@exercise("6.2")
def best_trees() -> Inputs:
    for parents, chances in small_trees():
        for budget in range(1, len(parents) + 1):
            description = f"best_tree({parents}, {show(chances)}, budget={budget})"
            yield ExerciseCase(description, partial(_nodes, parents, chances, budget))


def _nodes(parents: list[int], chances: list[Fraction], budget: int, answer: Submission) -> Any:
    """Return the nodes that an answer chooses, in order."""
    return sorted(call(parents, chances, budget)(answer))
