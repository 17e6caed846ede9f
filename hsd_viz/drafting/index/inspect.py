"""What a database file holds, for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from hsd_viz.drafting.context import spell
from hsd_viz.drafting.guarded import open_index
from hsd_viz.drafting.index.format import Index

#: Keys of each length that are followed to longer ones, per entry that is wanted.
_FOLLOWED = 20


def describe(path: str | Path, most: int = 10, *, verify: bool = False) -> dict:
    """The facts of the database file at ``path``, ready for JSON.

    ``kind``, ``bytes``, ``keys`` and ``keys_by_length``, ``continuations``, ``vocabulary_size``, ``vocabulary_hash``, ``meta`` (what
    it was made from), ``most_used`` (see :func:`most_used`), and ``verified``: whether every byte was read and is as it was written,
    which ``verify`` demands of large files too. Raises :class:`hsd_viz.drafting.index.format.DatabaseError`.
    """
    index = Index(path) if verify else open_index(path)
    header = index.header
    return {
        "path": str(path),
        "kind": header["kind"],
        "bytes": index.size,
        "verified": type(index) is Index,
        "keys": sum(header["keys_by_length"].values()),
        "keys_by_length": {int(n): k for n, k in header["keys_by_length"].items()},
        "continuations": header["continuations"],
        "vocabulary_size": header["vocabulary_size"],
        "vocabulary_hash": header["vocabulary_hash"],
        "meta": header["meta"],
        "most_used": most_used(index, most),
    }


def most_used(index: Index, most: int) -> list[dict]:
    """The ``most`` entries seen most often: {"key": token ids, "tokens": what followed, "token_id": the first of that, "count", "total"}.

    The file has the marks of keys and not the keys, so keys are found by asking: every token alone, then the most used of those with
    what follows them, and so on. Entries of 5-grams are a token and the four that follow it.
    """
    if index.header["kind"] == "fivegrams":
        found = []
        for token in range(index.header["vocabulary_size"]):
            match = index.lookup(chr(token) + chr(0), 2)
            if match is not None and match[0] == 2:
                found.append(_entry((token,), [t for t, _, _ in match[2]], match[2][0][1], match[1]))
        return sorted(found, key=_order)[:most]
    keys = [(token,) for token in range(index.header["vocabulary_size"])]
    found = []
    while keys:
        level = []
        for key in keys:
            match = index.lookup(spell(key))
            if match is not None and match[0] == len(key):
                level.append((match[1], key, match[2]))
        level.sort(key=lambda row: (-row[0], row[1]))
        del level[_FOLLOWED * most :]
        found += [
            _entry(key, [token], count, total)
            for total, key, continuations in level
            for token, count, _ in continuations
        ]
        longest = len(keys[0]) == index.longest
        keys = [] if longest else [(*key, token) for _, key, continuations in level for token, _, _ in continuations]
    return sorted(found, key=_order)[:most]


def _entry(key: tuple[int, ...], tokens: list[int], count: int, total: int) -> dict:
    return {"key": list(key), "tokens": tokens, "token_id": tokens[0], "count": count, "total": total}


def _order(entry: dict) -> tuple:
    return -entry["count"], -len(entry["key"]), entry["key"], entry["tokens"]


def hit_rates(index: Index, tokens: Sequence[int]) -> dict:
    """How a model or statistics database would have done on a text, asked before each token but the first.

    ``found`` is the share of places with any answer, ``first`` with the right token answered first, ``any`` among the answers, all of
    ``places``; ``by_key_length`` gives the same three by the length of the key found. Raises ValueError for a text of fewer than two
    tokens and for 5-grams, which are keyed otherwise.
    """
    if index.header["kind"] == "fivegrams":
        raise ValueError(f"'{index.path.name}' holds 5-grams: hit rates are of model and statistics databases")
    places = len(tokens) - 1
    if places < 1:
        raise ValueError("the text has fewer than two tokens: there is nothing to look up")
    text = spell(tokens)
    seen: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for at in range(1, len(tokens)):
        match = index.lookup(text[max(0, at - index.longest) : at])
        if match is not None:
            row = seen[match[0]]
            answers = [token for token, _, _ in match[2]]
            row[0] += 1
            row[1] += answers[0] == tokens[at]
            row[2] += tokens[at] in answers
    names = ("found", "first", "any")
    whole = [sum(row[k] for row in seen.values()) for k in range(3)]
    return {
        "places": places,
        **{name: count / places for name, count in zip(names, whole, strict=True)},
        "by_key_length": {n: {name: c / places for name, c in zip(names, seen[n], strict=True)} for n in sorted(seen)},
    }
