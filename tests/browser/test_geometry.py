"""Twelve states of the page at two widths: nothing is clipped, nothing overlaps, nothing leaves the
page, and text is readable.

The exported file shows the whole page over recorded runs without a server. What is measured is
geometry and colour, which do not depend on the machine's fonts, in place of stored pictures, which
do.
"""

from __future__ import annotations

import pytest

from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled
from hsd_viz.views import run_data
from hsd_viz.views.export import document, run_page
from hsd_viz.views.page_data import about, games, recorded_runs

from .conftest import PATIENCE, quiet

pytestmark = pytest.mark.browser

#: What is wrong with the geometry of the page: texts of drawings that leave their drawing or lie on
#: another one, labels that are cut off without an ellipsis, boxes wider than the page, ghosts on a
#: line of their own.
FAULTS = """() => {
  const app = document.querySelector(".hsd-app"), page = app.getBoundingClientRect(), faults = [];
  const name = (n) => `${n.getAttribute("class") ?? n.tagName} “${n.textContent.trim().slice(0, 30)}”`;
  const seen = (n) => n.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && n.getClientRects().length;
  for (const svg of app.querySelectorAll("svg:not(.main-svg)")) {
    if (!seen(svg) || svg.closest(".js-plotly-plot")) continue;
    const frame = svg.getBoundingClientRect(), texts = [];
    for (const text of svg.querySelectorAll("text")) {
      if (!text.textContent.trim() || !seen(text)) continue;
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 3 || box.right > frame.right + 3) faults.push(`outside its drawing: ${name(text)}`);
      for (const [other, of] of texts) {
        const over = [Math.min(box.right, of.right) - Math.max(box.left, of.left), Math.min(box.bottom, of.bottom) - Math.max(box.top, of.top)];
        if (over[0] > 2 && over[1] > 4) faults.push(`overlap: ${name(text)} and ${name(other)}`);
      }
      texts.push([text, box]);
    }
  }
  for (const n of app.querySelectorAll("h1, h2, h3, h4, th, button, label, summary, .hsd-tile-value, .hsd-key")) {
    if (!seen(n) || n.closest(".js-plotly-plot, select, .hsd-heard") || n.matches(".hsd-skip")) continue;
    const style = getComputedStyle(n);
    if (n.scrollWidth > n.clientWidth + 1 && n.clientWidth && style.overflowX !== "visible" && style.textOverflow !== "ellipsis")
      faults.push(`clipped: ${name(n)}`);
    const box = n.getBoundingClientRect();
    const inside = n.closest("[tabindex='0'], .hsd-tabs, .hsd-sc-scroll");
    if (!inside && (box.left < page.left - 1 || box.right > page.right + 1)) faults.push(`beyond the page: ${name(n)}`);
  }
  if (app.scrollWidth > app.clientWidth) faults.push(`the page is ${app.scrollWidth - app.clientWidth} px too wide`);
  const line = parseFloat(getComputedStyle(document.querySelector(".hsd-text")).lineHeight);
  for (const strip of app.querySelectorAll(".hsd-strip"))
    if (strip.getClientRects().length > 1 && [...strip.getClientRects()].some((r) => r.height > 1.5 * line)) faults.push("a ghost breaks its line");
  for (const ghost of app.querySelectorAll(".hsd-strip :is(.hsd-ghost, .hsd-ghost-count)"))
    if (seen(ghost) && getComputedStyle(ghost).display !== "inline") faults.push(`a line of its own: ${name(ghost)}`);
  return [...new Set(faults)];
}"""
#: Least contrast of texts against what is painted behind them; unknown where a picture is behind.
CONTRAST = """() => {
  const parse = (c) => {
    const m = c.match(/[\\d.]+/g).map(Number);
    const scale = c.startsWith("color(") ? 255 : 1;
    return [m[0] * scale, m[1] * scale, m[2] * scale, m[3] ?? 1];
  };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (n) => {
    const all = [];
    for (let p = n; p; p = p.parentElement) {
      const c = parse(getComputedStyle(p).backgroundColor);
      if (c[3]) all.push(c);
      if (c[3] === 1) break;
    }
    return all.reverse().reduce((base, c) => over(c, base), [255, 255, 255]);
  };
  const faults = [];
  for (const n of document.querySelectorAll(".hsd-app svg:not(.main-svg) text:not(.hsd-tl-word), .hsd-app .hsd-tok, .hsd-app .hsd-key, .hsd-app p")) {
    if (!n.textContent.trim() || !n.checkVisibility() || n.closest(".js-plotly-plot")) continue;
    const style = getComputedStyle(n), back = behind(n.closest("svg")?.parentElement ?? n);
    const ink = over(parse(n.ownerSVGElement ? style.fill : style.color), back);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.4) faults.push(`contrast ${ratio.toFixed(1)}: ${n.getAttribute("class")} “${n.textContent.slice(0, 30)}”`);
  }
  return [...new Set(faults)].slice(0, 8);
}"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> str:
    """The page over three runs of one prompt, the last one with two draft models above the
    databases.
    """
    runs = [load_bundled(name, SIDE_BY_SIDE / "sampled") for name in ("both", "plain", "databases")]
    path = tmp_path_factory.mktemp("pages") / "runs.html"
    path.write_text(run_page(*runs), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> str:
    """A page with the recordings of the game."""
    names = {name for game in games() for name in game["runs"].values()}
    load, first = recorded_runs(), about()["recordings"][0]["name"]
    runs = {name: run_data.snapshot(load[name](), name) for name in (*sorted(names), first)}
    path = tmp_path_factory.mktemp("pages") / "game.html"
    content = {"about": about() | {"races": []}, "runs": runs}
    path.write_text(document(content, '<main class="hsd-page"></main>', "game"), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 420])
def test_twelve_states_are_whole_and_readable(chromium, exported, played, width, theme):
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    found: list[str] = []

    def look(state: str) -> None:
        quiet(page)
        found.extend(
            f"{state}: {fault}" for fault in (*page.evaluate(FAULTS), *page.evaluate(CONTRAST))
        )

    page.goto(f"{played}?game=0&theme={theme}")
    page.wait_for_selector(".hsd-gm-choice", timeout=PATIENCE)
    look("the game")
    page.goto(f"{exported}?theme={theme}")
    page.wait_for_selector(".hsd-out .hsd-tok")
    look("first screen")
    tabs = page.locator(".hsd-tabs").bounding_box()
    assert width < 1440 or tabs["y"] + tabs["height"] <= 900, "the tabs are below the first screen"
    page.locator(".hsd-out .hsd-ghost").first.click()
    look("a rejected token is pinned")
    page.keyboard.press("Escape")
    for name in ("Why", "Databases", "Time", "Compare", "Your traffic"):
        page.get_by_role("tab", name=name, exact=True).click()
        look(name)
        if name == "Why":
            page.get_by_role("button", name="Show the text").click()
            page.locator(".hsd-out .hsd-tok[data-kind=correction]").nth(3).click()
            look("a correction and its board")
            page.get_by_role("button", name="Throw 1 000", exact=True).first.click()
            look("a thousand darts")
        elif name == "Databases":
            page.locator(".hsd-arc-plot").press("ArrowRight")
            look("a copied passage")
        elif name == "Compare":
            page.locator("input[aria-label='Time of the race']").fill("300")
            look("the race under way")
            page.locator(".hsd-vs-column .hsd-tok").nth(20).click()
            look("a compared position")
    assert errors == []
    assert not found, "\n".join(found)
    page.close()
