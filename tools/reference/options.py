"""``hsd_viz/decoding/keywords.py`` from the options of a decode."""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import fields
from typing import Any, get_type_hints

from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.settings.declare import groups_of

#: Columns of a line of Python.
COLUMNS = 100
_HEAD = '''\
"""The keyword arguments of a decode, for type checkers.

Written by ``python -m tools.reference`` from
:class:`hsd_viz.decoding.options.DecodingOptions`.
"""

from __future__ import annotations

from typing import Any, TypedDict


class DecodingKeywords(TypedDict, total=False):
    """The options of a decode that differ from their defaults.

    Attributes:
'''


def python_keywords() -> str:
    """Return the module with the type of a decode's keyword arguments."""
    meanings = _meanings()
    types = _types()
    lines = []
    for name in types:
        lines += textwrap.wrap(
            f"{name}: {meanings[name]}",
            COLUMNS,
            initial_indent=8 * " ",
            subsequent_indent=12 * " ",
            break_on_hyphens=False,
        )
    lines += ['    """', ""]
    for name, kind in types.items():
        lines.append(f"    {name}: {kind}")
    return _HEAD + "\n".join(lines) + "\n"


def _meanings() -> dict[str, str]:
    """Return the meaning of each option, from the docstrings of the dataclasses."""
    meanings: dict[str, str] = {}
    for owner in groups_of(DecodingOptions):
        _, _, attributes = (inspect.getdoc(owner) or "").partition("Attributes:\n")
        section, _, _ = attributes.partition("\n\n")
        for name, meaning in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, re.M):
            meanings[name] = " ".join(meaning.split())
    return meanings


def _types() -> dict[str, str]:
    """Return the type of each option as it is written: those of a decode alone first."""
    options = {field.name for field in fields(DecodingOptions)}
    hints = get_type_hints(DecodingOptions)
    types: dict[str, str] = {}
    for owner in groups_of(DecodingOptions):
        for name in inspect.get_annotations(owner):
            if name in options:
                types[name] = _written(hints[name])
    return types


def _written(kind: Any) -> str:
    """Return a type as it is written."""
    written = kind.__name__ if isinstance(kind, type) else str(kind)
    return written.replace("typing.", "")
