"""Draw the picture of block verification in ``docs/explanation/block.svg``: one draft, its w and h,
and the verdict.

The numbers are those of :func:`hsd_viz.decoding.verify.block_rule` for the draft of lesson 3, whose
ratios are 1/2, 2 and 1/2.

    python -m tools.docs.block_picture
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hsd_viz.decoding.verify import RuleDecision, block_rule

FILE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "block.svg"
#: The draft "a b a", the draft model's rows for its places, the verifier's rows, and the uniform
#: numbers.
TOKENS = (0, 1, 0)
DRAFT = np.array([[0.8, 0.2], [0.7, 0.3], [0.8, 0.2]])
VERIFIER = np.array([[0.4, 0.6], [0.4, 0.6], [0.4, 0.6], [0.5, 0.5]])
UNIFORM = (0.3, 0.6, 0.7)

_WIDTH = 640
_HEIGHT = 300
_TOP = 60
_BAR_HEIGHT = 160
_BAR_WIDTH = 56
_STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1b1f24 }
.quiet { fill: #57606a }
.w { fill: none; stroke: #57606a; stroke-dasharray: 4 3 }
.h { fill: #2f6fde }
.u { stroke: #c2410c; stroke-width: 3 }
.line { stroke: #8c959f }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .quiet { fill: #9da7b3 }
  .w { stroke: #9da7b3 }
  .h { fill: #6ea8fe }
  .u { stroke: #fb923c }
  .line { stroke: #6e7681 }
}
"""


def weights() -> list[float]:
    """Return w after each token: min(1, w p / q), from 1."""
    values = []
    w = 1.0
    for place, token in enumerate(TOKENS):
        w = min(1.0, w * float(VERIFIER[place, token]) / float(DRAFT[place, token]))
        values.append(w)
    return values


def verdict() -> RuleDecision:
    """Return what the rule does with the draft."""
    return block_rule(TOKENS, DRAFT, VERIFIER, UNIFORM)


def thresholds() -> list[float]:
    """Return h at each place; the rule itself stops computing them at the place that decides."""
    never = block_rule(TOKENS, DRAFT, VERIFIER, (1.0,) * len(TOKENS))
    return list(never.h or ())


def picture() -> str:
    """Return the picture as SVG, for light and dark pages."""
    accepted = verdict().accepted
    title = f"Block verification of a draft of {len(TOKENS)} tokens: {accepted} are accepted"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        _text(20, 26, "tried from the last place to the first: the first u below h decides"),
        '<path class="line" d="M 620 40 H 90 m 8 -5 l -8 5 l 8 5" fill="none"/>',
    ]
    for place, (w, h) in enumerate(zip(weights(), thresholds(), strict=True)):
        parts += _column(place, w, h, accepted)
    base = _TOP + _BAR_HEIGHT
    parts.append(f'<path class="line" d="M 20 {base} H 620"/>')
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _column(place: int, w: float, h: float, accepted: int) -> list[str]:
    """Return one place of the draft: w dashed, h filled, u as a mark."""
    left = 60 + 190 * place
    base = _TOP + _BAR_HEIGHT
    u = UNIFORM[place]
    token = "ab"[TOKENS[place]]
    ratio = float(VERIFIER[place, TOKENS[place]]) / float(DRAFT[place, TOKENS[place]])
    fate = "accepted" if place < accepted else "rejected"
    mark = base - _BAR_HEIGHT * u
    beside = left + _BAR_WIDTH + 12
    return [
        _bar("h", left, h),
        _bar("w", left, w),
        f'<path class="u" d="M {left - 8} {mark:g} h {_BAR_WIDTH + 16}"/>',
        _text(beside, base - 60, f"w = {w:g}"),
        _text(beside, base - 40, f"h = {h:g}"),
        _text(beside, base - 20, f"u = {u:g} {'<' if u < h else '≥'} h"),
        _text(left, base + 24, f"“{token}”, p / q = {ratio:g}"),
        _text(left, base + 46, fate, "quiet"),
    ]


def _bar(kind: str, left: int, value: float) -> str:
    height = _BAR_HEIGHT * value
    top = _TOP + _BAR_HEIGHT - height
    return f'<rect class="{kind}" x="{left}" y="{top:g}" width="{_BAR_WIDTH}" height="{height:g}"/>'


def _text(left: int, top: int, words: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    escaped = words.replace("<", "&lt;")
    return f'<text{attribute} x="{left}" y="{top}">{escaped}</text>'


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
    print(FILE)
