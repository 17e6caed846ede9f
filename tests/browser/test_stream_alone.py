"""The token stream's script by itself, over a stand-in for the widget's model: order, gaps,
strange text, finding, and 4 000 tokens.
"""

from __future__ import annotations

from functools import partial

import pytest

from hsd_viz.trace import DraftRow, RoundRow, Step, TokenRow, Trace
from hsd_viz.views.linked import Staircase, TokenStream
from hsd_viz.views.run_data import append

from .conftest import quiet
from .round_page import STRANGE
from .round_page import start as show

pytestmark = pytest.mark.browser


def step(index: int, text: str, token_id: int = 1) -> Step:
    """One plain round."""
    token = TokenRow(
        index, token_id, text, None, index, "plain", "target", [0], 0, 0.5, 1.0, [[token_id, 0.5]]
    )
    rounds = [RoundRow(index, None, 0, 0, 0, 0, "plain", "off", index, 1)]
    return Step().add_rows({token_id: text}, tokens=[token], rounds=rounds)


def start(page, steps: list[Step], live: bool = False) -> float:
    """Show a text; return the milliseconds that it took."""
    trace = Trace({"prompt": "p", "stack": "target"})
    for s in steps:
        trace.append(s)
    show(page, trace, TokenStream, steps=len(steps), live=live)
    return page.evaluate("took")


message = partial(append, "r")


def texts(page) -> list[str]:
    quiet(page)
    return page.eval_on_selector_all(
        ".hsd-out .hsd-tok", "all => all.map(t => t.getAttribute('aria-label').split(':')[0])"
    )


def test_views_have_their_styles_in_a_shadow_root(open_page):
    """As marimo draws widgets: styles of the page do not reach there."""
    page = open_page().page
    trace = Trace({"prompt": "p", "stack": "target"})
    for index in range(3):
        trace.append(step(index, "word"))
    show(page, trace, TokenStream, Staircase, steps=3, in_shadow=True)
    treads = page.locator(".hsd-stairs-treads").first
    assert treads.evaluate("e => getComputedStyle(e).stroke") != "none"
    family = page.locator(".hsd-out").first.evaluate("e => getComputedStyle(e).fontFamily")
    assert "monospace" in family


def test_strange_text_is_text_and_stays_in_its_place(open_page):
    shown = open_page()
    page = shown.page
    start(page, [step(i, text, i) for i, text in enumerate([*STRANGE, "\u200b"])])
    content = page.eval_on_selector_all(".hsd-out .hsd-tok", "all => all.map(t => t.textContent)")
    assert content[0] == STRANGE[0]
    assert content[1] == "‹U+202E›abc"
    assert content[2:4] == STRANGE[2:4]
    # Text that is written from right to left does so within its token: tokens follow one another
    # from left to right.
    lefts = page.eval_on_selector_all(
        ".hsd-out .hsd-tok", "all => all.slice(0, 5).map(t => t.getBoundingClientRect().left)"
    )
    assert lefts == sorted(lefts)
    assert len(set(lefts)) == 5
    assert content[4] == "a‹U+0000›b"
    assert content[5] == STRANGE[5], (
        "the glyphs are none of the text: who copies it gets what was written"
    )
    assert content[-1] == "‹U+200B›"
    assert page.evaluate("window.pwned") is None
    for place in range(len(STRANGE)):
        page.evaluate("i => models[0].set('pinned', i)", place)
        assert page.locator(".hsd-card .hsd-big").text_content()
    assert page.evaluate("window.pwned") is None
    shown.check()


# --- long texts

CODE = [*("def", " walk", "(", "tree", "):", "\n    ", '"""', "Go", '"""', "\n\n    ")]
CODE += ["for", " node", " in", " tree", ":", "\n        ", "walk", "(node)"]


def own(index: int, text: str, number: int, kind: str) -> TokenRow:
    """A token of the target."""
    return TokenRow(index, 9, text, None, number, kind, "target", [1], 0, 0.5, 1.0, [[9, 0.5]])


def written(n: int, first: int = 0) -> list[Step]:
    """Steps of four tokens each: two accepted, a correction after a draft that was turned down,
    and one of the target's own.
    """
    steps = []
    for i in range(first, first + n, 4):
        texts = [CODE[(i + k) % len(CODE)] for k in range(4)]
        source = "context" if i % 8 else "nano"
        drafted = [*texts[:2], "wrong"]
        drafts = [
            DraftRow(
                i,
                1,
                source,
                d,
                d - 1,
                d + 1,
                d,
                text,
                0.5,
                1.0,
                None,
                "rejected" if d == 2 else "accepted",
            )
            for d, text in enumerate(drafted)
        ]
        tokens = [
            TokenRow(
                i + d, d, texts[d], None, i, "accepted", source, [0, 1], d + 1, 0.5, 1.0, [[d, 0.5]]
            )
            for d in range(2)
        ]
        verified = RoundRow(i, None, 1, 3, 3, 2, "correction", None, 1000 * i, 900)
        plain = RoundRow(i + 1, None, 1, 0, 0, 0, "plain", "no match", 1000 * i + 900, 100)
        steps.append(
            Step().add_rows(
                tokens=[*tokens, own(i + 2, texts[2], i, "correction")],
                drafts=drafts,
                rounds=[verified],
            )
        )
        steps.append(Step().add_rows(tokens=[own(i + 3, texts[3], i + 1, "plain")], rounds=[plain]))
    return steps


#: Where the ends of the tokens stand.
LINES = """() => [...document.querySelectorAll(".hsd-out .hsd-tok")].map((t) => {
  const end = [...t.getClientRects()].at(-1);
  const out = document.querySelector(".hsd-text").getBoundingClientRect();
  return [Math.round(end.right - out.left), Math.round(end.bottom - out.top)];
})"""


def test_chunks_of_the_text_leave_its_lines_as_they_are(open_page):
    shown = open_page()
    page = shown.page
    start(page, written(1200))
    page.evaluate("m => receive(m)", message(601, written(800, 1200)))
    assert len(texts(page)) == 2000
    style = """(textContent) =>
      document.head.append(Object.assign(document.createElement("style"), { textContent }))"""
    page.evaluate(style, "div.hsd-chunk { content-visibility: visible !important }")

    for change in ("page", "narrow", "without details"):
        if change == "narrow":
            page.set_viewport_size({"width": 420, "height": 1000})
        if change == "without details":
            page.get_by_role("checkbox", name="Details").uncheck()
            assert not page.locator(".hsd-strip").first.is_visible()
        quiet(page)
        sizes = page.eval_on_selector_all(
            ".hsd-chunk", "all => all.map(c => c.querySelectorAll('.hsd-tok').length)"
        )
        assert sum(sizes) == 2000, change
        assert len(sizes) > 4, change
        assert max(sizes) <= 160 + 60, change
        lines = page.evaluate(LINES)
        page.evaluate(
            style,
            "div.hsd-chunk { display: contents }"
            ".hsd-chunk .hsd-tok > .hsd-nl { display: inline !important }",
        )
        page.evaluate(
            style, ".hsd-detailed .hsd-first::before { display: inline-block !important }"
        )
        page.evaluate(style, ".hsd-chunk > [aria-hidden]:not(.hsd-strip) { display: none }")
        assert page.evaluate(LINES) == lines, change
        for _ in range(3):
            page.evaluate("document.head.lastElementChild.remove()")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    copied = page.evaluate(
        "getSelection().selectAllChildren(document.querySelector('.hsd-out'));"
        "getSelection().toString()"
    )
    assert copied.count("\n") == "".join(CODE).count("\n") * (2000 // len(CODE))
    shown.check()


#: Milliseconds of the main thread that the frame with a message's steps takes, update by update at
#: twenty a second: drawing them, style, layout and painting.
STREAMED = """async (messages) => {
  const spent = [], channel = new MessageChannel();
  for (const m of messages) {
    const begun = performance.now();
    await new Promise((over) => {
      let before;
      // Told behind the frame.
      channel.port1.onmessage = () => { spent.push(performance.now() - before); over(); };
      requestAnimationFrame(() => { before = performance.now(); channel.port2.postMessage(0); });
      receive(m);
    });
    await new Promise((r) => setTimeout(r, Math.max(0, 50 - (performance.now() - begun))));
  }
  return spent.sort((a, b) => a - b);
}"""


def test_four_thousand_tokens_open_move_and_grow_quickly(open_page):
    shown = open_page()
    page = shown.page
    opened = start(page, written(4000), live=True)
    assert opened < 3000
    quiet(page)
    for key, shift in (("ArrowRight", False), ("ArrowRight", True), ("ArrowLeft", False)):
        spent = page.evaluate(
            """([key, shiftKey]) => {
              const out = document.querySelector(".hsd-out"), spent = [];
              for (let i = 0; i < 60; i++) {
                const begun = performance.now();
                out.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true }));
                out.getBoundingClientRect();
                spent.push(performance.now() - begun);
              }
              return spent.sort((a, b) => a - b);
            }""",
            [key, shift],
        )
        # The fastest tenth: other work on the machine delays the rest.
        assert spent[6] < 50, key
    more = written(240, 4000)
    spent = page.evaluate(
        STREAMED, [message(2001 + i, more[i : i + 2]) for i in range(0, len(more), 2)]
    )
    # No hitch that a person would notice; without chunks it was three times that on the machine
    # this was written on.
    assert spent[len(spent) // 10] < 50
    assert page.locator(".hsd-out .hsd-tok").count() == 4240
    shown.check()


#: Whether a node stands within the text's pane.
IN_SIGHT = """(selector) => {
  const pane = document.querySelector(".hsd-scroll").getBoundingClientRect();
  const all = document.querySelectorAll(selector);
  const box = all[all.length - 1].getBoundingClientRect();
  return box.top >= pane.top - 1 && box.bottom <= pane.bottom + 1;
}"""


def test_in_a_long_text_the_end_is_followed_and_jumps_land(open_page):
    shown = open_page()
    page = shown.page
    start(page, written(3000), live=True)
    page.evaluate(
        "e => { e = document.querySelector('.hsd-scroll'); e.scrollTop = e.scrollHeight; }"
    )
    quiet(page)
    more = written(400, 3000)
    for i in range(0, len(more), 20):
        page.evaluate("m => receive(m)", message(1501 + i, more[i : i + 20]))
        quiet(page, 2)
    quiet(page)
    assert page.evaluate(IN_SIGHT, ".hsd-out .hsd-tok"), "the end is followed"
    page.locator(".hsd-out").focus()
    for key in ("Home", "End", "Home"):
        page.keyboard.press(key)
        quiet(page)
        assert page.evaluate(IN_SIGHT, ".hsd-out [aria-selected=true]"), key
    # From anywhere to anywhere, also where nothing was laid out yet.
    for token in (2600, 40, 1800, 900):
        page.evaluate("i => models[0].set('pinned', i)", token)
        quiet(page)
        assert page.evaluate(IN_SIGHT, f".hsd-out [data-i='{token}']"), token
    page.keyboard.press("Escape")
    shown.check()
