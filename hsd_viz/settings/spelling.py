"""How messages name a setting: as the front end spells it.

A message that asks for the setting ``plain_speed`` names ``--plain-speed`` on the command line and
``plain_speed`` in Python and to a chat. Code below the front ends knows the name of the setting
only, and calls :func:`spelled`; a front end sets its spelling around the work (:func:`spelling`),
as programs set a locale.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Returns the text that names a setting.
Spelling = Callable[[str], str]


def as_argument(name: str) -> str:
    """Return a setting as an argument of Python, as in "`plain_speed`"."""
    return f"`{name}`"


def as_option(name: str) -> str:
    """Return a setting as an option of the command line, as in ``--plain-speed``."""
    return "--" + name.rstrip("_").replace("_", "-")


#: Matches a setting that a text names.
_SETTING = re.compile(r"\{([a-z_]+)\}")
_spelling: ContextVar[Spelling] = ContextVar("spelling", default=as_argument)


def spelled(name: str) -> str:
    """Return a setting as the present front end spells it; that of Python, if none is set."""
    return _spelling.get()(name)


@contextmanager
def spelling(front_end: Spelling) -> Iterator[None]:
    """Make messages spell settings as a front end does."""
    token = _spelling.set(front_end)
    try:
        yield
    finally:
        _spelling.reset(token)


def fill_in(text: str, front_end: Spelling) -> str:
    """Return a text whose settings in braces, as in ``with {gpu}``, are spelled."""
    return _SETTING.sub(lambda setting: front_end(setting[1]), text)
