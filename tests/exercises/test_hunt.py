"""The bug hunt: every mutant is wrong, every right decoder is exact, and tests are scored."""

from __future__ import annotations

from inspect import getsource

import lessons
import pytest

from hsd_viz.exercises import hunt
from hsd_viz.exercises.check import TEXTS

TARGET, DRAFT = hunt.toy_models()


@pytest.mark.parametrize("name", hunt.RIGHT)
@pytest.mark.parametrize("lookahead", [1, 2, 3])
def test_right_decoders_are_exact(name, lookahead):
    found = hunt.law(hunt.RIGHT[name], TARGET, DRAFT, 2, lookahead)
    assert sum(found.values()) == 1
    assert found == hunt.plain_law(TARGET, 2)


@pytest.mark.parametrize("name", hunt.WRONG)
def test_every_mutant_is_lossy(name):
    found = hunt.law(hunt.WRONG[name], TARGET, DRAFT, 3, 2)
    assert sum(found.values()) == 1
    assert found != hunt.plain_law(TARGET, 3)


def test_each_edit_applies_to_the_decoder():
    edits = [old for old, _, _ in TEXTS["decoder"]["wrong"] + TEXTS["decoder"]["right"]]
    assert all(getsource(hunt.decode).count(old) == 1 for old in edits)
    assert len(hunt.mutants()) == len(hunt.WRONG) and len(hunt.mutants(3)) == 3
    with pytest.raises(ValueError, match="mutants, not 99"):
        hunt.mutants(99)


def test_a_greedy_test_kills_some_and_misses_most_and_one_seed_rejects_everything():
    asked = lessons.run("4-lossy-bug-hunt", "student")[2]
    found = hunt.score(asked["greedy_test"])
    assert found.killed and len(found.survived) > len(found.killed)
    assert not found.false_alarms and not found
    found = hunt.score(asked["seeded_test"])
    assert not found.survived and set(found.false_alarms) == set(hunt.RIGHT)


def test_careless_tests_are_scored():
    nothing = hunt.score(lambda decode: True)
    assert len(nothing.survived) == len(hunt.WRONG) and not nothing.killed and "killed 0 of" in repr(nothing)
    everything = hunt.score(lambda decode: False)
    assert len(everything.killed) == len(hunt.WRONG) and len(everything.false_alarms) == len(hunt.RIGHT)
    assert "false alarm: no bonus token" in repr(everything) and not everything


def test_laws_that_are_too_long_are_refused(monkeypatch):
    TARGET(()).clear()
    assert len(TARGET(())) == 3, "a row can be changed without changing the model"
    monkeypatch.setattr(hunt, "MOST_SEQUENCES", 50)
    with pytest.raises(ValueError, match="length 3 and lookahead 2 allow more than 50 sequences of choices: use less"):
        hunt.law(hunt.decode, TARGET, DRAFT, 3, 2)
