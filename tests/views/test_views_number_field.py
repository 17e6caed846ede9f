"""Number fields: what is taken, what is refused in which words, and that nothing typed is changed."""

from __future__ import annotations

import pytest

from hsd_viz.views.controls import Controls
from hsd_viz.views.number_field import NumberField


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("0,7", 0.7),
        ("0.7", 0.7),
        (" 1 ", 1),
        (",5", 0.5),
        ("2.", 2),
        ("100", 100),
        ("+3", 3),
        ("1e-9", 1e-9),
        ("2,5E1", 25),
    ],
)
def test_a_comma_is_a_decimal_point_and_what_was_typed_stays(typed, number):
    field = NumberField("Temperature", 0, 0, 100)
    field.text = typed
    assert field.value == number and field.problem == "" and field.text == typed


@pytest.mark.parametrize("typed", ["1000", "-1", "", "abc", "nan", "inf", "1e3", "0,7,1", "1.000,5", "٣", "1" * 400])
def test_what_is_no_number_of_the_range_is_one_sentence(typed):
    field = NumberField("Temperature", 0, 0, 100)
    field.text = typed
    assert field.problem.startswith("Temperature must be a number from 0 to 100, not ") and len(field.problem) < 100
    assert field.text == typed
    with pytest.raises(ValueError, match="must be a number"):
        _ = field.value
    field.text = "0.5"
    assert field.problem == "" and field.value == 0.5


@pytest.mark.parametrize("typed", ["99999", "0", "1.5", "1,000", "12x"])
def test_a_whole_number_is_whole(typed):
    field = NumberField("New tokens (here)", 128, 1, 2000, whole=True)
    assert type(field.value) is int
    field.text = typed
    assert field.problem == f"New tokens must be a whole number from 1 to 2000, not {typed}."


@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "seed", "length"])
def test_the_form_refuses_until_it_is_mended(name):
    controls = Controls([], None, True)
    field = getattr(controls, name)
    before = field.text
    field.text = "-5"
    with pytest.raises(ValueError, match="not -5"):
        controls.request()
    field.text = before
    controls.request()
