"""The built site by a plain web server: its tab decodes what the command line decodes, and says
why where it cannot.
"""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect

from hsd_viz import load_engine
from hsd_viz.cli.decode_result import summary
from hsd_viz.engine.tab import files
from hsd_viz.trace.tables import TABLES

pytestmark = pytest.mark.browser

PROMPTS = (
    "def main(",
    "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self",
    "",
    "größe = '日本'\n",
)
STACKS = """
target | small | nano | db > target | db[context] > target | db[model] > target |
db[statistics] > target | db[statistics,context] > target | nano:4 > target | small:8 > target |
nano > small | db > nano:3 > target | db > small:6 > target | nano:4 > small:8 > target |
db > nano:4 > small:7 > target | nano:1 > small:1 > target |
db[context,model] > small:64 > target""".split("|")
#: Three kinds of sampling and two rules for some of the stacks: sixty runs with the greedy ones of
#: all.
SETTINGS = [(0.0, "token"), (0.7, "token"), (0.7, "block"), (1.0, "token"), (1.0, "block")]
RUNS = []
for stack in map(str.strip, STACKS):
    for temperature, rule in SETTINGS:
        if "nano" in stack or "small:" in stack or rule == "token":
            RUNS.append((stack, temperature, rule))
TIMES = re.compile(r"_ns$|seconds|tokens_per_second")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A folder on a free port."""
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


@pytest.fixture(scope="module")
def address(built_site) -> Iterator[str]:
    with serving(built_site) as url:
        yield url


def test_the_first_screen_loads_no_models_and_the_scenes_do(chromium, address):
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    asked = []
    page.set_default_timeout(120_000)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.locator(".hsd-gm-choice").first.wait_for()
    page.keyboard.type("February ")
    page.wait_for_load_state("networkidle")
    assert not [url for url in asked if "/runtime/" in url]
    expect(page.locator("#loading")).to_contain_text("MB of models load with the scenes")
    page.locator("#s2").scroll_into_view_if_needed()
    expect(page.locator("#loading")).to_contain_text("Live in this tab")
    assert [url for url in asked if url.endswith("/runtime/small.safetensors")]
    page.close()


@pytest.fixture(scope="module")
def tab(chromium, address):
    """A page in which everything is loaded; afterwards it must have had no error and no request
    to anywhere else.
    """
    page = chromium.new_page()
    asked = []
    errors = []
    page.set_default_timeout(120_000)
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.goto(address)
    page.evaluate("window.hsd.ready")
    yield page
    page.close()
    assert errors == []
    assert [url for url in asked if not url.startswith(address)] == []


def untimed(value):
    if isinstance(value, dict):
        return {name: untimed(inner) for name, inner in value.items() if not TIMES.search(name)}
    return [untimed(inner) for inner in value] if isinstance(value, list) else value


def compare(tab, engine, request: dict) -> None:
    """Decode in the tab and here: the same object, and the same rows but for times."""
    script = """async (request) => {
      const tables = {};
      const append = ({ steps }) => {
        for (const step of steps)
          for (const [table, columns] of Object.entries(step)) {
            if (table === "pieces") continue;
            tables[table] ??= {};
            for (const [name, values] of Object.entries(columns))
              (tables[table][name] ??= []).push(...values);
          }
      };
      return [await window.hsd.decode(request, { append }), tables];
    }"""
    answer, rows = tab.evaluate(script, request)
    trace = engine.run(**request)
    wanted = json.loads(json.dumps(summary(trace)))
    assert answer.keys() == wanted.keys()
    assert answer["metrics"].keys() == wanted["metrics"].keys()
    assert untimed(answer) == untimed(wanted), request
    columns = json.loads(json.dumps(trace.columns))
    for name in TABLES:
        assert untimed(rows[name]) == untimed(columns[name]), (request, name)


def request_of(k: int, stack: str, temperature: float, rule: str) -> dict:
    request = {
        "prompt": PROMPTS[k % len(PROMPTS)],
        "stack": stack,
        "temperature": temperature,
        "rule": rule,
        "seed": k,
    }
    return request | {"max_new_tokens": 24 + k % 40}


@pytest.fixture(scope="module")
def engine():
    made = load_engine()
    made.wait_ready()
    return made


@pytest.mark.parametrize("k", [2, 24, 40, 55])
def test_a_tab_writes_what_the_command_line_writes(tab, engine, k):
    compare(tab, engine, request_of(k, *RUNS[k]))


@pytest.mark.slow
def test_sixty_runs_of_a_tab_are_those_of_the_command_line(tab, engine):
    assert len(RUNS) >= 60
    assert len(STACKS) == 17
    for k, run in enumerate(RUNS):
        compare(tab, engine, request_of(k, *run))
    cut = {"top_k": 20, "top_p": 0.9, "seed": 2**62 + 1, "temperature": 0.8, "max_new_tokens": 40}
    for stack in ("db > target", "nano:4 > target"):
        given = cut | {"prompt": PROMPTS[0], "stack": stack}
        answer = tab.evaluate(
            "(r) => window.hsd.decode({ ...r, seed: 2n ** 62n + 1n })", given | {"seed": 0}
        )
        assert answer["token_ids"] == engine.run(**given).token_ids


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"stack": "hd > target"}, "hsd-viz decode --stack"),
        ({"stack": "auto > target"}, "hsd-viz decode --stack"),
        ({"stack": "db"}, "has no target"),
        ({"temperature": -1}, "temperature"),
        ({"top_p": 0}, "top-p"),
        ({"seed": -1}, "seed"),
        ({"rule": "luck"}, "luck"),
        ({"max_new_tokens": 0}, "max new tokens"),
        ({"prompt": "\ud800"}, "lone surrogate"),
        ({"prompt": "x " * 3000}, "context holds 2048"),
        ({"prompt": None}, "prompt"),
    ],
)
def test_a_bad_request_gets_one_line_and_the_next_one_works(tab, change, why):
    request = {"prompt": "def f(", "stack": "nano", "max_new_tokens": 2} | change
    # A lone surrogate does not pass from here to the page.
    given = "r"
    if request["prompt"] == "\ud800":
        request["prompt"] = ""
        given = "{ ...r, prompt: '\\ud800' }"
    script = f"(r) => window.hsd.decode({given}).then(() => '', (e) => e.message)"
    message = tab.evaluate(script, request)
    assert why in message
    assert "\n" not in message
    after = tab.evaluate(
        "window.hsd.decode({ prompt: 'def f(', stack: 'nano', max_new_tokens: 2 })"
    )
    assert len(after["token_ids"]) == 2


def test_a_decode_can_be_cancelled(tab):
    script = """async () => {
      const stop = new AbortController();
      const request = { prompt: "x", stack: "target", max_new_tokens: 1900, temperature: 1 };
      return window.hsd.decode(request, { append: () => stop.abort() }, stop.signal);
    }"""
    answer = tab.evaluate(script)
    assert answer["stop_reason"] == "cancelled"
    assert 0 < len(answer["token_ids"]) < 1900


def test_every_scene_opens_on_a_recorded_run(chromium, address):
    page = chromium.new_page()
    page.set_default_timeout(120_000)
    page.goto(address)
    expect(page.locator("#scene-same .hsd-out .hsd-tok").first).to_be_visible(timeout=120_000)
    expect(page.locator("#scene-same .hsd-vs-runs > li")).to_have_count(3)
    expect(page.locator("#scene-draft .hsd-out .hsd-tok").first).to_be_visible()
    verify = page.locator("#scene-verify .hsd-sc-summary")
    expect(verify).to_contain_text(re.compile(r"accepted [2-9].*then a correction"))
    expect(page.locator("#scene-darts .hsd-dt").first).to_be_visible()
    expect(page.locator("#scene-databases .hsd-out .hsd-tok").first).to_be_visible()
    expect(page.locator("#scene-hierarchies .hsd-vs-runs > li")).to_have_count(3)
    # Three lines until the tab has measured its own, and their numbers as a table.
    expect(page.locator("#scene-passes .costs path")).to_have_count(3)
    expect(page.locator("#scene-passes table tr")).to_have_count(6)
    # The first screen is the game; its field does not take the focus of a reader.
    expect(page.get_by_label("Write what comes next")).to_be_visible()
    assert page.evaluate("document.activeElement === document.body")
    page.get_by_role("button", name="Skip to the article").click()
    expect(page.locator("#s1 > h2")).to_be_in_viewport()
    page.close()


def test_every_scene_works_and_fits_a_phone(tab):
    for width in (1440, 420):
        tab.set_viewport_size({"width": width, "height": 900})
        for scene, name in (
            ("passes", "Measure in this tab"),
            ("draft", "Draft and verify 64 tokens"),
            ("darts", "Take a rejected token of a real run"),
            ("databases", "Decode with databases"),
            ("hierarchies", "Race in this tab"),
        ):
            place = tab.locator(f"#scene-{scene}")
            place.get_by_role("button", name=name).click()
            place.get_by_role("button", name=name).wait_for()
            assert place.locator(".status.bad").count() == 0, place.locator(
                ".status.bad"
            ).all_inner_texts()
            assert tab.locator(".hsd-notice:not([hidden])").count() == 0, scene
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    passes = tab.locator("#scene-passes")
    expect(passes.locator(".cost-own circle")).to_have_count(5)
    expect(passes.get_by_role("img")).to_have_accessible_name(
        re.compile(r"this tab: [\d.]+ passes for 16 tokens")
    )
    passes.get_by_text("The numbers").click()
    expect(passes.get_by_role("columnheader").nth(1)).to_have_text("This tab")
    expect(tab.locator("#scene-draft .hsd-out .hsd-tok")).to_have_count(64)
    expect(tab.locator("#scene-verify .hsd-sc-title")).to_contain_text(re.compile(r"Round \d+ of"))
    expect(tab.locator("#scene-verify .hsd-vs-runs")).to_contain_text("nano:4 > target")
    tab.locator("#scene-darts").get_by_role("button", name="Throw 1 000").click()
    expect(tab.locator("#scene-darts")).to_contain_text("1 000 darts")
    expect(tab.locator("#scene-hierarchies .hsd-vs-runs > li")).to_have_count(3)
    expect(tab.locator("#scene-hierarchies > div > table tr")).to_have_count(4)
    word = tab.locator(
        "#scene-databases .hsd-out .hsd-tok[data-kind=accepted]", has_text=re.compile("^ ?[a-z]+$")
    )
    word.first.click()
    expect(tab.locator("#scene-databases .hsd-card")).to_contain_text(
        re.compile("copying|database")
    )


@pytest.mark.parametrize("width", [1440, 420])
def test_the_explorer_decodes_in_the_tab(chromium, address, width):
    page = chromium.new_page(viewport={"width": width, "height": 900})
    errors = []
    page.set_default_timeout(120_000)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.goto(address + "explore.html")
    page.evaluate("window.hsd.ready")
    shown = page.locator(".hsd-origin-stack")
    badge = page.locator(".hsd-badge")
    for stack, source in (
        ("db > target", "copying"),
        ("small:4 > target", "small, draft model"),
    ):
        if not page.get_by_role("textbox", name="Stack").is_visible():
            page.get_by_role("button", name="New run").click()
        page.get_by_role("textbox", name="Stack").fill(stack)
        page.get_by_role("textbox", name="Stack").press("Tab")
        page.get_by_role("button", name="Run", exact=True).click()
        # The stack changes when this very run begins, together with the badge.
        expect(shown).to_have_text(stack)
        expect(badge).to_have_text("Finished run")
        expect(page.locator(".hsd-run-select")).to_have_value("here")
        expect(page.get_by_role("group", name="Legend")).to_contain_text(source)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.reload()  # the next run is another one than the kept one
        expect(shown).to_have_text(stack)
    page.close()
    assert errors == []


def test_a_lost_worker_is_one_card_and_another_can_start(tab):
    tab.workers[-1].evaluate("self.close()")
    asked = """window.hsd.decode({ prompt: "x", stack: "nano", max_new_tokens: 2 })
      .then(() => "", (e) => e.message)"""
    assert "does not answer" in tab.evaluate(asked)
    card = tab.get_by_role("alert")
    expect(card).to_contain_text("recorded runs")
    card.get_by_role("button", name="Start again").click()
    expect(card).to_be_hidden()
    assert tab.evaluate(asked) == ""


#: Browsers that lack something, as a worker sees them.
SPOILT = {
    "no SIMD": "WebAssembly.validate = () => false;\n",
    "no memory": """const real = WebAssembly.instantiate;
WebAssembly.instantiate = async (...given) => {
  const { instance } = await real(...given);
  return { instance: { exports: { ...instance.exports, malloc: () => 0 } } };
};
""",
}


@pytest.mark.parametrize("damage", ["missing", "truncated", "changed", "no SIMD", "no memory"])
def test_what_cannot_be_loaded_is_one_card(chromium, built_site, tmp_path, damage):
    shutil.copytree(built_site, tmp_path / "site")
    weights = tmp_path / "site" / "runtime" / "small.safetensors"
    content = weights.read_bytes()
    if damage == "missing":
        weights.unlink()
    elif damage == "truncated":
        weights.write_bytes(content[:100_000])
    elif damage == "changed":
        weights.write_bytes(content[:90_000] + bytes([content[90_000] ^ 1]) + content[90_001:])
    else:
        worker = tmp_path / "site" / "tab-worker.js"
        worker.write_text(SPOILT[damage] + worker.read_text())
    words = {
        "missing": "404",
        "truncated": "incomplete",
        "changed": "damaged",
        "no memory": "too little memory",
    }
    words = words.get(damage, "SIMD")
    with serving(tmp_path / "site") as address:
        page = chromium.new_page()
        page.goto(address)
        message = page.evaluate("window.hsd.ready.then(() => '', (error) => error.message)")
        expect(page.get_by_role("alert")).to_contain_text(words)
        assert words in message
        page.locator(".pages a").first.click()
        expect(page).to_have_url(re.compile("/recordings.html"))
        expect(page.locator("h1, table, svg").first).to_be_visible()
        page.close()


def test_thirty_tabs_load_from_one_server(address):
    names = "index.html site.js site.css tab-worker.js runtime/manifest.json".split()
    names += [f"runtime/{name}" for name in files()]

    def load(_: int) -> int:
        return sum(len(urlopen(address + name, timeout=120).read()) for name in names)

    with ThreadPoolExecutor(30) as pool:
        assert len(set(pool.map(load, range(30)))) == 1
