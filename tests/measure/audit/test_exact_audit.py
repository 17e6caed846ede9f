"""The exact audit: right decoders are lossless to rounding, wrong ones are named with their
fault.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from hsd_viz.measure.audit.enumeration import Chance, outcomes
from hsd_viz.measure.audit.exact import Task, exact
from hsd_viz.measure.audit.stacks import loop_decoder
from hsd_viz.stack import parse

OURS = [
    ("target", "token"),
    ("nano:2 > target", "token"),
    ("nano:2 > target", "block"),
    ("nano:2 > target", "branch"),
    ("nano:1 > small:2 > target", "block"),
    ("nano:1 > small:2 > target", "branch"),
    ("db[context] > nano:1 > target", "token"),
]


@pytest.mark.parametrize(("stack", "rule"), OURS, ids=str)
def test_our_own_loop_is_lossless(stack, rule):
    result = exact(loop_decoder(parse(stack), rule), models=len(parse(stack).models), instances=2)
    assert result.lossless, str(result)
    assert result.error < 1e-12, str(result)
    assert result.wrong is None, str(result)


class Decoder:
    """Chain drafting with at least ``lookaheads[i]`` tokens from model i; ``fault`` is one of the
    six, made at each level where it is possible.
    """

    def __init__(self, lookaheads: list[int], fault: int = 0) -> None:
        self.lookaheads = lookaheads
        self.fault = fault

    def __call__(self, task: Task) -> list[int]:
        text = list(task.prompt)
        top = len(task.logits) - 1
        while not task.ended(text):
            tokens, _ = self.round(task, top, text)
            for token in tokens:
                if not task.ended(text):
                    text.append(token)
        return text[len(task.prompt) :]

    def draft(self, task: Task, level: int, text: list[int]) -> tuple[list[int], list[np.ndarray]]:
        tokens = []
        rows = []
        while len(tokens) < self.lookaheads[level]:
            if level:
                more, handed = self.round(task, level, text + tokens)
            else:
                row = task.row(0, text + tokens)
                more = [
                    int(row.argmax()) if self.fault == 6 else task.random.choice(len(row), p=row)
                ]
                handed = [task.row(0, text + tokens, 1.0) if self.fault == 5 else row]
            tokens = tokens + more
            rows = rows + handed
        if self.fault == 4 and level == 0 and rows[-1][tokens[-1]] < 0.3:
            tokens = tokens[:-1]
            rows = rows[:-1]
        return tokens, rows

    def round(self, task: Task, level: int, text: list[int]) -> tuple[list[int], list[np.ndarray]]:
        drafted, q = self.draft(task, level - 1, text) if level else ([], [])
        rows = []
        for k, token in enumerate(drafted):
            p = task.row(level, text + drafted[:k])
            if task.random.random() * q[k][token] < p[token]:
                rows.append(q[k] if self.fault == 3 else p)
                continue
            left = np.maximum(p - q[k], 0)
            left = left / left.sum()
            own = task.random.choice(len(p), p=p if self.fault == 1 else left)
            return [*drafted[:k], own], [*rows, left if self.fault == 2 else p]
        p = task.row(level, text + drafted)
        return [*drafted, task.random.choice(len(p), p=p)], [*rows, p]


#: (lookaheads, fault, what is recognized). In a middle level, faults 1 and 2 have one law.
FAULTY = [
    ([1], 1, (1,)),
    ([2], 1, (1,)),
    ([1, 1], 2, (1, 2)),
    ([1, 1], 3, (3,)),
    ([2], 4, (4,)),
    ([1], 5, (5,)),
    ([2], 6, (6,)),
]


@pytest.mark.parametrize(("lookaheads", "fault", "expected"), FAULTY, ids=str)
def test_each_fault_is_recognized(lookaheads, fault, expected):
    audit = partial(
        exact,
        models=len(lookaheads) + 1,
        vocabulary=2 + len(lookaheads),
        new_tokens=3 if fault == 4 else 2,
        instances=2,
    )
    result = audit(Decoder(lookaheads, fault))
    assert not result.lossless
    assert result.error > 1e-4
    assert result.faults == expected, str(result)
    assert result.wrong is not None
    assert result.wrong.error > 1e-4
    assert audit(Decoder(lookaheads)).lossless, "without the fault the same decoder is lossless"


def test_the_first_wrong_conditional_is_named():
    """A decoder that is right for one token and then repeats it."""

    def stutters(task):
        first = task.random.choice(task.vocabulary, p=task.row(-1, task.prompt))
        text = [*task.prompt, first]
        while not task.ended(text):
            text.append(first)
        return text[len(task.prompt) :]

    result = exact(stutters, instances=1)
    assert result.wrong.prefix == (0,)
    assert [*result.wrong.actual] == [1.0, 0.0, 0.0]
    assert result.faults == ()
    assert str(result).startswith(
        "not lossless: the law after [0] is [1.0000, 0.0000, 0.0000], not ["
    )
    assert "none of the six known faults" in str(result)


@pytest.mark.parametrize("output", [[0, 0, 0, 0], [0], [0, 0, 9]])
def test_malformed_outputs(output):
    result = exact(lambda task: output, instances=1)
    assert not result.lossless
    assert f"the output {output} is not 3 tokens below 3, or fewer" in str(result)


def test_numbers_are_enumerated_with_their_probabilities():
    def program(random):
        u = random.random()
        return ("low" if 2 * u + 1 < 1.5 else "high", u < 0.9)

    probabilities = {}
    for result, weight in outcomes(program):
        probabilities[result] = probabilities.get(result, 0.0) + weight
    assert probabilities == pytest.approx(
        {("low", True): 0.25, ("high", True): 0.65, ("high", False): 0.1}
    )
    with pytest.raises(TypeError, match="no single value"):
        list(outcomes(lambda random: float(random.random())))
    with pytest.raises(ValueError, match="more than 5 outcomes"):
        list(outcomes(lambda random: [random.choice(2) for _ in range(3)], max_runs=5))
    assert isinstance(next(outcomes(lambda random: random.random()))[0], Chance)
    law = dict(outcomes(lambda random: random.branch([Fraction(1, 3), 1])))
    assert law == {0: Fraction(1, 4), 1: Fraction(3, 4)}, "whole numbers and fractions stay exact"
    with pytest.raises(ValueError, match=r"the weights \[1/4, -1/4\]: none may be negative"):
        list(outcomes(lambda random: random.branch([Fraction(1, 4), Fraction(-1, 4)])))
    with pytest.raises(ValueError, match="the vocabulary 9 is out of range"):
        exact(Decoder([1]), vocabulary=9)


def test_every_second_instance_has_an_end_token():
    ends = []

    def plain(task):
        ends.append(task.eos)
        text = list(task.prompt)
        while not task.ended(text):
            text.append(task.random.choice(task.vocabulary, p=task.row(-1, text)))
        return text[len(task.prompt) :]

    assert exact(plain, instances=4).lossless
    assert [bool(end) for k, end in enumerate(ends) if k == 0 or end != ends[k - 1]] in (
        [True, False] * 2,
        [False, True] * 2,
    )


def test_numbers_with_a_negative_scale():
    probabilities = {}
    for result, weight in outcomes(lambda random: 1 - random.random() < 0.2):
        probabilities[result] = probabilities.get(result, 0.0) + weight
    assert probabilities == pytest.approx({True: 0.2, False: 0.8})
