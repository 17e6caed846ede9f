"""Results of checks: counter-examples, hints, errors of answers, and no torch."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hsd_viz.audit.faults import FAULTS
from hsd_viz.exercises import EXERCISES, check, cost_curve, greedy_rounds, hunt, measured
from hsd_viz.exercises.check import equal
from hsd_viz.exercises.data import acceptance_tests
from hsd_viz.exercises.mistakes import MISTAKES


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


def test_a_failing_case_has_the_words_of_the_recording():
    message = check("2.1", lambda draft, own: (len(draft), draft)).message
    assert "round 0 of 'nano:4 > target', draft ['   ', ' :', 'param'" in message and "accepted and [" in message
    wrong = next(t for t in acceptance_tests() if (t.u * t.q < t.p * t.p) != t.accepted)
    assert place(wrong) in check("3.1", lambda u, p, q: u * q < p * p).message
    right = check("5.1", lambda ids, longest: lookup(ids, longest) if len(ids) < 50 else (1, 4)).message
    assert ", which end with '" in right
    assert "the key " in right and "and at 4 " in right


def place(test):
    return f"{test.text!r} in round {test.round} of {test.name!r}, "


def lookup(ids, longest):
    for length in range(min(longest, len(ids) - 1), 0, -1):
        for start in range(len(ids) - length - 1, -1, -1):
            if ids[start : start + length] == ids[-length:]:
                return length, start + length
    return None


def test_an_exception_names_its_case():
    quotient = check("7.1", lambda a, n: (1 - a ** (n + 1)) / (1 - a)).message
    assert quotient.startswith("G(alpha=1, gamma=0): the answer raised ZeroDivisionError")
    assert check("3.1", lambda u, p, q: [][0]).message.startswith(place(acceptance_tests()[0]))


def test_an_answer_that_ends_the_program_or_never_returns_from_calls_is_reported():
    def deeper(alpha, gamma):
        return deeper(alpha, gamma + 1)

    assert "raised RecursionError" in check("7.1", deeper).message
    assert "raised SystemExit: 3" in check("7.1", lambda alpha, gamma: sys.exit(3)).message


def test_an_endless_answer_is_stopped_and_its_case_named(monkeypatch):
    def endless(alpha, gamma):
        while gamma > 2:
            with contextlib.suppress(Exception):  # does not catch the limit
                gamma += 1
        return sum(alpha**k for k in range(gamma + 1))

    monkeypatch.setitem(EXERCISES, "7.1", replace(EXERCISES["7.1"], seconds=0.3))
    started = time.monotonic()
    message = check("7.1", endless).message
    assert message == "G(alpha=0, gamma=3): no value after 0.3 seconds: a loop may never end"
    assert time.monotonic() - started < 5
    assert check("7.1", lambda a, n: sum(a**k for k in range(n + 1)))


@pytest.mark.parametrize(("number", "name"), [(n, name) for n, names in MISTAKES.items() for name in names])
def test_each_known_mistake_is_called_by_its_name(number, name):
    result = check(number, MISTAKES[number][name])
    assert not result and result.message.endswith(f". The mistake: {name}")


def test_an_unknown_mistake_has_no_name():
    assert "mistake" not in check("3.1", lambda u, p, q: u * q < p * p).message
    # It equals a known mistake in the first cases only.
    assert (
        "mistake" not in check("3.3", lambda p, q: sum(a * b for a, b in zip(p, q, strict=True)) if p[0] else 7).message
    )


def test_names_of_mistakes_are_those_of_the_audit():
    assert FAULTS[1] in MISTAKES["3.2"] and {FAULTS[1], FAULTS[4], FAULTS[5]} <= set(hunt.WRONG)


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
    with pytest.raises(ValueError, match="hints 1 to 2, not 'x'"):
        check("7.1", None).hint("x")
    with pytest.raises(ValueError, match=r"no curve of runtime 'gpu' \(use .*native"):
        cost_curve("target", "gpu")
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
def test_equality(got, expected, same):
    assert equal(got, expected) is same


def copies(prompt, output, draft, at_least):
    place = rounds = 0
    while place < len(output):
        proposed, rest, agreed = draft(prompt + output[:place]), output[place:], 0
        while agreed < min(len(proposed), len(rest)) and proposed[agreed] == rest[agreed]:
            agreed += 1
        place, rounds = place + agreed + at_least, rounds + 1
    return rounds


def drafts(target, drafter, prompt, length, lookahead, at_least, beyond=0):
    text = list(prompt)
    while (missing := length - (len(text) - len(prompt))) > 0:
        draft, agreed = drafter(text, min(lookahead, missing - 1) + beyond), 0
        own = target(text, draft)
        while agreed < len(draft) and draft[agreed] == own[agreed]:
            agreed += 1
        text += own[: agreed + at_least]
    return text[len(prompt) :]


def reached(parents, chances):
    found = np.zeros(len(parents))
    for node, (parent, chance) in enumerate(zip(parents, chances, strict=True)):
        found[node] = chance * (found[parent] if parent >= 0 else 1)
    return found


def exact_test(decode):
    target, draft = hunt.toy_models()
    return np.bool_(hunt.law(decode, target, draft, 3, 2) == hunt.plain_law(target, 3))


def normalized(p, q):
    rest = np.maximum(np.array(p, float) - np.array(q, float), 0)
    return rest / rest.sum() if rest.sum() else p


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        ("1.2", lambda a, b, k: float(k) * float(a + b) / float(a + b * k)),
        ("2.2", lambda *given: drafts(*given, at_least=1)),
        ("3.1", lambda u, p, q: np.bool_(u * q < p)),
        ("3.2", normalized),
        (
            "4.2",
            lambda c, p: float(
                np.sum((np.array(c) - sum(c) * np.array(p, float)) ** 2 / (sum(c) * np.array(p, float)))
            ),
        ),
        ("5.2", lambda *given: copies(*given, at_least=1)),
        ("6.1", lambda parents, chances: 1 + reached(parents, chances).sum()),
        ("7.1", lambda alpha, gamma: (float(alpha) ** np.arange(gamma + 1)).sum()),
        ("8.1", lambda ids: Fraction(len(ids) - distinct(ids), len(ids)) if ids else 0),
        ("8.1", lambda ids: 1 - distinct(ids) / len(ids) if ids else 0.0),
    ],
)
def test_right_answers_of_any_type_pass(number, answer):
    assert check(number, answer).passed, check(number, answer)


def distinct(ids):
    """Return the tokens that do not end a repeated 8-gram."""
    return min(len(ids), 7) + len({tuple(ids[end - 8 : end]) for end in range(8, len(ids) + 1)})


def uniform_rest(p, q):
    return normalized(p, q) if p != q else [Fraction(1, len(p))] * len(p)


def later_first(parents, chances, budget):
    found = reached(parents, chances)
    return sorted(range(len(parents)), key=lambda node: (-found[node], -node))[:budget]


def fastest_of(count):
    return lambda a, c: min(range(count), key=lambda g: (g * c + 1) / sum(a**k for k in range(g + 1)))


@pytest.mark.parametrize(
    ("number", "answer", "words"),
    [
        ("1.1", lambda curve: None, "returned None (is a return missing?)"),
        ("1.1", lambda curve: 3, "returned 3, which cannot be compared"),
        ("2.2", lambda *given: drafts(*given, at_least=0), "makes no progress: every round must emit"),
        ("2.2", lambda *given: drafts(*given, at_least=1, beyond=1), "lookahead=1): the target was given a draft of 2"),
        ("3.1", lambda u, p, q: None, "got None, expected "),
        ("3.1", lambda u, p, q: "rejected", "got 'rejected', expected"),
        ("3.2", lambda p, q: None, "returned None (is a return missing?)"),
        ("3.2", uniform_rest, "residual([0, 0, 1], [0, 0, 1]): got [1/3, 1/3, 1/3], expected [0, 0, 1]"),
        ("4.1", lambda decode: missing_name, "rejects every right decoder: NameError"),  # noqa: F821
        ("4.1", lambda decode: 0, "rejects every right decoder: it returned 0"),
        ("4.1", lambda decode: None, "mutants that survive the test: got [1, 2"),
        ("4.1", lambda decode: hunt.law(decode, *hunt.toy_models(), 3, 0), "lookahead 0: both start at 1"),
        ("5.1", lambda ids, longest: None, "longest=8"),
        ("5.2", lambda *given: copies(*given, at_least=0), "makes no progress: every round must emit"),
        ("6.2", lambda parents, chances, budget: None, "returned None (is a return missing?)"),
        ("6.2", lambda parents, chances, budget: [99], "returned [99]: expected as many different nodes"),
        ("6.2", later_first, "budget=1) returned [1]: expected as many different nodes"),
        ("7.3", fastest_of(32), "got 31, expected 32"),
        ("7.3", fastest_of(34), "got 33, expected 32"),
        ("7.3", lambda a, c: (fastest_of(33)(a, c),), "got (1,), expected 1"),
    ],
)
def test_wrong_answers_are_refused_in_words(number, answer, words):
    result = check(number, answer)
    assert not result and words in repr(result)
    assert "\n" not in result.message and repr(result).endswith(" Append .hint() to the check for a hint.")


def test_a_perfect_test_is_praised_for_both_halves_and_may_return_a_numpy_bool():
    killed, accepted = len(hunt.WRONG), len(hunt.RIGHT)
    assert f"{killed} mutants killed, {accepted} right decoders accepted." in repr(check("4.1", exact_test))


def test_checks_import_no_heavy_module():
    code = """
import sys
from hsd_viz.exercises import check
check("2.1", len), check("7.2", len)
print(sorted({"torch", "transformers", "ipywidgets", "pandas", "plotly"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr
