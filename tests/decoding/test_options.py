"""Test the settings of a decode, from whose declarations every interface is derived."""

from __future__ import annotations

import argparse
import json
from functools import partial

import numpy as np
import pytest

import hsd_viz as hsd
from hsd_viz.cli import build_parser
from hsd_viz.decoding.keywords import DecodingKeywords
from hsd_viz.decoding.options import MAX_NEW_TOKENS, DecodingOptions, Sampling
from hsd_viz.errors import UserError
from hsd_viz.measure.bench.report import ReportSettings
from hsd_viz.serve.requests import DecodeRequest
from hsd_viz.settings.declare import as_call, fields_of
from hsd_viz.views.app import messages
from tests.rows import keyed
from tools.reference.typescript import typescript_settings

DECLARED = keyed(fields_of(DecodingOptions), "name")
NAMES = list(DECLARED)


def command_options(command: str) -> dict[str, argparse.Action]:
    parser = build_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return keyed(commands.choices[command]._actions, "dest")


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_has_a_help_text_and_a_default(name):
    setting = DECLARED[name].setting
    assert setting.help
    assert setting.option.metavar
    assert getattr(DecodingOptions(), name) == DECLARED[name].default


@pytest.mark.parametrize("command", ["decode", "bench", "plan"])
@pytest.mark.parametrize("name", NAMES)
def test_a_setting_is_an_option_of_the_command(command, name):
    action = command_options(command)[name]
    assert action.default == DECLARED[name].default
    assert DECLARED[name].setting.help.replace("%", "%%") in action.help


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_is_a_field_of_a_request(name):
    field = DecodeRequest.model_fields[name]
    assert field.default == DECLARED[name].default
    assert field.annotation is DECLARED[name].type


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_is_an_option_in_python(name):
    written = DecodingKeywords.__annotations__[name].__forward_arg__
    assert written == DECLARED[name].type.__name__


def test_options_that_are_not_given_are_the_defaults():
    assert DecodingOptions.of({}) == DecodingOptions()
    assert DecodingOptions.of({"top_k": 3, "chat": True}) == DecodingOptions(top_k=3, chat=True)


def test_an_unknown_option_is_refused_with_the_closest_name():
    with pytest.raises(TypeError, match=r"unknown option 'tempature' \(use .*chat.*temperature"):
        DecodingOptions.of({"tempature": 1.0})


@pytest.mark.parametrize("name", NAMES)
def test_the_page_may_send_a_setting(name):
    assert name in messages.OPTIONS


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_is_part_of_a_report(name):
    assert name in ReportSettings.__dataclass_fields__


@pytest.mark.parametrize(
    "name", [name for name in NAMES if DECLARED[name].setting.range is not None]
)
def test_the_page_has_the_range_of_a_setting(name):
    setting = DECLARED[name].setting
    _, _, after = typescript_settings().partition(f"  {name}: {{\n")
    block = after.partition("  },\n")[0]
    assert f'words: "{setting.noun}"' in block
    assert f"low: {setting.range.low:g}," in block


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (partial(Sampling, temperature=-1.0), "the temperature -1.0 is out of range"),
        (partial(Sampling, temperature=101.0), "the temperature 101.0 is out of range"),
        (partial(Sampling, temperature=float("nan")), "the temperature nan is not valid"),
        (partial(Sampling, top_k=-1), "top-k -1 is out of range"),
        (partial(Sampling, top_k=1.5), "top-k 1.5 is not valid"),
        (
            partial(Sampling, top_p=0.0),
            "top-p 0 is out of range: expected a number above 0 and up to 1 (1: off)",
        ),
        (partial(Sampling, top_p=1.5), "top-p 1.5 is out of range"),
        (partial(Sampling, top_p=float("nan")), "top-p nan is not valid"),
        (
            partial(Sampling, top_p=None),
            "top-p None is not valid: expected a number above 0 and up to 1 (1: off)",
        ),
        (partial(Sampling, min_p=-0.1), "min-p -0.1 is out of range"),
        (
            partial(Sampling, min_p=1.1),
            "min-p 1.1 is out of range: expected a number from 0.0 to 1.0",
        ),
        (partial(Sampling, seed=-1), "the seed -1 is out of range"),
        (partial(Sampling, seed=2**63), "the seed 9223372036854775808 is out of range"),
        (
            partial(Sampling, rule="none"),
            "unknown verification rule 'none' (use token, block, branch",
        ),
    ],
)
def test_a_value_out_of_range_is_refused(values, words):
    with pytest.raises(UserError) as refused:
        values()
    assert str(refused.value).startswith(words)


def test_a_setting_without_a_value_is_refused():
    with pytest.raises(UserError, match="the temperature None is not valid"):
        Sampling(temperature=None)


def test_the_ends_of_the_ranges_are_allowed():
    low = Sampling(temperature=0.0, top_k=0, top_p=1e-9, seed=0)
    high = Sampling(temperature=100.0, top_p=1.0, seed=2**63 - 1)
    assert low.greedy
    assert not high.greedy


def test_a_whole_temperature_is_a_temperature():
    assert isinstance(Sampling(temperature=1).temperature, float)


def test_numbers_of_numpy_are_numbers_of_python():
    given = {"seed": np.int64(3), "temperature": np.float32(0.5), "budget": np.uint8(7)}
    options = DecodingOptions.of(given)
    assert {name: type(getattr(options, name)) for name in given} == {
        "seed": int,
        "temperature": float,
        "budget": int,
    }
    sampling = Sampling(seed=np.int64(3), top_p=np.float32(0.5))
    assert as_call(sampling) == "Sampling(top_p=0.5, seed=3)"


def test_settings_take_numbers_of_numpy():
    decoding = DecodingOptions(max_new_tokens=np.int64(5), top_p=np.float64(0.5))
    assert as_call(decoding) == "DecodingOptions(max_new_tokens=5, top_p=0.5)"


def test_a_prediction_of_numbers_of_numpy_is_json():
    batches = np.array([1, 8])
    prediction = hsd.predict("H100", ("llama-8b", "llama-1b"), tp=np.int64(2), batch=batches)
    expected = hsd.predict("H100", ("llama-8b", "llama-1b"), tp=2, batch=(1, 8))
    assert json.dumps(prediction.to_dict()) == json.dumps(expected.to_dict())


def test_a_boolean_of_numpy_is_not_a_number():
    with pytest.raises(UserError, match="the seed True is not valid"):
        Sampling(seed=np.True_)


def test_a_decode_does_not_ask_again_which_packages_are_installed(monkeypatch):
    """The check takes several milliseconds, as long as a short decode."""
    DecodingOptions.of({})
    asked: list[str] = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: asked.append(group) or [])
    DecodingOptions.of({})
    assert asked == []


def test_the_limit_of_tokens_is_checked():
    limit = DECLARED["max_new_tokens"].setting
    limit.check(MAX_NEW_TOKENS)
    with pytest.raises(UserError, match=r"max new tokens 100001 is out of range"):
        limit.check(MAX_NEW_TOKENS + 1)


def test_the_sampling_of_options_has_no_other_settings():
    options = DecodingOptions(temperature=0.5, rule="token", max_new_tokens=9)
    assert options.sampling == Sampling(temperature=0.5, rule="token")


def test_a_budget_out_of_range_is_refused():
    with pytest.raises(UserError, match="the budget 257 is out of range"):
        DecodingOptions(budget=257)
