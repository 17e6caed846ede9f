"""Pages, linked views and pictures that are files, without Python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

import hsd_viz as hsd
from hsd_viz import figures, views
from hsd_viz.engine.recordings import SIDE_BY_SIDE, load_bundled
from hsd_viz.figures.palette import HUES
from hsd_viz.views.export import run_page
from tests.changes import change_row
from tests.views.make_trace import make_trace

from .conftest import ROOT
from .explorer import TABS, TOKENS, choose_of_run, tab, violations

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"
MEDIA = {
    "forced colours": {"forced_colors": "active"},
    "reduced motion": {"reduced_motion": "reduce"},
    "print": {"media": "print"},
}
each_screen = pytest.mark.parametrize("medium", ["forced colours", "reduced motion"])


@dataclass
class Exported:
    """Addresses of exported pages; in each a token is of the logits database.

    Attributes:
        run: a run.
        stream: its text alone.
        race: two runs of one prompt.
    """

    run: str
    stream: str
    race: str


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Exported:
    folder: Path = tmp_path_factory.mktemp("exported")
    run = load_bundled("both")
    race = [load_bundled(name, SIDE_BY_SIDE / "greedy") for name in ("plain", "databases")]
    for trace in (run, *race):
        change_row(trace, "tokens", 1, source="logits")
    addresses = []
    for name, text in (
        ("run", run_page(run)),
        ("stream", views.TokenStream(run).to_html()),
        ("race", run_page(*race)),
    ):
        path = folder / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        addresses.append(path.as_uri())
    return Exported(*addresses)


@pytest.fixture
def page(chromium):
    """A page without errors."""
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert errors == []


def show(page, address: str, medium: str) -> None:
    page.emulate_media(**MEDIA[medium])
    page.goto(address)
    page.wait_for_selector(TOKENS)


@pytest.mark.parametrize("medium", MEDIA)
def test_an_exported_run_has_no_controls_that_need_python(page, exported, medium):
    show(page, exported.run, medium)

    expect(page.locator("#start")).to_have_count(0)
    assert page.locator(".hsd-controls").count() == 0


@each_screen
def test_every_tab_of_an_exported_run_is_accessible(page, exported, medium):
    show(page, exported.run, medium)

    for name in TABS:
        tab(page, name)
        assert violations(page) == [], name


@each_screen
def test_a_tab_is_saved_as_a_drawing_with_colours_of_its_own(page, exported, medium):
    show(page, exported.run, medium)
    tab(page, "Databases")
    with page.expect_download() as saved:
        choose_of_run(page, re.compile("^Vector drawing"))

    drawn = ElementTree.parse(saved.value.path()).getroot()
    kinds = {element.tag.partition("}")[2] for element in drawn.iter()}
    assert {"svg", "path", "text", "rect"} <= kinds
    assert "foreignObject" not in kinds
    assert len(drawn.findall(f"{SVG}svg")) == 2, "tokens by source, arcs"
    named = 0
    for element in drawn.iter():
        for value in element.attrib.values():
            assert "var(" not in value
            assert "color(" not in value
        if element.text == "copying":
            named += 1
            assert element.get("fill").startswith("rgb")
    assert named


@each_screen
def test_what_needs_python_names_its_command(page, exported, medium):
    show(page, exported.run, medium)
    tab(page, "Your traffic")

    cards = page.locator(".hsd-elsewhere")
    expect(cards.filter(has_text="Replaying a log")).to_contain_text("hsd-viz replay")
    expect(cards.filter(has_text="a record")).to_contain_text("hsd-viz doctor FILE")


@each_screen
def test_exported_runs_are_compared(page, exported, medium):
    page.emulate_media(**MEDIA[medium])
    page.goto(f"{exported.race}?tab=compare")

    expect(page.locator(".hsd-vs-race")).to_be_visible()


#: Keeps what was said of the race from its beginning.
STATES = """window.states = [];
new MutationObserver(() => {
  const words = document.querySelector(".hsd-vs-state")?.textContent;
  if (words && words !== window.states.at(-1)) window.states.push(words);
}).observe(document, { subtree: true, childList: true, characterData: true });"""


def test_a_race_plays_once_when_it_is_seen_and_again_when_asked(page, exported):
    page.add_init_script(STATES)
    page.goto(f"{exported.race}?tab=compare")
    state = page.locator(".hsd-vs-state")

    expect(state).to_contain_text("finished first")
    assert " has 0 of " in page.evaluate("window.states[0]")
    page.get_by_role("button", name="Play again").click()
    expect(state).to_contain_text("finished first")
    # Both runs: one of them may have its first tokens in the next frame.
    states = page.evaluate("window.states")
    starts = [words for words in states if words.count(" has 0 of ") == 2]
    assert len(starts) == 2


def test_with_reduced_motion_a_race_is_at_its_end(page, exported):
    page.add_init_script(STATES)
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{exported.race}?tab=compare")

    expect(page.locator(".hsd-vs-state")).to_contain_text("finished first")
    assert len(page.evaluate("window.states")) == 1
    expect(page.locator(".hsd-vs-play")).to_be_hidden()


@pytest.mark.parametrize("name", ["run", "stream", "race"])
def test_a_token_of_any_source_has_its_colour(page, exported, name):
    page.emulate_media(reduced_motion="reduce")
    page.goto(getattr(exported, name))

    red, green, blue = bytes.fromhex(HUES["logits"].light[1:])
    expect(page.locator(".hsd-tok[data-family=logits]").first).to_have_css(
        "color", f"rgb({red}, {green}, {blue})"
    )


def test_the_linked_view_of_another_package_that_the_docs_show_follows_the_cursor(page, tmp_path):
    text = (ROOT / "docs" / "how-to" / "figures.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (block,) = [block for block in blocks if "LinkedView)" in block]
    names = {"hsd": hsd}
    exec(block.partition("\n\n\nhsd.")[0], names)
    trace = load_bundled("both")
    stairs = views.Staircase(trace)
    own = names["Current"]()
    assert len(block.splitlines()) <= 40
    views.link(stairs, own)
    views.compose([stairs, own], cols=1).save(tmp_path / "x.html")

    page.goto((tmp_path / "x.html").as_uri())
    page.locator(".hsd-player-bar").press("End")

    expect(page.locator("#view-1")).to_have_text(trace.token_rows[-1].text)


@pytest.fixture
def pictures():
    """Skip the test where no Chromium can draw pictures."""
    try:
        figures.pictures.chromium()
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def chart():
    return views.Chart(figures.ranking(views.recorded()))


@pytest.mark.parametrize(
    ("is_dark", "ground"), [(False, "rgb(255, 255, 255)"), (True, "rgb(23, 24, 26)")]
)
def test_a_chart_is_saved_as_a_drawing_of_its_theme(pictures, chart, tmp_path, is_dark, ground):
    svg = chart.save(tmp_path / "x.svg", dark=is_dark, width=700).read_text()

    assert svg.startswith("<svg")
    assert "foreignObject" not in svg
    assert "selected by the law" in svg
    assert ground in svg
    assert 'width="700"' in svg


def size_of(png: bytes) -> tuple[int, int]:
    """Return width and height of a picture, in pixels."""
    assert png.startswith(b"\x89PNG")
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])


def test_a_chart_is_saved_as_a_picture_of_its_size(pictures, chart, tmp_path):
    png = chart.save(tmp_path / "x.png", width=700, scale=1).read_bytes()

    assert size_of(png) == (700, chart.figure.layout.height)


@pytest.mark.parametrize(
    ("view", "mark"),
    [
        (views.Staircase, "plain decoding"),
        (views.Timeline, "target"),
        (views.LocalityMap, "50"),
    ],
)
def test_a_view_is_saved_as_a_drawing(pictures, tmp_path, view, mark):
    svg = view(load_bundled("both")).save(tmp_path / "x.svg").read_text()

    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert f">{mark}<" in svg
    assert "foreignObject" not in svg


def test_a_view_is_saved_as_a_picture_of_its_size(pictures, tmp_path):
    stream = views.TokenStream(make_trace())

    png = stream.save(tmp_path / "x.png", width=700, scale=1, dark=True).read_bytes()

    assert size_of(png)[0] == 700


def test_charts_and_views_are_saved_as_documents(pictures, chart, tmp_path):
    for shown in (chart, views.RoundInspector(load_bundled("both"))):
        assert shown.save(tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")
