"""Twelve states of the page at two widths: nothing is clipped, nothing overlaps, nothing leaves the
page, and text is readable.

The exported file shows the whole page over recorded runs without a server. What is measured is
geometry and colour, which do not depend on the machine's fonts, in place of stored pictures, which
do.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hsd_viz.engine.recordings import SIDE_BY_SIDE, load_bundled
from hsd_viz.views import run_data
from hsd_viz.views.export import document, run_page
from hsd_viz.views.page_data import about, games, recorded_runs

from .conftest import PATIENCE, quiet

pytestmark = pytest.mark.browser

#: What is wrong with the geometry of the page: texts of drawings that leave their drawing or lie on
#: another one, labels that are cut off without an ellipsis, boxes wider than the page, ghosts on a
#: line of their own.
FAULTS = Path(__file__).with_name("geometry_faults.js").read_text(encoding="utf-8")
#: Least contrast of texts against what is painted behind them; unknown where a picture is behind.
CONTRAST = Path(__file__).with_name("contrast_faults.js").read_text(encoding="utf-8")


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
    names: set[str] = set()
    for game in games():
        names |= set(game["runs"].values())
    load = recorded_runs()
    first = about()["recordings"][0]["name"]
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
    faults: list[str] = []

    def look(state: str) -> None:
        quiet(page)
        faults.extend(
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
    page.get_by_role("checkbox", name="Details").check()
    look("with details")
    page.locator(".hsd-out .hsd-ghost").first.click()
    look("a rejected token is pinned")
    page.keyboard.press("Escape")
    for name in ("Why", "Databases", "Time", "Compare", "Your traffic"):
        page.get_by_role("tab", name=name, exact=True).click()
        look(name)
        if name == "Why":
            page.get_by_role("button", name="Run: files, tour and text").click()
            page.get_by_role("menuitem", name="Show the text").click()
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
    assert not faults, "\n".join(faults)
    page.close()
