"""Small wordings that every room says alike. Pure."""

from __future__ import annotations


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "thread"), counted(4, "thread")
    ('1 thread', '4 threads')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
