"""``hsd_viz/decoding/keywords.py`` from the options of a decode."""

from __future__ import annotations

import inspect
import re
import textwrap

from hsd_viz.decoding.engine import DEFAULTS, CallOptions
from hsd_viz.decoding.options import types
from hsd_viz.settings.declare import groups_of

#: Columns of a line of Python.
COLUMNS = 100
_HEAD = '''\
"""The keyword arguments of a decode, for type checkers.

Written by ``python -m tools.reference`` from :class:`hsd_viz.decoding.engine.CallOptions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from hsd_viz.drafting import Memory


class Options(TypedDict, total=False):
    """The options of a decode that differ from their defaults.

    Attributes:
'''


def python_keywords() -> str:
    """Return the module with the type of a decode's keyword arguments."""
    meanings = _meanings()
    lines = []
    for name in DEFAULTS:
        lines += textwrap.wrap(
            f"{name}: {meanings[name]}",
            COLUMNS,
            initial_indent=8 * " ",
            subsequent_indent=12 * " ",
            break_on_hyphens=False,
        )
    lines += ['    """', ""]
    for name in DEFAULTS:
        lines.append(f"    {name}: {_type_of(name)}")
    return _HEAD + "\n".join(lines) + "\n"


def _meanings() -> dict[str, str]:
    """Return the meaning of each option, from the docstrings of the dataclasses."""
    meanings: dict[str, str] = {}
    for owner in groups_of(CallOptions):
        _, _, attributes = (inspect.getdoc(owner) or "").partition("Attributes:\n")
        section, _, _ = attributes.partition("\n\n")
        for name, meaning in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, re.M):
            meanings[name] = " ".join(meaning.split())
    return meanings


def _type_of(name: str) -> str:
    """Return the type of an option as it is written."""
    kind = types().get(name)
    return CallOptions.__annotations__[name] if kind is None else kind.__name__
