"""Checks: right answers of any type, counter-examples, names of mistakes, hints, failing
answers, and no torch.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

from hsd_viz.errors import UserError
from hsd_viz.exercises import EXERCISES, check, greedy_rounds, hunt, lab_log
from hsd_viz.exercises.check import TEXTS, equal, mistakes
from hsd_viz.exercises.data import acceptance_tests
from hsd_viz.exercises.editions import solutions
from hsd_viz.measure.audit.faults import FAULTS
from tests.exercises.right_answers import RIGHT, drafts, fastest_of, in_database, law, normalized
from tests.exercises.wrong_answers import WRONG


@pytest.mark.parametrize(("number", "answer"), RIGHT)
def test_right_answers_of_any_type_pass(number, answer):
    assert check(number, answer).passed, check(number, answer)


@pytest.mark.parametrize("number", EXERCISES)
def test_the_edit_of_each_known_mistake_applies_once(number):
    source = solutions()[number].source

    for old, *_ in TEXTS[number]["mistakes"]:
        assert source.count(old) == 1


@pytest.mark.parametrize("number", EXERCISES)
def test_a_known_mistake_is_called_by_its_name(number):
    for name, wrong in mistakes(number).items():
        result = check(number, wrong)
        assert not result
        assert result.message.endswith(f". The mistake: {name}")


@pytest.mark.parametrize("number", EXERCISES)
def test_an_answer_that_returns_nothing_is_wrong_and_has_a_hint(number):
    result = check(number, lambda *_: None)

    assert not result
    assert result.hint(1)


def test_wrong_answers_of_learners_fail_and_most_are_named():
    results = {(number, name): check(number, answer) for number, name, answer in WRONG}
    unnamed = [which for which, result in results.items() if "The mistake: " not in result.message]

    assert [which for which, result in results.items() if result] == []
    assert len(results) >= 80
    assert len(results) - len(unnamed) >= 75, unnamed


def test_names_of_mistakes_are_those_of_the_audit():
    assert FAULTS[1] in mistakes("3.2")
    assert {FAULTS[1], FAULTS[4], FAULTS[5]} <= set(hunt.WRONG)


def test_an_unknown_mistake_has_no_name():
    """Not one either that equals a known mistake in the first cases only."""

    def half(p, q):
        return sum(a * b for a, b in zip(p, q, strict=True)) if p[0] else 7

    for n, a in [("3.1", lambda u, p, q: u * q < p * p), ("3.3", half)]:
        assert "mistake" not in check(n, a).message


def test_a_failing_round_has_the_words_of_the_recording():
    message = check("2.1", lambda draft, own: (len(draft), draft)).message

    first = greedy_rounds()[0]
    drafted = [first.trace.pieces[token] for token in first.draft]
    assert {row.accepted == len(row.draft) for row in greedy_rounds()} == {True, False}
    assert f"round 0 of 'nano:4 > target', draft {drafted}" in message
    assert "accepted and [" in message


def place_of(name, test):
    """Return where a test of acceptance is, as a message names it."""
    return f"{test.text!r} in round {test.round} of {name!r}, "


def test_a_failing_test_of_acceptance_names_its_place():
    message = check("3.1", lambda u, p, q: u * q < p * p).message

    wrong = []
    for name, test in acceptance_tests():
        if (test.u * test.q < test.p * test.p) != (test.verdict == "accepted"):
            wrong.append(place_of(name, test))
    assert wrong[0] in message


def test_an_answer_that_raises_names_the_place_of_its_case():
    message = check("3.1", lambda u, p, q: [][0]).message

    assert message.startswith(place_of(*acceptance_tests()[0]))


def test_a_failing_lookup_shows_the_text_that_follows():
    def forgets(ids, longest):
        return in_database(ids, longest) if len(ids) < 50 else (1, 4)

    message = check("5.1", forgets).message

    assert ", which end with '" in message
    assert "got (1, 4), after which '" in message


def uniform_rest(p, q):
    return normalized(p, q) if p != q else [Fraction(1, len(p))] * len(p)


def deeper(alpha, gamma):
    return deeper(alpha, gamma + 1)


@pytest.mark.parametrize(
    ("number", "answer", "words"),
    [
        ("1.1", lambda curve: None, "got None (is a return missing?), expected ("),
        ("1.1", lambda curve: 3, "got 3, expected ("),
        ("2.1", lambda draft, own: None, "got None"),
        ("2.2", lambda *given: drafts(*given, beyond=1), "lookahead=1): got ("),
        ("3.1", 7, "raised TypeError"),
        ("3.1", lambda u, p, q: "rejected", "got 'rejected', expected"),
        (
            "3.2",
            uniform_rest,
            "residual(p=[0, 0, 1], q=[0, 0, 1]): got [1/3, 1/3, 1/3], expected [0, 0, 1]",
        ),
        (
            "3.2",
            lambda p, q: [max(a - b, 0) for a, b in zip(p, q, strict=True)],
            "residual(p=[0, 0, 1], q=[0, 1/4, 3/4]): got [0, 0, 1/4], expected [0, 0, 1]",
        ),
        (
            "4.1",
            lambda decode: missing_name,  # noqa: F821
            "a bonus token': got rejected (NameError",
        ),
        (
            "4.1",
            lambda decode: 0,
            "a bonus token': got rejected (it returned 0), expected accepted",
        ),
        ("4.1", lambda decode: None, "mutant 1: got accepted, expected rejected"),
        ("6.2", lambda parents, *_: [len(parents) - 2], "budget=1): got [1], expected [0]"),
        (
            "7.1",
            lambda alpha, gamma: 1,
            "tokens_per_round(alpha=1/5, gamma=1): got 1, expected 6/5",
        ),
        (
            "7.1",
            lambda a, n: (1 - a ** (n + 1)) / (1 - a),
            "(alpha=1, gamma=0): the answer raised ZeroDivisionError",
        ),
        ("7.1", deeper, "raised RecursionError"),
        ("7.1", lambda alpha, gamma: sys.exit(3), "raised SystemExit: 3"),
        ("7.3", fastest_of(32), "got 31, expected 32"),
        ("7.3", fastest_of(34), "got 33, expected 32"),
        ("7.3", lambda a, c: (fastest_of(33)(a, c),), "got (1,), expected 1"),
    ],
)
def test_wrong_answers_are_refused_in_words(number, answer, words):
    result = check(number, answer)
    assert not result
    assert words in repr(result)
    assert "\n" not in result.message


@pytest.fixture
def few_sequences(monkeypatch):
    """Refuse laws of more than 500 outcomes, those of known mistakes included."""
    monkeypatch.setattr(hunt, "MAX_SEQUENCES", 500)
    yield
    sys.modules[check.__module__]._mistaken_value.cache_clear()


def test_a_law_of_too_many_outcomes_is_refused_in_words(few_sequences):
    result = check("4.1", lambda decode: hunt.law(decode, *hunt.toy_models(), 4, 4))
    assert not result
    assert "more than 500 outcomes: use fewer" in repr(result)
    assert "\n" not in result.message
    assert repr(result).startswith("✗ not yet")
    assert ".hint() to the check for a hint." in repr(result)


def test_an_answer_that_ends_as_the_time_is_over_was_too_slow(monkeypatch):
    module = sys.modules[check.__module__]

    @contextlib.contextmanager
    def over_at_the_end(seconds):
        yield
        raise module.OutOfTime

    monkeypatch.setattr(module, "_limited", over_at_the_end)
    monkeypatch.setattr(module, "SECONDS", 0.3)
    result = check(*RIGHT[0])
    assert not result.passed
    assert result.message == "no value after 0.3 seconds: a loop may never end"


def test_an_endless_answer_is_stopped_and_its_case_named(monkeypatch):
    def endless(alpha, gamma):
        while gamma > 2:
            with contextlib.suppress(Exception):  # does not catch the limit
                gamma += 1
        return sum(alpha**k for k in range(gamma + 1))

    monkeypatch.setattr(sys.modules[check.__module__], "SECONDS", 0.3)
    started = time.monotonic()
    message = check("7.1", endless).message
    assert (
        message
        == "tokens_per_round(alpha=0, gamma=3): no value after 0.3 seconds: a loop may never end"
    )
    assert time.monotonic() - started < 20
    assert check("7.1", lambda a, n: sum(a**k for k in range(n + 1)))


def test_the_lab_sheet_names_its_records():
    with pytest.raises(
        UserError, match=r"no record 'x': it has busy\.log, chat\.log, edits\.jsonl"
    ):
        lab_log("x")


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"there is no exercise '10\.1'"):
        check("10.1", None)
    with pytest.raises(ValueError, match="hints 1 to 2, not 'x'"):
        check("7.1", None).hint("x")


@pytest.mark.parametrize(
    ("got", "expected", "same"),
    [
        ([1, 2], (1, 2), True),
        ([1, 2, 3], [1, 2], False),
        (None, 0, False),
        (3, [3], False),
        (Fraction(9, 5), 1.8, True),
        (np.array([1.8, 0]), [Fraction(9, 5), 0], True),
        (np.False_, False, True),
        (1 + 1e-12, 1, True),
        (1 + 1e-6, 1, False),
        ("a", 1, False),
        (float("nan"), 1, False),
    ],
)
def test_answers_are_compared_by_value(got, expected, same):
    assert equal(got, expected) is same


def test_checks_import_no_heavy_module():
    code = """
import sys
from hsd_viz.exercises import check
check("2.1", len), check("7.2", len)
print(sorted({"torch", "transformers", "ipywidgets", "pandas", "plotly"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("server", "lines"), [("voila/0.5.8", 1), ("", 0)], ids=["voila", "jupyterlab"]
)
def test_a_lesson_in_voila_is_refused_in_one_line(server, lines):
    """Voilà names itself to its kernels by this variable of the CGI interface."""
    done = subprocess.run(
        [sys.executable, "-c", "import hsd_viz.exercises"],
        env=os.environ | {"SERVER_SOFTWARE": server},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == done.stdout.count("Open this lesson in JupyterLab") == lines


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("10.1", "the lessons have 1.1 to 9.4, the puzzles P1 to P12"),
        ("7.9", "lesson 7 has 7.1, 7.2, 7.3, 7.4"),
    ],
    ids=["no such lesson", "a lesson with fewer"],
)
def test_an_unknown_number_lists_what_is_near(number, words):
    with pytest.raises(UserError, match=words):
        check(number, len)


def test_of_equally_fast_lookaheads_the_smallest_is_right():
    def largest(alpha, c):
        return min(range(33), key=lambda gamma: (law(alpha, gamma, c, 1.0), -gamma))

    result = check("7.3", largest)

    assert "of equally fast lookaheads the smallest is asked for" in result.message


def test_a_long_curve_is_shown_by_its_first_entries():
    result = check("7.4", lambda alpha, gamma, draft, curve: 1.0)

    assert "curve={1: 2, 2: 2, 3: 2, …} (16 entries)" in result.message


def test_numbers_that_look_alike_are_shown_with_all_digits():
    result = check("7.2", lambda alpha, gamma, draft, target: (draft * gamma + target) + 1e-8)

    assert "got 2.00000001, expected 2.0" in result.message
