"""Views of one group on a page of their own, without a notebook, and a round of many strange
tokens to show there.
"""

from __future__ import annotations

from hsd_viz.trace import CallRow, DraftRow, RoundRow, Step, TokenRow, Trace
from hsd_viz.views import run_data
from hsd_viz.views.page_data import BUNDLE, page_palette

from .conftest import quiet

#: What anywidget does, for several widgets of one group: a model each, ``initialize`` once,
#: ``render`` for each view.
HARNESS = """async ([script, widgets, states, inShadow]) => {
  window.models = [];
  const module = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  window.receive = (m) => module.hsdGroup("g").store.receive(m);
  for (const [k, view] of widgets.entries()) {
    const state = states[k], listeners = new Map();
    const model = {
      get: (name) => state[name],
      set: (name, v) => {
        state[name] = v;
        (listeners.get(`change:${name}`) || []).forEach((f) => f());
      },
      save_changes: () => {},
      send: () => {},
      on: (e, f) => listeners.set(e, [...(listeners.get(e) || []), f]),
      off: (e, f) => listeners.set(e, (listeners.get(e) || []).filter((g) => g !== f)),
    };
    window.models.push(model);
    const widget = module.widgetOf(view);
    widget.initialize({ model });
    const host = document.body.appendChild(document.createElement("div"));
    const root = inShadow ? host.attachShadow({ mode: "open" }) : host;
    const el = root.appendChild(document.createElement("div")), begun = performance.now();
    widget.render({ model, el });
    el.getBoundingClientRect();
    window.took = performance.now() - begun;
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


def start(
    page,
    trace: Trace,
    *widgets: type,
    steps: int = 1,
    live: bool = False,
    in_shadow: bool = False,
) -> None:
    """Put widgets of one group into a page, or each into a shadow root; the first publishes the
    trace, of so many steps.
    """
    data = run_data.snapshot(trace, "r", steps)
    common = {"palette": page_palette(), "group": "g", "pinned": -1, "live": live, "details": True}
    states = [{**common, "data": {} if k else data} for k in range(len(widgets))]
    page.evaluate(HARNESS, [BUNDLE, [w.view.default_value for w in widgets], states, in_shadow])
    quiet(page)


def tree_trace(nodes: int) -> Trace:
    """One round over a tree of so many nodes with strange texts; every third hangs under the
    text or the first node, the rest deeper.
    """
    parents = [-1]
    for k in range(1, nodes):
        if k % 3 == 0:
            parents.append(-1)
        elif k % 5:
            parents.append(k - 1)
        else:
            parents.append(k // 2)
    depths: list[int] = []
    drafts = []
    for k, parent in enumerate(parents):
        depths.append(1 if parent < 0 else depths[parent] + 1)
        if k == 0:
            verdict = "accepted"
        elif parent in (-1, 0):
            verdict = "rejected"
        else:
            verdict = "unreached"
        text = STRANGE[k % len(STRANGE)]
        p = None if verdict == "unreached" else 0.25
        drafts.append(
            DraftRow(
                0, 1, "context", k, parent, depths[k], k, text, p, 1.0, None, verdict, 2, 3, 0.5, 0
            )
        )
    tokens = [
        TokenRow(0, 0, STRANGE[0], None, 0, "accepted", "context", [0, 1], 1, 0.5, 1.0, [[0, 0.5]]),
        TokenRow(
            1,
            99,
            STRANGE[3],
            None,
            0,
            "correction",
            "target",
            [1],
            0,
            0.5,
            1.0,
            [[99, 0.5], [1, 0.2]],
        ),
    ]
    rounds = [RoundRow(0, None, 1, nodes, 2, 1, "correction", None, 1_000, 9_000)]
    calls = [
        CallRow(0, 0, "db", "lookup", 1, nodes, 0, 1_500, 500),
        CallRow(0, 1, "target", "verify", 1, nodes + 1, 1, 2_500, 7_000),
    ]
    pieces = {**{k: STRANGE[k % len(STRANGE)] for k in range(nodes)}, 99: STRANGE[3], 500: "p"}
    trace = Trace(
        {
            "stack": "db > target",
            "prompt": "p",
            "prompt_ids": [500],
            "wall_ns": 12_000,
            "prefill_ns": 1_000,
        }
    )
    trace.append(Step().add_rows(pieces, tokens=tokens, drafts=drafts, rounds=rounds, calls=calls))
    return trace


def nodes(page) -> list[str]:
    return page.eval_on_selector_all(".hsd-sc-chip[data-key]", "all => all.map(n => n.dataset.key)")


def selected(page) -> str:
    return page.get_attribute(".hsd-sc-chip[aria-selected=true]", "aria-label")


def title(page) -> str:
    return page.text_content(".hsd-sc-title")
