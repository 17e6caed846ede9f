"""The game on the first screen, and the tour, through Voilà."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from hsd_viz.engine.recordings import load_bundled

from .conftest import PATIENCE
from .explorer import TOKENS, choose_of_run, opened, violations

pytestmark = pytest.mark.browser


def phase(page, name: str) -> None:
    page.wait_for_selector(f".hsd-game[data-phase={name}]", timeout=PATIENCE)


def what_stays(page) -> list[float]:
    """Return where the text, the words to choose from, the field and the button begin."""
    names = (".hsd-gm-line", ".hsd-gm-choices", ".hsd-gm-field", ".hsd-gm-go")
    return [page.locator(name).bounding_box()["y"] for name in names]


def test_a_newcomer_plays_by_keyboard_and_opens_the_own_game(open_page, voila):
    shown = open_page(1440, intro=True)
    page = shown.page
    page.goto(voila, wait_until="domcontentloaded")
    write = page.get_by_label("Write what comes next")
    expect(write).to_be_focused(timeout=PATIENCE)
    assert page.locator(".hsd-main").is_hidden(), "the game has the page for itself"
    assert violations(page) == []
    expect(page.locator(".hsd-gm-sheet")).to_contain_text("The first wrong word is replaced")
    idea = page.locator(".hsd-gm-idea")
    expect(idea).to_contain_text("Without a guess: 9 passes")
    assert page.locator(".hsd-gm-standings, .hsd-gm-plot").count() == 0, "nothing is empty"
    places = what_stays(page)
    page.keyboard.type("zzz yyy")
    page.keyboard.press("Enter")
    phase(page, "write")
    expect(page.locator(".hsd-gm-said")).to_contain_text("0 of 2 words accepted")
    expect(page.locator(".hsd-gm-standings")).to_contain_text("tokens after 1 pass")
    players = page.locator(".hsd-gm-standings li")
    expect(players).to_contain_text(["You", "Copying", "a tiny model", "Plain"])
    figures = page.locator(".hsd-gm-standings strong")
    assert figures.last.inner_text() == "1", "the others have as many passes"
    expect(idea).to_have_count(0)
    assert what_stays(page) == places
    focused = {"lesson": ".hsd-gm-next", "result": ".hsd-gm-time"}
    while (now := page.locator(".hsd-game").get_attribute("data-phase")) != "time":
        if now in focused:
            expect(page.locator(focused[now])).to_be_focused()
        elif page.locator(".hsd-gm-choice").count():
            page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.wait_for_selector(".hsd-game:not([data-phase=reading])")
    phase(page, "time")
    expect(page.locator(".hsd-gm-verdict")).to_contain_text("plain decoding")
    expect(page.locator(".hsd-gm-price input")).to_be_focused()
    expect(page.locator(".hsd-gm-marks")).to_have_text(re.compile(r"nano\s\d+\s%"))
    page.keyboard.press("End")
    expect(page.locator(".hsd-gm-price strong")).to_have_text("100 % of a pass")
    expect(page.locator(".hsd-gm-verdict")).to_contain_text("plain decoding")
    page.locator(".hsd-gm-presets button", has_text="GPU").press("Enter")
    expect(page.locator(".hsd-gm-price strong")).to_have_text("1 % of a pass")
    page.locator(".hsd-gm-exact").press("Enter")
    phase(page, "exact")
    expect(page.get_by_role("button", name="Less often")).to_be_focused()
    throw = page.get_by_role("button", name="Throw 1 000")
    expect(throw).to_have_count(0)
    assert page.locator(".hsd-gm-picture").count() == 0, "the darts have the screen for themselves"
    page.keyboard.press("Enter")
    game = page.locator(".hsd-game")
    expect(throw).to_be_focused()
    expect(game).to_contain_text(re.compile(r"No, just as often. “.*”: .* without a proposal"))
    expect(game).to_contain_text(re.compile(r"1\s000 darts; "))
    expect(game).to_contain_text("All shares are within chance")
    page.get_by_role("button", name="Break the rule").press("Enter")
    expect(game).to_contain_text("the text is no longer the model’s")
    page.get_by_role("button", name="Back to the right rule").press("Enter")
    expect(game).to_contain_text("All shares are within chance")
    expect(game.locator(".hsd-dt-part")).to_have_count(0)
    page.get_by_role("button", name="p, q and u").press("Enter")
    expect(game.locator(".hsd-dt-part", has_text="rejected")).to_have_count(1)
    expect(game).to_contain_text("keep the proposed token if u·q < p")
    page.get_by_role("button", name="Throw a dart").press("Enter")
    expect(game).to_contain_text(re.compile("Last dart: .* (kept|redrawn)"))
    assert violations(page) == []
    page.locator(".hsd-gm-explore").press("Enter")
    page.wait_for_selector(TOKENS)
    expect(page.locator(".hsd-game")).to_have_count(0)
    expect(page.locator(".hsd-run-select")).to_be_focused()
    expect(page.locator(".hsd-origin-stack")).to_have_text("you > target")
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    assert page.locator(".hsd-game").count() == 0, "it opens once"
    page.locator(".hsd-header-tools button", has_text="The game").click()
    expect(write).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".hsd-game")).to_have_count(0)
    shown.check()


#: Visible controls of the game that are too small for a thumb.
SMALL = """() => [...document.querySelectorAll('.hsd-game :is(button, input)')]
  .filter((control) => {
    const { width, height } = control.getBoundingClientRect();
    return width > 0 && (width < 44 || height < 44);
  })
  .map((control) => control.outerHTML)"""


def test_a_thumb_plays_to_the_card_and_breaks_the_rule(chromium, voila):
    context = chromium.new_context(
        viewport={"width": 420, "height": 860},
        has_touch=True,
        is_mobile=True,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(voila, wait_until="domcontentloaded")
    page.wait_for_selector(".hsd-gm-choice", timeout=PATIENCE)
    expect(page.locator(".hsd-gm-go")).to_be_disabled()
    rule = page.locator(".hsd-gm-said").bounding_box()
    assert rule["y"] + rule["height"] < page.locator(".hsd-gm-choices").bounding_box()["y"]
    places = what_stays(page)
    passes = 0
    while (now := page.locator(".hsd-game").get_attribute("data-phase")) != "result":
        assert page.evaluate(SMALL) == []
        if now == "lesson":
            page.locator(".hsd-gm-next").tap()
        else:
            passes += 1
            assert passes > 3 or what_stays(page) == places, "nothing moves in a text"
            page.locator(".hsd-gm-choice").first.tap()
            page.locator(".hsd-gm-go").tap()
    page.locator(".hsd-gm-time").tap()
    phase(page, "time")
    assert page.evaluate(SMALL) == []
    with page.expect_download() as card:
        page.get_by_role("button", name="Save a card").tap()
    drawing = card.value.path().read_text(encoding="utf-8")
    assert "A friend played: " in drawing
    assert "Can you beat" not in drawing, "there is no address to play at"
    assert "127.0.0.1" not in drawing
    page.locator(".hsd-gm-exact").tap()
    game = page.locator(".hsd-game")
    game.get_by_role("button", name="Just as often").tap()
    assert page.evaluate(SMALL) == []
    expect(game).to_contain_text("You guessed it: no, just as often.")
    game.get_by_role("button", name="Throw 1 000").tap()
    expect(game).to_contain_text("All shares are within chance")
    game.get_by_role("button", name="Break the rule").tap()
    expect(game).to_contain_text("the text is no longer the model’s")
    game.get_by_role("button", name="p, q and u").tap()
    expect(game.locator(".hsd-dt-part", has_text="residual")).to_have_count(1)
    assert page.evaluate(SMALL) == []
    context.close()


def test_the_tour_goes_through_its_stops_and_gives_the_run_back(open_page, voila):
    shown = opened(open_page, f"{voila}?trace=both&theme=dark")
    page = shown.page
    choose_of_run(page, "Take the tour")
    card = page.locator(".hsd-tour-card")
    expect(card).to_be_visible()
    titles = []
    for k in range(8):
        expect(card.locator(".hsd-tour-count")).to_have_text(f"{k + 1} of 8")
        expect(page.locator(".hsd-tour-lit")).to_have_count(1)
        assert k or violations(page) == [], "its text is readable in the dark"
        titles.append(card.locator(".hsd-tour-title").inner_text())
        card.locator(".hsd-tour-next").click()
    assert len(set(titles)) == 8
    expect(card).not_to_be_visible()
    expect(page.locator(".hsd-origin-stack")).to_have_text(load_bundled("both").stack)
    shown.check()
