"""One fixed palette: a colour per source, the same in all views and figures, and the inks of each
theme.

Tested: every ink has a contrast of at least 4.5 on its tint, on JupyterLab's light and dark page;
sources also differ for the colour-blind; no source's colour has another meaning. Verdicts are shown
by shape, never by colour only.
"""

from collections.abc import Iterable
from dataclasses import astuple, dataclass

from hsd_viz.drafting import drafters
from hsd_viz.results.drafter_names import DRAFTER_NAMES
from hsd_viz.results.kinds import COPYING, COPYING_COLOURS, StackKind, is_copying, kind_of
from hsd_viz.stack import DATABASE, DATABASES, TARGET


def _without_colour() -> tuple[str, ...]:
    """Return the drafters that have no colour of their own."""
    names = []
    for name, registration in drafters().items():
        if name != DATABASE and registration.colour is None:
            names.append(name)
    return tuple(names)


#: Draft sources of one colour: those that are not databases and registered none.
BASELINES = _without_colour()
#: Strength of a token's background tint in each theme.
TINT = 0.10


@dataclass(frozen=True, slots=True)
class Hue:
    """A family of sources, or a kind of stacks.

    Attributes:
        label: its name in legends.
        light: its ink on a light page, ``#rrggbb``.
        dark: its ink on a dark page.
    """

    label: str
    light: str
    dark: str


@dataclass(frozen=True, slots=True)
class Inks:
    """The colours of a theme.

    Attributes:
        text: of text.
        muted: of text in the background.
        grid: of grid lines.
        page: of the page.
        accent: of what is stressed.
        loss: of what loses.
    """

    text: str
    muted: str
    grid: str
    page: str
    accent: str
    loss: str


HUES: dict[str, Hue] = {
    "context": Hue(DRAFTER_NAMES["context"], *COPYING_COLOURS),
    "model": Hue(DRAFTER_NAMES["model"], "#691197", "#ab84fa"),
    "statistics": Hue(DRAFTER_NAMES["statistics"], "#1c7456", "#44e9af"),
    "logits": Hue(DRAFTER_NAMES["logits"], "#183703", "#abdc63"),
    "semantic": Hue(DRAFTER_NAMES["semantic"], "#190064", "#ffee04"),
    "nano": Hue("nano, draft model", "#9d530c", "#ef9256"),
    "small": Hue("small, draft model", "#b42a93", "#f88cce"),
    "draft": Hue("draft model", "#4b4a1d", "#ebff9b"),
    "baseline": Hue("baseline", "#4a4f5e", "#959595"),
    "target": Hue("target model", "#1f2328", "#e8eaed"),
}
for _name, _registration in drafters().items():
    if _registration.colour:
        HUES[_name] = Hue(f"{_name}, drafter", *_registration.colour)
#: Kinds of stacks in reports.
KINDS: dict[str, Hue] = {kind.value: Hue(kind.label, kind.light, kind.dark) for kind in StackKind}
INKS: dict[bool, Inks] = {
    False: Inks("#1f2328", "#57606a", "#e3e7ec", "#ffffff", KINDS["auto"].light, "#cf222e"),
    True: Inks("#e8eaed", "#a2abb6", "#33393f", "#17181a", KINDS["auto"].dark, "#ff9d97"),
}


def pale(colour: str) -> str:
    """Return a colour (``#rrggbb``) at the strength of bars behind others."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return f"rgba({red},{green},{blue},0.32)"


#: Each colour on a light page, with the one on a dark page.
TWINS: dict[str, str] = dict(zip(astuple(INKS[False]), astuple(INKS[True]), strict=True))
for _hue in (*HUES.values(), *KINDS.values()):
    TWINS[_hue.light] = _hue.dark
TWINS |= {pale(light): pale(dark) for light, dark in TWINS.items()}


def family(source: str) -> str:
    """Return a source's key in :data:`HUES`: databases, ``nano`` and ``small`` have their own,
    those of :data:`~hsd_viz.results.kinds.COPYING` share one, as other draft models do.
    """
    if source in COPYING:
        return COPYING[0]
    if source in HUES and source not in ("draft", "baseline"):
        return source
    return "baseline" if source in BASELINES else "draft"


def bar_of(row: str) -> str:
    """Return what a stack, or a row of a report, is drawn as: its kind in :data:`KINDS`, or
    ``context`` if it only copies from the text.
    """
    return COPYING[0] if is_copying(row) else kind_of(row).value


def label(source: str) -> str:
    """Return a source's label: ``model database``, ``my/model, draft model``."""
    key = family(source)
    if key == "draft":
        return f"{source}, draft model"
    if source in BASELINES:
        return DRAFTER_NAMES.get(source, f"{source}, baseline")
    return HUES[key].label


def in_order(sources: Iterable[str]) -> list[str]:
    """Return different sources: the databases in their order, the others by name, the target
    last.
    """

    def place(source: str) -> tuple[bool, int, str]:
        is_database = source in DATABASES
        order = DATABASES.index(source) if is_database else len(DATABASES)
        return source == TARGET, order, source

    return sorted(set(sources), key=place)
