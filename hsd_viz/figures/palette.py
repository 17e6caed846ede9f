"""One fixed palette: a colour per source, the same in all views and figures, and the inks of each theme.

Every ink has a contrast of at least 4.5 on its tint, on JupyterLab's light and dark page (tested). Verdicts are shown
by shape, never by colour only.
"""

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from hsd_viz.bench.report import KINDS as REPORT_KINDS
from hsd_viz.drafting import drafters
from hsd_viz.stack import DATABASES

#: Draft sources of one colour: those that are not databases and registered none.
BASELINES = tuple(name for name, known in drafters().items() if name != "db" and known.colour is None)
#: Strength of a token's background tint in each theme.
TINT = 0.10


@dataclass(frozen=True, slots=True)
class Hue:
    """A family of sources or a kind of stacks: its label, and its ink on a light and a dark page (``#rrggbb``)."""

    label: str
    light: str
    dark: str


@dataclass(frozen=True, slots=True)
class Inks:
    """The colours of a theme: text, muted text, grid lines, page, accent and loss."""

    text: str
    muted: str
    grid: str
    page: str
    accent: str
    loss: str


HUES: dict[str, Hue] = {
    "context": Hue("context database", "#0a58ad", "#7fb9ff"),
    "model": Hue("model database", "#6f3bb0", "#c9a5ff"),
    "statistics": Hue("statistics database", "#00655a", "#52d1c0"),
    "logits": Hue("logits database", "#356a00", "#9bd65a"),
    "nano": Hue("nano, draft model", "#9a4200", "#ffae6b"),
    "small": Hue("small, draft model", "#a81a62", "#ff93c2"),
    "draft": Hue("draft model", "#5f5a00", "#d9d168"),
    "baseline": Hue("baseline", "#4b5a6b", "#b1c0d0"),
    "target": Hue("target model", "#24292f", "#e8eaed"),
}
HUES |= {name: Hue(f"{name}, drafter", *known.colour) for name, known in drafters().items() if known.colour}
#: Kinds of stacks in reports.
KINDS: dict[str, Hue] = {name: Hue(*about) for name, about in REPORT_KINDS.items()}
INKS: dict[bool, Inks] = {
    False: Inks("#1f2328", "#57606a", "#e3e7ec", "#ffffff", HUES["context"].light, HUES["nano"].light),
    True: Inks("#e8eaed", "#a2abb6", "#33393f", "#17181a", HUES["context"].dark, HUES["nano"].dark),
}


def pale(colour: str) -> str:
    """Return a colour (``#rrggbb``) at the strength of bars behind others."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.32)"


#: Each colour on a light page, with the one on a dark page.
TWINS: dict[str, str] = dict(zip(astuple(INKS[False]), astuple(INKS[True]), strict=True))
TWINS |= {hue.light: hue.dark for hue in (*HUES.values(), *KINDS.values())}
TWINS |= {pale(light): pale(dark) for light, dark in TWINS.items()}


def family(source: str) -> str:
    """Return a source's key in :data:`HUES`: databases, ``nano`` and ``small`` have their own, other draft models share
    one.
    """
    if source in HUES and source not in ("draft", "baseline"):
        return source
    return "baseline" if source in BASELINES else "draft"


def label(source: str) -> str:
    """Return a source's label: ``context database``, ``my/model, draft model``."""
    key = family(source)
    if key == "draft":
        return f"{source}, draft model"
    return f"{source}, baseline" if key == "baseline" else HUES[key].label


def in_order(sources: Iterable[str]) -> list[str]:
    """Return different sources: the databases in their order, the others by name, the target last."""
    place = lambda s: (s == "target", DATABASES.index(s) if s in DATABASES else len(DATABASES), s)
    return sorted(set(sources), key=place)
