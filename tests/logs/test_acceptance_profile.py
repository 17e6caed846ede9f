"""Acceptance profiles: read, written, and refused where they would mislead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hsd_viz.cli import main
from hsd_viz.logs.observe import acceptance_of, edge_of, from_figures, observe, read_profile

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


def test_a_record_predicts_as_its_profile_does(tmp_path, capsys):
    record = Path(__file__).parents[1] / "adapters" / "records" / "llama.cpp-f5e85d4.log"
    rates = acceptance_of(observe(record))
    assert rates == pytest.approx((0.805, 0.632, 0.483), abs=0.01)
    path, models = file_of(tmp_path, marginal_accept_rates=rates), ["--gpu", "H100", "--models", "llama-8b,eagle3"]
    assert main(["predict", *models, "--profile", str(path)]) == 0
    printed = capsys.readouterr().out
    assert main(["predict", *models, "--records", str(record)]) == 0 and capsys.readouterr().out == printed
    assert main(["predict", *models, "--records", str(record), "--acceptance", "0.5"]) == 2
    with pytest.raises(ValueError, match="only its mean"):
        acceptance_of(from_figures([0.6], 3))


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
