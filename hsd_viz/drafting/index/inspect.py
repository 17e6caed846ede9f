"""Reports on the contents of a database file."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from hsd_viz.drafting.context import spell
from hsd_viz.drafting.index.format import Index, open_index

#: Keys of each length that are extended to longer ones, per requested entry.
_FOLLOWED = 20


def describe(path: str | Path, most: int = 10, *, verify: bool = False) -> dict:
    """Return a report on the database file at ``path``, ready for JSON.

    Keys: ``kind``, ``bytes``, ``keys``, ``keys_by_length``, ``continuations``, ``vocabulary_size``,
    ``vocabulary_hash``, ``meta`` (its origin), ``most_used`` (see :func:`most_used`) and ``verified``: whether the
    checksum of the whole file was checked, which ``verify`` requires for large files, too.

    Raises: DatabaseError: if the file cannot be used.
    """
    index = Index(path) if verify else open_index(path)
    header = index.header
    return {
        "path": str(path),
        "kind": header["kind"],
        "bytes": index.size,
        "verified": index.verified,
        "keys": sum(header["keys_by_length"].values()),
        "keys_by_length": {int(n): k for n, k in header["keys_by_length"].items()},
        "continuations": header["continuations"],
        "vocabulary_size": header["vocabulary_size"],
        "vocabulary_hash": header["vocabulary_hash"],
        "meta": header["meta"],
        "most_used": most_used(index, most),
    }


def most_used(index: Index, most: int) -> list[dict]:
    """Return the ``most`` entries with the highest counts: {"key", "tokens", "token_id", "count", "total"}.

    ``tokens`` are the ids that followed the token ids ``key``, ``token_id`` the first of them. The file contains the
    marks of keys, not the keys, so they are found by look-up: every token alone, then the most frequent of those with
    their followers, and so on. Entries of 5-grams are a token and the four after it.
    """
    if index.header["kind"] == "fivegrams":
        found = []
        for token in range(index.header["vocabulary_size"]):
            match = index.lookup(chr(token) + chr(0), 2)
            if match is not None and match[0] == 2:
                found.append(_entry((token,), [t for t, _, _ in match[2]], match[2][0][1], match[1]))
        return sorted(found, key=_order)[:most]
    keys: list[tuple[int, ...]] = [(token,) for token in range(index.header["vocabulary_size"])]
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
    """Return how well a model or statistics database predicts each token of a text but the first.

    Of all ``places``: ``found`` is the share with any answer, ``first`` with the correct token first, ``any`` with it
    among the answers; ``by_key_length`` has the same three by the length of the key found.

    Raises: ValueError: if the text has fewer than two tokens, or the database contains 5-grams, which have other keys.
    """
    if index.header["kind"] == "fivegrams":
        raise ValueError(f"'{index.path.name}' contains 5-grams: expected a model or statistics database")
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
