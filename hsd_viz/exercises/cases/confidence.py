"""The inputs of lesson 9, stopping when unsure: what an answer drafts is enumerated, so that laws
of texts and of drafts are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from hsd_viz.exercises import data, hunt
from hsd_viz.exercises.cases.values import CURVES, ONE, PAIRS, Inputs, parts
from hsd_viz.exercises.check import ExerciseCase, Submission, call, exercise, show
from hsd_viz.measure.audit import enumeration

#: The first pair of rows is the one of the lesson.
LESSON_ROWS = (parts(4, 4, 2, of=10), parts(6, 3, 1, of=10))
THRESHOLDS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


@exercise("9.1")
def laws_of_dropping() -> Inputs:
    yield *LESSON_ROWS, Fraction(2, 5)
    for (p, q), least in product(PAIRS, THRESHOLDS):
        yield p, q, least


@exercise("9.2")
def proposals() -> Inputs:
    target, draft = hunt.toy_models()
    leasts = (Fraction(1, 8), Fraction(2, 5), Fraction(5, 8), ONE)
    for most, least in product((1, 2), leasts):
        description = (
            f"the law of the text with propose(row, choose, most={most}, least={show(least)})"
        )
        yield ExerciseCase(
            f"{description}: the probabilities of its 9 texts of two tokens",
            partial(_text_law, target, draft, most, least),
            expected=list(hunt.plain_law(target, 2).values()),
        )
    for most, least in product((1, 2, 3), leasts):
        description = f"the law of propose(row, choose, most={most}, least={show(least)})"
        yield ExerciseCase(
            f"{description}: the probability of each draft", partial(_drafts, draft, most, least)
        )


def _text_law(
    target: hunt.Model, draft: hunt.Model, most: int, least: Fraction, answer: Submission
) -> list[Fraction]:
    """Return the law of texts of two tokens, with drafts of an answer that are verified as in
    lesson 3.
    """

    def decode(choices: enumeration.EnumeratedChoices) -> hunt.Text:
        text: hunt.Text = ()
        while len(text) < 2:
            row = partial(_row_after, draft, text)
            drafted = answer(row, choices.branch, min(most, 2 - len(text)), least)
            text += _verified(text, drafted, target, draft, choices)
        return text[:2]

    probabilities = enumeration.law(decode)
    return [probabilities.get(text, Fraction(0)) for text in product(range(3), repeat=2)]


def _row_after(model: hunt.Model, text: hunt.Text, tokens: Sequence[int]) -> Any:
    """Return a model's row after a text and further tokens."""
    return model(text + tuple(tokens))


def _verified(
    text: hunt.Text,
    drafted: Sequence[int],
    target: hunt.Model,
    draft: hunt.Model,
    choices: enumeration.EnumeratedChoices,
) -> hunt.Text:
    """Return the tokens that a round adds to a text: the accepted ones, and the target's own."""
    emitted: hunt.Text = ()
    for token in drafted:
        p = target(text + emitted)
        q = draft(text + emitted)
        chance = min(ONE, p[token] / q[token])
        if choices.branch([chance, 1 - chance]):
            residual = [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]
            return (*emitted, choices.branch(residual))
        emitted += (token,)
    return (*emitted, choices.branch(target(text + emitted)))


def _drafts(
    draft: hunt.Model, most: int, least: Fraction, answer: Submission
) -> dict[Any, Fraction]:
    """Return the law of an answer's drafts, in the order of their tokens."""

    def row(tokens: Sequence[int]) -> Any:
        return draft(tuple(tokens))

    probabilities = enumeration.law(lambda choices: tuple(answer(row, choices.branch, most, least)))
    return dict(sorted(probabilities.items()))


#: Drafts: the probabilities of their tokens, and how many of them were accepted.
DRAFTS = [
    (parts(9, 8, 6, of=10), 3),
    (parts(9, 2, 5, of=10), 1),
    (parts(4, 5, of=10), 1),
]
CONFIDENCES = parts(6, 0, 2, 9, 4, of=10)


def priced_drafts() -> Iterator[tuple[str, list[Any], float, dict[int, float]]]:
    """Yield drafts by name, the time of a pass that drafts, and the cost curve of the target."""
    drafts_by_name: list[tuple[str, list[Any]]] = [("DRAFTS", DRAFTS)]
    for trace in data.recordings():
        if trace.stack == "nano:4 > target" and trace.meta["sampling"]["temperature"]:
            drafts_by_name.append((f"the drafts of '{trace.stack}'", data.drafts_of(trace)))
    for name, drafts in drafts_by_name:
        for draft, curve in product((0.1, 1.5), CURVES):
            yield name, drafts, draft, curve


def _priced(name: str, drafts: list[Any]) -> str:
    return show(drafts) if name == "DRAFTS" else name


@exercise("9.3")
def times_of_stops() -> Inputs:
    for name, drafts, draft, curve in priced_drafts():
        for least in CONFIDENCES:
            arguments = f"least={show(least)}, draft={draft}, curve={show(curve)}"
            description = f"ms_per_token({_priced(name, drafts)}, {arguments})"
            yield ExerciseCase(description, call(drafts, least, draft, curve))


@exercise("9.4")
def best_confidences() -> Inputs:
    for name, drafts, draft, curve in priced_drafts():
        arguments = f"draft={draft}, curve={show(curve)}"
        description = f"best_confidence({_priced(name, drafts)}, {show(CONFIDENCES)}, {arguments})"
        yield ExerciseCase(description, call(drafts, CONFIDENCES, draft, curve))
    # No draft ever ends early: all confidences are equally fast.
    certain_draft = [([ONE] * 3, 3)]
    description = f"best_confidence({show(certain_draft)}, {show(CONFIDENCES)}, draft=1, curve=…)"
    yield ExerciseCase(description, call(certain_draft, CONFIDENCES, 1, CURVES[1]))
