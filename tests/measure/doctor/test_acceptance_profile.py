"""Acceptance profiles: read, written, divided, compared, and refused where they would mislead."""

from __future__ import annotations

import json

import pytest

from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.observe import observe
from hsd_viz.measure.doctor.profile import (
    acceptance_of,
    difference,
    edge_of,
    profile_of,
    read_profile,
)
from hsd_viz.measure.doctor.verdict import diagnose

#: The rates that the schema's authors give as an example.
RATES = [0.816082, 0.776577, 0.749591]


def file_of(tmp_path, data):
    path = tmp_path / "speculation_profile.json"
    path.write_text(json.dumps(data))
    return path


def test_a_profile_of_the_interchange_form_is_read(tmp_path):
    given = {
        "schema_version": "1.0",
        "measured": True,
        "conditional_accept_rates": RATES,
        "mean_accept_length": 2.924887,
    }
    rates = read_profile(file_of(tmp_path, given))["marginal_accept_rates"]
    edge = edge_of(rates)
    assert sum(edge.curve(3)) == pytest.approx(2.924887, abs=1e-4)
    assert edge.tail == pytest.approx(RATES[-1])
    assert edge.curve(4)[1:4] == pytest.approx(rates)


def test_a_profile_of_rounds_is_read_back(tmp_path):
    seen = Observation("log", {(3, 0): 20, (3, 1): 30, (3, 2): 20, (3, 3): 30}, method="eagle3")
    data = profile_of(seen)
    assert data["acceptance_length_histogram"] == {"1": 20, "2": 30, "3": 20, "4": 30}
    assert read_profile(file_of(tmp_path, data))["marginal_accept_rates"] == [0.8, 0.5, 0.3]
    assert acceptance_of(seen) == (0.8, 0.5, 0.3)


def test_acceptance_is_divided_by_category_context_and_temperature(tmp_path):
    """Each of three facts alone makes a cell of its own."""
    base = {"category": "code", "temperature": 0, "prompt": 100}
    kinds = [
        base,
        base | {"category": "chat"},
        base | {"prompt": 5000},
        base | {"temperature": 0.7},
    ]
    rows = []
    for accepted, kind in enumerate(kinds):
        spec = {
            "num_spec_steps": 8,
            "num_accepted_draft_tokens": 8 * accepted,
            "num_draft_tokens": 24,
        }
        spec["acceptance_histogram"] = [8 * (k == accepted) for k in range(4)]
        response = {
            "usage": {"prompt_tokens": kind["prompt"]},
            "metrics": {"speculative_decoding": spec},
        }
        rows += 2 * [
            {"category": kind["category"], "temperature": kind["temperature"], "response": response}
        ]
    # What is not usable is unknown, and nothing fails on it.
    odd = {
        "category": [1],
        "temperature": float("nan"),
        "response": {**response, "usage": {"prompt_tokens": 10**400}},
    }
    path = tmp_path / "x.jsonl"
    rows.append(odd)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    seen = observe(path).seen
    cells = read_profile(file_of(tmp_path, profile_of(seen)))["cells"]
    named = {}
    for c in cells:
        named[(c["category"], c["context"], c["temperature"])] = (
            c["rounds"],
            sum(c["marginal_accept_rates"]),
        )
    assert named == {
        ("code", 2048, 0): (16, 0),
        ("chat", 2048, 0): (16, 1),
        ("code", 8192, 0): (16, 2),
        ("code", 2048, 0.7): (16, 3),
        ("", None, None): (8, 3),
    }
    assert any("temperature" in table.title for table in diagnose(seen).tables())


def test_two_profiles_are_compared_with_an_interval():
    before = {"acceptance_length_histogram": {"1": 500, "2": 500}}
    after = {"acceptance_length_histogram": {"1": 300, "2": 700}}
    change, low, high = difference(before, after)
    assert change == pytest.approx(0.2)
    assert low > 0.1
    assert high < 0.3
    same = difference(before, before)
    assert same[1] < 0 < same[2]
    with pytest.raises(ValueError, match="no interval"):
        difference(before, {"marginal_accept_rates": [0.5]})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"text": "no"}, "no acceptance rates"),
        ({"measured": False, "marginal_accept_rates": [0.5]}, "nothing was measured"),
        ({"marginal_accept_rates": [0.5, 0.7]}, "must not rise"),
        ({"marginal_accept_rates": [float("nan")]}, "must not rise"),
        ({"marginal_accept_rates": ["x"]}, "not a usable profile"),
        ({"marginal_accept_rates": [0.5], "mean_accept_length": 2.5}, "contradicts itself"),
        ({"marginal_accept_rates": [0.5], "verification_method": "block"}, "block verification"),
        (
            {"marginal_accept_rates": [0.5], "acceptance_length_histogram": [3]},
            "not a usable profile",
        ),
    ],
)
def test_what_would_mislead_is_refused(tmp_path, data, words):
    with pytest.raises(ValueError, match=words):
        read_profile(file_of(tmp_path, data))
