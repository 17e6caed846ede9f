"""The figures of the law's views are the law's, and those of runs are the traces'."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from make_trace import make_trace

from hsd_viz import views
from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.figures.latency_compare import levels, ranking
from hsd_viz.figures.latency_sources import level_use, rate
from hsd_viz.figures.latency_surfaces import affine_along, latency_surface
from hsd_viz.latency.affine import MOST, affine
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, LookupCost, Tier
from hsd_viz.latency.mixture import MixedLaw, choose
from hsd_viz.latency.select import select
from hsd_viz.latency.vectorised import Law, predict
from hsd_viz.latency.whatif import one_draft, second_draft, surface
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
views.Levels(load_bundled("both"), basis), views.OneDraftWhatIf(basis), views.SecondDraftWhatIf(basis)
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
    kept = {"identity": who, "texts": {"suite": "heldout", "prompts": 24}, "pooled": DEAR.to_dict(), "parts": []}
    assert views.basis_of(kept) == views.Basis(
        DEAR, "measured on A processor, float32, 2 threads (24 prompts of heldout, pooled)", runs=24
    )
    # One that plan keeps says itself where it is from, and so does its file, whose name says nothing.
    path.write_text(
        json.dumps({**kept, "identity": {**who, "sampling": {"temperature": 0.0}}, "created": 1_700_000_000.0})
    )
    assert (
        views.basis_of(path).source
        == "measured on A processor, float32, 2 threads, greedy, 2023-11-14 (24 prompts of heldout, pooled)"
    )
    (tmp_path / "no.json").write_text("{")
    for given, words in [
        (tmp_path / "missing.json", "cannot be read"),
        (tmp_path / "no.json", "not JSON"),
        ({"models": 3}, "not a calibration"),
        ({"hierarchies": []}, "has no calibration"),
        ({"hierarchies": [], "calibration": {"costs": {}}}, "has no calibration"),
        ({"pooled": {}}, "not a calibration"),
        ({**kept, "parts": [3]}, "not a mixture"),
        (3, "not int"),
    ]:
        with pytest.raises(ValueError, match=words):
            views.basis_of(given)


def in_two_kinds() -> dict:
    """A calibration as ``hsd-viz plan`` keeps it: half of the tokens are of texts that are drafted easily, half of others."""
    moved = lambda by: replace(
        DEAR,
        edges={pair: edge.shifted(by) for pair, edge in DEAR.edges.items()},
        tiers={pair: tier.shifted(by) for pair, tier in DEAR.tiers.items()},
    )
    parts = [[0.5, moved(-0.25).to_dict()], [0.5, moved(0.2).to_dict()]]
    who = {"device": "cpu", "device_name": "A processor", "dtype": "float32", "threads": 1}
    return {"identity": who, "texts": {"suite": "python", "prompts": 8}, "pooled": DEAR.to_dict(), "parts": parts}


def test_a_stack_has_one_predicted_figure_everywhere_and_it_is_the_plans():
    basis = views.basis_of(in_two_kinds())
    assert "8 prompts of python, in 2 groups" in basis.source and basis.calibration == DEAR
    law = MixedLaw(basis.mixture)  # the law of ``hsd-viz plan``
    expected = lambda stack: pytest.approx(law.predict(stack).ms_per_token)
    graph = views.HierarchyGraph(basis)
    choice = choose(basis.mixture)
    assert graph.picked["stack"] == choice.picked.stack and graph.picked["ms"] == expected(choice.picked.stack)
    graph.out = ["db"]
    assert not graph.picked["stack"].startswith("db") and graph.picked["ms"] == expected(graph.picked["stack"])

    shown = {r["label"]: r["predicted"] for r in rows(ranking(basis, measured={"nano:3 > small:2 > target": 2.5}).spec)}
    for stack, ms in shown.items():
        assert ms == expected(stack)
    chain = "nano:3 > small:2 > target"
    assert shown[chain] != pytest.approx(predict(chain, DEAR).ms_per_token, rel=1e-3)  # the pool's figure is another
    spec = latency_surface(basis, "nano > small > target", most=8).spec
    assert spec["cells"]["values"][1][2] == pytest.approx(shown[chain], abs=1e-4)
    affine_mark = next(m for m in spec["marks"] if m["kind"] == "affine")
    pick = f"nano:{affine_mark['x']} > small:{affine_mark['y']} > target"
    assert f"{law.predict(pick).ms_per_token:.3g} ms" in affine_mark["words"]

    trace = load_bundled("both")
    whole = levels(trace, basis).spec["groups"][1]["rows"][0]
    assert whole["predicted"] == expected(trace.meta["stack_resolved"])
    # Sliders have one acceptance: they say that theirs is another figure.
    assert "pooled over texts" in views.OneDraftWhatIf(basis).spec["source"]
    assert "pooled over texts" not in views.OneDraftWhatIf(DEAR).spec["source"]


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
    assert list(dict.fromkeys(m["kind"] for m in spec["marks"])) == ["best", "affine", "measured"]
    json.dumps(spec)
    with pytest.raises(ValueError, match="two neighbouring draft models"):
        latency_surface(DEAR, "nano:2 > target")


@pytest.mark.parametrize("stack", ["nano > small > target", "db > nano > small > target"])
def test_the_affine_pick_of_a_chain_is_the_best_of_its_straight_lines(stack):
    """By hand over all settings; the selector itself, left free, takes another way."""
    most = 6
    g = np.arange(1, most + 1)
    curve = lambda pair: np.array([DEAR.edges[pair].tokens(int(n)) for n in g])
    verify = lambda m: DEAR.costs[m].verifying(most + 1)[2:] + DEAR.costs[m].overhead
    update = 0.02 if stack.startswith("db") else 0.0
    if stack.startswith("db"):
        tier = DEAR.tiers["db", "nano"]
        nano = 0.5 * (DEAR.costs["nano"].verifying(4)[1] + DEAR.costs["nano"].verifying(4)[4]) + 0.01 + 0.01
        below = np.full(most, nano / tier.tokens)
    else:
        below = np.full(most, DEAR.costs["nano"].drafting(1)[1])
    small = (g * below + verify("small")) / curve(("nano", "small"))
    target = (g[None, :] * small[:, None] + verify("target") + update) / curve(("small", "target"))
    at = np.unravel_index(target.argmin(), target.shape)
    pick = affine_along(parse(stack), DEAR, most)
    assert str(pick) == stack.replace("nano", f"nano:{at[0] + 1}").replace("small", f"small:{at[1] + 1}")
    assert affine(DEAR, most=most).stack != pick


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


# --- what if ---------------------------------------------------------------------------------------------------------


def test_one_draft_is_leviathans_law_where_checking_more_is_free():
    view = views.OneDraftWhatIf()
    view.set(acceptance=0.8, cost=0.1, lookahead=5, slope=0.0)
    law = lambda g: (1 - 0.8 ** (g + 1)) / (1 - 0.8) / (0.1 * g + 1)
    shown = view.spec["lines"][0]["points"]
    assert [y for _, y in shown] == pytest.approx([law(g) for g in range(1, 17)], abs=1e-4)
    best = max(range(1, 17), key=law)
    marks = {m["kind"]: m for m in view.spec["marks"]}
    assert (marks["best"]["x"], marks["here"]["x"]) == (best, 5)
    assert view.spec["verdict"]["figure"] == f"{law(5):.2f} ×"
    # One token drafted: (1 + a) / (1 + c) > 1 exactly when a > c.
    assert "from an acceptance of 10%." in view.spec["verdict"]["text"]
    view.set(cost=1.0)
    assert (
        "no acceptance pays off" in view.spec["verdict"]["text"]
        and "remove the draft model" in view.spec["verdict"]["text"]
    )


def test_sliders_and_clicks_move_the_figure_and_leave_the_calibrated_models():
    basis = views.recorded()
    view = views.OneDraftWhatIf(basis)
    menu = view._start
    assert menu.value and "recorded" in view.spec["source"]
    view.plot.chosen = [2]
    assert view.value("lookahead") == 2 and menu.value
    view._sliders["cost"].value = 0.5
    assert menu.value == "" and "nothing was measured" in view.spec["source"]
    menu.value = "nano"
    slider = view._sliders["acceptance"]
    steps = (slider.value - slider.min) / slider.step
    assert steps == pytest.approx(round(steps))  # else the browser would move it, and that would count
    assert slider.value == pytest.approx(rate(basis.calibration.edges["nano", "target"]), abs=slider.step / 2 + 1e-9)


def test_the_map_is_the_laws_and_holds_the_calibrated_models():
    view = views.SecondDraftWhatIf()
    view.set(acceptance=0.85, cost=0.2, slope=0.0, second_acceptance=0.75, second_cost=0.02, closeness=0.0)
    cells = view.spec["cells"]
    expected = second_draft(np.array(cells["y"]), np.array(cells["x"]), cost=0.2, acceptance=0.85)
    np.testing.assert_allclose(cells["values"], expected.gain, atol=1e-3)
    gain = second_draft(np.array([0.75]), np.array([0.02]), cost=0.2, acceptance=0.85).gain[0, 0]
    assert gain > 0.3 and view.spec["verdict"]["figure"] == f"+{gain * 100:.0f} %"
    assert "pays" in view.spec["verdict"]["text"]
    view.plot.chosen = [0.15, 0.4]
    assert (view.value("second_cost"), view.value("second_acceptance")) == pytest.approx((0.15, 0.4))
    assert "does not pay off" in view.spec["verdict"]["text"]

    basis = views.recorded()
    view = views.SecondDraftWhatIf(basis)
    c = basis.calibration
    (point,) = [m for m in view.spec["marks"] if m["kind"] == "model"]
    plain = c.costs["target"].verifying(1)[1] + c.costs["target"].overhead
    assert (point["text"], point["x"]) == ("nano", pytest.approx(c.costs["nano"].alone(4) / 4 / plain))
    assert point["y"] == rate(c.edges["nano", "small"])
    json.dumps(view.spec)


def test_sliders_and_map_are_one_law_where_checking_more_costs():
    for closeness in (0.0, 0.4):
        here = second_draft(np.array([0.7]), np.array([0.05]), cost=0.3, acceptance=0.8, slope=0.2, closeness=closeness)
        g, h = (int(x) for x in here.lookaheads[0, 0])
        both = law(0.7, 0.05, 0.8, 0.3, 0.2).predict(f"second:{g} > larger:{h} > target")
        assert here.both[0, 0] == here.times[0, g - 1, h - 1, 0] == pytest.approx(both.ms_per_token, rel=1e-12)
        alone = {"larger": law(0.7, 0.05, 0.8, 0.3, 0.2), "second": law(0.7, 0.05, here.direct[0], 0.05, 0.2)}
        times = [
            found.predict(f"larger:{k} > target").ms_per_token for found in alone.values() for k in range(1, MOST + 1)
        ]
        assert min(*times, 1.0) == pytest.approx(here.one[0, 0], rel=1e-12)
        assert one_draft(0.8, 0.3, slope=0.2) == pytest.approx(times[:MOST], rel=1e-12)


def law(a: float, c: float, b: float, cost: float, slope: float) -> Law:
    """Return the vectorised law of a second draft below a larger one, where catching up counts as one token."""
    steep = lambda price: LevelCost((price, price * (1 + slope)))
    costs = {"second": LevelCost((c,)), "larger": steep(cost), "target": steep(1.0)}
    edges = {("second", "larger"): Edge(tail=a), ("larger", "target"): Edge(tail=b)}
    found = Law(Calibration(tuple(costs), costs, edges))
    found.reach = 1
    return found


def test_lookaheads_on_the_sliders_are_never_faster_than_the_best():
    view = views.SecondDraftWhatIf()
    for g, h in ((1, 1), (4, 7), (16, 16)):
        view.set(second_lookahead=g, lookahead=h)
        text = view.spec["verdict"]["text"]
        best, own = (
            text.split("a token takes ")[1].split(" target")[0],
            text.split("selected lookaheads: ")[1].split(". ")[0],
        )
        assert float(own) >= float(best)


def test_what_a_slider_raises_is_said_on_the_page(monkeypatch):
    view = views.SecondDraftWhatIf()

    def broken(*_args, **_options):
        raise ArithmeticError("no number")

    monkeypatch.setattr("hsd_viz.figures.latency_whatif.second_draft", broken)
    view._sliders["cost"].value = 0.5
    assert view.notice.message == "no number"
