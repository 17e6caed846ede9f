"""The figures of drafting from databases in a real browser: drawn, followed by keyboard and slider, in both themes, wide and narrow."""

from __future__ import annotations

import json
import os
import re

import pytest
from playwright.sync_api import expect

from hsd_viz.listen import free_port

from .conftest import ROOT, server

pytestmark = pytest.mark.browser
BENCH = ROOT / "docs" / "bench"
CELL = f"""
import hsd_viz as hsd
from IPython.display import display
display(hsd.views.LocalityMap(hsd.load_bundled("databases"), least=2))
display(hsd.views.DatabaseAblation({str(BENCH / "ablation.json")!r}))
display(hsd.views.TemperatureCurves({str(BENCH / "ablation.json")!r}))
"""


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """A page with three of the figures, served as the dashboard is."""
    from hsd_viz.views.app import server as app_server

    path = tmp_path_factory.mktemp("drafting") / "figures.ipynb"
    cell = {
        "cell_type": "code",
        "id": "figures",
        "metadata": {},
        "source": CELL,
        "execution_count": None,
        "outputs": [],
    }
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": [cell]}))
    port = free_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_server, "CHECKOUT_NOTEBOOK", path)
        arguments, environment, folder = app_server.command("127.0.0.1", port, None)
    environment = {**environment, "HF_HUB_OFFLINE": "1", "PATH": os.environ["PATH"]}
    with folder, server(arguments, environment, f"http://127.0.0.1:{port}/voila/static/x", path.with_suffix(".log")):
        yield f"http://127.0.0.1:{port}/"


def opened(open_page, url: str, width: int):
    shown = open_page(width)
    shown.page.goto(url, wait_until="domcontentloaded")
    expect(shown.page.locator(".hsd-latency, .hsd-chart")).to_have_count(3, timeout=60_000)
    expect(shown.page.locator(".hsd-chart .legend")).to_have_count(2, timeout=60_000)
    return shown


def test_map_bars_and_plane_follow_their_reader(open_page, figures):
    shown = opened(open_page, figures, 1400)
    page = shown.page
    the_map = page.get_by_role("region", name="Temporal locality of the text")
    frame = the_map.get_by_role("group")
    frame.focus()
    pair = the_map.locator(".hsd-d-pair mark")
    for _ in range(200):  # to a token that repeats an earlier text
        page.keyboard.press("ArrowRight")
        if pair.count() == 2:
            break
    expect(the_map.locator(".hsd-plot-readout")).to_contain_text("Token ")
    expect(pair).to_have_count(2)
    assert pair.nth(0).text_content() == pair.nth(1).text_content()
    grey = the_map.locator(".hsd-d-again")
    few = grey.count()
    slider = the_map.get_by_role("slider")
    slider.fill("1")
    expect(the_map.locator("output")).to_have_text("1")
    page.wait_for_function("few => document.querySelectorAll('.hsd-d-again').length > few", arg=few)

    # A bar is as long as its value says.
    bars = page.get_by_role("region", name="Contribution of each database")
    lengths = bars.locator(".subplot.xy .bars").evaluate_all(
        """(groups) => groups.map((g) => [...g.querySelectorAll(".point path")].map((p) => p.getBBox()))
        .flat().reduce((ends, box) => ({ ...ends, [Math.round(box.y)]: Math.max(ends[Math.round(box.y)] ?? 0, box.x + box.width) }), {})"""
    )
    ends = [lengths[y] for y in sorted(lengths, key=float)]
    bars.get_by_text("Values as a table").click()
    values = [float(row.locator("td").first.text_content()) for row in bars.locator("tbody tr").all()[:7]]
    assert [w / ends[0] for w in ends] == pytest.approx([v / values[0] for v in values], rel=0.02)

    curves = page.get_by_role("region", name="Acceptance length by temperature")
    curves.get_by_role("group").first.focus()
    page.keyboard.press("ArrowRight")
    expect(curves.locator(".hsd-heard")).to_contain_text("at temperature")
    shown.check()


@pytest.mark.parametrize("width", [1400, 420])
def test_dark_and_narrow_pages_hold_them(open_page, figures, width):
    shown = opened(open_page, figures + "?theme=dark", width)
    page = shown.page
    expect(page.locator(":is(.hsd-latency, .hsd-chart).hsd-dark")).to_have_count(3)
    boxes = "[...document.querySelectorAll('.hsd-latency, .hsd-chart')]"
    assert page.evaluate(f"{boxes}.every((e) => e.scrollWidth <= e.clientWidth + 1)")
    pale = "getComputedStyle(document.querySelector('.hsd-chart .legendtext')).fill"
    assert min(map(int, re.findall(r"\d+", page.evaluate(pale)))) > 150
    shown.check()
