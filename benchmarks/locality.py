"""How much a text repeats itself, in tokens of any kind."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

_LEXICAL = re.compile(r"\w+|\s+|[^\w\s]")


def repeated(tokens: Sequence[Hashable], n: int, start: int = 0) -> list[bool]:
    """For each token from ``start`` on: whether it ends an n-gram that ended at an earlier token already."""
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
    """Share of the continuation's words and marks that end a 4-gram seen before: what look-up in the text could have drafted."""
    before = _LEXICAL.findall(prompt)
    flags = repeated(before + _LEXICAL.findall(continuation), n, len(before))
    return sum(flags) / len(flags) if flags else 0.0


def in_prompt(prompt: str, continuation: str, n: int = 4) -> float:
    """Share of the continuation's 4-grams of words and marks, those that begin in the prompt's end among them, that the prompt holds.

    Less than :func:`locality`, which also counts what the continuation repeats of itself.
    """
    before = _LEXICAL.findall(prompt)
    after = _LEXICAL.findall(continuation)
    known = {tuple(before[k : k + n]) for k in range(len(before) - n + 1)}
    text = before[max(0, len(before) - n + 1) :] + after
    grams = [tuple(text[k : k + n]) for k in range(len(text) - n + 1)]
    return sum(g in known for g in grams) / len(grams) if grams else 0.0
