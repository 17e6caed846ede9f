"""Small wordings that every room says alike. Pure."""

from __future__ import annotations


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "thread"), counted(4, "thread"), counted(2, "forward pass")
    ('1 thread', '4 threads', '2 forward passes')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}{'es' if noun.endswith('s') else 's'}"
