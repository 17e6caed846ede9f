"""Build and describe database files: statistics of a corpus, and the model database and 5-grams of
a model's own outputs.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np

from hsd_viz.disk import followed
from hsd_viz.drafting.context_database import Match
from hsd_viz.drafting.index.corpus import Document, write_corpus
from hsd_viz.drafting.index.count import PART_TOKENS, Pruning, count_keys
from hsd_viz.drafting.index.format import KeyTable, marks
from hsd_viz.drafting.index.read import Index
from hsd_viz.drafting.index.write import write_index
from hsd_viz.drafting.tree import spell
from hsd_viz.settings.ranges import MAX_KEY_LENGTH, check_range
from hsd_viz.terminal import Progress, ignore_progress

#: The longest keys of the shipped databases, in tokens.
DEFAULT_KEY_LENGTH = 6
#: The default pruning by kind of database.
PRUNING = {
    "statistics": Pruning(least=4, max_bytes=5_900_000),
    "model": Pruning(least=2, least_continuation=1, max_bytes=1_900_000),
}
#: The number of 5-grams that Hierarchy Drafting stores.
FIVEGRAMS = 100_000
#: The largest number of stored 5-grams with the same first token.
FIVEGRAMS_PER_TOKEN = 7
#: The number of keys of each length that :func:`describe` extends, per requested entry.
_FOLLOWED = 20


def build_database(
    documents: Iterable[Document],
    path: str | Path,
    *,
    kind: str,
    vocabulary_size: int,
    vocabulary_hash: str,
    longest: int = DEFAULT_KEY_LENGTH,
    pruning: Pruning | None = None,
    meta: Mapping[str, Any] | None = None,
    part_tokens: int = PART_TOKENS,
    progress: Progress = ignore_progress,
) -> None:
    """Count documents of any number and length, and write the database file.

    Limits of memory are stated in :mod:`hsd_viz.drafting.index.count`. A temporary file in the same
    folder takes disk space while the database is built.

    Args:
        documents: the documents as tokens.
        path: the path of the database file.
        kind: ``statistics`` for a corpus, or ``model`` for a model's own outputs, of which each
            counts a continuation only once.
        vocabulary_size: the size of the vocabulary.
        vocabulary_hash: the hash of the vocabulary.
        longest: the longest key in tokens.
        pruning: the keys and continuations to store; by default those of the kind.
        meta: facts about the origin of the documents.
        part_tokens: the number of positions that are counted at a time.
        progress: a function that is called with the progress.

    Raises:
        UserError: if there are no tokens, or if ``longest`` is out of range.
    """
    check_range("the longest key", longest, 1, MAX_KEY_LENGTH)
    pruning = pruning or PRUNING[kind]
    path = Path(path)
    per_document = kind == "model"
    followed(path.parent).mkdir(parents=True, exist_ok=True)
    # The temporary file has no name, so it disappears even if the process is killed.
    with TemporaryFile(dir=path.parent) as file:
        corpus = write_corpus(documents, file, vocabulary_size)
        table = count_keys(
            corpus, vocabulary_size, longest, pruning, per_document, part_tokens, progress
        )
        facts = {
            "outputs" if per_document else "documents": len(corpus.ends),
            "tokens": len(corpus.tokens),
            **(meta or {}),
        }
        write_index(path, table, kind, vocabulary_size, vocabulary_hash, facts)


def build_fivegrams(
    sequences: Sequence[Sequence[int]],
    path: str | Path,
    *,
    vocabulary_size: int,
    vocabulary_hash: str,
    most: int = FIVEGRAMS,
    meta: Mapping | None = None,
) -> None:
    """Write the ``most`` frequent 5-grams of a model's own outputs, at most seven per first token.

    A 5-gram counts once per output. Of equally frequent 5-grams the one with the lower tokens comes
    first. A key of the file is (first token, rank from 0); its continuations are the other four
    tokens in order, each with the count of the 5-gram.
    """
    counted: Counter[tuple[int, ...]] = Counter()
    for sequence in sequences:
        tokens = [int(t) for t in sequence]
        places = range(len(tokens) - 4)
        counted.update({tuple(tokens[i : i + 5]) for i in places})
    taken: Counter[int] = Counter()
    rows = []  # token, rank, the other four tokens, count
    for gram, seen in sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:most]:
        first = gram[0]
        if taken[first] < FIVEGRAMS_PER_TOKEN:
            rows.append((first, taken[first], *gram[1:], seen))
            taken[first] += 1
    grams = np.array(rows, dtype=np.int64).reshape(len(rows), 7)
    totals = grams[:, 6]
    table = KeyTable(
        marks=marks(grams[:, :2].T),
        lengths=np.full(len(rows), 2),
        totals=totals,
        numbers=np.full(len(rows), 4),
        gains=totals,
        tokens=grams[:, 2:6].reshape(-1),
        counts=np.repeat(totals, 4),
    )
    facts = {"outputs": len(sequences), "tokens": sum(map(len, sequences)), **(meta or {})}
    write_index(path, table, "fivegrams", vocabulary_size, vocabulary_hash, facts)


def describe(path: str | Path, most: int = 10) -> dict:
    """Check a database file completely, and return a description of it as JSON data.

    ``meta`` describes its origin. ``most_used`` are the ``most`` entries with the highest counts,
    in which ``tokens`` followed the token ids ``key``. The file contains only hashes of keys, so
    keys are found by look-up: first each single token, then the most frequent keys extended by
    their followers, and so on.

    Raises:
        DatabaseError: if the file cannot be used.
    """
    index = Index(path, verify=True)
    lengths = {int(n): keys for n, keys in index.header["keys_by_length"].items()}
    vocabulary = range(index.header["vocabulary_size"])
    is_fivegrams = index.header["kind"] == "fivegrams"
    keys: list[tuple[int, ...]] = [(token, 0) if is_fivegrams else (token,) for token in vocabulary]
    entries: list[_Entry] = []
    while keys:
        matches = _whole_matches(index, keys)[: _FOLLOWED * most]
        for key, match in matches:
            if is_fivegrams:
                # The continuations are the other tokens of a 5-gram.
                tokens = [token for token, _, _ in match.continuations]
                count = match.continuations[0][1]
                entries.append(_Entry(-count, -match.length, [key[0]], tokens, match.total))
                continue
            for token, count, _ in match.continuations:
                entries.append(_Entry(-count, -match.length, list(key), [token], match.total))
        is_last = is_fivegrams or len(keys[0]) == index.longest
        keys = []
        if not is_last:
            for key, match in matches:
                for token, _, _ in match.continuations:
                    keys.append((*key, token))
    return {
        "path": str(path),
        "kind": index.header["kind"],
        "continuations": index.header["continuations"],
        "vocabulary_size": index.header["vocabulary_size"],
        "vocabulary_hash": index.header["vocabulary_hash"],
        "meta": index.header["meta"],
        "bytes": index.size,
        "keys": sum(lengths.values()),
        "keys_by_length": lengths,
        "most_used": [entry.to_dict() for entry in sorted(entries)[:most]],
    }


class _Entry(NamedTuple):
    """Tokens that followed a key. Entries sort by descending count.

    Attributes:
        negative_count: the negated number of times that the tokens followed.
        negative_length: the negated number of tokens in the key.
        key: the tokens of the key.
        tokens: the tokens that followed.
        total: the number of occurrences of the key.
    """

    negative_count: int
    negative_length: int
    key: list[int]
    tokens: list[int]
    total: int

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON data."""
        return {
            "key": self.key,
            "tokens": self.tokens,
            "token_id": self.tokens[0],
            "count": -self.negative_count,
            "total": self.total,
        }


def _whole_matches(
    index: Index, keys: Iterable[tuple[int, ...]]
) -> list[tuple[tuple[int, ...], Match]]:
    """Return the keys that are in an index with their matches, the most frequent first."""
    matches = []
    for key in keys:
        match = index.lookup(spell(key))
        if match is not None and match.length == len(key):
            matches.append((key, match))
    matches.sort(key=lambda pair: (-pair[1].total, pair[0]))
    return matches
