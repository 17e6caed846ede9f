"""The what-if views: sliders, clicks and the map are the law's."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hsd_viz import views
from hsd_viz.figures.latency_sources import rate
from hsd_viz.latency.affine import MOST
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.vectorised import Law
from hsd_viz.latency.whatif import one_draft, second_draft


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
