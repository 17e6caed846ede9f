"""The figures of the law's views are the law's, and those of runs are the traces'."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from make_trace import make_trace

from hsd_viz import views
from hsd_viz.calibration.basis import level_use, rate
from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.figures.latency_compare import levels, ranking
from hsd_viz.figures.latency_surfaces import latency_surface
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost, Tier
from hsd_viz.latency.law import Law, predict
from hsd_viz.latency.select import select, shortest_path, split, surface
from hsd_viz.stack import parse
from hsd_viz.trace import Trace

#: No draft is worth its time here: whoever is not held to a chain would leave it.
DEAR = Calibration(
    models=("nano", "small", "target"),
    costs={
        "nano": LevelCost((0.3, 0.31), None, 0.01),
        "small": LevelCost((0.7, 0.8, 0.9), (0.6,), 0.02),
        "target": LevelCost((1.0, 1.2, 1.3)),
    },
    edges={
        ("nano", "small"): Edge((0.8, 0.6), 0.7),
        ("small", "target"): Edge(tail=0.7),
        ("nano", "target"): Edge(tail=0.5),
    },
    tiers={("db", "nano"): Tier(((0, 0, 0.5), (3, 2, 0.5))), ("db", "target"): Tier(((4, 4, 1.0),))},
    lookups={"db": LookupCost(0.01, 0.02)},
)


def test_views_of_the_law_need_no_torch():
    program = """
import sys
from hsd_viz import views
from hsd_viz.engine.replay import load_bundled
basis = views.recorded()
views.HierarchyGraph(basis), views.Ranking(basis), views.LatencySurface(basis, "nano > small > target")
views.Levels(load_bundled("both"), basis), views.OneDraftWhatIf(basis)
assert not {"torch", "transformers"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# --- what they stand on ----------------------------------------------------------------------------------------------


def test_recorded_figures_name_their_machine_and_leave_the_loop_out():
    basis = views.recorded()
    assert (
        load_bundled("both").meta["device_name"] in basis.source
        and "recorded" in basis.source
        and "repeat" in basis.source
    )
    assert basis.calibration.target == "target" and ("nano", "small") in basis.calibration.edges
    # The greedy recording of a mere loop uses the same stack as others: it would have pulled this figure down.
    others = [t for t in (load_bundled(r.name) for r in bundled()) if t.meta["stack"] == "db > target"]
    sampled = [t for t in others if t.meta["sampling"]["temperature"] == 0.7]
    assert basis.measured["db > target"] == views.measured(sampled)["db > target"] and len(sampled) < len(others)
    assert basis.temperature == 0.7 and "temperature 0.7" in basis.source


def test_measured_times_are_those_of_the_metrics():
    for recording in bundled():
        trace = load_bundled(recording.name)
        m = trace.metrics()
        (found,) = views.measured([trace]).values()
        assert found.ms_per_token == pytest.approx(1000 * m["seconds"] / m["tokens"])
        assert found.low is None and found.high is None and found.runs == 1, "one run shows no spread"
    # By hand: four runs of 20 ms for 3 tokens and one of 35 ms: residuals -3 and 12 ms around 23/3 ms a token.
    traces = [make_trace() for _ in range(5)]
    traces[0].meta["wall_ns"] += 15_000_000
    (found,) = views.measured(traces).values()
    half = 1.959964 * np.sqrt((4 * 3**2 + 12**2) * 5 / 4) / 15
    assert (found.ms_per_token, found.high) == pytest.approx((23 / 3, 23 / 3 + half))


def test_the_times_of_the_levels_add_up_and_forwards_are_counted():
    for recording in bundled():
        trace = load_bundled(recording.name)
        m = trace.metrics()
        uses = level_use(trace)
        assert sum(u.ms for u in uses) == pytest.approx(1000 * m["seconds"] / m["tokens"])
        assert all(u.ms > 0 for u in uses)
        counted = {}
        for call in m["calls_by_level"]:
            if call["kind"] in ("verify", "draft", "lookup"):
                counted[call["name"]] = counted.get(call["name"], 0) + call["steps"] / m["tokens"]
        assert {u.name: u.forwards for u in uses} == pytest.approx(counted)
    assert level_use(Trace({})) == ()


def test_acceptance_of_a_curve_is_accepted_over_examined():
    edge = Edge((0.9, 0.45), 0.2)
    stops, n = edge.stops(4), 4
    accepted = sum(k * p for k, p in enumerate(stops))
    examined = sum(min(k + 1, n) * p for k, p in enumerate(stops))
    assert rate(edge) == pytest.approx(accepted / examined)


def test_a_basis_comes_from_a_calibration_its_data_or_its_file(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(DEAR.to_dict()))
    assert views.basis_of(DEAR).calibration is DEAR
    for given in (DEAR.to_dict(), path, str(path)):
        assert views.basis_of(given).calibration == DEAR
    assert "mine.json" in views.basis_of(path).source
    plan = {"machine": {"cpu": "A processor", "threads": 1}, "hierarchies": [], "calibration": DEAR.to_dict()}
    assert "A processor, 1 thread" in views.basis_of(plan).source
    who = {"device": "cpu", "device_name": "A processor", "dtype": "float32", "threads": 2}
    kept = {"identity": who, "texts": {"suite": "heldout", "prompts": 24}, "calibration": DEAR.to_dict()}
    assert views.basis_of(kept) == views.Basis(
        DEAR, "measured on A processor, float32, 2 threads (24 prompts of heldout)", runs=24
    )
    # One that plan keeps says itself where it is from, and so does its file, whose name says nothing.
    path.write_text(
        json.dumps({**kept, "identity": {**who, "sampling": {"temperature": 0.0}}, "created": 1_700_000_000.0})
    )
    assert (
        views.basis_of(path).source
        == "measured on A processor, float32, 2 threads, greedy, 2023-11-14 (24 prompts of heldout)"
    )
    (tmp_path / "no.json").write_text("{")
    for given, words in [
        (tmp_path / "missing.json", "cannot be read"),
        (tmp_path / "no.json", "not JSON"),
        ({"models": 3}, "not a calibration"),
        ({"hierarchies": []}, "has no calibration"),
        ({"hierarchies": [], "calibration": {"costs": {}}}, "has no calibration"),
        ({"identity": {}}, "not a calibration"),
        (3, "not int"),
    ]:
        with pytest.raises(ValueError, match=words):
            views.basis_of(given)


def kept_on_disk() -> dict:
    """A calibration as ``hsd-viz plan`` keeps it."""
    who = {"device": "cpu", "device_name": "A processor", "dtype": "float32", "threads": 1}
    return {"identity": who, "texts": {"suite": "python", "prompts": 8}, "calibration": DEAR.to_dict()}


def test_a_stack_has_one_predicted_figure_everywhere_and_it_is_the_plans():
    basis = views.basis_of(kept_on_disk())
    assert "8 prompts of python" in basis.source and basis.calibration == DEAR
    law = Law(basis.calibration)  # the law of ``hsd-viz plan``
    expected = lambda stack: pytest.approx(law.predict(stack).ms_per_token)
    graph = views.HierarchyGraph(basis)
    choice = select(basis.calibration)
    assert graph.picked["stack"] == choice.picked.stack and graph.picked["ms"] == expected(choice.picked.stack)
    graph.out = ["db"]
    assert not graph.picked["stack"].startswith("db") and graph.picked["ms"] == expected(graph.picked["stack"])

    shown = {r["label"]: r["predicted"] for r in rows(ranking(basis, measured={"nano:3 > small:2 > target": 2.5}).spec)}
    for stack, ms in shown.items():
        assert ms == expected(stack)
    chain = "nano:3 > small:2 > target"
    spec = latency_surface(basis, "nano > small > target", most=8).spec
    assert spec["cells"]["values"][1][2] == pytest.approx(shown[chain], abs=1e-4)
    path_mark = next(m for m in spec["marks"] if m["kind"] == "shortest path")
    pick = f"nano:{path_mark['x']} > small:{path_mark['y']} > target"
    assert f"{law.predict(pick).ms_per_token:.3g} ms" in path_mark["words"]

    trace = load_bundled("both")
    whole = levels(trace, basis).spec["groups"][1]["rows"][0]
    assert whole["predicted"] == expected(trace.meta["stack_resolved"])


# --- the surface -----------------------------------------------------------------------------------------------------


def test_a_surface_marks_the_least_value_and_the_measured_points_of_its_chain():
    runs = {
        "nano:3 > small:2 > target": 2.5,
        "nano:2 > target": 1.0,
        "db > nano:3 > small:2 > target": 3.0,
        "nano:30 > small:2 > target": 9.0,
    }
    spec = latency_surface(DEAR, "nano > small > target", measured=runs, most=8).spec
    values = surface("nano > small > target", DEAR, most=8)
    np.testing.assert_allclose(np.array(spec["cells"]["values"]).T, values, atol=1e-4)  # columns are the lower model's
    marks = {m["kind"]: m for m in spec["marks"]}
    assert values[marks["best"]["x"] - 1, marks["best"]["y"] - 1] == values.min()
    assert [(m["x"], m["y"], m["text"]) for m in spec["marks"] if m["kind"] == "measured"] == [(3, 2, "2.5")]
    assert list(dict.fromkeys(m["kind"] for m in spec["marks"])) == ["best", "shortest path", "measured"]
    json.dumps(spec)
    with pytest.raises(ValueError, match="two neighbouring draft models"):
        latency_surface(DEAR, "nano:2 > target")


@pytest.mark.parametrize("stack", ["nano > small > target", "db > nano > small > target"])
def test_the_shortest_path_of_a_chain_is_the_best_of_its_straight_lines(stack):
    """By hand over all settings; the selector itself, left free, takes another way."""
    most = 6
    g = np.arange(1, most + 1)
    curve = lambda pair: np.array([DEAR.edges[pair].tokens(int(n)) for n in g])
    verify = lambda m: np.array([DEAR.costs[m].verifying(1 + int(n)) for n in g]) + DEAR.costs[m].overhead
    update = 0.02 if stack.startswith("db") else 0.0
    if stack.startswith("db"):
        tier = DEAR.tiers["db", "nano"]
        nano = 0.5 * (DEAR.costs["nano"].verifying(1) + DEAR.costs["nano"].verifying(4)) + 0.01 + 0.01
        below = np.full(most, nano / tier.tokens)
    else:
        below = np.full(most, DEAR.costs["nano"].drafting(1))
    small = (g * below + verify("small")) / curve(("nano", "small"))
    target = (g[None, :] * small[:, None] + verify("target") + update) / curve(("small", "target"))
    at = np.unravel_index(target.argmin(), target.shape)
    pick = shortest_path(DEAR, most=most, along=split(parse(stack))[0])
    assert str(pick) == stack.replace("nano", f"nano:{at[0] + 1}").replace("small", f"small:{at[1] + 1}")
    assert shortest_path(DEAR, most=most) != pick


# --- predicted beside measured ---------------------------------------------------------------------------------------


def rows(spec: dict) -> list[dict]:
    (group,) = spec["groups"]
    return group["rows"]


def test_a_ranking_sorts_by_what_is_known_best_and_marks_pick_single_and_plain():
    runs = {"nano:4 > target": views.Measured(0.9, 0.8, 1.0), "target": 1.05, "db[context] > target": 0.2}
    shown = ranking(DEAR, measured=runs).spec
    choice = select(DEAR)
    found = {r["label"]: r for r in rows(shown)}
    keys = [r["measured"] if r["measured"] is not None else r["predicted"] for r in rows(shown)]
    assert keys == sorted(keys)
    tags = {r["label"]: [t for t, _ in r["tags"]] for r in rows(shown) if r["tags"]}
    assert tags == {choice.picked.stack: ["pick"], choice.best_single_draft.stack: ["single"], "target": ["plain"]}
    assert found["nano:4 > target"]["predicted"] == predict("nano:4 > target", DEAR).ms_per_token
    assert (found["nano:4 > target"]["low"], found["nano:4 > target"]["high"]) == (0.8, 1.0)
    assert found["target"]["off"] == pytest.approx(predict("target", DEAR).ms_per_token / 1.05 - 1)
    assert found["db[context] > target"]["predicted"] is None  # never calibrated, but it ran
    json.dumps(shown)


def test_a_ranking_reads_what_plan_wrote(tmp_path):
    plan = {
        "machine": {"cpu": "A processor", "gpu": None, "threads": 2},
        "models": ["nano", "target"],
        "hierarchies": [
            {"stack": "target", "predicted_ms_per_token": 4.0, "measured_ms_per_token": 4.4, "forwards_per_token": {}},
            {
                "stack": "nano:2 > target",
                "predicted_ms_per_token": 3.0,
                "measured_ms_per_token": None,
                "forwards_per_token": {},
            },
            {
                "stack": "db > target",
                "predicted_ms_per_token": 2.0,
                "measured_ms_per_token": 2.2,
                "measured_ms_per_token_ci": [2.1, 2.3],
                "forwards_per_token": {},
            },
        ],
        "picked": "db > target",
        "best_single_draft": "nano:2 > target",
        "best_measured": "db > target",
        "measured_on": "24 other prompts",
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    for given in (plan, str(path)):
        found = rows(ranking(given).spec)
        assert [(r["label"], [t for t, _ in r["tags"]]) for r in found] == [
            *(("db > target", ["pick"]), ("nano:2 > target", ["single"]), ("target", ["plain"])),
        ]
        assert (found[0]["low"], found[0]["high"], found[1]["measured"]) == (2.1, 2.3, None)
    source = ranking(plan).spec["source"]
    assert "A processor, 2 threads" in source and "24 other prompts" in source
    (row,) = [r for r in rows(ranking({**plan, "best_measured": "target"}).spec) if r["label"] == "target"]
    assert [t for t, _ in row["tags"]] == ["fastest", "plain"]
    with pytest.raises(ValueError, match="not a plan"):
        ranking({"hierarchies": [{}]})


def test_levels_show_the_counters_of_the_run_beside_the_laws():
    trace = load_bundled("both")
    basis = views.recorded()
    spec = levels(trace, basis).spec
    forwards, times = spec["groups"]
    p = predict(trace.meta["stack_resolved"], basis.calibration)
    assert [r["predicted"] for r in forwards["rows"]] == list(p.forwards_per_token[::-1])
    assert [r["measured"] for r in forwards["rows"]] == [u.forwards for u in level_use(trace)[::-1]]
    whole, *parts = times["rows"]
    assert whole["measured"] == pytest.approx(sum(r["measured"] for r in parts))
    assert whole["predicted"] == pytest.approx(sum(r["predicted"] for r in parts))
    assert [r["label"] for r in parts] == ["target", "small", "nano", "db"]
    # With its own estimates the law is told more of this run: it is not further off.
    own = levels(trace).spec["groups"][1]["rows"][0]
    assert abs(own["off"]) < 0.2 and "estimated from this run" in levels(trace).spec["source"]
    with pytest.raises(ValueError, match="no emitted tokens"):
        levels(Trace({}))
    with pytest.raises(ValueError, match=r"the acceptance of .* is unknown"):
        levels(trace, Calibration(DEAR.models, DEAR.costs, {}))
