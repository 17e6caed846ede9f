"""Definitions of the page's metrics, shown as tooltips of their names."""

from __future__ import annotations

SPEED = "Tokens per second from the end of prefill to the last token."
SPEEDUP = "Speed-up = tokens per second of this run / tokens per second of plain decoding, measured in alternation."
RATE = "Acceptance rate = accepted / drafted: share of draft tokens that the verifier accepted."
CONDITIONAL = "Conditional acceptance = accepted / examined. Tokens after the first rejected one are not examined."
LENGTH = "Mean acceptance length = emitted tokens / target forward passes, bonus tokens included. Plain decoding: 1.00."
LATENCY = (
    "Drafting latency = time per target round spent finding drafts, updating databases and building the draft tree. "
    "Excludes forward passes of draft models."
)
#: The temperature of the form, the recordings and the examples.
TEMPERATURE = 0.7
