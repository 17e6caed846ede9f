"""The elements in a page of others: a strict content security policy, no request but the module
and its files.
"""

from __future__ import annotations

import gzip
import json
import shutil
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from hsd_viz.engine.recordings import GAMES, SIDE_BY_SIDE, TRACES, load_bundled
from hsd_viz.views.page_data import STATIC
from tests.browser.conftest import PATIENCE
from tests.rows import column, select

pytestmark = pytest.mark.browser

#: Nothing but this server's files; neither styles nor code in the page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'"
)
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A page of others</title>
<script type="module" src="elements.js"></script><script src="heard.js"></script>
<link rel="stylesheet" href="page.css">
{body}</html>"""
#: Styles of the page that would hide the elements' own parts.
STYLES = ".hsd-stairs { display: none } .hsd-player { display: none } button { color: red }"
#: Keeps what the elements report, and violations of the policy.
HEARD = """window.heard = [];
for (const name of ["hsd-load", "hsd-error", "hsd-cursor", "hsd-leave"])
  document.addEventListener(name, (e) => window.heard.push([name, e.target.id, e.detail]));
window.violations = [];
document.addEventListener("securitypolicyviolation", (e) =>
  window.violations.push(`${e.violatedDirective} ${e.sourceFile} ${e.sample}`));
"""
RUN = "run file.json.gz".replace(" ", "-")


class Files(SimpleHTTPRequestHandler):
    """Serve a folder with the policy, and keep the requested paths."""

    requested: list[str]

    def __init__(self, *arguments, requested: list[str], **options) -> None:
        self.requested = requested
        super().__init__(*arguments, **options)

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def do_GET(self) -> None:
        self.requested.append(self.path)
        super().do_GET()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[tuple[Path, str, list[str]]]:
    """Return the folder of a page of others, its address, and the list of requested paths."""
    folder = tmp_path_factory.mktemp("page of others")
    shutil.copy(STATIC / "elements.js", folder)
    (folder / "heard.js").write_text(HEARD)
    (folder / "page.css").write_text(STYLES)
    shutil.copy(TRACES / "mixed.json.gz", folder / RUN)
    for name in ("plain", "databases"):
        shutil.copy(SIDE_BY_SIDE / "greedy" / f"{name}.json.gz", folder)
    (folder / "unpacked.json").write_bytes(gzip.decompress((folder / RUN).read_bytes()))
    for file in sorted((GAMES / "months").glob("*.json.gz")):
        shutil.copy(file, folder / f"game-{file.name}")
    (folder / "broken.json").write_text('{"format": "other"}')
    requested: list[str] = []
    handler = partial(Files, directory=str(folder), requested=requested)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}/", requested
        server.shutdown()


@pytest.fixture
def show(site, open_page):
    """Return a function that shows a page with a body, waits for its elements, and checks it."""
    folder, address, requested = site
    shown = []

    def open_body(body: str, files: set[str], events: int = 1):
        requested.clear()
        (folder / "index.html").write_text(PAGE.format(body=body))
        opened = open_page()
        shown.append((opened, files))
        opened.page.goto(address)
        until(opened.page, f"(window.heard ?? []).length >= {events}")
        return opened.page

    yield open_body
    for opened, files in shown:
        assert opened.page.evaluate("window.violations") == []
        own = {"/", "/favicon.ico", "/page.css", "/elements.js", "/heard.js"}
        assert set(requested) - own == files
        opened.check()


def until(page, expression: str) -> None:
    """Wait until a JavaScript expression holds; the policy lets the page itself evaluate none."""
    end = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"{expression}: {page.evaluate('window.heard')}"
        time.sleep(0.05)


def heard(page, name: str) -> list:
    """Return the targets and details of the events of a name."""
    return [event[1:] for event in page.evaluate("window.heard") if event[0] == name]


def test_a_staircase_of_a_file_has_a_tread_for_each_round(show):
    page = show(f'<hsd-staircase id="s" src="{RUN}"></hsd-staircase>', {f"/{RUN}"})
    trace = load_bundled("mixed")
    rounds = select(trace.round_rows, parent=None)
    [[target, facts]] = heard(page, "hsd-load")
    assert target == "s"
    assert facts["rounds"] == len(rounds)
    assert facts["tokens"] == len(trace)
    assert facts["stack"] == trace.stack
    treads = page.locator("hsd-staircase .hsd-stairs-treads").get_attribute("d")
    assert treads.count("M") == len(rounds)
    # Styles of the page do not reach into it, and its own are there.
    assert (
        page.locator("hsd-staircase svg.hsd-stairs").evaluate("e => getComputedStyle(e).display")
        == "block"
    )
    assert page.locator("hsd-staircase .hsd-player-bar").bounding_box()["height"] > 100


def test_the_cursor_of_a_staircase_is_reported(show):
    page = show(f'<hsd-staircase id="s" src="{RUN}"></hsd-staircase>', {f"/{RUN}"})
    page.locator("hsd-staircase [role=slider]").press("ArrowRight")
    page.locator("hsd-staircase [role=slider]").press("Enter")
    until(page, "window.heard.some(([name, , d]) => name === 'hsd-cursor' && d.pinned)")
    detail = heard(page, "hsd-cursor")[-1][1]
    assert detail["round"] == 0
    assert detail["token"] == 0


def test_an_unpacked_file_is_the_same_run(show):
    page = show('<hsd-staircase src="unpacked.json"></hsd-staircase>', {"/unpacked.json"})
    assert heard(page, "hsd-load")[0][1]["tokens"] == len(load_bundled("mixed"))


def test_rounds_of_any_engine_are_a_staircase(show):
    page = show('<hsd-staircase id="s"></hsd-staircase><i id="end"></i>', set(), events=0)
    until(page, "!!customElements.get('hsd-staircase')")
    page.evaluate(
        "document.getElementById('s').rounds ="
        " [{drafted: 4, accepted: 4}, {drafted: 4, accepted: 1}, {drafted: 0, accepted: 0}]"
    )
    until(page, "window.heard.length >= 1")
    assert heard(page, "hsd-load") == [
        ["s", {"stack": "these rounds", "tokens": 8, "rounds": 3, "milliseconds": None}]
    ]
    page.evaluate(
        "document.getElementById('s').rounds ="
        " [{drafted: 4, accepted: 4, milliseconds: 30},"
        " {drafted: 4, accepted: 1, milliseconds: 20}]"
    )
    until(page, "window.heard.length >= 2")
    assert heard(page, "hsd-load")[1][1]["milliseconds"] == 50


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        ("[]", "rounds is a list"),
        ("[{drafted: 2, accepted: 3}]", "round 1 accepts 3 of 2"),
        ("[{drafted: 2.5, accepted: 1}]", "round 1 needs whole numbers"),
        ("[{drafted: 2, accepted: 1, milliseconds: -1}]", "round 1 took -1 ms"),
    ],
)
def test_rounds_that_are_not_possible_are_a_card(show, rounds, words):
    page = show('<hsd-staircase id="s"></hsd-staircase>', set(), events=0)
    until(page, "!!customElements.get('hsd-staircase')")
    page.evaluate(f"document.getElementById('s').rounds = {rounds}")
    until(page, "window.heard.length >= 1")
    assert words in heard(page, "hsd-error")[0][1]["message"]
    assert words in page.locator("hsd-staircase [role=alert]").inner_text()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("missing.json", "missing.json cannot be loaded: 404"),
        ("broken.json", "is not an hsd_viz trace"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_card(show, source, words):
    page = show(f'<hsd-staircase src="{source}"></hsd-staircase>', {f"/{source}"})
    assert words in heard(page, "hsd-error")[0][1]["message"]
    assert words in page.locator("hsd-staircase [role=alert]").inner_text()


def test_another_source_replaces_the_drawing_and_a_removed_element_ends(show):
    body = f'<hsd-staircase id="s" src="{RUN}"></hsd-staircase>'
    page = show(body, {f"/{RUN}", "/plain.json.gz"})
    page.evaluate("document.getElementById('s').setAttribute('src', 'plain.json.gz')")
    until(page, "window.heard.filter(([name]) => name === 'hsd-load').length === 2")
    assert page.locator("hsd-staircase .hsd-player").count() == 1
    assert heard(page, "hsd-load")[1][1]["stack"] == "target"
    page.evaluate("window.kept = document.getElementById('s'); window.kept.remove()")
    assert page.evaluate("window.kept.shadowRoot.querySelectorAll('.hsd-player').length") == 0


def test_a_race_of_two_files_runs_on_one_clock(show):
    sources = "plain.json.gz databases.json.gz"
    page = show(
        f'<hsd-race id="r" src="{sources}"></hsd-race>', {"/plain.json.gz", "/databases.json.gz"}
    )
    assert column(heard(page, "hsd-load")[0][1]["runs"], "stack") == [
        "target",
        "db > target",
    ]
    expect(page.locator("hsd-race .hsd-vs-state")).to_contain_text("finished first")
    assert page.locator("hsd-race .hsd-stairs-treads").count() == 2
    assert page.locator("hsd-race table").count() == 0


def test_a_race_of_rounds_needs_no_file(show):
    page = show('<hsd-race id="r"></hsd-race>', set(), events=0)
    until(page, "!!customElements.get('hsd-race')")
    page.evaluate(
        "document.getElementById('r').rounds = ["
        "{title: 'plain', rounds: Array(6).fill({drafted: 0, accepted: 0, milliseconds: 10})},"
        "{title: 'eagle', rounds: [{drafted: 3, accepted: 2, milliseconds: 14},"
        " {drafted: 3, accepted: 2, milliseconds: 14}]}]"
    )
    until(page, "window.heard.length >= 1")
    runs = heard(page, "hsd-load")[0][1]["runs"]
    assert [(run["tokens"], run["milliseconds"]) for run in runs] == [(6, 60), (6, 28)]
    expect(page.locator("hsd-race .hsd-vs-state")).to_contain_text("B finished first")
    # Nothing is known of their texts.
    assert page.locator("hsd-race .hsd-vs-agreement").count() == 0


def test_darts_pile_up_to_p(show):
    page = show(
        '<hsd-darts id="d" p="0.6 0.3 0.1" q="0.2 0.7 0.1" names="cat dog ox"></hsd-darts>', set()
    )
    assert heard(page, "hsd-load")[0][1] == {"tokens": 3, "accepted": pytest.approx(0.6)}
    page.locator("hsd-darts button", has_text="Throw 1 000").click()
    expect(page.locator("hsd-darts .hsd-dt")).to_contain_text("All shares are within chance")
    expect(page.locator("hsd-darts .hsd-dt")).to_contain_text("1 000 darts; ")


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ('p="0.6 0.3" q="0.5 0.5"', 'p="0.6 0.3" is not a distribution'),
        ('p="0.5 0.5" q="1 x"', 'q="1 x" is not a distribution'),
        ('p="1.5 -0.5" q="0.5 0.5"', "is not a distribution"),
        ('p="0.5 0.5" q="1"', "p has 2 numbers and q has 1"),
    ],
)
def test_probabilities_that_are_none_are_a_card(show, attributes, words):
    page = show(f"<hsd-darts {attributes}></hsd-darts>", set())
    assert words in heard(page, "hsd-error")[0][1]["message"]


def test_the_game_is_played_on_a_recorded_text(show, site):
    folder, _, _ = site
    names = set(column(folder.glob("game-*.json.gz"), "name"))
    assert "game-plain.json.gz" in names
    page = show(
        '<hsd-game id="g" src="game-plain.json.gz" asked="months"></hsd-game>',
        {"/game-plain.json.gz"},
    )
    trace = json.loads(gzip.decompress((folder / "game-plain.json.gz").read_bytes()))
    assert heard(page, "hsd-load")[0][1]["players"] == ["plain"]
    assert trace["meta"]["stack"] == "target"
    page.locator("hsd-game .hsd-gm-choice").first.click()
    page.locator("hsd-game .hsd-gm-go").click()
    page.locator("hsd-game .hsd-gm-said", has_text="pass").wait_for()
    page.locator("hsd-game .hsd-gm-skip").click()
    until(page, "window.heard.some(([name]) => name === 'hsd-leave')")
