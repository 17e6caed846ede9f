"""One fixed palette: a colour for each source, the same in the token stream, the charts and the legend.

Every ink reads at a contrast of 4.5 or more on its own tint, on JupyterLab's light and dark page (a test measures it).
Verdicts are told by shape, never by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass

DATABASES = ("context", "model", "statistics")
BASELINES = ("lookup", "sam", "suffix", "recycling", "retrieval", "ngram-cache", "hd", "lookahead")
#: How strongly a token's ink tints its background, in each theme.
TINT = 0.10


@dataclass(frozen=True, slots=True)
class Hue:
    """A family of sources: its name in words, and its ink on a light and on a dark page (``#rrggbb``)."""

    label: str
    light: str
    dark: str


HUES: dict[str, Hue] = {
    "context": Hue("context database", "#0a58ad", "#7fb9ff"),
    "model": Hue("model database", "#6f3bb0", "#c9a5ff"),
    "statistics": Hue("statistics database", "#00655a", "#52d1c0"),
    "logits": Hue("logits database", "#356a00", "#9bd65a"),
    "nano": Hue("nano, draft model", "#9a4200", "#ffae6b"),
    "small": Hue("small, draft model", "#a81a62", "#ff93c2"),
    "draft": Hue("draft model", "#5f5a00", "#d9d168"),
    "rival": Hue("rival look-up", "#4b5a6b", "#b1c0d0"),
    "target": Hue("target model", "#24292f", "#e8eaed"),
}


def family(source: str) -> str:
    """The key in :data:`HUES` of a source: databases, ``nano`` and ``small`` have their own, other draft models share one."""
    if source in HUES and source not in ("draft", "rival"):
        return source
    return "rival" if source in BASELINES else "draft"


def label(source: str) -> str:
    """A source in words: ``context`` is the context database, ``my/model`` is my/model, draft model."""
    key = family(source)
    if key == "draft":
        return f"{source}, draft model"
    return f"{source}, rival look-up" if key == "rival" else HUES[key].label


def ink(source: str, dark: bool = False) -> str:
    """The colour of a source as ``#rrggbb``."""
    hue = HUES[family(source)]
    return hue.dark if dark else hue.light
