"""Acceptance profiles: read, written, and refused where they would mislead."""

from __future__ import annotations

import json

import pytest

from hsd_viz.adapters.observation import Observation
from hsd_viz.logs.observe import acceptance_of, edge_of, profile_of, read_profile

#: The rates that the schema's authors give as an example.
RATES = [0.816082, 0.776577, 0.749591]


def file_of(tmp_path, **data):
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
    found = read_profile(file_of(tmp_path, **given))
    edge = edge_of(found)
    assert sum(edge.curve(3)) == pytest.approx(2.924887, abs=1e-4) and edge.tail == pytest.approx(RATES[-1])
    assert edge.curve(4)[1:4] == pytest.approx(found)


def test_a_profile_of_rounds_is_read_back(tmp_path):
    seen = Observation("log", {(3, 0): 20, (3, 1): 30, (3, 2): 20, (3, 3): 30}, method="eagle3")
    data = profile_of(seen)
    assert data["acceptance_length_histogram"] == {"1": 20, "2": 30, "3": 20, "4": 30}
    assert read_profile(file_of(tmp_path, **data)) == acceptance_of(seen) == (0.8, 0.5, 0.3)


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
    ],
)
def test_what_would_mislead_is_refused(tmp_path, data, words):
    with pytest.raises(ValueError, match=words):
        read_profile(file_of(tmp_path, **data))
