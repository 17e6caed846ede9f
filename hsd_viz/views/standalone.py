"""Export a trace as a self-contained HTML page that opens offline."""

from __future__ import annotations

import html
from typing import Any

from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.doors import Given, trace_of
from hsd_viz.views.linked import LinkedView
from hsd_viz.views.run_verdict import speedup, verdict
from hsd_viz.views.run_views import RoundInspector, Staircase, Timeline
from hsd_viz.views.standalone_page import escaped, whole
from hsd_viz.views.stream import TokenStream
from hsd_viz.words import counted

#: The page's views, top to bottom: name, widget, and heading. ``js/page/run.ts`` starts them.
_VIEWS: tuple[tuple[str, type[LinkedView], str], ...] = (
    ("staircase", Staircase, ""),
    ("stream", TokenStream, "Tokens"),
    ("scene", RoundInspector, "Round"),
    ("timeline", Timeline, "Timeline"),
)
_HOW = """<p><b>Draft, verify, accept, correct.</b> Forward passes of the large target model are slow. Draft models or
databases propose several tokens, and the target verifies the whole draft in one forward pass. It accepts matching
tokens from the left and adds one token of its own: a correction after a rejected token, or a bonus token after a fully
accepted draft. This is a round. The output equals plain decoding: token for token with greedy decoding or database
drafts, else in distribution.</p>
<p><b>Colours and shapes.</b> Colour: the source that proposed a token first (legend above the text). Underlined:
accepted. Struck through: rejected or not examined. Dashed frame: correction. Dotted underline: bonus. Plain: no
draft.</p>
<p><b>Figures.</b> p is the verifier’s probability of a token, q the drafter’s, both as sampled; “p at T = 1” is the
target’s before temperature. Mean acceptance length: tokens per target forward pass (1 without drafts).</p>
<p><b>Keys.</b> ← → move by event, with Shift by round; Space plays; Enter pins, Esc unpins. Arrow keys
move between the tokens of a round; + and − zoom the timeline.</p>"""


def page(trace: Trace) -> str:
    """Return the page of ``trace`` as HTML; see :func:`hsd_viz.views.standalone_page.whole`."""
    run = {"run": "page", "seq": 1, **run_data.snapshot(trace)}
    body = "\n".join(
        (f"<section><h2>{html.escape(words)}</h2>" if words else "<section>")
        + f'<div data-view="{name}"></div></section>'
        for name, _, words in _VIEWS
    )
    return whole(
        title=_stack(trace),
        header=_header(trace),
        how=_HOW,
        body=body,
        footer="A recorded run of speculative decoding, exported by hsd_viz. All values were measured in that run. "
        "This page makes no "
        "network requests.",
        data=run,
        states={name: _state(widget) for name, widget, _ in _VIEWS},
    )


def run_page(trace: Given) -> str:
    """Return a self-contained page of a run, as ``hsd-viz export`` writes it; ``trace`` can be the path of a file."""
    return page(trace_of(trace))


def _stack(trace: Trace) -> str:
    return trace.stack or "a recorded run"


def _header(trace: Trace) -> str:
    """Return the header: stack, machine and metrics."""
    meta, m = trace.meta, trace.metrics()
    gain, said = speedup(trace, m), verdict(trace)
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
        ("target rounds", str(m["rounds"])),
        ("tokens per second, after prefill", _figure(m["tokens_per_second"], "{:.0f}")),
        ("speed-up over plain decoding", "–" if gain is None or gain.impossible else f"{gain.value:.2f}×"),
        ("mean acceptance length", _figure(m["mean_acceptance_length"], "{:.2f}")),
        ("acceptance rate", _figure(m["acceptance_rate"], "{:.0%}")),
    ]
    cells = "".join(f"<div><dt>{words}</dt><dd>{value}</dd></div>" for words, value in figures)
    line = " · ".join(escaped(str(f)) for f in facts if f)
    kicker = '<p class="hsd-page-facts">Recorded run</p>'
    title = f'<h1>{escaped(_stack(trace))}</h1><p class="hsd-page-facts">{line}</p>'
    end = f'<p class="hsd-page-verdict">{escaped(said)}</p>' if said else ""
    return f'<header>{kicker}{title}<dl class="hsd-page-figures">{cells}</dl>{end}</header>'


def _figure(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)


def _state(widget: type[LinkedView]) -> dict[str, Any]:
    """Return the default values of a widget's own synchronized traits."""
    return {
        name: trait.default_value
        for name, trait in widget.class_own_traits(sync=True).items()
        if not name.startswith("_")
    }
