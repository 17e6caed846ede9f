"""The round inspector and the timeline by themselves in a page, and a run's exported page opened from the disk."""

from __future__ import annotations

import re

import pytest

from hsd_viz.engine.replay import load_bundled, steps
from hsd_viz.trace import CallRow, DraftRow, RoundRow, Step, TokenRow, Trace
from hsd_viz.views import payload
from hsd_viz.views.inspector import RoundInspector
from hsd_viz.views.linked import page_palette
from hsd_viz.views.standalone import page as standalone
from hsd_viz.views.stream import TokenStream
from hsd_viz.views.timeline import Timeline

from .conftest import PATIENCE

pytestmark = pytest.mark.browser

#: What anywidget does, for several widgets of one group: a model each, ``initialize`` once, ``render`` for each view.
HARNESS = """async ([widgets, states]) => {
  window.models = [];
  for (const [k, [script, style]] of widgets.entries()) {
    document.head.append(Object.assign(document.createElement("style"), { textContent: style }));
    const state = states[k], listeners = new Map();
    const model = {
      get: (name) => state[name],
      set: (name, v) => { state[name] = v; (listeners.get(`change:${name}`) || []).forEach((f) => f()); },
      save_changes: () => {},
      send: () => {},
      on: (e, f) => listeners.set(e, [...(listeners.get(e) || []), f]),
      off: (e, f) => listeners.set(e, (listeners.get(e) || []).filter((g) => g !== f)),
      receive: (m) => (listeners.get("msg:custom") || []).forEach((f) => f(m)),
    };
    window.models.push(model);
    const module = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
    const widget = module.default();
    widget.initialize({ model });
    widget.render({ model, el: document.body.appendChild(document.createElement("div")) });
  }
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
    "漢字",
    "a very long token, as tokens go",
]
WHY = {
    "no match": "knew no way",
    "not worth it": "promised less",
    "no room": "one more token",
    "off": "plain decoding",
    None: "does not say why",
}


def start(page, trace: Trace, *widgets: type) -> None:
    """Put widgets of one group into a page; the first publishes the trace."""
    data = {"run": "r", "seq": 1, **payload.snapshot(trace)}
    common = {"palette": page_palette(), "group": "g", "pinned": -1, "live": False, "ghosts": True, "boundaries": True}
    states = [{**common, "data": {} if k else data} for k in range(len(widgets))]
    page.evaluate(HARNESS, [[[w._esm, w._css] for w in map(sources, widgets)], states])
    page.wait_for_timeout(200)


def sources(widget: type) -> type:
    """The class with its script and style as text, however it names them."""
    return type("Sources", (), {name: str(getattr(widget, name)) for name in ("_esm", "_css")})


def tree_trace(nodes: int) -> Trace:
    """One round over a tree of so many nodes with strange texts; every third hangs under the text or the first node, the rest deeper."""
    parents = [-1, *[(-1 if k % 3 == 0 else k - 1 if k % 5 else k // 2) for k in range(1, nodes)]]
    depths: list[int] = []
    drafts = []
    for k, parent in enumerate(parents):
        depths.append(1 if parent < 0 else depths[parent] + 1)
        verdict = "accepted" if k == 0 else "rejected" if parent in (-1, 0) else "unreached"
        text = STRANGE[k % len(STRANGE)]
        p = None if verdict == "unreached" else 0.25
        drafts.append(DraftRow(0, 1, "context", k, parent, depths[k], k, text, p, 1.0, None, verdict, 2, 3, 0.5, 0))
    tokens = [
        TokenRow(0, 0, STRANGE[0], None, 0, "accepted", "context", (0, 1), 1, 0.5, 1.0, ((0, 0.5),)),
        TokenRow(1, 99, STRANGE[3], None, 0, "correction", "target", (1,), 0, 0.5, 1.0, ((99, 0.5), (1, 0.2))),
    ]
    rounds = [RoundRow(0, None, 1, nodes, 2, 1, "correction", None, 1_000, 9_000)]
    calls = [CallRow(0, 0, "db", "lookup", 1, nodes, 0, 1_500, 500), CallRow(0, 1, "target", "verify", 1, nodes + 1, 1, 2_500, 7_000)]
    pieces = {**{k: STRANGE[k % len(STRANGE)] for k in range(nodes)}, 99: STRANGE[3], 500: "p"}
    trace = Trace({"stack": "db > target", "prompt": "p", "prompt_ids": [500], "wall_ns": 12_000, "prefill_ns": 1_000})
    trace.append(Step(tokens, drafts, rounds, calls, pieces))
    return trace


def nodes(page) -> list[str]:
    return page.eval_on_selector_all(".hsd-ins-node", "all => all.map(n => n.dataset.key)")


def selected(page) -> str:
    return page.get_attribute(".hsd-ins-node[aria-selected=true]", "aria-label")


def title(page) -> str:
    return page.text_content(".hsd-ins-title")


def test_inspector_and_timeline_follow_one_cursor_both_ways(open_page):
    shown = open_page()
    page, trace = shown.page, load_bundled("both")
    start(page, trace, RoundInspector, Timeline)
    tops = [r for r in trace.round_rows if r.parent is None]
    assert title(page) == f"Round 1 of {len(tops)}"
    assert len(nodes(page)) == 1 + tops[0].drafted + (tops[0].outcome != "stopped")
    assert page.locator(".hsd-tl-here").count() == 0
    for n in (2, 3):
        page.get_by_role("button", name="Next round").click()
        page.wait_for_timeout(100)
        assert title(page) == f"Round {n} of {len(tops)}"
    here = page.locator(".hsd-tl-here").bounding_box()
    area = page.locator(".hsd-tl-area").bounding_box()
    wall = trace.meta["wall_ns"]
    assert abs((here["x"] - area["x"]) / area["width"] - tops[2].start_ns / wall) < 0.01
    # A click on the longest call of a round in the middle goes to that round.
    call = max((c for c in trace.call_rows if c.round == tops[20].id), key=lambda c: c.duration_ns)
    lane = ["target", "small", "nano", "db"].index(call.name)
    page.mouse.click(area["x"] + area["width"] * (call.start_ns + call.duration_ns / 2) / wall, area["y"] + 22 + 22 + 4 + 36 * lane + 18)
    page.wait_for_timeout(100)
    assert title(page) == f"Round 21 of {len(tops)}"
    assert page.locator(".hsd-tl-here.hsd-pinned").count() == 1
    assert f"{call.name} verifies" in page.text_content(".hsd-tl-readout")
    page.locator(".hsd-tl-area").focus()
    page.keyboard.press("Escape")
    page.wait_for_timeout(100)
    assert page.locator(".hsd-pinned").count() == 0
    shown.check()


def test_rounds_of_the_levels_below_are_reached_from_the_target_s(open_page):
    shown = open_page()
    page, trace = shown.page, load_bundled("both")
    start(page, trace, RoundInspector)
    top = next(r for r in trace.round_rows if r.parent is None)
    below = sorted((r for r in trace.round_rows if r.parent == top.id), key=lambda r: r.id)
    lowest = sorted((r for r in trace.round_rows if r.parent == below[0].id), key=lambda r: r.id)
    page.get_by_role("button", name="small, round 1:").click()
    assert title(page).endswith("below: small’s round 1")
    assert len(nodes(page)) == 1 + below[0].drafted + 1
    assert page.locator(".hsd-ins-chips button").count() == len(below) + len(lowest)
    page.get_by_role("button", name="nano, round 1:").click()
    assert title(page).endswith("below: nano’s round 1")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("nano, round 1")
    page.get_by_role("button", name="round 1", exact=True).click()
    assert title(page).startswith("Round 1 of")
    assert "below" not in title(page)
    shown.check()


def test_a_click_on_a_call_of_a_level_below_shows_the_round_it_served(open_page):
    shown = open_page()
    page, trace = shown.page, load_bundled("both")
    start(page, trace, Timeline, RoundInspector)
    area = page.locator(".hsd-tl-area").bounding_box()
    call = max((c for c in trace.call_rows if c.name == "nano" and c.kind == "verify"), key=lambda c: c.duration_ns)
    served = next(r for r in trace.round_rows if r.id == call.round)
    wall = trace.meta["wall_ns"]
    page.mouse.click(area["x"] + area["width"] * (call.start_ns + call.duration_ns / 2) / wall, area["y"] + 22 + 22 + 4 + 36 * 2 + 18)
    page.wait_for_timeout(100)
    assert "below: nano’s round" in title(page)
    assert len(nodes(page)) == 1 + served.drafted + (served.outcome != "stopped")
    # A click on the target's own round goes back up.
    page.mouse.click(area["x"] + area["width"] * (call.start_ns + call.duration_ns / 2) / wall, area["y"] + 33)
    page.wait_for_timeout(100)
    assert "below" not in title(page)
    # So does the inspector itself, whatever was pinned before: its own nodes can be pinned then.
    page.mouse.click(area["x"] + area["width"] * (call.start_ns + call.duration_ns / 2) / wall, area["y"] + 22 + 22 + 4 + 36 * 2 + 18)
    page.locator(".hsd-ins-level button").first.click()
    page.locator(".hsd-ins-node").nth(1).click()
    assert page.locator(".hsd-ins-node.hsd-pinned").count() == 1
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
        assert selected(page).startswith(f"place {d.depth}, ")
        assert d.verdict in selected(page)
    page.keyboard.press("End")
    assert "own token, correction" in selected(page)
    page.keyboard.press("Enter")
    assert page.locator(".hsd-ins-node.hsd-pinned").count() == 1
    own = next(t for t in trace.token_rows if t.kind == "correction")
    assert page.get_attribute(".hsd-tok.hsd-pinned", "data-i") == str(own.index)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    assert selected(page) == "the text so far"
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
        ".hsd-ins-node", "all => all.map(n => [n.offsetLeft, n.offsetTop, n.offsetLeft + n.offsetWidth, n.offsetTop + n.offsetHeight])"
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


def test_a_live_run_grows_and_its_end_brings_the_whole_time(open_page):
    shown = open_page()
    page, recorded = shown.page, load_bundled("databases")
    whole = recorded.meta["wall_ns"]
    recorded.meta["wall_ns"] = None
    empty = Trace(recorded.meta)
    start(page, empty, TokenStream, RoundInspector, Timeline)
    assert title(page) == "No round yet"
    for k, step in enumerate(steps(recorded)[:5]):
        message = {"kind": "append", "run": "r", "first": k + 2, "seq": k + 2, "steps": [payload.step(step)]}
        page.evaluate("m => models[0].receive(m)", message)
        page.wait_for_timeout(150)
        assert title(page) == f"Round {k + 1} of {k + 1}"
        empty.append(step)
    spent = empty.call_rows[-1].start_ns + empty.call_rows[-1].duration_ns
    ranges = [page.text_content(".hsd-tl-range")]
    empty.meta["wall_ns"] = whole
    page.evaluate("d => models[0].set('data', d)", {"run": "r", "seq": 6, **payload.snapshot(empty)})
    page.wait_for_timeout(150)
    ranges.append(page.text_content(".hsd-tl-range"))
    assert [re.fullmatch(r"0 to ([\d.]+) ms", text)[1] for text in ranges] == [f"{ns / 1e6:.3g}" for ns in (spent, whole)]
    assert title(page) == "Round 5 of 5"  # no view jumps by itself
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


def test_what_is_drawn_out_of_sight_finds_its_form_when_it_is_shown(open_page):
    shown = open_page(420)
    page = shown.page
    page.evaluate("document.body.style.display = 'none'")
    start(page, load_bundled("one-draft"), RoundInspector, Timeline)
    assert page.locator(".hsd-down, .hsd-tl-call").count() == 0
    page.evaluate("document.body.style.display = ''")
    page.wait_for_selector(".hsd-down")
    page.wait_for_selector(".hsd-tl-call")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
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
    assert words.startswith("Nothing was drafted here: ") and WHY[why] in words
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


def test_the_residual_stands_beside_p_and_q(open_page):
    shown = open_page()
    page, trace = shown.page, load_bundled("sampled")
    token = next(t for t in trace.token_rows if t.residual_top)
    start(page, trace, RoundInspector, TokenStream)
    page.locator(f'.hsd-tok[data-i="{token.index}"]').click()
    labels = page.eval_on_selector_all(".hsd-ins-bar", "all => all.map(n => n.getAttribute('aria-label'))")
    residual = [float(text.split()[-1]) for text in labels if text.startswith("residual")]
    assert residual == pytest.approx([p for _, p in token.residual_top], abs=6e-4)
    assert len(labels) == 3 * len(residual)
    p = dict(token.top)
    for text, (i, _) in zip([t for t in labels if t.startswith("p at")], token.residual_top, strict=True):
        assert float(text.split()[-1]) == pytest.approx(p.get(i, token.top[-1][1]), abs=6e-4)
        assert ("at most" in text) == (i not in p)
    shown.check()


def test_the_timeline_zooms_and_moves_by_keys_buttons_wheel_and_drag(open_page):
    shown = open_page()
    page = shown.page
    start(page, load_bundled("both"), Timeline)
    area = page.locator(".hsd-tl-area")
    box = area.bounding_box()

    def span() -> str:
        page.wait_for_timeout(120)
        return page.text_content(".hsd-tl-range")

    whole = span()
    seen = {whole}
    area.focus()
    acts = [
        lambda: page.keyboard.press("+"),
        lambda: page.keyboard.press("PageDown"),
        lambda: page.get_by_role("button", name="Zoom in").click(),
        lambda: page.get_by_role("button", name="Earlier").click(),
        lambda: drag(page, box),
        lambda: wheel(page, box, True),
    ]
    for act in acts:
        act()
        assert span() not in seen
        seen.add(span())
    fixed = span()
    assert wheel(page, box, False) is False  # a plain wheel is the page's
    assert span() == fixed
    page.get_by_role("button", name="Whole run").click()
    assert span() == whole
    page.keyboard.press("ArrowRight")
    area.focus()
    page.keyboard.press("ArrowDown")
    first = page.text_content(".hsd-tl-readout")
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(120)
    assert page.text_content(".hsd-tl-readout") != first
    shown.check()


def drag(page, box) -> None:
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 180, box["y"] + 60, steps=4)
    page.mouse.up()


def wheel(page, box, ctrl: bool) -> bool:
    """Whether the timeline took the turn of the wheel for itself."""
    return page.evaluate(
        """([x, y, ctrlKey]) => {
          const turn = new WheelEvent("wheel", { clientX: x, clientY: y, deltaY: -120, ctrlKey, bubbles: true, cancelable: true });
          document.querySelector(".hsd-tl-area").dispatchEvent(turn);
          return turn.defaultPrevented;
        }""",
        [box["x"] + 400, box["y"] + 60, ctrl],
    )


def test_shares_of_the_lanes_and_of_the_time_without_a_call_make_up_the_run(open_page):
    shown = open_page()
    page, trace = shown.page, load_bundled("both")
    start(page, trace, Timeline)
    shares = [float(re.match(r"([\d.]+) %", t)[1]) for t in page.locator(".hsd-tl-share").all_text_contents() if "%" in t]
    assert len(shares) == 5
    assert sum(shares) == pytest.approx(100, abs=2)
    target = sum(c.duration_ns for c in trace.call_rows if c.name == "target")
    assert shares[0] == pytest.approx(100 * target / trace.meta["wall_ns"], abs=0.6)
    shown.check()


@pytest.mark.parametrize(("width", "strange"), [(1400, False), (420, True)])
def test_an_exported_page_works_from_the_disk_and_can_reach_nobody(chromium, tmp_path, width, strange):
    trace = tree_trace(28) if strange else load_bundled("both")
    path = tmp_path / "run.html"
    path.write_text(standalone(trace), encoding="utf-8")
    page = chromium.new_page(viewport={"width": width, "height": 1000})
    page.set_default_timeout(PATIENCE)
    try:
        errors, asked = [], []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector(".hsd-ins-node")
        page.wait_for_selector(".hsd-tl-call")
        assert page.locator("#start").count() == 0
        assert page.locator(".hsd-out .hsd-tok").count() == len(trace.token_rows)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator(".hsd-out .hsd-tok").last.click()
        last = f"Round {len([r for r in trace.round_rows if r.parent is None])} of"
        assert title(page).startswith(last)
        page.wait_for_selector(".hsd-tl-here.hsd-pinned")
        page.locator(".hsd-out").focus()
        page.keyboard.press("Home")
        assert title(page).startswith("Round 1 of")
        page.keyboard.press("Escape")
        page.wait_for_timeout(150)
        assert page.locator(".hsd-pinned").count() == 0
        assert page.evaluate("window.pwned") is None
        assert errors == []
        # The policy holds: what a script would send is stopped before it leaves.
        refused = page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')")
        assert refused == "refused"
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    finally:
        page.close()
