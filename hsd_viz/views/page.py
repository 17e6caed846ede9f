"""Any view as one page of HTML: its script and state, and a stand-in for the kernel."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import anywidget
import ipywidgets as widgets

from hsd_viz.card import escape
from hsd_viz.figures.pictures import CARTESIAN, WHOLE, script
from hsd_viz.views.scripts import BUNDLE

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)
#: Traits of every widget that a page does not need.
_SKIPPED = frozenset(widgets.DOMWidget.class_trait_names())
_DARK = (
    "--jp-layout-color0: #17181a; --jp-layout-color1: #17181a; background: #17181a; color: #e8eaed; color-scheme: dark;"
)
_STYLE = """body { margin: 0; background: #ffffff; color: #1f2328; font: 14px/1.5 system-ui, sans-serif; }
body.still-dark { DARK }
@media (prefers-color-scheme: dark) { body:not([data-jp-theme-light]) { DARK } }
.still { display: grid; gap: 24px; padding: 16px; } .still > * { min-width: 0; } #result { display: none; }
@media (max-width: 720px) { .still { grid-template-columns: minmax(0, 1fr) !important; } }""".replace("DARK", _DARK)
#: A stand-in for each model; imports each script from a blob, so that views stay apart.
_HOST = """
const bytes = Uint8Array.from(atob(document.getElementById("views").textContent.trim()), (c) => c.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const { views, scripts, library, then } = JSON.parse(await new Response(stream).text());
const standIn = (state) => {
  const heard = new Map();
  const of = (event) => heard.get(event) || [];
  return {
    get: (name) => state[name],
    set(name, value) {
      state[name] = value;
      for (const f of [...of(`change:${name}`), ...of("change")]) f();
    },
    save_changes() {}, send() {},
    on(events, f) { for (const e of events.split(" ")) heard.set(e, [...of(e), f]); },
    off(events, f) { for (const e of events.split(" ")) heard.set(e, of(e).filter((g) => f && g !== f)); },
  };
};
const moduleOf = (text) => import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
const found = scripts.map(moduleOf);
const ready = library && moduleOf(library.text).then((plotly) => plotly.default);
for (const name of library?.names || []) for (const module of found) (await module).provide?.(name, ready);
for (const [k, view] of views.entries()) {
  const el = document.getElementById(`view-${k}`);
  const module = await found[view.script];
  const made = module.widgetOf ? module.widgetOf(view.state.view) : module.default;
  const widget = typeof made === "function" ? await made() : made;
  const model = standIn(view.state);
  await widget.initialize?.({ model });
  await widget.render({ model, el });
}
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const out = document.getElementById("result");
if (then) {
  await ready;
  await document.fonts.ready;
  await wait(600);
  const main = document.querySelector(".still");
  out.textContent = String(Math.ceil(main.getBoundingClientRect().height));
}
"""


def page_of(view: Any, *, dark: bool | None = None, then: str = "") -> str:
    """Return a view, or a box of views and figures, as a page.

    ``dark`` fixes the theme. For a picture, ``then`` puts the page's ``height`` into ``<pre id="result">``.
    """
    parts = list(parts_of(view))
    if not parts:
        raise ValueError(f"{type(view).__name__} contains no view to export")
    columns = f"repeat({getattr(view, 'cols', 1)}, minmax(0, 1fr))"
    boxes = "".join(f'<div id="view-{k}"></div>' for k in range(len(parts)))
    body = f'<main class="still" style="grid-template-columns: {columns}">{boxes}</main>'
    return document(parts, body, type(view).__name__, dark=dark, then=then)


def document(
    parts: list[Any], body: str, title: str, *, style: str = "", dark: bool | None = None, then: str = "", run: str = ""
) -> str:
    """Return a page with views and figures: part k is drawn into the element ``view-k`` of ``body``, which is HTML."""
    scripts: list[str] = []
    shown, styles = [], [_STYLE, style]
    for part in parts:
        # A view of another package has a script and a style of its own.
        script, style = (BUNDLE, "") if getattr(part, "view", "") else (str(part._esm), str(getattr(part, "_css", "")))
        if script not in scripts:
            scripts.append(script)
            styles.append(style)
        shown.append({"script": scripts.index(script), "state": _state(part)})
    content = {"views": shown, "scripts": scripts, "library": _library(parts), "then": then}
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode("ascii"), mtime=0)).decode("ascii")
    theme = ""
    if dark is not None:
        theme = f' class="{"still-dark" if dark else ""}" data-jp-theme-light="{str(not dark).lower()}"'
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{escape(title)} · hsd_viz</title>
<style>{chr(10).join(styles).replace("</", "<" + chr(92) + "/")}</style>
</head>
<body{theme}>
{body}
<noscript><p>This page needs JavaScript.</p></noscript>
<pre id="result"></pre>
<script type="text/plain" id="views">{packed}</script>
<script type="module">{_HOST}</script>
{f"<script>{run}</script>" if run else ""}</body>
</html>
"""


def parts_of(view: Any) -> list[Any]:
    """Return the views and figures of a view or box, in order."""
    # The project's own widgets without ``to_html`` are parts of a view, such as its notices.
    own = any(base.__module__.startswith("hsd_viz.") for base in type(view).__mro__)
    whole = isinstance(view, anywidget.AnyWidget) and (hasattr(view, "to_html") or not own)
    if whole:
        return [view]
    return [part for child in getattr(view, "children", ()) for part in parts_of(child)]


def _state(part: anywidget.AnyWidget) -> dict[str, Any]:
    state = {k: v for k, v in part.get_state().items() if not k.startswith("_") and k not in _SKIPPED}
    state.pop("bundle", None)
    if "data" in state and not state["data"]:
        state["data"] = getattr(part, "shown_data", lambda: {})()
    return state


def _library(parts: list[Any]) -> dict[str, Any] | None:
    """Return plotly for the charts of a page; one script draws all of them."""
    names = {part.library for part in parts if hasattr(part, "library")}
    return {"names": sorted(names), "text": script(WHOLE if WHOLE in names else CARTESIAN)} if names else None
