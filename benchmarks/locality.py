"""Measure how much a text repeats itself."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

_LEXICAL = re.compile(r"\w+|\s+|[^\w\s]")


def repeated(tokens: Sequence[Hashable], n: int, start: int = 0) -> list[bool]:
    """Return for each token from ``start`` on whether it ends an n-gram that occurred before."""
    seen: set[tuple] = set()
    flags = []
    for end in range(1, len(tokens) + 1):
        gram = tuple(tokens[end - n : end]) if end >= n else None
        if end > start:
            flags.append(gram is not None and gram in seen)
        if gram is not None:
            seen.add(gram)
    return flags


def locality(prompt: str, continuation: str, n: int = 4) -> float:
    """Return the share of the continuation's words and marks that end a 4-gram seen before: the limit of lookup."""
    before = _LEXICAL.findall(prompt)
    flags = repeated(before + _LEXICAL.findall(continuation), n, len(before))
    return sum(flags) / len(flags) if flags else 0.0


def in_prompt(prompt: str, continuation: str, n: int = 4) -> float:
    """Return the share of the continuation's 4-grams of words and marks, including those that start in the prompt, in
    the prompt.

    Less than :func:`locality`, which also counts repetition within the continuation.
    """
    before = _LEXICAL.findall(prompt)
    after = _LEXICAL.findall(continuation)
    known = {tuple(before[k : k + n]) for k in range(len(before) - n + 1)}
    text = before[max(0, len(before) - n + 1) :] + after
    grams = [tuple(text[k : k + n]) for k in range(len(text) - n + 1)]
    return sum(g in known for g in grams) / len(grams) if grams else 0.0
