"""What the doctor is asked: its arguments, and figures that are refused."""

from __future__ import annotations

from functools import partial
from inspect import getdoc, signature

import pytest

from hsd_viz.errors import UserError
from hsd_viz.measure.doctor.api import doctor
from hsd_viz.measure.doctor.observe import from_figures
from hsd_viz.measure.doctor.options import DoctorOptions, Hardware, Known
from hsd_viz.settings.declare import settings_of


def test_acceptance_is_read_as_engines_print_it():
    for given, length in (([0.6], 4.0), ([4.0], 4.0), ([0.8, 0.6, 0.4, 0.2, 0.1], 3.1)):
        assert from_figures(given, 5).length == pytest.approx(length)
    assert from_figures([0.8, 0.6]).survival()[1] == [0.8, 0.6]
    for given, words in (
        ([0.6], "`lookahead`"),
        ([7.0], "needs the number"),
        ([0.5, 0.6], "must not rise"),
    ):
        with pytest.raises(ValueError, match=words):
            from_figures(given)
    with pytest.raises(ValueError, match="not possible with 3 draft tokens"):
        from_figures([5.0], 3)


@pytest.mark.parametrize(
    "given",
    [
        partial(doctor),
        partial(doctor, stack="nano:3 > target", acceptance=(0.5,)),
        partial(doctor, record="record.log", acceptance=(0.5,)),
    ],
)
def test_exactly_one_thing_is_diagnosed(given):
    with pytest.raises(UserError, match="give one of a record, a stack and an acceptance"):
        given()


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (
            partial(Known, speed=0.0),
            "the speed 0.0 is out of range: expected a number from 1e-06",
        ),
        (
            partial(Known, plain_speed=-1.0),
            "the speed without speculation -1.0 is out of range",
        ),
        (
            partial(Known, step_ms=float("nan")),
            "the step time nan is not valid",
        ),
        (partial(Known, batch=0), "the batch 0 is out of range"),
        (
            partial(doctor, acceptance=(0.6,), lookahead=65),
            "the lookahead 65 is out of range",
        ),
        (partial(Hardware, "H100", ["llama-8b"], tp=0), "the number of GPUs 0 is out of range"),
    ],
)
def test_figures_out_of_range_are_refused_as_on_the_command_line(figure, words):
    with pytest.raises(UserError, match=words):
        figure()


def test_the_declared_figures_are_the_parameters_and_their_help():
    parameters = signature(doctor).parameters
    positional = [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY]

    assert positional == ["record"]
    assert list(parameters) == list(settings_of(DoctorOptions))
    assert parameters["lookahead"].annotation == int | None
    assert "    lookahead: draft tokens per round, with ``acceptance``.\n" in getdoc(doctor)


def test_a_wrong_keyword_names_the_function_and_the_nearest_parameter():
    with pytest.raises(
        TypeError, match=r"doctor\(\) has no argument 'lookahed'; did you mean 'lookahead'"
    ):
        doctor(acceptance=(0.6,), lookahead=3, lookahed=4)


def test_models_without_a_card_are_not_ignored():
    with pytest.raises(UserError, match="gpu and models belong together"):
        Hardware(models=("llama-70b", "llama-8b"))


def test_known_figures_are_shown_as_they_were_given():
    assert repr(Known(plain_speed=40, batch=2)) == "Known(batch=2, plain_speed=40)"
    assert repr(Hardware("H100", ["llama-8b"])) == "Hardware(gpu='H100', models=['llama-8b'])"


def diagnosed(speed):
    """Diagnose a round of 12 + 2 + 1 ms, in which 1.8 of 3 draft tokens are accepted."""
    figures = Known(step_ms=10, verify_ms=12, draft_ms=2, overhead_ms=1, speed=speed)
    return doctor(acceptance=(0.6,), lookahead=3, known=figures)


def test_a_speed_that_contradicts_the_parts_of_a_round_is_reported():
    with pytest.raises(UserError, match="take 15 ms, but a round at 1 tokens per second takes"):
        diagnosed(speed=1)


def test_a_speed_that_agrees_with_the_parts_of_a_round_changes_nothing():
    """A round of 15 ms emits 2.8 tokens: 186.7 tokens per second."""
    assert diagnosed(speed=187).to_dict() == diagnosed(speed=None).to_dict()
