"""Cost-padded targets through the engine, and a small grid of them: labelled, lossless, consistent."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks import grid
from benchmarks.grid_point import needed
from hsd_viz.bench.hf import HFDecoder
from hsd_viz.cli import main as hsd_viz_main
from hsd_viz.decoding.settings import Sampling
from hsd_viz.engine import load_engine
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.select import select
from hsd_viz.stack import parse_bench
from hsd_viz.trace import Stage

PROMPT = "def read_lines(path):\n    with open("
TINY = ["--target", "small", "--drafts", "nano,base", "--pad-layers", "0,2", "--noise", "0.5"]
TINY += [
    "--prompts",
    "2",
    "--calibration-prompts",
    "2",
    "--tokens",
    "12",
    "--calibration-tokens",
    "12",
    "--characters",
    "60",
]


def engine(layers=0, noise=0.0, **options):
    found = load_engine("nano", device="cpu", pad_layers=layers, pad_noise=noise, **options)
    found.wait_ready()
    return found


@pytest.fixture(scope="module")
def plain():
    return engine().run(PROMPT, "target", max_new_tokens=40)


@pytest.mark.parametrize("runtime", ["auto", "eager"])
def test_a_padded_target_writes_the_same_at_more_cost_and_says_what_it_is(plain, runtime):
    padded = engine(3, runtime=runtime)
    trace = padded.run(PROMPT, "db > target", max_new_tokens=40)
    assert trace.token_ids == plain.token_ids
    target, own = trace.meta["models"][-1], plain.meta["models"][-1]
    assert (target["name"], target["model"], target["weights"]) == ("target", "nano+3", None)
    assert own["model"] == "nano" and own["weights"] and plain.meta["padding_note"] is None
    assert (
        trace.meta["padding_note"]
        == "nano+3 is nano with 3 residual layers adding nothing: the same model at a higher cost"
    )
    layer = sum(p.numel() for p in padded.model("target").model.layers[-1].parameters())
    assert target["parameters"] == own["parameters"] + 3 * layer
    if runtime == "auto" and own["runtime"] == "native":
        assert target["runtime"] == "native" and padded.fast().weight_bytes > engine().fast().weight_bytes


def test_memory_and_rivals_are_those_of_the_padded_model(plain):
    def needs(one):
        stages = [e.text for e in one.decode(PROMPT, "target", max_new_tokens=1) if isinstance(e, Stage)]
        return next(text for text in stages if text.startswith("needs about"))

    padded = engine(200)
    assert needs(padded) != needs(engine())
    few = engine(2)
    output = HFDecoder(few, parse_bench("hf-generate"))(PROMPT, 20, Sampling())
    assert len(few.model("target").model.layers) == len(engine().model("target").model.layers) + 2
    assert output.token_ids == tuple(plain.token_ids[:20])


def test_noise_lowers_acceptance_and_decoding_stays_lossless():
    rates = []
    for noise in (0.0, 0.5, 3.0):
        one = engine(4, noise)
        trace = one.run(PROMPT, "nano:4 > target", max_new_tokens=60)
        assert trace.token_ids == one.run(PROMPT, "target", max_new_tokens=60).token_ids
        rates.append(trace.metrics()["conditional_acceptance"])
    assert rates[0] == 1.0 > rates[1] > rates[2], rates


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pad_layers": -1}, "-1 layers is out of range"),
        ({"pad_layers": 2, "pad_noise": float("nan")}, "noise nan is out of range"),
        ({"pad_noise": 0.1}, "has no layers to be in"),
        ({"pad_layers": 1, "device": "auto"}, "one place|accelerate"),
    ],
)
def test_impossible_paddings_get_one_line(options, words):
    with pytest.raises(ValueError, match=words):
        load_engine("nano", **options)


def test_a_stack_with_another_target_is_refused_rather_than_left_unpadded():
    with pytest.raises(ValueError, match="ends in small, which is not padded"):
        engine(2).decode(PROMPT, "nano:2 > small")


def test_bench_names_the_padded_target(tmp_path, capsys):
    (tmp_path / "prompts.txt").write_text(PROMPT)
    out = tmp_path / "report.json"
    options = ["--target", "nano", "--pad-layers", "2", "--pad-noise", "0.25", "--device", "cpu", "--runtime", "eager"]
    suite = ["--suite", str(tmp_path / "prompts.txt"), "--max-new-tokens", "4", "--repeats", "1", "--json", str(out)]
    assert hsd_viz_main(["bench", "--stack", "db > target", *options, *suite]) == 0
    settings = json.loads(out.read_text())["settings"]
    assert settings["target"] == "nano+2~0.25" and settings["padding"] in capsys.readouterr().out


def test_points_share_their_noise_among_the_layers():
    assert grid.points((9, 0), (3.0, 0)) == ((0, 0.0), (9, 0.0), (9, 1.0))


def test_what_is_needed_is_what_the_law_says_of_changed_figures():
    costs = {"nano": LevelCost((0.2, 0.205)), "base": LevelCost((1.5, 1.53)), "target": LevelCost((5.0, 5.1))}
    edges = {("nano", "base"): Edge(tail=0.6), ("nano", "target"): Edge(tail=0.5), ("base", "target"): Edge(tail=0.95)}
    calibration = Calibration(("nano", "base", "target"), costs, edges)
    found = needed(calibration, ("nano", "base"))
    best = select(calibration.restricted(databases=()))
    models = min(p.ms_per_token for p in best.ranked if p.stack.count(">") == 2)
    assert found["gain"][0][0] == pytest.approx(best.best_single_draft.ms_per_token / models, rel=1e-6)
    # Single drafts do not care how much of each other's tokens the draft models accept.
    assert all(a < b for row in found["gain"] for a, b in pairwise(row))
    closer = replace(calibration, edges={**edges, ("nano", "base"): Edge(tail=0.9)})
    assert found["gain"][0][3] == pytest.approx(needed(closer, ("nano", "base"))["gain"][0][0], rel=1e-6)
    assert needed(calibration, ("nano",)) is None


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    out = tmp_path_factory.mktemp("grid") / "grid.json"
    assert grid.main(["--json", str(out), *TINY]) == 0
    return out


def test_a_grid_is_consistent(tiny):
    report = json.loads(tiny.read_text())
    assert report["complete"] and [p["target"] for p in report["points"]] == ["small", "small+2~0.353553"]
    one, two = report["points"]
    # Unpadded, the target has one draft model: there is no hierarchy of models, but one over the databases.
    assert one["models_over_single_draft"] is None and list(one["cost_ratio"]) == ["nano"] and one["note"] is None
    assert list(two["cost_ratio"]) == ["nano", "small"] and two["overlap"]["nano"] < two["overlap"]["small"] < 1
    for point in report["points"]:
        rows = {row["stack"]: row for row in point["rows"]}
        assert {row["kind"] for row in rows.values()} >= {"plain", "one draft", "databases", "databases under models"}
        for row in rows.values():
            assert row["same_as_plain"] == [2, 2]
            assert row["ms_per_token"] * row["speedup_over_plain"] == pytest.approx(
                rows["target"]["ms_per_token"], rel=1e-6
            )
            assert 0 < row["ms_per_token"] <= row["wall_ms_per_token"] * 1.05
            assert row["prediction_error"] == pytest.approx(row["predicted_ms_per_token"] / row["ms_per_token"] - 1)
        for name in ("models_over_single_draft", "databases_over_single_draft", "databases_over_database_alone"):
            if found := point[name]:
                ratio = rows[found["over"]]["ms_per_token"] / rows[found["hierarchy"]]["ms_per_token"]
                assert found["speedup"] == pytest.approx(ratio, rel=1e-6)
                assert found["speedup_ci"][0] <= found["speedup"] <= found["speedup_ci"][1]
        best = min((r for r in rows.values() if r["kind"] == "one draft"), key=lambda r: r["ms_per_token"])
        assert point["best_single_draft"] == best["stack"]
    reached = report["reached"]["databases_over_single_draft"]
    wanted = [p["target"] for p in report["points"] if p["databases_over_single_draft"]["speedup"] >= 1.2]
    assert (
        reached["reached"] == wanted
        and report["reached"]["outputs_same_as_plain"][0] == report["reached"]["outputs_same_as_plain"][1]
    )


def test_the_ladders_own_target_drafts_for_its_padded_copy_by_another_name():
    base = grid.drafts_for(["nano", "base"], "target", 3)[1]
    assert grid.drafts_for(["nano", "base"], "target", 0) == ("nano",)
    one = load_engine("target", device="cpu", pad_layers=1)
    trace = one.run(PROMPT, f"{base}:4 > target", max_new_tokens=12)
    assert trace.metrics()["conditional_acceptance"] == 1.0 and [m["model"] for m in trace.meta["models"]] == [
        base,
        "target+1",
    ]
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


def test_an_interrupted_grid_keeps_what_is_done(tiny):
    report = json.loads(tiny.read_text())

    def stop(label, progress):
        raise KeyboardInterrupt

    found = grid.run(report["settings"], report["points"][:1], progress=stop)
    assert not found["complete"] and found["points"] == report["points"][:1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--pad-layers", "x"], "not readable"),
        (["--pad-layers", "-3"], "out of range"),
        (["--noise", "nan"], "out of range"),
        (["--drafts", "nano,nano"], "each once"),
        (["--tokens", "0"], "out of range"),
        (["--suite", "no-such"], "unknown suite"),
        (["--temperature", "-1"], "temperature"),
    ],
)
def test_bad_grids_get_one_line(tmp_path, capsys, options, words):
    assert grid.main(["--json", str(tmp_path / "g.json"), *options]) == 2
    err = capsys.readouterr().err
    assert words in err and len(err.splitlines()) == 1
    assert not (tmp_path / "g.json").exists()
