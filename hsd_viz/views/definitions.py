"""What the page's figures are, in a sentence or two each: wherever a figure stands, this is what its name shows."""

from __future__ import annotations

SPEED = "Tokens per second from the end of the prefill, when the prompt had been read, to the last token."
SPEEDUP = "Speed-up = tokens per second of this run / those of plain decoding, in which the target writes alone; both run beside each other."
RATE = "Acceptance rate = accepted / drafted: of all tokens that were put before the verifier, the share that it kept."
CONDITIONAL = (
    "Conditional acceptance = accepted / examined. Behind the first token that is turned down nothing is looked at: only places "
    "that the verifier came to count as examined."
)
LENGTH = (
    "Mean acceptance length = emitted tokens / forwards of the target, its own tokens included. Plain decoding: 1.00."
)
LATENCY = (
    "Drafting latency = time in each round of the target that went into finding drafts, updating databases and building the draft. "
    "Forwards of draft models are not in it."
)
