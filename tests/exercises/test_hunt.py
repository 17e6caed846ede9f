"""The bug hunt: every mutant is wrong, every right decoder is exact, and tests are scored."""

from __future__ import annotations

from inspect import getsource

import pytest

from hsd_viz.exercises import hunt
from hsd_viz.exercises.check import TEXTS
from tests.exercises import lessons

TARGET, DRAFT = hunt.toy_models()
#: What each edit of the decoder replaces, by the name of the edit.
REPLACED = {}
for old, _, name in TEXTS["decoder"]["wrong"] + TEXTS["decoder"]["right"]:
    REPLACED[name] = old
WRONG = len(hunt.WRONG)
RIGHT = len(hunt.RIGHT)


@pytest.mark.parametrize(("length", "lookahead"), [(2, 1), (3, 2), (2, 3)])
@pytest.mark.parametrize("name", hunt.RIGHT)
def test_a_right_decoder_is_exact(name, length, lookahead):
    law = hunt.law(hunt.RIGHT[name], TARGET, DRAFT, length, lookahead)

    assert law == hunt.plain_law(TARGET, length)


@pytest.mark.parametrize("decode", hunt.mutants, ids=[*hunt.WRONG])
def test_a_mutant_is_lossy(decode):
    law = hunt.law(decode, TARGET, DRAFT, 3, 2)

    assert sum(law.values()) == 1
    assert law != hunt.plain_law(TARGET, 3)


@pytest.mark.parametrize("name", REPLACED)
def test_an_edit_of_the_decoder_applies_once(name):
    assert getsource(hunt.right_decoder).count(REPLACED[name]) == 1


@pytest.fixture(scope="module")
def names():
    """The names that the lesson defines."""
    return lessons.run("4-lossy-bug-hunt", "student")[1]


def test_a_greedy_test_misses_most_mutants(names):
    score = hunt.score(names["greedy_test"])

    assert 0 < score.count("\n  killed ") < WRONG / 2
    assert "mutants, 0 false alarms" in score


def test_a_test_of_a_single_seed_rejects_every_decoder(names):
    score = hunt.score(names["seeded_test"])

    assert score.startswith(f"killed {WRONG} of {WRONG} mutants, {RIGHT} false alarms")


def test_a_test_that_rejects_everything_has_false_alarms():
    score = hunt.score(lambda decode: False)

    assert score.startswith(f"killed {WRONG} of {WRONG} mutants, {RIGHT} false alarms")
    assert "false alarm: no bonus token (it returned False)" in score


def test_a_test_that_accepts_everything_kills_no_mutant():
    score = hunt.score(lambda decode: True)

    assert score.startswith(f"killed 0 of {WRONG} mutants, 0 false alarms\n  survived 1, 2, ")


def test_a_row_can_be_changed_without_changing_the_model():
    TARGET(()).clear()

    assert len(TARGET(())) == 3


def test_laws_that_are_too_long_are_refused(monkeypatch):
    monkeypatch.setattr(hunt, "MAX_SEQUENCES", 50)

    with pytest.raises(ValueError, match="more than 50 outcomes: use fewer tokens"):
        hunt.law(hunt.right_decoder, TARGET, DRAFT, 3, 2)


@pytest.mark.parametrize(
    ("value", "why"),
    [(None, ""), (True, ""), (False, "it returned False"), (0, "it returned 0")],
)
def test_a_test_rejects_by_what_it_returns(value, why):
    assert hunt.rejected(lambda decode: value, hunt.right_decoder) == why
