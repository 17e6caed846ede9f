"""Cost-padded targets through the engine, and a small grid of them: labelled, lossless,
consistent.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from benchmarks import grid
from benchmarks.grid_point import needed
from benchmarks.padding import pad, save_padded
from hsd_viz.engine import load_engine
from hsd_viz.ladder.torch_modules import load_model
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.select import select
from tests.rows import column, keyed

PROMPT = "def read_lines(path):\n    with open("
TINY = "--target small --drafts nano,base --pad-layers 0,2 --noise 0.5".split()
TINY += "--prompts 2 --calibration-prompts 2".split()
TINY += "--tokens 12 --calibration-tokens 12 --characters 60".split()


@pytest.fixture
def engine(tmp_path):
    def load(layers, noise):
        path = save_padded("nano", layers, noise, tmp_path)
        return load_engine(path, device="cpu", dtype="float32")

    return load


def rows(module):
    with torch.inference_mode():
        return module(torch.tensor([[5, 99, 7, 300, 42, 11, 8, 20, 64, 3]])).logits[0]


def test_padding_adds_cost_and_noise_lowers_agreement():
    nano = load_model("nano", dtype="float64")
    before = rows(nano)
    layers = nano.config.num_hidden_layers
    padded = pad(nano, 5)
    assert torch.equal(rows(padded), before)
    assert torch.equal(rows(nano), before)
    assert nano.config.num_hidden_layers == len(nano.model.layers) == layers
    assert padded.config.num_hidden_layers == len(padded.model.layers) == layers + 5
    p = torch.softmax(before, -1)
    others = [rows(pad(nano, 4, noise, seed=1)) for noise in (0, 0.05, 0.2, 0.8, 3)]
    alike = [float(torch.minimum(p, torch.softmax(other, -1)).sum(-1).mean()) for other in others]
    assert alike[0] == pytest.approx(1), alike
    assert all(a > b for a, b in pairwise(alike)), alike
    assert alike[-1] < 0.5, alike
    one = rows(pad(nano, 2, 0.3, 1))
    same = rows(pad(nano, 2, 0.3, 1))
    other = rows(pad(nano, 2, 0.3, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_noise_lowers_acceptance_and_decoding_stays_lossless(engine):
    rates = []
    for noise in (0.0, 0.5, 3.0):
        one = engine(4, noise)
        trace = one.run(PROMPT, "nano:4 > target", max_new_tokens=60)
        assert trace.token_ids == one.run(PROMPT, "target", max_new_tokens=60).token_ids
        rates.append(trace.metrics()["conditional_acceptance"])
    assert rates[0] == 1.0 > rates[1] > rates[2], rates


def test_what_is_needed_is_what_the_law_says_of_changed_figures():
    costs = {
        "nano": LevelCost((0.2, 0.205)),
        "base": LevelCost((1.5, 1.53)),
        "target": LevelCost((5.0, 5.1)),
    }
    edges = {
        ("nano", "base"): Edge(tail=0.6),
        ("nano", "target"): Edge(tail=0.5),
        ("base", "target"): Edge(tail=0.95),
    }
    calibration = Calibration(("nano", "base", "target"), costs, edges)
    requirements = needed(calibration, ("nano", "base"))
    best = select(calibration.restricted(databases=()))
    models = min(p.ms_per_token for p in best.ranked if p.stack.count(">") == 2)
    assert requirements["gain"][0][0] == pytest.approx(
        best.best_single_draft.ms_per_token / models, rel=1e-6
    )
    # Single drafts do not care how much of each other's tokens the draft models accept.
    for row in requirements["gain"]:
        for a, b in pairwise(row):
            assert a < b
    closer = replace(calibration, edges={**edges, ("nano", "base"): Edge(tail=0.9)})
    assert requirements["gain"][0][3] == pytest.approx(
        needed(closer, ("nano", "base"))["gain"][0][0], rel=1e-6
    )
    assert needed(calibration, ("nano",)) is None


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    out = tmp_path_factory.mktemp("grid") / "grid.json"
    assert grid.main(["--json", str(out), *TINY]) == 0
    return out


def test_a_grid_is_consistent(tiny):
    report = json.loads(tiny.read_text())
    assert report["complete"]
    assert column(report["points"], "target") == [
        "small",
        "small+2~0.353553",
    ]
    one, two = report["points"]
    # Unpadded, the target has one draft model: there is no hierarchy of models, but one over the
    # databases.
    assert one["models_over_single_draft"] is None
    assert list(one["cost_ratio"]) == ["nano"]
    assert list(two["cost_ratio"]) == ["nano", "small"]
    assert two["overlap"]["nano"] < two["overlap"]["small"] < 1
    for point in report["points"]:
        rows = keyed(point["rows"], "stack")
        assert set(column(rows.values(), "kind")) >= {
            "plain",
            "one draft",
            "databases",
            "databases under models",
        }
        for row in rows.values():
            assert row["same_as_plain"] == [2, 2]
            assert row["ms_per_token"] > 0
            ratio = rows["target"]["ms_per_token"] / row["ms_per_token"]
            assert row["speedup_over_plain"] == pytest.approx(ratio, rel=1e-6)
            assert row["prediction_error"] == pytest.approx(
                row["predicted_ms_per_token"] / row["ms_per_token"] - 1
            )
        for name in (
            "models_over_single_draft",
            "databases_over_single_draft",
            "databases_over_database_alone",
        ):
            if comparison := point[name]:
                ratio = (
                    rows[comparison["over"]]["ms_per_token"]
                    / rows[comparison["hierarchy"]]["ms_per_token"]
                )
                assert comparison["speedup"] == pytest.approx(ratio, rel=1e-6)
                assert (
                    comparison["speedup_ci"][0]
                    <= comparison["speedup"]
                    <= comparison["speedup_ci"][1]
                )
        best = min(
            (r for r in rows.values() if r["kind"] == "one draft"), key=lambda r: r["ms_per_token"]
        )
        assert point["best_single_draft"] == best["stack"]
    reached = report["reached"]["databases_over_single_draft"]
    same = report["reached"]["outputs_same_as_plain"]
    wanted = []
    for p in report["points"]:
        if p["databases_over_single_draft"]["speedup"] >= 1.2:
            wanted.append(p["target"])
    assert reached["reached"] == wanted
    assert same[0] == same[1]


def test_the_ladders_own_target_drafts_for_its_padded_copy_by_another_name(tmp_path):
    base = grid.drafts_for(["nano", "base"], "target", 3)[1]
    assert grid.drafts_for(["nano", "base"], "target", 0) == ("nano",)
    path = save_padded("target", 1, 0.0, tmp_path)
    trace = load_engine(path, device="cpu").run(PROMPT, f"{base}:4 > target", max_new_tokens=12)
    assert trace.metrics()["conditional_acceptance"] == 1.0
    assert column(trace.meta["models"], "model") == [base, path]
    shown = grid._renamed({f"{base} > target": [f"nano:2 > {base}:4 > target", 1.5, None]})
    assert shown == {"base > target": ["nano:2 > base:4 > target", 1.5, None]}


def test_a_grid_resumes(tiny, capsys):
    before = json.loads(tiny.read_text())["points"]
    assert grid.main(["--json", str(tiny), *TINY, "--resume"]) == 0
    assert json.loads(tiny.read_text())["points"] == before, "nothing is measured twice"
    assert "small+2~0.353553" in capsys.readouterr().out
    assert grid.main(["--json", str(tiny), *TINY, "--resume", "--seed", "1"]) == 2
    assert "other settings" in capsys.readouterr().err
    assert json.loads(tiny.read_text())["points"] == before
