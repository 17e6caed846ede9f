"""A trace as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hsd_viz.card import card, line, table
from hsd_viz.trace.records import Rows

_FIGURES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("tokens", "tokens", str),
    ("rounds", "target rounds", str),
    ("mean_acceptance_length", "tokens per target forward pass", "{:.2f}".format),
    ("acceptance_rate", "acceptance rate", "{:.0%}".format),
    ("tokens_per_second", "tokens/s after prefill", "{:.0f}".format),
    ("seconds", "decoding, seconds", "{:.3f}".format),
    ("repetition_share", "repetition", "{:.0%}".format),
)
#: Characters shown of the prompt and of the text.
_SHOWN = 240


def trace_html(trace: Rows, metrics: dict[str, Any], text: str) -> str:
    """Return the stack, the machine, the metrics and the beginning of the text."""
    meta = trace.meta
    sampling = meta.get("sampling") or {}
    temperature = sampling.get("temperature")
    drawn = None if temperature is None else f"temperature {temperature:g}" if temperature else "greedy"
    facts = [drawn, meta.get("device_name") or meta.get("device"), meta.get("dtype"), meta.get("stop_reason")]
    rows = [
        (words, "–" if metrics[key] is None else write(metrics[key]))
        for key, words, write in _FIGURES
        if key in metrics
    ]
    texts = [("prompt", _short(str(meta.get("prompt", "")))), ("text", _short(text))]
    stack = meta.get("stack_resolved") or meta.get("stack") or "?"
    about = line(" · ".join(str(fact) for fact in facts if fact))
    return card("Trace", stack, about, table((), rows), table((), texts))


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
