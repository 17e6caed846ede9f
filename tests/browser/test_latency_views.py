"""The views of the latency law in a browser: they draw, nothing overlaps, and what people do in them reaches the law."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from hsd_viz import views
from hsd_viz.engine.replay import load_bundled
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.views.page import parts_of

from .conftest import quiet
from .test_lab import run_all

pytestmark = pytest.mark.browser

#: Pairs of words in a figure that lie on one another, by more than their line spacing allows.
OVERLAPS = """() => [...document.querySelectorAll(".hsd-graph svg, .main-svg")].flatMap((svg) => {
  const all = [...svg.querySelectorAll("text")].map((t) => ({ words: t.textContent, at: t.getBoundingClientRect() }));
  const across = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const down = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  const touch = (a, b) => across(a.at, b.at) > 2 && down(a.at, b.at) > 4;
  return all.flatMap((a, i) => all.slice(i + 1).filter((b) => touch(a, b)).map((b) => `${a.words} / ${b.words}`));
})"""
#: The least contrast of words with what is behind them. Words over a heat map have a halo of the page's colour, which counts.
CONTRAST = """() => {
  const rgb = (colour) => {
    const context = document.createElement("canvas").getContext("2d");
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = rgb(getComputedStyle(node).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255];
  };
  let least = [99, ""];
  for (const node of document.querySelectorAll(".still *")) {
    if (![...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || node.tagName === "title") continue;
    const style = getComputedStyle(node);
    const ink = rgb(node.namespaceURI.endsWith("svg") ? style.fill : style.color);
    const [low, high] = [light(ink), light(behind(node))].sort((x, y) => x - y);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < least[0]) least = [ratio, node.textContent];
  }
  return least;
}"""
FAR_APART = Calibration(
    ("small", "medium", "large"),
    {"small": LevelCost((0.02,)), "medium": LevelCost((0.2,)), "large": LevelCost((1.0,))},
    {("small", "medium"): Edge(tail=0.75), ("medium", "large"): Edge(tail=0.85), ("small", "large"): Edge(tail=0.6)},
)


def show(page, view, dark: bool = False) -> None:
    """Put the page of a view into the browser; charts are drawn when their text is there."""
    page.goto("about:blank")
    page.set_content(view.to_html(dark=dark))
    charts = len([part for part in parts_of(view) if isinstance(part, views.Chart)])
    expect(page.locator(".xtick text, .hsd-graph text").first).to_be_attached()
    expect(page.locator(".js-plotly-plot")).to_have_count(charts)
    quiet(page)


def all_views() -> dict:
    basis = views.recorded()
    return {
        "graph": views.HierarchyGraph(basis),
        "graph of a hierarchy": views.HierarchyGraph(FAR_APART),
        "surface": views.LatencySurface(FAR_APART, "small > medium > large"),
        "surface with a run": views.LatencySurface(basis, "db > nano > small > target"),
        "ranking": views.Ranking(basis),
        "levels": views.Levels(load_bundled("both"), basis),
        "one draft": views.OneDraftWhatIf(basis).plot,
    }


@pytest.mark.parametrize("width", [420, 1400])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_view_fits_its_page_and_can_be_read(open_page, width, dark):
    shown = open_page(width)
    for name, view in all_views().items():
        show(shown.page, view, dark)
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert shown.page.evaluate(OVERLAPS) == [], name
        ratio, words = shown.page.evaluate(CONTRAST)
        assert ratio >= 4.5, (name, words)
    shown.check()


def test_a_map_is_read_with_the_keyboard(open_page):
    shown = open_page()
    page = shown.page
    basis = views.recorded()
    view = views.LatencySurface(basis, "nano > small > target")
    show(page, view)
    frame = page.locator(".hsd-chart-frame")
    frame.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):  # the first press goes to the corner
        page.keyboard.press(key)
    [cells] = (trace for trace in view.figure.data if trace.type == "heatmap")
    words, corner = (re.search(r"[\d.]+ ms", cells.text[k][k]).group() for k in (1, -1))
    expect(page.locator(".hsd-chart .hsd-heard")).to_contain_text(words)
    expect(page.locator(".hoverlayer .hovertext")).to_contain_text(words)
    page.keyboard.press("End")
    expect(page.locator(".hsd-chart .hsd-heard")).to_contain_text(corner)
    page.keyboard.press("Escape")
    expect(page.locator(".hoverlayer .hovertext")).to_have_count(0)
    shown.check()


def test_names_that_are_markup_stay_text(open_page):
    nasty = "./<img src=x onerror=window.pwned=1>"
    calibration = Calibration(
        (nasty, "target"), {nasty: LevelCost((0.1,)), "target": LevelCost((1.0,))}, {(nasty, "target"): Edge(tail=0.8)}
    )
    shown = open_page()
    for view in (views.HierarchyGraph(calibration, source="<b>x</b>"), views.Ranking(calibration, source="<b>x</b>")):
        show(shown.page, view)
        assert "<b>x</b>" in shown.page.locator(".hsd-source").inner_text()
        assert shown.page.locator(".still img:not(.plot-img), .still b").count() == 0
    assert shown.page.evaluate("window.pwned") is None
    shown.check()


@pytest.mark.slow
def test_the_notebook_runs_and_answers(open_page, lab):
    shown = open_page()
    page = shown.page
    page.goto(f"{lab}hierarchical_speculative_decoding.ipynb?reset", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    run_all(page)
    # The graph over the recordings: without its pick's lowest part another stack is picked.
    graph = page.locator(".hsd-hierarchy").last
    graph.scroll_into_view_if_needed()
    stack = graph.locator(".hsd-answer-stack")
    expect(stack).to_have_text(re.compile(r"^(db|nano:\d+|small:\d+) > target$"))
    picked = stack.text_content()
    lowest = re.match(r"\w+", picked)[0]
    button = graph.get_by_role("button", name=re.compile(rf"^{lowest}"))
    expect(button).to_have_attribute("aria-pressed", "true")
    button.focus()
    page.keyboard.press("Enter")
    expect(stack).not_to_contain_text(lowest)
    expect(button).to_be_focused()
    graph.get_by_role("button", name="Restore all").click()
    expect(stack).to_have_text(picked)

    # A slider moves the verdict, and the menu no longer names the model.
    sliders = page.locator(".hsd-whatif").first
    sliders.scroll_into_view_if_needed()
    verdict = sliders.locator(".hsd-verdict strong")
    expect(sliders.locator("select")).to_have_value("nano")
    before = verdict.inner_text()
    handle = sliders.locator(".noUi-handle").first
    handle.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    expect(verdict).not_to_have_text(before)
    expect(sliders.locator("select")).to_have_value("custom")
    shown.check()
