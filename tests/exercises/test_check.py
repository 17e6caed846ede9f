"""Results of checks: counter-examples, hints, errors of answers, and no torch."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import pytest

from hsd_viz.exercises import EXERCISES, check, greedy_rounds, measured
from hsd_viz.exercises.check import equal
from hsd_viz.exercises.data import acceptance_tests


def test_the_first_counter_example_is_named():
    result = check("7.1", lambda alpha, gamma: 1)
    assert not result
    assert "G(alpha=1/5, gamma=1): got 1, expected 6/5" in repr(result)
    assert "not yet" in result._repr_html_()
    assert check("7.1", lambda a, n: sum(a**k for k in range(n + 1))).passed


def test_an_answer_that_fails_is_reported():
    assert "raised ZeroDivisionError" in check("7.1", lambda a, n: (1 - a ** (n + 1)) / (1 - a)).message
    assert "raised TypeError" in check("3.1", 7).message
    assert "got None" in check("2.1", lambda draft, own: None).message


def test_output_of_answers_is_escaped():
    assert "<b>x" not in check("7.1", lambda alpha, gamma: "<b>x</b>")._repr_html_()


@pytest.mark.parametrize("number", EXERCISES)
def test_every_exercise_has_hints_and_fails_a_constant(number):
    result = check(number, lambda *_: None)
    assert not result
    assert result.hint(1)
    with pytest.raises(ValueError, match="hints 1 to"):
        result.hint(len(EXERCISES[number].hints) + 1)


def test_unknown_exercises_are_refused():
    with pytest.raises(ValueError, match=r"there is no exercise '9\.1'"):
        check("9.1", None)
    with pytest.raises(ValueError, match="no measurement"):
        measured("nothing")


def test_accepting_everything_or_ignoring_the_residual_is_caught():
    assert not check("3.1", lambda u, p, q: True)
    assert not check("3.1", lambda u, p, q: u * q <= p)
    assert not check("3.2", lambda p, q: p)
    assert not check("3.3", lambda p, q: sum(a * b for a, b in zip(p, q, strict=True)))
    # Agreements after the first difference must not count.
    assert not check("2.1", lambda d, o: (n := sum(map(int.__eq__, d, o)), [*d[:n], o[n]]))


def test_the_recordings_have_cases_to_check():
    rounds = greedy_rounds()
    assert {r.accepted == len(r.draft) for r in rounds} == {True, False}
    assert all(len(r.own) == r.accepted + 1 for r in rounds)
    assert {t.accepted for t in acceptance_tests()} == {True, False}


@pytest.mark.parametrize(
    ("got", "expected", "tolerance", "same"),
    [
        ([1, 2], (1, 2), 0, True),
        ([1, 2, 3], [1, 2], 0, False),
        (None, 0, 0, False),
        (3, [3], 0, False),
        (Fraction(1, 2), 0.5, 0, True),
        (1 + 1e-12, 1, 1e-9, True),
        (1 + 1e-6, 1, 1e-9, False),
        ("a", 1, 1e-9, False),
        (float("nan"), 1, 1e-9, False),
    ],
)
def test_equality(got, expected, tolerance, same):
    assert equal(got, expected, tolerance) is same


def test_checks_import_no_heavy_module():
    code = """
import sys
from hsd_viz.exercises import check
check("2.1", len), check("7.2", len)
print(sorted({"torch", "transformers", "ipywidgets", "pandas", "plotly"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr
