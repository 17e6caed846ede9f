"""A site that offers a family: its reader asks for the download, which the browser keeps; then
the tab decodes with it.
"""

from __future__ import annotations

import re
from functools import partial

import pytest
from playwright.sync_api import expect

from hsd_viz import load_engine
from hsd_viz.views.site import build, sections
from tests.browser.explorer import violations
from tests.browser.test_tab import serving
from tests.js.small_family import PROMPTS, make_family

pytestmark = pytest.mark.browser
STACK = "db > nano:3 > target"


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        yield make_family(tmp_path_factory.mktemp("family"), patch)


@pytest.fixture(scope="module")
def address(family, tmp_path_factory):
    out = tmp_path_factory.mktemp("offered") / "site"
    # The pages of the lessons have nothing of the family.
    others = [section for section in sections() if section[0] != "Lessons"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hsd_viz.views.site.sections", lambda: others)
        build(out, families=[family])
    with serving(out) as url:
        yield url


@pytest.fixture
def page(chromium):
    """A page of a new visitor; the addresses that it asks for are in ``page.asked``."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script("try { localStorage.setItem('hsd_viz.game', 'yes') } catch {}")
    yield page
    context.close()
    assert errors == []


def open_form(page, address: str) -> None:
    page.goto(address + "explore.html")
    page.evaluate("window.hsd.ready")
    page.get_by_role("button", name="New run").click()
    page.get_by_label(re.compile("^Models")).select_option("smollm2")


def weights(page) -> list[str]:
    return [url for url in page.asked if url.endswith(".weights")]


def test_a_family_is_downloaded_when_asked_for_and_kept(page, address, family):
    open_form(page, address)
    offer = page.get_by_role("group", name="Download of SmolLM2-135M-Instruct")
    expect(offer).to_contain_text(
        re.compile(r"after a download of \d+ MB, in an estimated \d+ MB of memory")
    )
    assert weights(page) == []

    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".hsd-notice")).to_contain_text("press Download or Load first")

    offer.get_by_role("button", name=re.compile("Download")).click()
    expect(offer).to_contain_text("is loaded")
    assert len(weights(page)) == 2

    page.get_by_label(re.compile("^Prompt$")).fill(PROMPTS[0])
    page.get_by_role("textbox", name="Stack").fill(STACK)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".hsd-badge")).to_have_text("Finished run")
    expect(page.locator(".hsd-origin-stack")).to_have_text(STACK)

    page.reload()
    page.get_by_role("button", name="New run").click()
    page.get_by_label(re.compile("^Models")).select_option("smollm2")
    expect(offer).to_contain_text("is kept in this browser")
    offer.get_by_role("button", name="Load").click()
    expect(offer).to_contain_text("is loaded")
    assert len(weights(page)) == 2

    offer.get_by_role("button", name="Unload and delete").click()
    expect(offer).to_contain_text("after a download")


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_an_answer_is_the_one_of_the_command_line(page, address, family, temperature):
    settings = {"stack": STACK, "temperature": temperature, "seed": 3, "rule": "block"}
    settings |= {"prompt": PROMPTS[1], "max_new_tokens": 40, "chat": True}
    page.goto(address)
    page.evaluate("window.hsd.load('smollm2')")
    answer = page.evaluate("(r) => window.hsd.decode({ ...r, family: 'smollm2' })", settings)
    expected = load_engine(family=family, device="cpu", threads=1).run(**settings)
    assert answer["token_ids"] == expected.token_ids
    assert answer["text"] == expected.text


def test_the_article_answers_with_the_family(page, address):
    page.goto(address)
    scene = page.locator("#scene-answers")
    scene.get_by_role("button", name=re.compile("Download")).click()
    expect(scene).to_contain_text("is loaded")
    scene.get_by_role("button", name="Answer in this tab").click()
    expect(scene.locator(".hsd-out .hsd-tok").first).to_be_visible()
    expect(scene.get_by_role("button", name="Answer in this tab")).to_be_visible()
    assert scene.locator(".status.bad").count() == 0


def test_a_download_is_cancelled_and_resumes_at_what_has_arrived(page, address):
    held: list = []
    page.route("**/nano-00.weights", lambda route: held.append(route))
    open_form(page, address)
    offer = page.get_by_role("group", name="Download of SmolLM2-135M-Instruct")
    offer.get_by_role("button", name=re.compile("Download")).click()
    while not held:
        page.wait_for_timeout(50)
    offer.get_by_role("button", name="Cancel").click()
    expect(offer).to_contain_text("have arrived")
    page.unroute("**/nano-00.weights")
    asked = len(weights(page))
    offer.get_by_role("button", name=re.compile("Download|Load")).click()
    expect(offer).to_contain_text("is loaded")
    again = [url.rpartition("/")[2] for url in weights(page)[asked:]]
    assert "target-00.weights" not in again


#: What a device lacks, in a script that runs before the page's, and the words that say so.
LACKING = {
    "memory": (
        "Object.defineProperty(navigator, 'deviceMemory', { get: () => 1 });",
        "This device has 1 GB of memory",
    ),
    "a whole file": ("", "is incomplete"),
}


@pytest.mark.parametrize("lack", LACKING)
def test_a_device_that_cannot_is_answered_in_one_line(page, address, lack):
    script, words = LACKING[lack]
    page.add_init_script(script)
    if lack == "a whole file":
        page.route("**/target-00.weights", partial(_cut, 1000))
    page.goto(address)
    answer = page.evaluate("window.hsd.load('smollm2').then(() => '', (e) => e.message)")
    assert words in answer
    assert "\n" not in answer
    expect(page.locator("#scene-answers")).to_contain_text(words)
    # The models of the site still decode.
    decoded = page.evaluate(
        "window.hsd.decode({ prompt: 'def f(', stack: 'nano', max_new_tokens: 2 })"
    )
    assert len(decoded["token_ids"]) == 2


def _cut(size: int, route) -> None:
    route.fulfill(status=200, body=b"\0" * size)


@pytest.mark.parametrize("width", [1440, 420])
def test_the_pages_of_a_site_are_accessible(chromium, address, width):
    # The pages run no script of another origin: axe-core comes past their policy.
    context = chromium.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(address)
    expect(page.locator("#scene-hierarchies .hsd-vs-runs > li")).to_have_count(3)
    assert violations(page) == []
    page.add_init_script("try { localStorage.setItem('hsd_viz.game', 'yes') } catch {}")
    page.goto(address + "explore.html")
    expect(page.locator(".hsd-out .hsd-tok").first).to_be_visible()
    page.get_by_role("button", name="New run").click()
    assert violations(page) == []
    context.close()
