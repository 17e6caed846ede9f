"""Wording of numbers, plurals and suggestions, and text for HTML. Pure."""

from collections.abc import Iterable


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
    from difflib import get_close_matches

    close = get_close_matches(word, list(choices), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def escape(text: object) -> str:
    """Escape text for HTML; lone surrogates become U+FFFD."""
    import html

    return html.escape(str(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
