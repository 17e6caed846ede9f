"""Declared settings: a range checks values, and a part that does not fit is refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated as A
from typing import Literal

import pytest

from hsd_viz.decoding.options import Sampling
from hsd_viz.errors import UserError
from hsd_viz.settings.declare import (
    CliOption,
    FormField,
    Setting,
    as_call,
    check_settings,
    declared_in,
    fields_of,
)
from hsd_viz.settings.ranges import MAX_BUDGET, Range, check_budget


def test_the_bound_of_a_setting_is_declared_with_it():
    setting = Setting("", CliOption("R"), Range(2, above_low=True), noun="the reach")
    with pytest.raises(UserError) as refused:
        setting.check(2)
    assert str(refused.value) == "the reach 2 is out of range: expected a number above 2"


def test_a_field_of_the_form_needs_a_range():
    with pytest.raises(ValueError, match="the form's field 'Reach' needs a range"):
        Setting("", form=FormField("Reach"))


def test_a_positional_argument_has_no_name():
    with pytest.raises(ValueError, match="FILE is positional"):
        CliOption("FILE", name="file", positional=True)


def test_a_value_is_shown_as_the_call_that_makes_it():
    assert as_call(Sampling(top_k=5)) == "Sampling(top_k=5)"


@dataclass(frozen=True)
class Colours:
    """Options."""

    paint: A[Literal["red", "blue"] | None, Setting("the paint")] = None
    brush: A[Path | int, Setting("the brush", CliOption("FILE", type=Path))] = 1

    def __post_init__(self) -> None:
        check_settings(self)


def test_choices_are_checked_and_a_close_one_is_named():
    assert Colours(paint="red").paint == "red"
    with pytest.raises(UserError) as refused:
        Colours(paint="bleu")
    assert str(refused.value) == (
        "unknown paint 'bleu': it is one of red, blue; did you mean 'blue'?"
    )


def test_the_command_line_reads_the_type_that_the_option_states():
    paint, brush = fields_of(Colours)
    assert paint.read_type == Literal["red", "blue"]
    assert brush.read_type is Path


def test_of_several_types_the_option_has_to_state_one():
    declared = declared_in("size", A[int | str, Setting("the size")], None)
    with pytest.raises(TypeError, match=r"state CliOption\(type=...\)"):
        declared.read_type  # noqa: B018


def test_a_largest_value_of_zero_is_a_bound():
    setting = Setting("", CliOption("R"), Range(-2, 0, above_low=True), noun="the drift")
    setting.check(0)
    with pytest.raises(UserError, match="the drift 1 is out of range"):
        setting.check(1)


@pytest.mark.parametrize("budget", [0, -1, MAX_BUDGET + 1, True, 2.0, "8"])
def test_no_budget(budget):
    for good in (None, 1, MAX_BUDGET):
        assert check_budget(good) is None
    wrong = "out of range" if type(budget) is int else "not valid"
    with pytest.raises(ValueError, match=f"the budget {budget} is {wrong}"):
        check_budget(budget)
