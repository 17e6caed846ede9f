"""One trace as one page: the views' own scripts, the run inside, nothing fetched. It opens from a disk, offline, in any browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from typing import Any

from hsd_viz.trace import Trace
from hsd_viz.views import payload
from hsd_viz.views.inspector import FILES as INSPECTOR_FILES
from hsd_viz.views.inspector import RoundInspector
from hsd_viz.views.linked import SHARED, LinkedView, page_palette
from hsd_viz.views.player import Player
from hsd_viz.views.scripts import STATIC, joined
from hsd_viz.views.stream import FILES as STREAM_FILES
from hsd_viz.views.stream import TokenStream
from hsd_viz.views.timeline import FILES as TIMELINE_FILES
from hsd_viz.views.timeline import Timeline
from hsd_viz.words import counted

#: The views of the page, from top to bottom: name, widget, heading, and its own files behind those that all linked views share.
_VIEWS: tuple[tuple[str, type[LinkedView], str, tuple[str, ...]], ...] = (
    ("player", Player, "", ("player.js",)),
    ("stream", TokenStream, "The text, token by token", STREAM_FILES),
    ("inspector", RoundInspector, "The round under the cursor", INSPECTOR_FILES),
    ("timeline", Timeline, "Where the time went", TIMELINE_FILES),
)
_EXPORTED = re.compile(r"^export \{[^}]*\};$", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)


def page(trace: Trace) -> str:
    """The whole HTML of ``trace``.

    The run is packed (gzip, base64), so that no text in it can end the element it stands in; all other text is escaped. The page's
    policy lets its own script and style run, by their hashes, and forbids every connection.
    """
    run = {"run": "page", "seq": 1, **payload.snapshot(trace)}
    states = {name: _state(widget) for name, widget, _, _ in _VIEWS}
    data = json.dumps({"data": run, "palette": page_palette(), "states": states}, ensure_ascii=True, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(data.encode("ascii"), mtime=0)).decode("ascii")
    script, style = _script(), _style()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    body = "\n".join(
        (f"<section><h2>{html.escape(words)}</h2>" if words else "<section>") + f'<div data-view="{name}"></div></section>'
        for name, _, words, _ in _VIEWS
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{_text(_stack(trace))} · hsd_viz</title>
<style>{style}</style>
</head>
<body>
<main class="hsd-page">
{_header(trace)}
<p id="start">Unpacking the run …</p>
<noscript><p>This page shows a recorded run by a script of its own; scripts are turned off here.</p></noscript>
{body}
<footer>A recorded run of speculative decoding, written by hsd-viz export. Everything shown was measured in that run and lies in this file;
it asks the network for nothing. Arrow keys go from event to event, with Shift from round to round; Enter keeps what is looked at,
Esc lets go.</footer>
</main>
<script type="text/plain" id="run">{packed}</script>
<script>{script}</script>
</body>
</html>
"""


def _stack(trace: Trace) -> str:
    return str(trace.meta.get("stack_resolved") or trace.meta.get("stack") or "a recorded run")


def _text(text: str) -> str:
    """Text from a trace as HTML; half characters, which no file can hold, as U+FFFD."""
    return html.escape(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _header(trace: Trace) -> str:
    """The stack, what it ran on, and the run's figures."""
    meta, m = trace.meta, trace.metrics()
    sampling = meta.get("sampling") or {}
    temperature = sampling.get("temperature")
    drawn = None if temperature is None else "greedy" if temperature == 0 else f"temperature {temperature:g}, seed {sampling.get('seed')}"
    threads = meta.get("threads")
    facts = [
        drawn,
        meta.get("device_name") or meta.get("device"),
        meta.get("dtype"),
        threads and counted(threads, "thread"),
        meta.get("runtime") and f"{meta['runtime']} runtime",
        meta.get("created") and f"recorded {str(meta['created'])[:16].replace('T', ' ')}",
    ]
    figures = [
        ("tokens", str(m["tokens"])),
        ("rounds of the target", str(m["rounds"])),
        ("tokens per second, after prefill", _figure(m["tokens_per_second"], "{:.0f}")),
        ("mean acceptance length", _figure(m["mean_acceptance_length"], "{:.2f}")),
        ("of drafted tokens accepted", _figure(m["acceptance_rate"], "{:.0%}")),
    ]
    cells = "".join(f"<div><dt>{words}</dt><dd>{value}</dd></div>" for words, value in figures)
    line = " · ".join(_text(str(f)) for f in facts if f)
    kicker = '<p class="hsd-page-facts">A recorded run, token by token</p>'
    title = f'<h1>{_text(_stack(trace))}</h1><p class="hsd-page-facts">{line}</p>'
    return f'<header>{kicker}{title}<dl class="hsd-page-figures">{cells}</dl></header>'


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def _state(widget: type[LinkedView]) -> dict[str, Any]:
    """The traits of its own that a widget shares with its script, at their defaults."""
    return {name: trait.default_value for name, trait in widget.class_own_traits(sync=True).items() if not name.startswith("_")}


def _script() -> str:
    """All scripts as one: the shared part once, each view in a scope of its own, then what starts them."""
    shared = "\n".join(_EXPORTED.sub("", (STATIC / name).read_text(encoding="utf-8")) for name in SHARED)
    parts = []
    for name, _, _, files in _VIEWS:
        source, found = _DEFAULT.subn("return ", "\n".join(_EXPORTED.sub("", (STATIC / f).read_text(encoding="utf-8")) for f in files))
        assert found == 1, f"{name} exports no widget"
        parts.append(f"views.{name} = (() => {{\n{source}\n}})();")
    start = (STATIC / "standalone.js").read_text(encoding="utf-8")
    whole = "\n".join(["(() => {", '"use strict";', shared, "const views = {};", *parts, start, "})();"])
    # Within a script element these alone could end it, or keep it from ending.
    assert not re.search(r"<(/script|script|!--)", whole, re.IGNORECASE)
    return whole


def _style() -> str:
    names = ("standalone.css", "linked.css", *(f"{name}.css" for name, *_ in _VIEWS), "paper.css")
    return joined(*names)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
