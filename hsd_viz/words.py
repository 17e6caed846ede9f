"""Wording of numbers, plurals and suggestions, and range checks. Pure."""

import html
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, wraps
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from hsd_viz.errors import UserError

P = ParamSpec("P")
T = TypeVar("T")

#: Most draft tokens a database or baseline may propose in one draft.
MAX_BUDGET = 256
#: What shows a trace as a view (``show``) and as a page (``to_html``), and draws a result
#: (``figure``): registered by the top package.
VIEWERS: dict[str, Callable[[Any], Any]] = {}


def lazily(
    package: str,
    modules: Mapping[str, Iterable[str]],
    submodules: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make the names of a package load on first use.

    Args:
        package: its name.
        modules: relative names of modules, and the names that each has.
        submodules: names that are modules themselves, and their relative names.

    Returns:
        ``__getattr__``, ``__dir__`` and ``__all__`` of the package.
    """
    homes: dict[str, str] = {}
    for module, names in modules.items():
        homes |= dict.fromkeys(names, module)
    public = sorted({*homes, *submodules})

    def load(name: str) -> Any:
        if name in submodules:
            return import_module(submodules[name], package)
        if name not in homes:
            meant = guess(package.replace("hsd_viz", "hsd", 1), name, public)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{meant}")
        return getattr(import_module(homes[name], package), name)

    def directory() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public})

    return load, directory, public


def counted(n: int, noun: str) -> str:
    """Return a number and its noun.

    >>> counted(1, "thread"), counted(4, "thread"), counted(2, "forward pass")
    ('1 thread', '4 threads', '2 forward passes')
    """
    if n != 1:
        noun += "es" if noun.endswith("s") else "s"
    return f"{n} {noun}"


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return a suggestion to append to an error message, empty where no choice is close to
    ``word``.

    >>> did_you_mean("stak", ["stack", "suite"]), did_you_mean("x", ["stack"])
    ("; did you mean 'stack'?", '')
    """
    close = get_close_matches(word, list(choices), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


@cache
def guesses() -> dict[str, dict[str, list[str]]]:
    """Return natural guesses, by the object they are tried on, and the calls, commands or imports
    that are meant. A test executes each of these.
    """
    return json.loads(Path(__file__).with_name("guesses.json").read_text(encoding="utf-8"))


def guess(owner: str, name: str, known: Iterable[str] = ()) -> str:
    """Return what a wrong name probably means, to append to an error message; empty where nothing
    is close.
    """
    meant = guesses().get(owner, {}).get(name)
    return f"; did you mean {' or '.join(meant)}?" if meant else did_you_mean(name, known)


def guided(function: Callable[P, T]) -> Callable[P, T]:
    """Say what a wrong keyword argument of a function probably means."""
    known = signature(function).parameters

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in kwargs.keys() - known.keys():
            meant = guess(function.__name__, name, known)
            raise TypeError(f"{function.__name__}() has no argument '{name}'{meant}")
        return function(*args, **kwargs)

    return checked


def check_range(name: str, value: Any, low: float, high: float | None = None) -> None:
    """Check that ``value`` is a number from ``low`` to ``high`` (``None``: unbounded), a whole
    number if ``low`` is an ``int``; booleans and NaN are not. ``name`` starts the message.

    Raises:
        UserError: if it is not.
    """
    whole = isinstance(low, int)
    right_type = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if right_type and low <= value and (high is None or value <= high):
        return
    limits = f"of at least {low}" if high is None else f"from {low} to {high}"
    wrong = "out of range" if right_type and value == value else "not valid"
    raise UserError(
        f"{name} {value} is {wrong}: expected a {'whole ' if whole else ''}number {limits}"
    )


def check_budget(budget: int | None) -> None:
    """Check a number of draft tokens per draft (``None``: the drafter's own).

    Raises:
        UserError: if it is invalid.
    """
    if budget is not None:
        check_range("the budget", budget, 1, MAX_BUDGET)


def escape(text: object) -> str:
    """Escape text for HTML; lone surrogates become U+FFFD."""
    return html.escape(str(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
