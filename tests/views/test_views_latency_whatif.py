"""The what-if views: sliders, clicks and the map are the law's."""

from __future__ import annotations

import pytest

from hsd_viz import views
from hsd_viz.calibration.basis import rate


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


def test_what_a_slider_raises_is_said_on_the_page(monkeypatch):
    view = views.OneDraftWhatIf()

    def broken(*_args, **_options):
        raise ArithmeticError("no number")

    monkeypatch.setattr("hsd_viz.figures.latency_whatif.one_draft", broken)
    view._sliders["cost"].value = 0.5
    assert view.notice.message == "no number"
