"""What a wrong name of Python probably means: natural guesses, and names that are close."""

import json
from collections.abc import Callable, Iterable
from functools import cache, wraps
from inspect import signature
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


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


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return a suggestion to append to an error message, empty where no choice is close to
    ``word``.

    >>> did_you_mean("stak", ["stack", "suite"]), did_you_mean("x", ["stack"])
    ("; did you mean 'stack'?", '')
    """
    from difflib import get_close_matches

    close = get_close_matches(word, list(choices), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def no_attribute(value: Any, name: str, owner: str, known: Iterable[str] = ()) -> NoReturn:
    """Raise the AttributeError of ``__getattr__``, with what the name probably means.

    Python calls ``__getattr__`` also where a property of the class raised an AttributeError: then
    that error is raised, as the attribute is there.

    Args:
        value: the object.
        name: of the attribute.
        owner: the kind of object, as in ``guesses.json``.
        known: the names of its attributes that may be suggested.
    """
    if hasattr(type(value), name):
        object.__getattribute__(value, name)
    article = "an" if owner[0] in "aeiou" else "a"
    raise AttributeError(f"{article} {owner} has no attribute '{name}'{guess(owner, name, known)}")


def guided(function: Callable[P, T]) -> Callable[P, T]:
    """Say what a wrong keyword argument of a function probably means."""
    parameters = signature(function).parameters

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in kwargs:
            if name not in parameters:
                meant = guess(function.__name__, name, parameters)
                raise TypeError(f"{function.__name__}() has no argument '{name}'{meant}")
        return function(*args, **kwargs)

    return checked
