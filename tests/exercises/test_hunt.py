"""The bug hunt: every mutant is wrong, every right decoder is exact, and tests are scored."""

from __future__ import annotations

from inspect import getsource

import lessons
import pytest

from hsd_viz.exercises import hunt
from hsd_viz.exercises.check import TEXTS

TARGET, DRAFT = hunt.toy_models()


@pytest.mark.parametrize("lookahead", [1, 2, 3])
def test_right_decoders_are_exact_and_every_mutant_is_lossy(lookahead):
    length = 2 if lookahead != 2 else 3
    for decode in hunt.RIGHT.values():
        assert hunt.law(decode, TARGET, DRAFT, length, lookahead) == hunt.plain_law(TARGET, length)
    edits = [old for old, _, _ in TEXTS["decoder"]["wrong"] + TEXTS["decoder"]["right"]]
    for old in edits:
        assert getsource(hunt.right_decoder).count(old) == 1, "each edit applies"
    for decode in hunt.mutants if lookahead == 2 else ():
        law = hunt.law(decode, TARGET, DRAFT, length, lookahead)
        assert sum(law.values()) == 1 and law != hunt.plain_law(TARGET, length), decode


def test_tests_are_scored():
    """A greedy test misses most mutants, one of a single seed rejects every decoder, as careless
    tests do.
    """
    asked = lessons.run("4-lossy-bug-hunt", "student")[1]
    wrong = len(hunt.WRONG)
    right = len(hunt.RIGHT)
    greedy = hunt.score(asked["greedy_test"])
    assert 0 < greedy.count("\n  killed ") < wrong / 2
    assert "mutants, 0 false alarms" in greedy
    everything = f"killed {wrong} of {wrong} mutants, {right} false alarms"
    assert hunt.score(asked["seeded_test"]).startswith(everything)
    careless = hunt.score(lambda decode: False)
    assert careless.startswith(everything)
    assert "false alarm: no bonus token (it returned False)" in careless
    assert hunt.score(lambda decode: True).startswith(
        f"killed 0 of {wrong} mutants, 0 false alarms\n  survived 1\n"
    )


def test_laws_that_are_too_long_are_refused(monkeypatch):
    TARGET(()).clear()
    assert len(TARGET(())) == 3, "a row can be changed without changing the model"
    monkeypatch.setattr(hunt, "MOST_SEQUENCES", 50)
    with pytest.raises(ValueError, match="more than 50 outcomes: use fewer tokens"):
        hunt.law(hunt.right_decoder, TARGET, DRAFT, 3, 2)


@pytest.mark.parametrize(
    ("value", "why"),
    [(None, ""), (True, ""), (False, "it returned False"), (0, "it returned 0")],
)
def test_a_test_rejects_by_what_it_returns(value, why):
    assert hunt.rejected(lambda decode: value, hunt.right_decoder) == why
