"""The scene of a round by itself in a page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from hsd_viz.engine.recordings import SIDE_BY_SIDE, load_bundled
from hsd_viz.views.linked import RoundInspector, Timeline, TokenStream
from tests.rows import column, find, select

from .conftest import quiet
from .round_page import STRANGE, nodes, selected, start, title, tree_trace

pytestmark = pytest.mark.browser


def test_every_level_s_tokens_are_on_its_floor_and_survivors_in_the_text(open_page):
    shown = open_page()
    page = shown.page
    trace = load_bundled("both")
    start(page, trace, RoundInspector)
    rounds = select(trace.round_rows, parent=None)
    top = rounds[int(re.match(r"Round (\d+) of", title(page))[1]) - 1]
    below = column(select(trace.round_rows, parent=top.id), "id")
    words = page.locator(".hsd-sc-label").all_text_contents()
    assert words[2].startswith("target: one forward pass")
    assert words[1].startswith(f"small: {len(below)} forward pass" if len(below) > 1 else "small: ")
    rejected = next(d for d in trace.draft_rows if d.round in below and d.verdict == "rejected")
    chip = f'.hsd-sc-chip[aria-label^="position {rejected.depth}, "][data-verdict=rejected]'
    page.locator(chip).last.click()
    assert "’s round" in title(page)
    tokens = select(trace.token_rows, round=top.id)
    tops = page.eval_on_selector_all(
        ".hsd-sc-chip[data-key]",
        "all => all.map(n => new DOMMatrix(getComputedStyle(n).transform).f)",
    )
    assert tops.count(min(tops)) == len(tokens)
    shown.check()


def test_keys_walk_the_scene_and_pin(open_page):
    shown = open_page()
    page = shown.page
    trace = load_bundled("one-draft")
    start(page, trace, RoundInspector, TokenStream)
    assert page.locator(".hsd-sc-chip[data-key][data-verdict=rejected]").count(), (
        "it opens on a round with a rejection"
    )
    drafts = select(trace.draft_rows, round=0)
    page.locator(".hsd-out").focus()
    page.keyboard.press("Home")
    page.locator(".hsd-sc-stage").focus()
    page.keyboard.press("Home")
    for d in select(drafts, verdict="accepted"):
        assert selected(page).startswith(f"position {d.depth}, ")
        assert d.verdict in selected(page)
        page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    own = next(t for t in trace.token_rows if t.kind in ("correction", "bonus"))
    assert f"own token, {own.kind}" in selected(page)
    page.keyboard.press("Enter")
    assert page.locator(".hsd-sc-chip.hsd-pinned").count() == 1
    assert page.get_attribute(".hsd-tok.hsd-pinned", "data-i") == str(own.index)
    page.keyboard.press("ArrowLeft")
    assert "accepted" in selected(page)
    page.keyboard.press("Escape")
    assert page.locator(".hsd-sc-chip.hsd-pinned").count() == 0
    shown.check()


HEIGHTS = """() => [...document.querySelectorAll(".hsd-sc-chip[data-key]:not(.hsd-unborn)")]
  .map(n => new DOMMatrix(n.style.transform).f)"""
#: Written down by the page itself, as it plays: height of the highest chip, corrections, lit beams.
WATCH = f"""() => {{
  const count = (selector) => document.querySelectorAll(selector).length;
  window.seen = [];
  const look = () => seen.push([
    Math.min(999, ...({HEIGHTS})()),
    count("[data-key][data-verdict=correction]"),
    count(".hsd-sc-beam.hsd-lit"),
  ]);
  const all = {{ subtree: true, childList: true, attributes: true }};
  new MutationObserver(look).observe(document.querySelector(".hsd-scene"), all);
}}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_played_round_rises_from_the_lowest_floor_and_ends_as_text(open_page, motion):
    shown = open_page()
    page = shown.page
    page.emulate_media(reduced_motion=motion)
    start(page, load_bundled("hierarchy"), RoundInspector)
    last = sorted(page.evaluate(HEIGHTS))
    chips = page.locator(".hsd-sc-chip[data-key]")
    first = chips.first.element_handle()
    page.evaluate(WATCH)
    page.get_by_role("button", name="Play round").click()
    page.wait_for_function("last => seen.some(([top]) => top > last)", arg=min(last))
    page.get_by_role("button", name="Play round").wait_for()
    seen = page.evaluate("seen")
    assert next(corrections for top, corrections, _ in seen if top > min(last)) == 0
    if motion == "reduce":
        assert first.evaluate("n => getComputedStyle(n).transitionDuration") == "0s"
    else:
        assert any(lit for *_, lit in seen)
    assert sorted(page.evaluate(HEIGHTS)) == last
    assert first.evaluate("n => n.isConnected")  # a token is one element, wherever it is
    shown.check()


def test_the_arithmetic_stands_there_with_the_run_s_numbers(open_page):
    shown = open_page()
    page = shown.page
    trace = load_bundled("sampled")
    start(page, trace, RoundInspector, TokenStream)
    page.locator("span.hsd-out").focus()
    page.keyboard.press("Home")
    for round_id in column(trace.round_rows, "id")[:8]:
        for d in (d for d in trace.draft_rows if d.round == round_id and d.u is not None):
            page.locator(f'.hsd-sc-chip[data-key="{round_id}:{d.node}"]').click()
            line = page.text_content(".hsd-card .hsd-sum")
            u, q, product, sign, p = re.fullmatch(
                r"u · q = (\S+) × (\S+) = (\S+) (<|≥) (\S+) = p", line
            ).groups()
            assert sign == ("<" if d.verdict == "accepted" else "≥")
            for text, value in ((u, d.u), (q, d.q), (product, d.u * d.q), (p, d.p)):
                assert float(text) == pytest.approx(value, rel=6e-3)
        page.get_by_role("button", name="Next round").click()
    shown.check()


@pytest.mark.parametrize(("rule", "explained"), [("block", True), ("token", False)])
def test_a_card_of_the_block_rule_explains_h(open_page, engine, rule, explained):
    trace = engine.run(
        "def f(x):", "nano:4 > target", max_new_tokens=16, temperature=0.7, rule=rule
    )
    shown = open_page()
    page = shown.page
    start(page, trace, RoundInspector, TokenStream)
    page.locator("span.hsd-out").focus()
    page.keyboard.press("Home")
    first = next(d for d in trace.draft_rows if d.u is not None)
    page.locator(f'.hsd-sc-chip[data-key="{first.round}:{first.node}"]').click()

    help_text = page.locator(".hsd-card details")
    assert bool(help_text.count()) is explained
    if explained:
        help_text.first.locator("summary").click()
        assert "h = s/(s + 1 − w)" in help_text.first.inner_text()
    shown.check()


@pytest.mark.parametrize(("width", "count"), [(1400, 28), (420, 64)])
def test_trees_of_strange_text_stay_legible_and_scroll_in_their_own_box(open_page, width, count):
    shown = open_page(width)
    page = shown.page
    start(page, tree_trace(count), TokenStream, RoundInspector, Timeline)
    assert len(nodes(page)) == count + 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = page.eval_on_selector_all(
        ".hsd-sc-chip[data-key]",
        "all => all.map(n => { const m = new DOMMatrix(n.style.transform);"
        " return [m.e, m.f, m.e + n.offsetWidth, m.f + n.offsetHeight]; })",
    )
    for k, (left, top, right, bottom) in enumerate(boxes):
        assert right - left >= 36
        assert bottom - top >= 26
        for o in boxes[k + 1 :]:
            assert o[0] >= right or o[2] <= left or o[1] >= bottom or o[3] <= top
    texts = page.eval_on_selector_all(
        ".hsd-sc-chip[data-key] code", "all => all.map(n => n.textContent)"
    )
    assert STRANGE[0] in texts
    assert "‹U+202E›abc" in texts
    assert "↵↵␣␣␣␣" in texts
    # Walking to the last row brings it into sight, and leaves the page where it was.
    page.locator(".hsd-sc-stage").focus()
    before = page.evaluate("scrollY")
    for key in ["Home", *["ArrowDown"] * count]:
        page.keyboard.press(key)
    quiet(page)
    seen = page.evaluate("""() => {
      const chip = document.querySelector(".hsd-sc-chip[aria-selected=true]");
      const node = chip.getBoundingClientRect();
      const box = document.querySelector(".hsd-sc-scroll").getBoundingClientRect();
      return node.top >= box.top && node.bottom <= box.bottom
        && node.left >= box.left && node.right <= box.right;
    }""")
    assert seen
    assert page.evaluate("scrollY") == before
    assert page.evaluate("window.pwned") is None
    shown.check()


@pytest.mark.parametrize("name", ["hierarchy", "plain"])
def test_the_page_below_stays_where_it_is_while_rounds_go_by(open_page, name):
    shown = open_page()
    page = shown.page
    trace = load_bundled(name)
    start(page, trace, RoundInspector)
    page.locator(".hsd-sc-play").press("Home")
    heights = set()
    for _ in range(20):
        heights.add(page.locator(".hsd-scene").bounding_box()["height"])
        page.get_by_role("button", name="Next round").click()
    assert len(heights) == 1
    shown.check()


def test_a_node_lights_the_place_it_was_copied_from(open_page):
    shown = open_page()
    page = shown.page
    trace = load_bundled("repetition")
    start(page, trace, TokenStream, RoundInspector)
    copied = next(
        d for d in trace.draft_rows if d.position is not None and d.verdict == "unreached"
    )
    assert copied.round == 0
    page.locator(".hsd-sc-play").press("Home")
    page.locator(f'.hsd-sc-chip[data-key="{copied.round}:{copied.node}"]').hover()
    prompt = [trace.pieces[i] for i in trace.meta["prompt_ids"]]
    assert copied.position < len(prompt)
    lit = page.eval_on_selector_all(
        ".hsd-ptok", "all => all.findIndex(s => s.classList.contains('hsd-lit2'))"
    )
    assert lit == copied.position
    page.mouse.move(2, 2)
    assert page.locator(".hsd-lit2").count() == 0
    shown.check()


def table(page) -> dict[str, list[str]]:
    """The values of the dart board by their names."""
    rows = page.eval_on_selector_all(
        ".hsd-dt :is(tbody, tfoot) tr",
        "all => all.map(tr => [...tr.children].map(cell => cell.textContent))",
    )
    return {row[0]: row[1:] for row in rows}


def glyphs(text: str) -> str:
    return text.replace("\n", "↵").replace(" ", "␣")


@pytest.mark.slow
def test_a_correction_s_residual_can_be_done_again_from_the_table(open_page):
    shown = open_page()
    page = shown.page
    trace = load_bundled("sampled")
    tokens = [t for t in trace.token_rows if t.residual_top]
    start(page, trace, RoundInspector, TokenStream)
    for token in tokens:
        page.locator(f'.hsd-tok[data-i="{token.index}"]').click()
        rows = table(page)
        known = [
            (i, residual) for i, residual in token.residual_top if glyphs(trace.pieces[i]) in rows
        ]
        if known:  # of other tokens p is not recorded
            break
    refused = find(trace.draft_rows, round=token.round, verdict="rejected")
    assert list(map(float, rows[glyphs(refused.text)])) == pytest.approx(
        [refused.p, refused.q, refused.p, 0, 0], abs=6e-5
    )
    total = float(rows["sum"][3])
    assert total == pytest.approx(token.residual_sum, abs=6e-5)
    assert float(rows["sum"][2]) + total == pytest.approx(1, abs=2e-4)
    for i, residual in known:
        p, q, accepted, left, scaled = map(float, rows[glyphs(trace.pieces[i])])
        assert scaled == pytest.approx(residual, abs=6e-5)
        assert left / total == pytest.approx(residual, abs=1e-3)
        assert p - q == pytest.approx(left, abs=2e-4)
        assert accepted + left == pytest.approx(p, abs=2e-4)
    assert float(rows["others"][4]) == pytest.approx(1 - sum(r for _, r in known), abs=2e-4)
    shown.check()


def test_a_walked_draft_s_correction_comes_from_p_without_what_was_drafted(open_page):
    shown = open_page()
    page = shown.page
    trace = load_bundled("databases", SIDE_BY_SIDE / "sampled")
    token = next(t for t in trace.token_rows if t.residual_top)
    refused = {
        d.token_id: d
        for d in trace.draft_rows
        if d.round == token.round and d.verdict == "rejected"
    }
    start(page, trace, RoundInspector, TokenStream)
    page.locator(f'.hsd-tok[data-i="{token.index}"]').click()
    rows = table(page)
    kept = 1 - sum(column(refused.values(), "p"))
    assert float(rows["sum"][3]) == pytest.approx(kept, abs=6e-5)
    for i, residual in token.residual_top:
        if glyphs(trace.pieces[i]) not in rows:  # of the column of all others
            assert residual * kept < 0.0005
            continue
        p, drafted, accepted, left, scaled = rows[glyphs(trace.pieces[i])]
        assert drafted == "no"
        assert accepted == "0"
        assert float(p) == float(left) == pytest.approx(residual * kept, abs=6e-5)
        assert float(scaled) == pytest.approx(residual, abs=6e-5)
    shown.check()


def test_a_thousand_darts_make_p_and_with_the_broken_rule_they_do_not(open_page):
    shown = open_page()
    page = shown.page
    trace = load_bundled("sampled")
    start(page, trace, RoundInspector, TokenStream)
    # Several likely tokens have columns here, so that the broken rule shows.
    token = next(row for row in trace.token_rows if row.residual_top and row.text == " given")
    page.locator(f'.hsd-tok[data-i="{token.index}"]').click()
    board = page.locator(".hsd-dt")
    page.get_by_role("button", name="Throw a dart").click()
    expect(board).to_contain_text("Last dart: ")
    page.get_by_role("button", name="Throw 1 000").click()
    expect(board).to_contain_text("1 001 darts; ")
    expect(board).to_contain_text("All shares are within chance")
    assert page.locator(".hsd-dt-pile.hsd-off").count() == 0
    page.get_by_role("button", name="Break the rule").click()
    expect(board).to_contain_text("1 000 darts; ")
    expect(board).to_contain_text("the text is no longer the model’s")
    assert page.locator(".hsd-dt-pile.hsd-off").count() > 0
    page.get_by_role("button", name="Back to the right rule").click()
    expect(board).to_contain_text("All shares are within chance")
    shown.check()
