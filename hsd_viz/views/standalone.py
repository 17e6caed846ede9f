"""One trace as one page: the views' own scripts, the run inside, nothing fetched. It opens from a disk, offline, in any browser."""

from __future__ import annotations

import html
from typing import Any

from hsd_viz.trace import Trace
from hsd_viz.views import payload
from hsd_viz.views.inspector import FILES as INSPECTOR_FILES
from hsd_viz.views.inspector import RoundInspector
from hsd_viz.views.linked import LinkedView
from hsd_viz.views.player import Player
from hsd_viz.views.standalone_page import View, escaped, whole
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
_HOW = """<p><b>Draft, verify, accept, correct.</b> A large model, the target, decides every token of the text, and each of its forwards
is slow. So small models or databases run ahead and draft some tokens. The target verifies the whole draft in one forward: it keeps the
tokens from the left that it agrees with, puts its own token where it does not (the correction), and where all of a draft was kept adds
one more (the bonus). That is a round. The text is as if the target had written it alone, token for token where decoding is greedy or the
drafts come from databases, else in distribution.</p>
<p><b>Colours and shapes.</b> A colour says who proposed a token first; the row above the text names the colours. Underlined: accepted.
Struck through: drafted and rejected, or never looked at. A dashed frame: a correction. Dotted below: a bonus. Plain: nothing was
drafted.</p>
<p><b>Figures.</b> p is the verifier’s probability of a token, q the drafter’s, both as sampled; “p at T = 1” is the target’s before
temperature. Mean acceptance length: tokens for each forward of the target (1 without drafts). Accepted: of what was drafted.</p>
<p><b>Keys.</b> ← → go from event to event, with Shift from round to round; Space plays; Enter keeps what is looked at, Esc lets go; / finds
text. In the tree of a round the arrows walk from node to node, in the timeline + and − zoom.</p>"""


def page(trace: Trace) -> str:
    """The whole HTML of ``trace``; see :func:`hsd_viz.views.standalone_page.whole`."""
    run = {"run": "page", "seq": 1, **payload.snapshot(trace)}
    body = "\n".join(
        (f"<section><h2>{html.escape(words)}</h2>" if words else "<section>")
        + f'<div data-view="{name}"></div></section>'
        for name, _, words, _ in _VIEWS
    )
    return whole(
        title=_stack(trace),
        header=_header(trace),
        how=_HOW,
        body=body,
        footer="A recorded run of speculative decoding, written by hsd_viz. Everything shown was measured in that run and lies in this "
        "file; it asks the network for nothing.",
        data=run,
        views=[View(name, (*files,), f"{name}.css", _state(widget)) for name, widget, _, files in _VIEWS],
    )


def _stack(trace: Trace) -> str:
    return str(trace.meta.get("stack_resolved") or trace.meta.get("stack") or "a recorded run")


def _header(trace: Trace) -> str:
    """The stack, what it ran on, and the run's figures."""
    meta, m = trace.meta, trace.metrics()
    sampling = meta.get("sampling") or {}
    temperature = sampling.get("temperature")
    drawn = (
        None
        if temperature is None
        else "greedy"
        if temperature == 0
        else f"temperature {temperature:g}, seed {sampling.get('seed')}"
    )
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
    line = " · ".join(escaped(str(f)) for f in facts if f)
    kicker = '<p class="hsd-page-facts">A recorded run, token by token</p>'
    title = f'<h1>{escaped(_stack(trace))}</h1><p class="hsd-page-facts">{line}</p>'
    return f'<header>{kicker}{title}<dl class="hsd-page-figures">{cells}</dl></header>'


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def _state(widget: type[LinkedView]) -> dict[str, Any]:
    """The traits of its own that a widget shares with its script, at their defaults."""
    return {
        name: trait.default_value
        for name, trait in widget.class_own_traits(sync=True).items()
        if not name.startswith("_")
    }
