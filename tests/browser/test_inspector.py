"""The round inspector by itself in a page."""

from __future__ import annotations

import re

import pytest

from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled
from hsd_viz.trace import RoundRow, Step, TokenRow, Trace
from hsd_viz.views.run_views import RoundInspector, Timeline
from hsd_viz.views.stream import TokenStream

from .round_page import STRANGE, nodes, selected, start, title, tree_trace

pytestmark = pytest.mark.browser

WHY = {
    "no match": "had no match",
    "not worth it": "below the verification cost",
    "no room": "one more token",
    "off": "plain decoding",
    None: "reason not recorded",
}


def test_rounds_of_the_levels_below_are_reached_from_the_target_s(open_page):
    shown = open_page()
    page, trace = shown.page, load_bundled("both")
    start(page, trace, RoundInspector)
    top = next(r for r in trace.round_rows if r.parent is None)
    below = sorted((r for r in trace.round_rows if r.parent == top.id), key=lambda r: r.id)
    lowest = sorted((r for r in trace.round_rows if r.parent == below[0].id), key=lambda r: r.id)
    page.get_by_role("button", name="small, round 1:").click()
    assert title(page).endswith("small’s round 1")
    assert len(nodes(page)) == 1 + below[0].drafted + 1
    assert page.locator(".hsd-ins-chips button").count() == len(below) + len(lowest)
    page.get_by_role("button", name="nano, round 1:").click()
    assert title(page).endswith("nano’s round 1")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("nano, round 1")
    page.get_by_role("button", name="round 1", exact=True).click()
    assert title(page).startswith("Round 1 of")
    assert "below" not in title(page)
    shown.check()


def test_keys_walk_the_tree_and_pin(open_page):
    shown = open_page()
    page, trace = shown.page, load_bundled("one-draft")
    start(page, trace, RoundInspector, TokenStream)
    drafts = [d for d in trace.draft_rows if d.round == 0]
    page.locator(".hsd-ins-tree").focus()
    for d in drafts[:3]:
        page.keyboard.press("ArrowRight" if d.verdict == "accepted" or d.node == 0 else "ArrowDown")
        if d.verdict == "rejected":  # the kept path goes on to the target's own token; the refused one stands below it
            continue
        assert selected(page).startswith(f"position {d.depth}, ")
        assert d.verdict in selected(page)
    page.keyboard.press("End")
    own = next(t for t in trace.token_rows if t.kind in ("correction", "bonus"))
    assert f"own token, {own.kind}" in selected(page)
    page.keyboard.press("Enter")
    assert page.locator(".hsd-ins-node.hsd-pinned").count() == 1
    assert page.get_attribute(".hsd-tok.hsd-pinned", "data-i") == str(own.index)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    assert selected(page) == "text so far"
    page.keyboard.press("Escape")
    assert page.locator(".hsd-ins-node.hsd-pinned").count() == 0
    shown.check()


def test_the_arithmetic_stands_there_with_the_run_s_numbers(open_page):
    shown = open_page()
    page, trace = shown.page, load_bundled("sampled")
    start(page, trace, RoundInspector)
    for round_id in [r.id for r in trace.round_rows][:8]:
        looked = [d for d in trace.draft_rows if d.round == round_id and d.u is not None]
        lines = [t for t in page.locator(".hsd-ins-sum").all_text_contents() if t]
        assert len(lines) == len(looked)
        for d, line in zip(looked, lines, strict=True):
            u, q, product, sign, p = re.fullmatch(r"u · q = (\S+) × (\S+) = (\S+) (<|≥) (\S+) = p", line).groups()
            assert sign == ("<" if d.verdict == "accepted" else "≥")
            for text, value in ((u, d.u), (q, d.q), (product, d.u * d.q), (p, d.p)):
                assert float(text) == pytest.approx(value, rel=6e-3)
        page.get_by_role("button", name="Next round").click()
    shown.check()


@pytest.mark.parametrize("width", [1400, 420])
@pytest.mark.parametrize("count", [16, 28, 64])
def test_trees_of_strange_text_stay_legible_and_scroll_in_their_own_box(open_page, width, count):
    shown = open_page(width)
    page = shown.page
    start(page, tree_trace(count), TokenStream, RoundInspector, Timeline)
    assert len(nodes(page)) == count + 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = page.eval_on_selector_all(
        ".hsd-ins-node",
        "all => all.map(n => [n.offsetLeft, n.offsetTop, n.offsetLeft + n.offsetWidth, n.offsetTop + n.offsetHeight])",
    )
    for k, (left, top, right, bottom) in enumerate(boxes):
        assert right - left >= 36 and bottom - top >= 26
        assert all(o[0] >= right or o[2] <= left or o[1] >= bottom or o[3] <= top for o in boxes[k + 1 :])
    texts = page.eval_on_selector_all(".hsd-ins-node code", "all => all.map(n => n.textContent)")
    assert STRANGE[0] in texts and "‹U+202E›abc" in texts and "↵↵␣␣␣␣" in texts
    # Walking to the last node brings it into sight, and leaves the page where it was.
    page.locator(".hsd-ins-tree").focus()
    before = page.evaluate("scrollY")
    for key in ["ArrowRight", *["ArrowDown"] * count]:
        page.keyboard.press(key)
    seen = page.evaluate("""() => {
      const node = document.querySelector(".hsd-ins-node[aria-selected=true]").getBoundingClientRect();
      const box = document.querySelector(".hsd-ins-scroll").getBoundingClientRect();
      return node.top >= box.top && node.bottom <= box.bottom && node.left >= box.left && node.right <= box.right;
    }""")
    assert seen
    assert page.evaluate("scrollY") == before
    assert page.evaluate("window.pwned") is None
    shown.check()


@pytest.mark.parametrize("name", ["databases", "hierarchy", "sampled", "plain"])
def test_the_page_below_stays_where_it_is_while_rounds_go_by(open_page, name):
    shown = open_page()
    page, trace = shown.page, load_bundled(name)
    start(page, trace, RoundInspector)
    heights = set()
    for _ in range(20):
        heights.add(page.locator(".hsd-inspector").bounding_box()["height"])
        page.get_by_role("button", name="Next round").click()
    assert len(heights) == 1
    shown.check()


#: Words of the two views that stand at a contrast below 4.5 on what is behind them.
FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const over = (top, under) => [0, 1, 2].map((k) => (top[k] * top[3] + under[k] * (255 - top[3])) / 255);
  const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  const luminance = (c) => 0.2126 * linear(c[0] / 255) + 0.7152 * linear(c[1] / 255) + 0.0722 * linear(c[2] / 255);
  const page = rgba(getComputedStyle(document.documentElement).getPropertyValue("--test-page"));
  const behind = (node) => {
    const layers = [];
    for (let n = node; n; n = n.parentElement) layers.unshift(rgba(getComputedStyle(n).backgroundColor));
    return layers.reduce((under, top) => over(top, under), [...page]);
  };
  const out = [];
  for (const node of document.querySelectorAll(".hsd-inspector *, .hsd-timeline *")) {
    const words = [...node.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!words || node.closest("svg") || node.closest(":disabled") || !node.getClientRects().length) continue;
    const under = behind(node);
    const [a, b] = [luminance(over(rgba(getComputedStyle(node).color), under)), luminance(under)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) out.push(`${node.className} "${node.textContent.slice(0, 30)}": ${ratio.toFixed(2)}`);
  }
  return out;
}"""


@pytest.mark.parametrize(("theme", "colour"), [("light", "#ffffff"), ("dark", "#111111")])
def test_words_can_be_read_in_both_themes(open_page, theme, colour):
    shown = open_page()
    page = shown.page
    page.evaluate(
        """([theme, colour]) => {
          document.body.dataset.jpThemeLight = String(theme === "light");
          document.documentElement.style.cssText = `--test-page: ${colour}; --jp-layout-color1: ${colour}`;
        }""",
        [theme, colour],
    )
    start(page, load_bundled("both"), RoundInspector, Timeline)
    assert page.locator(".hsd-inspector.hsd-dark").count() == (theme == "dark")
    for _ in range(4):
        assert page.evaluate(FAINT) == []
        page.get_by_role("button", name="Next round").click()
        page.get_by_role("button", name="small, round 1:").click()
    page.eval_on_selector(".hsd-ins-summary", "node => { node.style.color = '#777'; }")
    assert len(page.evaluate(FAINT)) == 1  # what measures can fail
    shown.check()


@pytest.mark.parametrize("why", list(WHY), ids=str)
def test_why_nothing_was_drafted_is_said_in_words(open_page, why):
    shown = open_page(420)
    page = shown.page
    trace = Trace({"stack": "db > target", "prompt": "p", "wall_ns": 10, "prefill_ns": 0})
    token = TokenRow(0, 1, "x", None, 0, "plain", "target", (1,), 0)
    trace.append(Step([token], [], [RoundRow(0, None, 1, 0, 0, 0, "plain", why, 0, 5)], [], {1: "x"}))
    start(page, trace, RoundInspector)
    words = page.text_content(".hsd-ins-summary")
    assert words.startswith("No draft: ") and WHY[why] in words
    assert nodes(page) == ["-1", "1000000"]
    shown.check()


def test_a_node_lights_the_place_it_was_copied_from(open_page):
    shown = open_page()
    page, trace = shown.page, load_bundled("repetition")
    start(page, trace, TokenStream, RoundInspector)
    copied = next(d for d in trace.draft_rows if d.position is not None and d.verdict == "unreached")
    page.locator(f'.hsd-ins-node[data-key="{copied.node}"]').hover()
    prompt = [trace.pieces[i] for i in trace.meta["prompt_ids"]]
    assert copied.position < len(prompt)
    lit = page.eval_on_selector_all(".hsd-ptok", "all => all.findIndex(s => s.classList.contains('hsd-lit2'))")
    assert lit == copied.position
    page.mouse.move(2, 2)
    assert page.locator(".hsd-lit2").count() == 0
    shown.check()


def table(page) -> dict[str, list[str]]:
    """The rows of the correction's table by their names."""
    rows = page.eval_on_selector_all(
        ".hsd-ins-table tbody tr:not(.hsd-ins-barline), .hsd-ins-table tfoot tr",
        "all => all.map(tr => [...tr.children].map(cell => cell.textContent))",
    )
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("recorded", [True, False])
def test_a_correction_s_residual_can_be_done_again_from_the_table(open_page, recorded):
    shown = open_page()
    page, trace = shown.page, load_bundled("sampled")
    tokens = [t for t in trace.token_rows if t.residual_top]
    if not recorded:  # an older trace gives the sum away by what else it holds of a token, if it is enough
        trace.token_rows[:] = [t._replace(residual_sum=None) for t in trace.token_rows]
    start(page, trace, RoundInspector, TokenStream)
    for token in tokens:
        page.locator(f'.hsd-tok[data-i="{token.index}"]').click()
        rows = table(page)
        if recorded or rows["sum"][2] != "–":
            break
    whole = token.residual_sum
    refused = next(d for d in trace.draft_rows if d.round == token.round and d.verdict == "rejected")
    assert list(map(float, rows[refused.text.replace("\n", "↵").replace(" ", "␣")])) == pytest.approx(
        [refused.p, refused.q, 0, 0], abs=6e-5
    )
    total = float(rows["sum"][2])
    assert total == pytest.approx(whole, abs=6e-5)
    residuals = []
    for i, residual in token.residual_top:
        p, q, left, scaled = rows[trace.pieces[i].replace("\n", "↵").replace(" ", "␣")]
        assert float(scaled) == pytest.approx(residual, abs=6e-5)
        assert float(left) / total == pytest.approx(residual, abs=1e-3)
        if "≤" not in q:
            assert float(p) - float(q) == pytest.approx(float(left), abs=2e-4)
        residuals.append(residual)
    assert float(rows["all others"][3]) == pytest.approx(1 - sum(residuals), abs=6e-5)
    widths = page.eval_on_selector_all(
        ".hsd-ins-table .hsd-ins-fill", "all => all.map(n => n.getBoundingClientRect().width)"
    )
    assert max(widths) > 200
    shown.check()


def test_a_walked_draft_s_correction_comes_from_p_without_what_was_drafted(open_page):
    shown = open_page()
    page, trace = shown.page, load_bundled("databases", SIDE_BY_SIDE / "sampled")
    token = next(t for t in trace.token_rows if t.residual_top)
    refused = {d.token_id: d for d in trace.draft_rows if d.round == token.round and d.verdict == "rejected"}
    start(page, trace, RoundInspector, TokenStream)
    page.locator(f'.hsd-tok[data-i="{token.index}"]').click()
    rows = table(page)
    kept = 1 - sum(d.p for d in refused.values())
    assert float(rows["sum"][1]) == pytest.approx(kept, abs=6e-5)
    for i, residual in token.residual_top:
        p, left, scaled = map(float, rows[trace.pieces[i].replace("\n", "↵").replace(" ", "␣")])
        assert p == left == pytest.approx(residual * kept, abs=6e-5)
        assert scaled == pytest.approx(residual, abs=6e-5)
    words = page.text_content(".hsd-ins-bars section")
    assert "It is not a draft token" in words and "residual" not in words
    shown.check()


def test_a_chance_is_that_of_being_kept(open_page):
    shown = open_page()
    page, trace = shown.page, load_bundled("sampled")
    start(page, trace, RoundInspector, TokenStream)
    d = next(d for d in trace.draft_rows if d.verdict == "rejected")
    page.locator(f'.hsd-tok[data-i="{next(t.index for t in trace.token_rows if t.round == d.round)}"]').click()
    words = page.text_content(f'.hsd-ins-step[data-node="{d.node}"]')
    assert f"rejected: acceptance probability {d.p / d.q:.3f}" in words
    shown.check()


def test_a_box_drawn_out_of_sight_has_its_room_when_it_is_seen(open_page):
    shown = open_page()
    page = shown.page
    page.add_style_tag(content="body > div { display: none }")
    start(page, load_bundled("hierarchy"), RoundInspector)
    page.add_style_tag(content="body > div { display: block !important }")
    page.wait_for_timeout(200)
    tree, scroll = (page.locator(name).bounding_box()["height"] for name in (".hsd-ins-tree", ".hsd-ins-scroll"))
    assert tree <= scroll - 36 and scroll < 130
    shown.check()


def test_on_a_narrow_page_a_tree_goes_down_where_it_would_run_off(open_page):
    shown = open_page(420)
    page = shown.page
    start(page, load_bundled("hierarchy"), RoundInspector)
    page.get_by_role("button", name="Next round").click()
    assert page.locator(".hsd-ins-scroll.hsd-down").count() == 1
    assert page.evaluate("(box => box.scrollWidth - box.clientWidth)(document.querySelector('.hsd-ins-scroll'))") == 0
    shown.check()
