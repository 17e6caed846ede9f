"""Making the databases: statistics from a corpus, the model database from what a model itself writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from .count import Pruning, count
from .index import write_index

#: Keys of the shipped databases, in tokens.
LONGEST = 6

Progress = Callable[[str, float], None]


def split_documents(tokens: np.ndarray, eos: int) -> list[np.ndarray]:
    """A corpus in which ``eos`` precedes every document, as documents that begin and end with it (views, nothing is copied)."""
    starts = np.flatnonzero(tokens == eos)
    if not len(starts) or starts[0] != 0:
        starts = np.concatenate(([0], starts))
    ends = np.append(starts[1:] + 1, len(tokens))
    return [tokens[a:b] for a, b in zip(starts, ends, strict=True)]


def build_statistics(
    documents: Sequence[np.ndarray],
    path: str | Path,
    *,
    vocabulary_size: int,
    vocabulary_hash: str,
    longest: int = LONGEST,
    pruning: Pruning | None = None,
    meta: Mapping | None = None,
    progress: Progress | None = None,
) -> None:
    """Count the corpus ``documents`` into a statistics database at ``path``, at most 6 MB unless ``pruning`` says otherwise."""
    pruning = pruning or Pruning(least=4, max_bytes=5_900_000)
    table = count(documents, vocabulary_size=vocabulary_size, longest=longest, pruning=pruning, progress=progress)
    facts = {"documents": len(documents), "tokens": int(sum(len(d) for d in documents)), **(meta or {})}
    write_index(path, table, kind="statistics", vocabulary_size=vocabulary_size, vocabulary_hash=vocabulary_hash, meta=facts)


def build_model_database(
    sequences: Sequence[Sequence[int]],
    path: str | Path,
    *,
    vocabulary_size: int,
    vocabulary_hash: str,
    longest: int = LONGEST,
    pruning: Pruning | None = None,
    meta: Mapping | None = None,
    progress: Progress | None = None,
) -> None:
    """Count a model's own outputs into a model database at ``path``, at most 2 MB; a continuation counts once per output."""
    pruning = pruning or Pruning(least=2, least_continuation=1, max_bytes=1_900_000)
    documents = [np.asarray(s, dtype=np.int64) for s in sequences]
    table = count(documents, vocabulary_size=vocabulary_size, longest=longest, pruning=pruning, per_document=True, progress=progress)
    facts = {"outputs": len(documents), "tokens": int(sum(len(d) for d in documents)), **(meta or {})}
    write_index(path, table, kind="model", vocabulary_size=vocabulary_size, vocabulary_hash=vocabulary_hash, meta=facts)
