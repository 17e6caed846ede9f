"""The published figures of cards and models, and their look-up by a name in any spelling."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from hsd_viz.errors import UserError

T = TypeVar("T")
#: The published figures: cards and models by name, and the names of hub models by prefix.
PUBLISHED_FIGURES: dict[str, Any] = json.loads(
    Path(__file__).with_name("hardware.json").read_text(encoding="utf-8")
)
#: The largest number of names that a message lists.
MAX_LISTED = 12


def by_name(
    values: Mapping[str, T], name: str, what: str, otherwise: str, written: str | None = None
) -> T:
    """Return the value of a name in any spelling, or of its first word: "H100" finds "H100 SXM".

    Args:
        values: the values by name.
        name: the name to look up.
        what: the kind of the name, for the error message.
        otherwise: the end of the error message.
        written: the name as the user wrote it, for the error message; by default ``name``.

    Raises:
        UserError: if the name is unknown.
    """
    names = _names_without_spelling(values)
    models = _names_by_first_word(values)
    plain_name = _without_spelling(name)
    match = names.get(plain_name) or models.get(name.strip().lower())
    if match:
        return values[match]
    every_name = {**names, **models}
    close_names = difflib.get_close_matches(plain_name, every_name, 4, 0.4)
    listed = list(dict.fromkeys(every_name[text] for text in close_names))
    if not listed:
        listed = list(values)[:MAX_LISTED]
    original = name if written is None else written
    raise UserError(f"the {what} '{original}' is unknown: use {', '.join(listed)}{otherwise}")


def _names_without_spelling(values: Mapping[str, Any]) -> dict[str, str]:
    return {_without_spelling(name): name for name in values}


def _names_by_first_word(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the first name that begins with each word, for words that contain a digit."""
    names: dict[str, str] = {}
    for name in values:
        word = name.split()[0]
        if any(character.isdigit() for character in word):
            names.setdefault(word.lower(), name)
    return names


def _without_spelling(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
