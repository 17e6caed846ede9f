"""Conversion of metrics between engines: the worked examples of the documentation, and what is
not determined.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

import hsd_viz as hsd
from hsd_viz.errors import UserError
from hsd_viz.records.convert import QUANTITIES, VOCABULARIES, complete, convert
from hsd_viz.records.engine_settings import ENGINES

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "vocabulary.md"
VLLM = {"acceptance_histogram": [39, 1, 0, 3], "num_draft_tokens": 129, "completion_tokens": 54}
ROWS = re.findall(
    r"^\| ([a-z_.-]+) \(([^)]+)\) \| `([^`]+)` \| (.+) \| ([^|]+) \|$", DOCS.read_text(), re.M
)


def test_the_documentation_has_an_example_of_every_engine():
    assert {row[0] for row in ROWS} == set(VOCABULARIES) - {"transformers"}
    for engine, version, *_ in ROWS:
        assert ENGINES[engine]["version"] == version


@pytest.mark.parametrize(("engine", "_version", "metric", "_formula", "example"), ROWS)
def test_a_worked_example(engine, _version, metric, _formula, example):
    value = convert(VLLM, "vllm", engine)[metric]
    expected = list(map(float, example.split(",")))
    assert (value if isinstance(value, list) else [value]) == pytest.approx(expected, abs=5e-5)


def test_there_and_back():
    for engine in ("hsd_viz", "sglang", "llama.cpp"):
        known = {}
        for name, value in convert(VLLM, "vllm", engine).items():
            if value is not None:
                known[name] = value
        back = convert(known, engine, "vllm")
        assert back["num_accepted_draft_tokens"] == pytest.approx(10)
        assert back["num_draft_tokens"] == pytest.approx(129)
        assert back["mean_acceptance_length"] == pytest.approx(1 + 10 / 43) or engine == "hsd_viz"


def test_the_lengths_of_engines_differ_where_many_rounds_have_no_draft():
    # 10 verifications of 4 accepted 20 tokens, 90 forward passes had no draft.
    values = {
        "num_spec_steps": 10,
        "num_draft_tokens": 40,
        "num_accepted_draft_tokens": 20,
        "completion_tokens": 120,
    }
    assert convert(values, "vllm", "vllm")["mean_acceptance_length"] == 3.0
    assert convert(values, "vllm", "hsd_viz")["mean_acceptance_length"] == 1.2
    assert convert(values, "vllm", "sglang")["spec_accept_length"] == 12.0


def test_what_rates_determine_and_what_is_not_determined():
    converted = convert(
        {"draft_n": 289, "draft_n_accepted": 158, "mean acceptance length": 2.63},
        "llama.cpp",
        "vllm",
    )
    assert converted["num_spec_steps"] == pytest.approx(158 / 1.63)
    assert convert({"num_matches": [3, 0, 1]}, "transformers")["mean_acceptance_length"] == 7 / 3
    assert convert({"accept_lengths": [4, 1, 2]}, "spec-bench", "transformers") == {
        "num_matches": [3, 0, 1]
    }
    converted = convert(
        {"num_draft_tokens": 0, "num_accepted_draft_tokens": 0, "num_spec_steps": 0}, "vllm", "vllm"
    )
    assert converted["draft_acceptance_rate"] is None
    assert converted["mean_acceptance_length"] is None
    with pytest.raises(ValueError, match=r"unknown vocabulary 'vlm'.*did you mean 'vllm'"):
        convert({}, "vlm")
    with pytest.raises(ValueError, match="'num_drafts' is not a metric of vllm"):
        convert({"num_drafts": 1}, "vllm")


def test_the_name_of_1_0_is_answered_with_both_that_it_may_mean():
    with pytest.raises(AttributeError) as error:
        _ = hsd.metrics
    assert str(error.value).endswith("did you mean hsd.serving_metrics or trace.metrics()?")


def test_it_is_public_and_every_name_has_a_quantity():
    assert hsd.serving_metrics.convert is convert
    used = set(chain(*(names.values() for names in VOCABULARIES.values())))
    assert used - {"emitted_less_one"} <= set(QUANTITIES)
    assert complete({"accepted": None}) == {}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"acceptance_histogram": 39}, "'acceptance_histogram' is 39: expected a list of numbers"),
        ({"acceptance_histogram": ["39"]}, "expected a list of numbers"),
        ({"num_draft_tokens": [129]}, r"'num_draft_tokens' is \[129\]: expected a number"),
        ({"num_draft_tokens": "129"}, "'num_draft_tokens' is '129': expected a number"),
    ],
)
def test_a_value_of_another_type_is_refused(values, reason):
    with pytest.raises(UserError, match=reason):
        convert(values, "vllm")


def test_unknown_values_are_left_out():
    values = {"acceptance_histogram": None, "num_draft_tokens": 4, "num_accepted_draft_tokens": 1}
    assert convert(values, "vllm", "hsd_viz")["acceptance_rate"] == 0.25
