"""The what-if views: sliders, clicks and the map are the law's."""

from __future__ import annotations

import pytest

from hsd_viz import views
from hsd_viz.calibration.basis import rate


def meta(view):
    return view.plot.drawn["layout"]["meta"]


def test_one_draft_is_leviathans_law_where_checking_more_is_free():
    view = views.OneDraftWhatIf()
    view.set(acceptance=0.8, cost=0.1, lookahead=5, slope=0.0)
    law = lambda g: (1 - 0.8 ** (g + 1)) / (1 - 0.8) / (0.1 * g + 1)
    assert view.plot.drawn["data"][0]["y"] == pytest.approx([law(g) for g in range(1, 17)], abs=1e-4)
    assert meta(view)["verdict"]["figure"] == f"{law(5):.2f} ×"
    view.set(cost=1.0)
    assert "no acceptance pays off" in meta(view)["verdict"]["text"]


def test_sliders_and_clicks_move_the_figure_and_leave_the_calibrated_models():
    basis = views.recorded()
    view = views.OneDraftWhatIf(basis)
    menu = view._start
    assert menu.value and "recorded" in meta(view)["note"]
    view.plot.chosen = [2]
    assert view.value("lookahead") == 2 and menu.value
    view._sliders["cost"].value = 0.5
    assert menu.value == "" and "nothing was measured" in meta(view)["note"]
    menu.value = "nano"
    slider = view._sliders["acceptance"]
    steps = (slider.value - slider.min) / slider.step
    assert steps == pytest.approx(round(steps))  # else the browser would move it, and that would count
    assert slider.value == pytest.approx(rate(basis.calibration.edges["nano", "target"]), abs=slider.step / 2 + 1e-9)


def test_what_a_slider_raises_is_said_on_the_page(monkeypatch):
    view = views.OneDraftWhatIf()

    def broken(*_args, **_options):
        raise ArithmeticError("no number")

    monkeypatch.setattr("hsd_viz.figures.law.one_draft", broken)
    view._sliders["cost"].value = 0.5
    assert view.notice.message == "no number"
