"""The bug hunt: every mutant is wrong, every right decoder is exact, and tests are scored."""

from __future__ import annotations

import lessons
import pytest

from hsd_viz.exercises import check, hunt

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


def test_a_greedy_test_kills_some_and_misses_most_and_one_seed_rejects_everything():
    asked = lessons.run("4-lossy-bug-hunt", "student")[2]
    found = hunt.score(asked["greedy_test"])
    assert found.killed and len(found.survived) > len(found.killed)
    assert not found.false_alarms and not found
    found = hunt.score(asked["seeded_test"])
    assert not found.survived and set(found.false_alarms) == set(hunt.RIGHT)


def test_careless_tests_are_scored():
    nothing = hunt.score(lambda decode: True)
    assert len(nothing.survived) == len(hunt.WRONG) and not nothing.killed
    everything = hunt.score(lambda decode: False)
    assert len(everything.killed) == len(hunt.WRONG) and len(everything.false_alarms) == len(hunt.RIGHT)
    assert "false alarm: no bonus token" in repr(everything) and not everything
    assert "killed 0 of" in nothing._repr_html_()


def test_rows_of_a_model_can_be_changed_without_changing_the_model():
    row = TARGET(())
    row.clear()
    assert len(TARGET(())) == 3


def test_laws_need_a_length_and_a_lookahead_and_end(monkeypatch):
    with pytest.raises(ValueError, match="lookahead 0: both start at 1"):
        hunt.law(hunt.right_decoder(), TARGET, DRAFT, 2, 0)
    monkeypatch.setattr(hunt, "MOST_SEQUENCES", 50)
    too_long = "length 3 and lookahead 2 allow more than 50 sequences of choices: use less"
    with pytest.raises(ValueError, match=too_long):
        hunt.law(hunt.right_decoder(), TARGET, DRAFT, 3, 2)
    assert check("4.1", lambda decode: hunt.law(decode, TARGET, DRAFT, 3, 2)).message == too_long


def test_mutants_are_counted():
    assert len(hunt.mutants()) == len(hunt.WRONG) and len(hunt.mutants(3)) == 3
    with pytest.raises(ValueError, match="mutants, not 99"):
        hunt.mutants(99)
