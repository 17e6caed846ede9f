"""Charts, tiles and words say what the trace says."""

from __future__ import annotations

import gzip

import pytest
from make_trace import make_trace

from hsd_viz import figures as charts
from hsd_viz import load_bundled
from hsd_viz.figures import pictures as library
from hsd_viz.trace import Trace
from hsd_viz.views.chart import PLOTLY_MIME, Chart, show
from hsd_viz.views.readout import Readout, lossless_words, origin, sampling_words, tiles


def test_a_chart_holds_the_latest_figure_in_both_themes_and_no_button_that_sends_it_away():
    chart = Chart()
    chart.show(charts.time_spent(make_trace()))
    chart.show(charts.by_source(make_trace()))
    assert "sendChartToCloud" in chart.config["modeBarButtonsToRemove"] and chart.config["displaylogo"] is False
    meta = chart.drawn["layout"]["meta"]
    assert meta["title"] == "Tokens by source" and chart.library == "cartesian"
    assert ["context database", "1 (33%)"] in meta["table"], "the same in words"
    light, dark = ({v for v in flat(figure)} for figure in (chart.drawn, chart.dark))
    assert {"#ffffff", "#17181a"} & light == {"#ffffff"} and {"#ffffff", "#17181a"} & dark == {"#17181a"}


def flat(data):
    """The texts in plain data."""
    if isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from flat(value)
    elif isinstance(data, str):
        yield data


def test_a_page_gets_the_library_when_it_asks():
    sent = []
    chart = Chart(charts.by_source(make_trace()))
    chart.send = lambda content, buffers: sent.append((content, buffers))
    for content in ({"kind": "other"}, {"kind": "library"}):
        chart._on_message(chart, content, [])
    ((content, (packed,)),) = sent
    assert content == {"kind": "library"} and b"export" in gzip.decompress(packed)[-200:]


def test_a_figure_of_others_is_shown_as_it_is_with_the_library_that_draws_it():
    import plotly.graph_objects as go

    chart = Chart(go.Figure(go.Scatter3d(x=[1], y=[1], z=[1], marker_color="#ffffff")))
    assert chart.library == "whole" and chart.dark == {}
    assert b"export default" in gzip.decompress(library.packed("whole"))[-60:]
    assert Chart(go.Figure(go.Violin(y=[1, 2]))).library == "cartesian"


def test_tiles_are_the_metrics_of_the_trace():
    shown = {t["label"]: (t["value"], t["unit"]) for t in tiles(make_trace())}
    assert shown == {
        "Speed": ("150", "tokens/s"),  # 3 tokens in 20 ms
        "Speed-up": ("–", ""),  # plain decoding was not run beside it
        "Mean acceptance length": ("1.50", ""),
        "Acceptance rate": ("50%", ""),
        "Drafting latency": ("–", ""),  # no look-up was recorded
    }
    assert {t["value"] for t in tiles(Trace({}))} == {"–"}


def test_the_speed_up_is_over_the_plain_decoding_run_beside_it():
    trace = make_trace()
    trace.meta["plain"] = {"tokens": 3, "tokens_per_second": 120.0}
    (tile,) = [t for t in tiles(trace) if t["label"] == "Speed-up"]
    assert (tile["value"], tile["unit"]) == ("1.25", "×") and "120 tokens/s" in tile["note"]
    trace.meta["stack_resolved"] = "target"
    (tile,) = [t for t in tiles(trace) if t["label"] == "Speed-up"]
    assert (tile["value"], tile["note"]) == ("–", "this is plain decoding")


def test_origin_says_recording_or_live_and_on_what():
    meta = make_trace().meta
    recorded = origin(meta, "recording")
    assert (recorded["badge"], recorded["stack"]) == ("Recording", "db > nano:4 > target")
    assert recorded["facts"] == [
        *("A processor", "cpu", "float32", "1 thread"),
        *("temperature 0.8, top-k 40, top-p 0.9, seed 7", "recorded 2026-01-02"),
    ]
    assert origin(meta, "live")["badge"] == "Live run"
    finished = origin({**meta, "cancelled": True}, "finished")
    assert finished["badge"] == "Finished run" and finished["facts"][-1] == "cancelled"
    assert origin({}, "recording")["facts"][0] == "machine not recorded"


def test_sampling_in_words():
    assert sampling_words({}) == "greedy"
    assert sampling_words({"temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": 3}) == "temperature 1, seed 3"


@pytest.mark.parametrize(
    ("stack", "temperature", "words"),
    [
        ("target", 0.0, "no drafts"),
        ("db > target", 0.0, "the output equals plain decoding of the target"),
        ("db > target", 1.0, "token for token"),
        ("lookup > target", 1.0, "token for token"),
        ("nano:4 > target", 1.0, "in distribution"),
        ("db > nano:4 > target", 1.0, "in distribution"),
        ("auto[db] > target", 1.0, "token for token"),
        ("auto[db,nano] > target", 1.0, "in distribution"),
        ("auto > target", 1.0, "in distribution"),
        ("auto > target", 0.0, "the output equals plain decoding of the target"),
        ("target > nano", 0.0, "the output equals plain decoding of nano."),
        ("db > nano", 1.0, "plain sampling of nano with the same seed"),
    ],
)
def test_in_which_sense_the_text_is_the_targets(stack, temperature, words):
    assert words in lossless_words({"stack": stack, "sampling": {"temperature": temperature}})


def test_what_auto_turned_out_to_be_decides():
    meta = {"stack": "auto > target", "stack_resolved": "auto[db] > target", "sampling": {"temperature": 1.0}}
    assert "token for token" in lossless_words(meta)


def test_a_readout_takes_a_trace_and_a_stage():
    from hsd_viz.trace import Stage

    readout = Readout()
    readout.show(make_trace(), "recording")
    # Until it ends, a live run's meta says "cancelled": the page does not.
    readout.show(make_trace(cancelled=True), "live", running=True)
    assert "cancelled" not in readout.origin["facts"]
    readout.busy(Stage("prefill", 1, 2))
    assert readout.stage == {"text": "prefill", "done": 1, "total": 2}
    readout.idle()
    assert readout.stage["text"] == ""


def test_a_recording_says_of_how_many_runs_it_is_the_fastest():
    trace = load_bundled("plain")
    assert f", fastest of {trace.meta['fastest_of']} runs" in " ".join(origin(trace.meta, "recording")["facts"])
    assert "fastest" not in " ".join(origin({**trace.meta, "fastest_of": None}, "recording")["facts"])
    assert "fastest" not in " ".join(origin(trace.meta, "live")["facts"])


def test_a_speed_up_that_cannot_be_says_so():
    trace = load_bundled("both")
    figures = trace.metrics()
    possible = {"tokens_per_second": figures["tokens_per_second"] / figures["mean_acceptance_length"] * 1.01}
    for plain, doubted in ((possible, False), ({"tokens_per_second": possible["tokens_per_second"] / 1.2}, True)):
        trace.meta["plain"] = plain
        (tile,) = [t for t in tiles(trace) if t["label"] == "Speed-up"]
        assert ("disturbed" in tile["note"]) == doubted


def test_a_shown_figure_has_the_template_of_the_package_unless_it_has_its_own(monkeypatch):
    import plotly.graph_objects as go

    from hsd_viz.figures import template

    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    show(go.Figure(go.Bar(x=[1], y=[2])).update_layout(title="Bars"))
    show(go.Figure(go.Bar(x=[1], y=[2]), {"template": template(dark=True), "title": "Bars"}))
    show(go.Figure(go.Pie(values=[1])).update_layout(title="Pie"))
    papers = [data[PLOTLY_MIME]["layout"]["template"]["layout"]["paper_bgcolor"] for data in shown]
    assert papers == ["#ffffff", template(dark=True).layout.paper_bgcolor, "#ffffff"]
