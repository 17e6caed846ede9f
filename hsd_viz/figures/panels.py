"""Small tables with bars, side by side, each with a definition and a text for the empty case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hsd_viz.figures.palette import HUES, family, label
from hsd_viz.stack import DATABASES

#: Maximum rows of a table; beyond that, neighbouring values are binned.
MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class Row:
    """A bar and its values.

    ``parts`` are (key, length, text); the key selects colour and shape in :attr:`Panel.keys`.
    """

    label: str
    parts: tuple[tuple[str, float, str], ...]
    cells: tuple[str, ...]
    #: A note below the label.
    note: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One table: its ``measure`` with ``definition``, and ``heads`` above the rows' labels, bars and values.

    ``legend`` lists the keys above the table after the text ``lead``. ``empty`` replaces missing rows. ``end`` is the
    length of a full bar (default: the longest)."""

    title: str
    measure: str
    definition: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    legend: tuple[str, ...] = ()
    lead: str = ""
    empty: str = ""
    foot: str = ""
    end: float | None = None


def source_keys(sources: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return label, colours and shape by source: databases in order, then the others."""
    named = set(sources)
    order = sorted(named, key=lambda s: (s == "target", DATABASES.index(s) if s in DATABASES else len(DATABASES), s))
    return {
        s: {"label": label(s), "light": HUES[family(s)].light, "dark": HUES[family(s)].dark, "shape": "solid"}
        for s in order
    }


def ranges(values: Iterable[int]) -> list[range]:
    """Bin whole numbers from the least to the greatest of ``values``: one bin each, or ranges of equal width."""
    found = sorted(set(values))
    if not found:
        return []
    first, last = found[0], found[-1]
    width = -(-(last - first + 1) // MOST_ROWS)
    return [range(start, min(start + width, last + 1)) for start in range(first, last + 1, width)]


def range_words(numbers: range) -> str:
    """Return a range as a row label."""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"


def share(over: float, under: float) -> str:
    """Return a share in per cent, or a dash for an empty whole."""
    return f"{over / under:.0%}" if under else "–"


def level_names(meta: dict[str, Any]) -> list[str]:
    """Return the name of each level, lowest first; empty if the meta has no valid stack."""
    from hsd_viz.stack import StackError, parse

    try:
        parts = parse(str(meta.get("stack_resolved") or meta.get("stack", ""))).parts
    except StackError:
        return []
    # A resolved `auto` lists its levels in order.
    names = [name for part in parts for name in (part.items if part.name == "auto" else (part.name,))]
    # In a simulated run (hsd_viz.figures.overlap) the look-ups are not where they were recorded.
    return [f"{names[0]} (simulated)", *names[1:]] if meta.get("simulated") else names
