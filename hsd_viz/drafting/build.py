"""Making the databases: statistics from a corpus, the model database and the 5-grams from what a model itself writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from .count import Pruning, count
from .index import Table, marks, write_index

#: Keys of the shipped databases, in tokens.
LONGEST = 6
#: The 5-grams that Hierarchy Drafting keeps: so many in all, so many that begin with the same token.
FIVEGRAMS = 100_000
FIVEGRAMS_PER_TOKEN = 7

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


def build_fivegrams(
    sequences: Sequence[Sequence[int]],
    path: str | Path,
    *,
    vocabulary_size: int,
    vocabulary_hash: str,
    most: int = FIVEGRAMS,
    per_token: int = FIVEGRAMS_PER_TOKEN,
    meta: Mapping | None = None,
) -> None:
    """The ``most`` most frequent 5-grams of a model's own outputs, ``per_token`` for each first token, as Hierarchy Drafting has them.

    A 5-gram counts once per output; the lower tokens go first among equals. In the file the key is (first token, rank from 0)
    and its "continuations" are the four other tokens in order, each with the 5-gram's count.
    """
    counted: Counter[tuple[int, ...]] = Counter()
    for sequence in sequences:
        tokens = [int(t) for t in sequence]
        counted.update({tuple(tokens[i : i + 5]) for i in range(len(tokens) - 4)})
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:most]
    taken: Counter[int] = Counter()
    keys, tails, counts = [], [], []
    for gram, seen in ranked:
        if taken[gram[0]] < per_token:
            keys.append((gram[0], taken[gram[0]]))
            tails.append(gram[1:])
            counts.append(seen)
            taken[gram[0]] += 1
    number, width = len(keys), 4
    table = Table(
        marks(np.array(keys, dtype=np.int64).reshape(number, 2)),
        np.full(number, 2),
        np.array(counts, dtype=np.int64),
        np.arange(number + 1) * width,
        np.array(tails, dtype=np.int64).reshape(-1),
        np.repeat(np.array(counts, dtype=np.int64), width),
    )
    facts = {"outputs": len(sequences), "tokens": sum(map(len, sequences)), **(meta or {})}
    write_index(path, table, kind="fivegrams", vocabulary_size=vocabulary_size, vocabulary_hash=vocabulary_hash, meta=facts)
