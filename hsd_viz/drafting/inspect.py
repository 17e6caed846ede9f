"""What a database file holds, for people."""

from __future__ import annotations

from pathlib import Path

from .index import Index


def describe(path: str | Path, most: int = 10) -> dict:
    """The facts of the database file at ``path``, ready for JSON.

    ``kind``, ``bytes``, ``keys`` and ``keys_by_length``, ``continuations``, ``vocabulary_size``, ``vocabulary_hash``, ``meta`` (what
    it was made from) and ``most_used``: the ``most`` token ids that follow some one-token key or longer most often, each as
    {"token_id", "count", "total"} of its single most used entry. Raises :class:`hsd_viz.drafting.index.DatabaseError`.
    """
    index = Index(path)
    header = index.header
    best: dict[int, tuple[int, int]] = {}
    for total, continuations in index.entries():
        for token, count, _ in continuations:
            if count > best.get(token, (0, 0))[0]:
                best[token] = (count, total)
    used = sorted(best.items(), key=lambda item: -item[1][0])[:most]
    return {
        "path": str(path),
        "kind": header["kind"],
        "bytes": index.size,
        "keys": sum(header["keys_by_length"].values()),
        "keys_by_length": {int(n): k for n, k in header["keys_by_length"].items()},
        "continuations": header["continuations"],
        "vocabulary_size": header["vocabulary_size"],
        "vocabulary_hash": header["vocabulary_hash"],
        "meta": header["meta"],
        "most_used": [{"token_id": token, "count": count, "total": total} for token, (count, total) in used],
    }
