"""Where the what-if sliders start: at the figures of the run shown, or at estimates for a graphics card."""

from __future__ import annotations

import pytest

from hsd_viz import views
from hsd_viz.calibration.basis import measured, of_run
from hsd_viz.engine.replay import bundled, load_bundled, recorded
from hsd_viz.latency.law import Law
from hsd_viz.trace import Trace
from hsd_viz.views.run_verdict import speedup
from hsd_viz.views.section_hierarchy import RECORDED, RUN, HierarchySection


class Page:
    """A page that shows a run; the form has its temperature."""

    dark, group = False, "whatif"

    def __init__(self, trace: Trace, own: bool) -> None:
        self.trace, self.shows_own_run = trace, own


def at(name: str, temperature: float | None = None) -> Trace:
    trace = load_bundled(name)
    if temperature is not None:
        trace.meta["sampling"] = {**trace.meta["sampling"], "temperature": temperature}
    return trace


@pytest.fixture
def opened(monkeypatch, tmp_path):
    monkeypatch.setenv("HSD_VIZ_CACHE", str(tmp_path))

    def open_section(trace: Trace, own: bool) -> HierarchySection:
        section = HierarchySection(Page(trace, own))
        section.open()
        return section

    return open_section


def sliders(section: HierarchySection) -> views.OneDraftWhatIf:
    return section.what_if.children[0].children[1]


@pytest.mark.parametrize(("name", "temperature", "own"), [("sampled", None, True), ("sampled", 0.8, False)])
def test_sliders_start_at_the_figures_of_the_run_and_near_its_measured_speed_up(opened, name, temperature, own):
    trace = at(name, temperature)
    section = opened(trace, own)
    assert section.source.value == RUN and "from the plain run beside it" in section._basis.source
    view, c = sliders(section), section._basis.calibration
    (edge,) = [e for e in section.law.children[0].graph["edges"] if e["from"] == "nano"]
    assert view.value("acceptance") == pytest.approx(edge["rate"], abs=0.0051)
    one = 1e3 / trace.meta["plain"]["tokens_per_second"]
    assert view.value("cost") == pytest.approx(c.costs["nano"].alone(4) / 4 / one, abs=0.0026)
    assert view.value("lookahead") == 4
    assert float(view.plot.drawn["layout"]["meta"]["verdict"]["figure"].split()[0]) == pytest.approx(
        speedup(trace).value, rel=0.1
    )


def test_a_recording_at_the_usual_temperature_starts_at_all_recordings_until_a_run_is_decoded_here(opened):
    section = opened(at("sampled"), False)
    assert section.source.value == RECORDED and section._basis.source == recorded().source
    section.page.trace, section.page.shows_own_run = at("sampled"), True
    section.open()
    assert section.source.value == RUN
    section.source.value = RECORDED
    section.page.trace = at("sampled")
    section.open()
    assert section.source.value == RECORDED, "what the reader has chosen stays"


def test_the_plain_run_sets_the_cost_of_one_token():
    trace = at("one-draft")
    basis = of_run(trace)
    plain = 1e3 / trace.meta["plain"]["tokens_per_second"]
    assert basis.measured["target"].ms_per_token == plain
    assert Law(basis.calibration).predict("target").ms_per_token == pytest.approx(plain)
    del trace.meta["plain"]
    alone = Law(of_run(trace).calibration).predict("target").ms_per_token
    assert alone > 1.2 * plain, "a run that drafts has no forward pass of one token"


def test_runs_have_an_interval_from_five_on():
    traces = [load_bundled(r.name) for r in bundled() if r.stack == "db > target"]
    few, enough = (measured(traces[:n])["db > target"] for n in (4, 5))
    assert (few.low, few.high, few.runs) == (None, None, 4)
    assert enough.low < enough.ms_per_token < enough.high and enough.runs == 5
