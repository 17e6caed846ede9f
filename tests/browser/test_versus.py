"""Runs side by side, alone in a page over a stand-in for the widget's model: columns, keys, the race, refusals, strange text."""

from __future__ import annotations

import json

import pytest

from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled
from hsd_viz.trace import Trace
from hsd_viz.views.scripts import BUNDLE
from hsd_viz.views.versus import Versus

from .conftest import quiet

pytestmark = pytest.mark.browser

HARNESS = """async ([script, state]) => {
  const listeners = new Map();
  window.model = {
    get: (k) => state[k],
    set: (k, v) => { state[k] = v; (listeners.get(`change:${k}`) || []).forEach((f) => f()); },
    save_changes: () => {},
    on: (e, f) => listeners.set(e, [...(listeners.get(e) || []), f]),
    off: (e, f) => listeners.set(e, (listeners.get(e) || []).filter((g) => g !== f)),
  };
  const module = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const el = document.body.appendChild(document.createElement("div"));
  const begun = performance.now();
  window.leave = module.widgetOf("versus").render({ model: window.model, el });
  el.getBoundingClientRect();
  return performance.now() - begun;
}"""
STRANGE = [
    "<script>window.pwned=1</script>",
    "\u202eabc",
    "שלום",
    "🙂👩‍👩‍👧",
    "a\u0000b",
    "\n\n    ",
    "\t",
    "&amp;",
    "",
]


def recorded(group: str, *names: str) -> list[Trace]:
    return [load_bundled(name, SIDE_BY_SIDE / group) for name in names]


def start(page, widget: Versus) -> float:
    """Show the widget, and return the milliseconds that the page took."""
    state = {
        name: getattr(widget, name) for name in ("data", "refusal", "choices", "group", "chosen", "pinned", "palette")
    }
    spent = page.evaluate(HARNESS, [BUNDLE, state])
    quiet(page)
    return spent


def here(page) -> str:
    return page.text_content(".hsd-vs-readout-head > span:first-child")


#: Keeps the largest number of faded tokens: in real time a race may be over before a slow machine looks.
FADED = """() => {
  const count = () => { window.faded = Math.max(window.faded, document.querySelectorAll(".hsd-vs-notyet").length); };
  window.faded = 0;
  new MutationObserver(count).observe(document.body, { subtree: true, attributeFilter: ["class"] });
}"""


def counts(page) -> list[str]:
    return page.eval_on_selector_all(".hsd-vs-count", "all => all.map(n => n.textContent)")


def scrub(page, permille: int) -> None:
    page.eval_on_selector(".hsd-vs-slider", "(s, v) => { s.value = v; s.dispatchEvent(new Event('input')); }", permille)


def test_columns_align_the_runs_and_the_cursor_goes_by_keys_and_pointer(open_page):
    shown = open_page()
    page = shown.page
    traces = recorded("greedy", "plain", "databases", "both")
    start(page, Versus(traces))
    columns = page.locator(".hsd-vs-col")
    assert columns.count() == 128
    # One column holds the token of every run at its position, one below the other.
    boxes = [columns.nth(40).locator(".hsd-vs-tok").nth(i).bounding_box() for i in range(3)]
    assert len({box["x"] for box in boxes}) == 1 and boxes[0]["y"] < boxes[1]["y"] < boxes[2]["y"]
    # The number at a bracket is the target forward passs spent: at the end, those of the metrics.
    last = page.eval_on_selector_all(
        ".hsd-vs-cell[data-row='1'] .hsd-vs-opens", "all => all[all.length - 1].textContent"
    )
    assert last == str(traces[1].metrics()["target_forwards"])
    assert "the end" in here(page)
    score = page.locator(".hsd-vs-score")
    score.focus()
    page.keyboard.press("ArrowRight")
    assert here(page) == "Output position 1 of 128"
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert here(page) == "Output position 5 of 128"
    assert page.locator(".hsd-vs-here:visible").count() == 3, "the cursor stands in the race, too"
    label = page.get_attribute(".hsd-vs-col[aria-selected=true]", "aria-label")
    assert label.startswith("Output position 5: A “") and "target forward pass 5" in label
    # Shift goes by the rounds of the chosen row.
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowRight")
    assert here(page) == "Output position 6 of 128"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowRight")
    rows = traces[1].token_rows
    begins = next(t.index for t in rows if t.index > 5 and t.round != rows[t.index - 1].round)
    assert here(page) == f"Output position {begins + 1} of 128"
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert here(page) == "Output position 128 of 128, pinned" and page.evaluate("model.get('pinned')") == 127
    columns.nth(3).hover()
    assert here(page) == "Output position 128 of 128, pinned"
    page.keyboard.press("Escape")
    columns.nth(4).hover()
    assert here(page) == "Output position 5 of 128" and page.evaluate("model.get('pinned')") == -1
    columns.nth(8).locator(".hsd-vs-cell").nth(2).click()
    assert here(page) == "Output position 9 of 128, pinned"
    page.evaluate("model.set('pinned', 20)")
    assert here(page) == "Output position 21 of 128, pinned"
    track = page.locator(".hsd-vs-track").first
    track.click(position={"x": track.bounding_box()["width"] * 64.5 / 128, "y": 10})
    assert here(page) == "Output position 65 of 128, pinned"
    shown.check()


def test_the_race_plays_pauses_is_scrubbed_and_fades_what_is_not_out_yet(open_page):
    shown = open_page()
    page = shown.page
    traces = recorded("greedy", "plain", "databases", "both")
    start(page, Versus(traces))
    speeds = [f"{t.metrics()['tokens_per_second']:.0f} tokens/s" for t in traces]
    assert counts(page) == speeds and "finished first" in page.text_content(".hsd-vs-standing")
    assert page.locator(".hsd-vs-notyet").count() == 0
    page.select_option(".hsd-vs-controls select", "0.01")
    page.get_by_role("button", name="Start the race").click()
    # Some tokens are out, others are not yet.
    page.wait_for_function(
        "(n => 0 < n && n < 3 * 128)(document.querySelectorAll('.hsd-vs-notyet').length)"
        " && parseFloat(document.querySelector('.hsd-vs-clock').textContent) > 0"
    )
    page.get_by_role("button", name="Pause").click()
    stood = page.text_content(".hsd-vs-clock")
    assert 0 < float(stood.split()[0]) < 100
    quiet(page)
    assert page.text_content(".hsd-vs-clock") == stood
    # A scrubbed clock shows what the trace says of that time.
    scrub(page, 300)
    now = 0.3 * max(r.start_ns + r.duration_ns - t.meta["prefill_ns"] for t in traces for r in t.round_rows)
    for text, trace in zip(counts(page), traces, strict=True):
        over = {
            r.id
            for r in trace.round_rows
            if r.parent is None and r.start_ns + r.duration_ns - trace.meta["prefill_ns"] <= now
        }
        out = sum(t.round in over for t in trace.token_rows)
        assert text == (f"{out} of 128" if out < 128 else f"{trace.metrics()['tokens_per_second']:.0f} tokens/s")
    assert "ahead" in page.text_content(".hsd-vs-standing") or "finished" in page.text_content(".hsd-vs-standing")
    scrub(page, 1000)
    assert counts(page) == speeds and page.locator(".hsd-vs-notyet").count() == 0
    # In real time it is over in its own time, and the keyboard starts it.
    page.select_option(".hsd-vs-controls select", "1")
    page.locator(".hsd-vs-score").focus()
    page.evaluate(FADED)
    page.keyboard.press("Space")
    page.wait_for_function("window.faded > 0")
    page.get_by_role("button", name="Start the race").wait_for()
    assert counts(page) == speeds and page.locator(".hsd-vs-notyet").count() == 0
    shown.check()


def test_the_texts_keep_up_with_the_race_until_the_reader_scrolls_away(open_page):
    shown = open_page(420)
    page = shown.page
    start(page, Versus(recorded("greedy", "plain", "databases", "both")))
    pane, again = page.locator(".hsd-vs-scroll"), page.get_by_role("button", name="Follow the race")
    # Whether the newest token of the run that is ahead stands within the pane.
    seen = """() => {
      const box = document.querySelector(".hsd-vs-scroll").getBoundingClientRect();
      const isOut = (c) => c.querySelector(".hsd-vs-cell:not(.hsd-vs-notyet) .hsd-vs-tok");
      const out = [...document.querySelectorAll(".hsd-vs-col")].filter(isOut);
      const last = out[out.length - 1].getBoundingClientRect();
      return last.top >= box.top - 1 && last.bottom <= box.bottom + 1;
    }"""
    top = "e => e.scrollTop"
    assert not again.is_visible() and pane.evaluate(top) == 0
    for part in (200, 400, 800, 300):
        scrub(page, part)
        quiet(page)
        assert page.evaluate(seen), part
    assert pane.evaluate(top) > 0 and not again.is_visible()
    pane.evaluate("e => { e.scrollTop = 0; }")
    again.wait_for(state="visible")
    scrub(page, 900)
    quiet(page)
    assert pane.evaluate(top) == 0 and not page.evaluate(seen), "who reads elsewhere is left there"
    again.click()
    assert page.evaluate(seen) and not again.is_visible()
    # Played from the beginning it follows anew.
    pane.evaluate("e => { e.scrollTop = 40; }")
    again.wait_for(state="visible")
    scrub(page, 1000)
    assert not again.is_visible(), "when the race is over there is nobody to follow"
    page.select_option(".hsd-vs-controls select", "0.01")
    page.get_by_role("button", name="Start the race").click()
    page.wait_for_function("parseFloat(document.querySelector('.hsd-vs-clock').textContent) > 60")
    assert page.evaluate(seen) and not again.is_visible()
    page.get_by_role("button", name="Pause").click()
    shown.check()


def test_who_asks_for_less_motion_gets_the_end_and_a_scrubber(open_page):
    shown = open_page()
    page = shown.page
    page.emulate_media(reduced_motion="reduce")
    start(page, Versus(recorded("greedy", "plain", "databases")))
    assert page.locator(".hsd-vs-play:visible").count() == 0 and page.locator(".hsd-vs-slider:visible").count() == 1
    assert "tokens/s" in counts(page)[0]
    page.locator(".hsd-vs-score").focus()
    page.keyboard.press("Space")
    quiet(page)
    assert page.locator(".hsd-vs-notyet").count() == 0
    page.locator(".hsd-vs-slider").focus()
    page.keyboard.press("Home")
    assert counts(page) == ["0 of 128", "0 of 128"] and page.locator(".hsd-vs-notyet").count() == 256
    shown.check()


def test_the_first_difference_is_marked_and_explained(open_page):
    shown = open_page()
    page = shown.page
    widget = Versus(recorded("sampled", "plain", "databases", "hierarchy"))
    at = widget.data["agreement"][1]["at"]
    start(page, widget)
    assert page.locator(".hsd-vs-col.hsd-vs-apart").count() == 128 - at
    marked = page.locator(".hsd-vs-differs")
    assert marked.count() == 2 and page.locator(".hsd-vs-num", has_text="≠").count() == 1
    assert page.locator(".hsd-vs-agreement li.hsd-vs-same").count() == 1
    assert "lossless means equal in distribution" in page.text_content(".hsd-vs-agreement li.hsd-vs-apart")
    draws = page.locator(".hsd-vs-draws")
    assert (
        draws.get_by_role("img").count() == 5 * 3
        and "not show that distributions are equal" in draws.locator("p").first.text_content()
    )
    assert (
        draws.get_by_role("img")
        .first.get_attribute("aria-label")
        .startswith("Tokens per target forward pass, run A: 1: 128 of 128 rounds")
    )
    page.get_by_role("button", name="Surprisal along the text").hover()
    assert "−ln p" in draws.locator("> .hsd-vs-bubble").text_content()
    # Two runs that differ for one reason: it is said once.
    page.evaluate("data => model.set('data', data)", Versus(recorded("sampled", "plain", "hierarchy", "both")).data)
    said = page.eval_on_selector_all("li.hsd-vs-apart", "all => all.map(n => n.textContent)")
    assert ["lossless means" in text for text in said] == [False, True]
    shown.check()


def test_a_figure_s_definition_shows_on_hover_and_on_focus(open_page):
    shown = open_page()
    page = shown.page
    start(page, Versus(recorded("greedy", "plain", "databases")))
    bubble = page.get_by_role("region", name="Figures", exact=True).locator("> .hsd-vs-bubble")
    assert not bubble.is_visible()
    page.get_by_role("button", name="Mean acceptance length").hover()
    assert "Plain decoding: 1.00" in bubble.text_content() and bubble.is_visible()
    page.get_by_role("button", name="Speed").focus()
    assert "end of prefill" in bubble.text_content()
    page.keyboard.press("Escape")
    assert not bubble.is_visible()
    shown.check()


def test_recordings_are_chosen_and_a_refusal_is_read_out(open_page):
    shown = open_page()
    page = shown.page
    widget = Versus()
    start(page, widget)
    page.get_by_role("button", name="Two draft models", exact=True).click()
    chosen = page.evaluate("model.get('chosen')")
    assert chosen == ["plain", "databases", "both", "hierarchy"]
    # What Python answers to that.
    widget.chosen = chosen
    page.evaluate("text => model.set('refusal', text)", widget.refusal)
    assert page.get_by_role("alert").text_content() == "Four runs are too many to compare: select two or three."
    page.get_by_role("button", name="Databases", exact=True).click()
    widget.chosen = page.evaluate("model.get('chosen')")
    assert widget.refusal == ""
    page.evaluate(
        "([text, data]) => { model.set('data', data); model.set('refusal', text); }", [widget.refusal, widget.data]
    )
    assert not page.get_by_role("alert").is_visible()
    titles = page.eval_on_selector_all(".hsd-vs-lane .hsd-vs-title", "all => all.map(n => n.textContent)")
    assert titles == [
        "plain decoding",
        "two draft models: Hierarchical Speculative Decoding (HSD)",
        "databases below HSD with two draft models",
    ]
    page.evaluate("leave()")
    assert page.locator(".hsd-versus").count() == 0
    shown.check()


@pytest.mark.parametrize("width", [1400, 420])
def test_strange_and_long_texts_stay_text_and_inside_the_page(open_page, width):
    shown = open_page(width)
    page = shown.page
    traces = recorded("greedy", "plain", "databases")
    for trace in traces:
        trace.meta["prompt"] = "<img src=x onerror='window.pwned=1'>" * 20
        trace.token_rows = [t._replace(text=STRANGE[t.index % len(STRANGE)]) for t in trace.token_rows]
    start(page, Versus(traces))
    assert page.text_content(".hsd-vs-cell .hsd-vs-tok") == STRANGE[0]
    assert "‹U+202E›abc" in page.text_content(".hsd-vs-col:nth-of-type(3)")
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Every line of columns begins with the letters of the runs.
    tops = set(page.eval_on_selector_all(".hsd-vs-col", "all => all.map(c => c.offsetTop)"))
    assert page.locator(".hsd-vs-line").count() == len(tops)
    shown.check()


@pytest.mark.slow
def test_two_thousand_tokens_open_and_race_quickly(open_page):
    shown = open_page()
    page = shown.page
    traces = recorded("greedy", "plain", "databases", "both")
    widget = Versus(traces)
    data = json.loads(json.dumps(widget.data))
    for run in data["runs"]:
        rows = run["run"]
        ids, end = 1 + max(r[0] for r in rows["rounds"]), rows["meta"]["wall_ns"]
        whole = {name: list(rows[name]) for name in ("rounds", "drafts", "tokens", "calls")}
        parent = lambda r, k, ids=ids: None if r is None else r + ids * k
        for k in range(1, 16):
            whole["rounds"] += [
                [r[0] + ids * k, parent(r[1], k), *r[2:9], r[9] + end * k, r[10]] for r in rows["rounds"]
            ]
            whole["drafts"] += [[d[0] + ids * k, *d[1:]] for d in rows["drafts"]]
            whole["tokens"] += [[*t[:3], t[3] + ids * k, *t[4:]] for t in rows["tokens"]]
            whole["calls"] += [[parent(c[0], k), *c[1:7], c[7] + end * k, c[8]] for c in rows["calls"]]
        rows.update(whole)
    widget.data = data
    assert start(page, widget) < 5_000
    assert page.locator(".hsd-vs-col").count() == 2048
    spent = page.evaluate("""() => {
      const score = document.querySelector(".hsd-vs-score"), begun = performance.now();
      for (let i = 0; i < 50; i++) score.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
      return (performance.now() - begun) / 50;
    }""")
    assert spent < 100
    spent = page.evaluate("""() => {
      const slider = document.querySelector(".hsd-vs-slider"), begun = performance.now();
      for (let i = 0; i < 50; i++) { slider.value = i * 20; slider.dispatchEvent(new Event("input")); }
      return (performance.now() - begun) / 50;
    }""")
    assert spent < 100
    shown.check()
