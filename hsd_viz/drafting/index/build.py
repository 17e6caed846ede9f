"""Build the databases: statistics from a corpus, the model database and the 5-grams from a model's own outputs."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hsd_viz.drafting.index.corpus import Corpus, CorpusWriter
from hsd_viz.drafting.index.count import PART_TOKENS, CountSettings, KeyCount, Pruning, select_keys
from hsd_viz.drafting.index.format import Header, Table, marks, write_index
from hsd_viz.words import check_range

#: Longest keys of the shipped databases, and of any database, in tokens.
LONGEST, MOST_LONGEST = 6, 32
#: Default pruning by kind of database.
PRUNING = {
    "statistics": Pruning(least=4, max_bytes=5_900_000),
    "model": Pruning(least=2, least_continuation=1, max_bytes=1_900_000),
}
#: 5-grams of Hierarchy Drafting, in all and per first token.
FIVEGRAMS, FIVEGRAMS_PER_TOKEN = 100_000, 7

Progress = Callable[[str, float], None]
#: Token sequences, or a function that writes documents and returns facts for the header.
Documents = Iterable[Sequence[int] | np.ndarray] | Callable[[CorpusWriter], Mapping]


def split_documents(tokens: np.ndarray, eos: int) -> list[np.ndarray]:
    """Return the documents of a corpus with ``eos`` before each, as views that begin and end with it."""
    starts = np.flatnonzero(tokens == eos)
    if not len(starts) or starts[0] != 0:
        starts = np.concatenate(([0], starts))
    ends = np.append(starts[1:] + 1, len(tokens))
    return [tokens[a:b] for a, b in zip(starts, ends, strict=True)]


def build_database(
    documents: Documents,
    path: str | Path,
    *,
    kind: str,
    vocabulary_size: int,
    vocabulary_hash: str,
    longest: int = LONGEST,
    pruning: Pruning | None = None,
    meta: Mapping | None = None,
    part_tokens: int = PART_TOKENS,
    progress: Progress | None = None,
) -> None:
    """Count documents of any number and length into a database file at ``path``.

    ``kind`` is ``statistics`` (a corpus; at most 6 MB unless ``pruning`` specifies it) or ``model`` (a model's own
    outputs, where a continuation counts once per output; at most 2 MB). Memory and disk space: see
    :mod:`hsd_viz.drafting.index.count`; temporary files are next to ``path`` and are always removed.

    Raises: ValueError: if there are no tokens, or ``kind`` or ``longest`` is not valid.
    """
    if kind not in PRUNING:
        raise ValueError(f"unknown database '{kind}': expected {' or '.join(PRUNING)}")
    check_range("the longest key", longest, 1, MOST_LONGEST)
    pruning = pruning or PRUNING[kind]
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        corpus, facts = _write_corpus(documents, folder, vocabulary_size)
        settings = CountSettings(vocabulary_size, longest, pruning, per_document=kind == "model")
        levels = KeyCount(corpus, folder, settings, part_tokens=part_tokens, progress=progress).levels()
        table = select_keys(levels, pruning.max_bytes, vocabulary_size)
        if progress:
            progress("writing the file", 1.0)
        unit = "outputs" if kind == "model" else "documents"
        facts = {unit: len(corpus.ends), "tokens": len(corpus.tokens), **facts, **(meta or {})}
        header = Header(kind, vocabulary_size, vocabulary_hash, facts)
        write_index(path, table, header)


def _write_corpus(documents: Documents, folder: str, vocabulary_size: int) -> tuple[Corpus, Mapping]:
    """Write ``documents`` to disk; return the corpus and the facts for the header."""
    with closing(CorpusWriter(folder, vocabulary_size)) as writer:
        facts: Mapping = {}
        if callable(documents):
            facts = documents(writer)
        else:
            for document in documents:
                writer.add(document)
                writer.end()
        corpus = writer.finish()
    if not len(corpus.tokens):
        raise ValueError("the corpus is empty: there are no tokens to count")
    return corpus, facts


def build_fivegrams(
    sequences: Sequence[Sequence[int]],
    path: str | Path,
    *,
    vocabulary_size: int,
    vocabulary_hash: str,
    most: int = FIVEGRAMS,
    meta: Mapping | None = None,
) -> None:
    """Write the most frequent 5-grams of a model's own outputs, for Hierarchy Drafting.

    There are ``most`` in all, seven per first token. A 5-gram counts once per output; among equals the lower
    tokens come first. In the file the key is (first token, rank from 0) and its continuations are the other four tokens
    in order, each with the count of the 5-gram.
    """
    counted: Counter[tuple[int, ...]] = Counter()
    for sequence in sequences:
        tokens = [int(t) for t in sequence]
        counted.update({tuple(tokens[i : i + 5]) for i in range(len(tokens) - 4)})
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:most]
    taken: Counter[int] = Counter()
    keys, tails, counts = [], [], []
    for gram, seen in ranked:
        if taken[gram[0]] < FIVEGRAMS_PER_TOKEN:
            keys.append((gram[0], taken[gram[0]]))
            tails.append(gram[1:])
            counts.append(seen)
            taken[gram[0]] += 1
    number, totals = len(keys), np.array(counts, dtype=np.int64)
    table = Table(
        marks(np.array(keys, dtype=np.int64).reshape(number, 2)),
        np.full(number, 2),
        totals,
        np.arange(number + 1) * 4,
        np.array(tails, dtype=np.int64).reshape(-1),
        np.repeat(totals, 4),
    )
    facts = {"outputs": len(sequences), "tokens": sum(map(len, sequences)), **(meta or {})}
    write_index(path, table, Header("fivegrams", vocabulary_size, vocabulary_hash, facts))
