"""The token stream's script by itself, over a stand-in for the widget's model: order, gaps, strange text, and 2 000 tokens."""

from __future__ import annotations

import pytest

from hsd_viz.trace import RoundRow, Step, TokenRow, Trace
from hsd_viz.views import TokenStream, payload
from hsd_viz.views.linked import page_palette

pytestmark = pytest.mark.browser

SCRIPT, STYLE = TokenStream._esm, TokenStream._css
#: What anywidget does: one model, ``initialize`` once, ``render`` for each view.
HARNESS = """async ([script, style, state]) => {
  document.head.append(Object.assign(document.createElement("style"), { textContent: style }));
  const listeners = new Map();
  window.sent = [];
  window.model = {
    get: (k) => state[k],
    set: (k, v) => { state[k] = v; (listeners.get(`change:${k}`) || []).forEach((f) => f()); },
    save_changes: () => {},
    send: (m) => window.sent.push(m),
    on: (e, f) => listeners.set(e, [...(listeners.get(e) || []), f]),
    off: (e, f) => listeners.set(e, (listeners.get(e) || []).filter((g) => g !== f)),
  };
  window.receive = (m) => (listeners.get("msg:custom") || []).forEach((f) => f(m));
  const module = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const widget = module.default();
  widget.initialize({ model: window.model });
  const el = document.body.appendChild(document.createElement("div"));
  const begun = performance.now();
  widget.render({ model: window.model, el });
  document.querySelector(".hsd-text").getBoundingClientRect();
  return performance.now() - begun;
}"""
STRANGE = ["<script>window.pwned=1</script>", "\u202eabc", "שלום", "🙂👩‍👩‍👧", "a\u0000b", "\n\n    ", "\t", "&amp;", "\u200b"]


def step(index: int, text: str, token_id: int = 1) -> Step:
    """One plain round."""
    token = TokenRow(index, token_id, text, None, index, "plain", "target", (0,), 0, 0.5, 1.0, ((token_id, 0.5),))
    return Step([token], [], [RoundRow(index, None, 0, 0, 0, 0, "plain", "off", index, 1)], [], {token_id: text})


def start(page, steps: list[Step], live: bool = False) -> float:
    trace = Trace({"prompt": "p", "stack": "target"})
    for s in steps:
        trace.append(s)
    data = {"run": "r", "seq": len(steps), **payload.snapshot(trace)}
    state = {"data": data, "palette": page_palette(), "pinned": -1, "live": live, "ghosts": True, "boundaries": True, "dark": False}
    return page.evaluate(HARNESS, [SCRIPT, STYLE, state])


def message(first: int, steps: list[Step]) -> dict:
    return {"kind": "append", "run": "r", "first": first, "seq": first + len(steps) - 1, "steps": [payload.step(s) for s in steps]}


def texts(page) -> list[str]:
    page.wait_for_timeout(400)  # drawing waits for a frame, or a quarter of a second
    return page.eval_on_selector_all(".hsd-out .hsd-tok", "all => all.map(t => t.getAttribute('aria-label').split(':')[0])")


def test_steps_are_shown_once_and_in_order_and_a_gap_asks_for_all(open_page):
    shown = open_page()
    page = shown.page
    start(page, [step(0, "a")], live=True)
    assert page.evaluate("window.sent.shift().kind") == "sync"  # a view that opens during a run asks what it missed
    page.evaluate("m => receive(m)", message(2, [step(1, "b"), step(2, "c")]))
    page.evaluate("m => receive(m)", message(2, [step(1, "b"), step(2, "c")]))
    page.evaluate("m => receive(m)", message(3, [step(2, "c"), step(3, "d")]))
    assert texts(page) == ["a", "b", "c", "d"]
    assert page.evaluate("window.sent.length") == 0
    page.evaluate("m => receive(m)", message(6, [step(5, "f")]))
    assert page.evaluate("window.sent.map(m => m.kind)") == ["sync"]
    assert texts(page) == ["a", "b", "c", "d"]
    trace = Trace({"prompt": "p", "stack": "target"})
    for i, text in enumerate("abcdef"):
        trace.append(step(i, text))
    page.evaluate("d => model.set('data', d)", {"run": "r", "seq": 6, **payload.snapshot(trace)})
    assert texts(page) == list("abcdef")
    # An older snapshot that arrives late takes nothing away.
    page.evaluate("d => model.set('data', d)", {"run": "r", "seq": 2, **payload.snapshot(Trace({}))})
    assert texts(page) == list("abcdef")
    shown.check()


def test_strange_text_is_text_and_stays_in_its_place(open_page):
    shown = open_page()
    page = shown.page
    start(page, [step(i, text, i) for i, text in enumerate(STRANGE)])
    content = page.eval_on_selector_all(".hsd-out .hsd-tok", "all => all.map(t => t.textContent)")
    assert content[0] == STRANGE[0]
    assert content[1] == "‹U+202E›abc"
    assert content[2:4] == STRANGE[2:4]
    assert content[4] == "a‹U+0000›b"
    assert content[5] == "↵\n↵\n    "
    assert content[8] == "‹U+200B›"
    assert page.evaluate("window.pwned") is None
    for place in range(len(STRANGE)):
        page.evaluate("i => model.set('pinned', i)", place)
        assert page.locator(".hsd-card .hsd-big").text_content()
    assert page.evaluate("window.pwned") is None
    shown.check()


def test_two_thousand_tokens_open_and_move_quickly(open_page):
    shown = open_page()
    page = shown.page
    opened = start(page, [step(i, f" w{i}", i) for i in range(2000)])
    assert opened < 3000
    spent = page.evaluate("""() => {
      const out = document.querySelector(".hsd-out"), begun = performance.now();
      for (let i = 0; i < 100; i++) out.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
      return (performance.now() - begun) / 100;
    }""")
    assert spent < 100
    begun = page.evaluate("performance.now()")
    for i in range(0, 400, 20):
        page.evaluate("m => receive(m)", message(2001 + i, [step(2000 + i + k, "x", 9) for k in range(20)]))
    assert len(texts(page)) == 2400
    assert page.evaluate("performance.now()") - begun < 10_000
    shown.check()
