"""Making the databases: statistics from a corpus, the model database and the 5-grams from what a model itself writes."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from hsd_viz.drafting.index.count import Pruning, count
from hsd_viz.drafting.index.external import PART_TOKENS, ExternalCount
from hsd_viz.drafting.index.format import Table, marks, write_index
from hsd_viz.drafting.index.spool import CorpusWriter
from hsd_viz.drafting.select import write_chosen

#: Keys of the shipped databases, in tokens.
LONGEST = 6
#: The longest keys that can be asked for.
MOST_LONGEST = 32
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
    write_index(
        path, table, kind="statistics", vocabulary_size=vocabulary_size, vocabulary_hash=vocabulary_hash, meta=facts
    )


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
    table = count(
        documents,
        vocabulary_size=vocabulary_size,
        longest=longest,
        pruning=pruning,
        per_document=True,
        progress=progress,
    )
    facts = {"outputs": len(documents), "tokens": int(sum(len(d) for d in documents)), **(meta or {})}
    write_index(path, table, kind="model", vocabulary_size=vocabulary_size, vocabulary_hash=vocabulary_hash, meta=facts)


def build_streamed(
    feed: Callable[[CorpusWriter], Mapping],
    path: str | Path,
    *,
    kind: str,
    vocabulary_size: int,
    vocabulary_hash: str,
    longest: int = LONGEST,
    pruning: Pruning,
    part_tokens: int = PART_TOKENS,
    progress: Progress | None = None,
) -> None:
    """Count a corpus of any length into a database of ``kind`` (``statistics`` or ``model``) at ``path``, in bounded memory.

    ``feed`` writes the documents and returns what the file is to say of them. The result is the file that
    :func:`build_statistics` or :func:`build_model_database` makes of the same documents, up to ties at ``pruning.max_bytes``.
    Memory and disk are as :mod:`hsd_viz.drafting.index.external` has them; files in the making lie beside ``path`` and are gone at
    the end, however it ends. Raises ValueError where the corpus is empty.
    """
    if kind not in ("statistics", "model"):
        raise ValueError(f"unknown database '{kind}': the ones to build are model and statistics")
    if not 1 <= longest <= MOST_LONGEST:
        raise ValueError(f"keys of {longest} tokens are out of range: they have 1 to {MOST_LONGEST}")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        writer = CorpusWriter(folder, vocabulary_size)
        try:
            meta = feed(writer)
            corpus = writer.finish()
        finally:
            writer.close()
        if not len(corpus.tokens):
            raise ValueError("there is no text to count")
        counting = ExternalCount(
            corpus,
            folder,
            vocabulary_size=vocabulary_size,
            longest=longest,
            pruning=pruning,
            per_document=kind == "model",
            part_tokens=part_tokens,
            progress=progress,
        )
        candidates = counting.run()
        if progress:
            progress("writing the file", 1.0)
        facts = {"outputs" if kind == "model" else "documents": len(corpus.ends), "tokens": len(corpus.tokens), **meta}
        identity = {"kind": kind, "vocabulary_size": vocabulary_size, "vocabulary_hash": vocabulary_hash}
        write_chosen(candidates, path, **identity, max_bytes=pruning.max_bytes, meta=facts)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
    write_index(
        path, table, kind="fivegrams", vocabulary_size=vocabulary_size, vocabulary_hash=vocabulary_hash, meta=facts
    )
