"""A corpus on disk, and exact counts of what follows each key in it.

Text files of any size become the tokens of a memory-mapped file. Keys that end with the same token
are counted together, in numpy: as their suffixes are among them, the best keys of a few tokens at a
time are all that is kept. Limits: about 80 bytes of memory for each of :data:`PART_TOKENS` places
(or those of the most frequent token, if more) and each key of the file; 4 bytes of disk space per
token (2 for vocabularies up to 65 536); and 2^63 for the keys of one length times the square of the
vocabulary size.
"""

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from hsd_viz.drafting.index.format import KEY_BYTES, MOST_CONTINUATIONS, KeyTable, marks
from hsd_viz.errors import UserError

#: Characters of a file read, and approximately tokenized, at a time.
PIECE = 2**20
#: Places searched, and places counted at a time.
CHUNK = 2**20
PART_TOKENS = 2**22
#: A document in pieces of any length: what is read of a long file.
Document = Iterable[Sequence[int] | np.ndarray]
#: Tokens, uint16 or uint32 [tokens], memory-mapped, and where each document ends, int64
#: [documents].
Corpus = tuple[np.ndarray, np.ndarray]
#: Maps a text to its token ids, without special tokens.
Encode = Callable[[str], Sequence[int]]
#: Called with the current activity and its completed share.
Progress = Callable[[str, float], None]


def _check_text(file: Path) -> None:
    """Read a file to its end.

    Raises:
        UserError: if it is not UTF-8.
    """
    for _ in read_pieces(file):
        pass


def find_texts(paths: Sequence[str | Path]) -> tuple[list[Path], int]:
    """Return the UTF-8 text files of ``paths``, and those below folders, sorted, and how many
    others are there. Hidden ones and links are skipped.

    Raises:
        UserError: if a path does not exist, a named file is not text, or there are no files.
    """
    texts: dict[Path, bool] = {}
    for path in map(Path, paths):
        if path.is_file():
            _check_text(path)
            texts[path] = True
        elif not path.is_dir():
            raise UserError(f"there is no file or folder '{path}'")
        for folder, below, names in os.walk(path):
            below[:] = sorted(name for name in below if not name.startswith("."))
            for file in (Path(folder, name) for name in sorted(names) if not name.startswith(".")):
                if file.is_file() and not file.is_symlink():
                    texts[file] = False
                    with suppress(UserError):
                        _check_text(file)
                        texts[file] = True
    if not texts:
        raise UserError(f"there is no file to read in {', '.join(map(str, paths))}")
    return [file for file, is_text in texts.items() if is_text], list(texts.values()).count(False)


def read_pieces(path: Path) -> Iterator[str]:
    """Yield the text of a UTF-8 file in pieces of about :data:`PIECE` characters that end at line
    ends, except in lines longer than that. Line ends become ``\\n``.

    Raises:
        UserError: if it cannot be read, is not UTF-8, or contains a zero byte.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            while text := file.read(PIECE) + file.readline(PIECE):
                if "\0" in text:
                    raise UnicodeError("it contains a zero byte")
                yield text
    except (OSError, UnicodeError) as error:
        raise UserError(
            f"cannot read '{path}' as UTF-8 text: {getattr(error, 'strerror', None) or error}"
        ) from None


def read_documents(
    files: Sequence[Path], encode: Encode, *, eos: int | None, progress: Progress | None = None
) -> Iterator[Document]:
    """Yield every file as a document that begins and ends with ``eos``. Tokens do not cross pieces
    of text.
    """
    around = [] if eos is None else [eos]
    total = max(1, sum(file.stat().st_size for file in files))
    done = 0

    def pieces(file: Path) -> Document:
        nonlocal done
        before = around
        for text in read_pieces(file):
            yield [*before, *encode(text)]
            before = []
            done = done + len(text)
            if progress:
                progress("tokenizing", min(1.0, done / total))
        yield [] if before else around

    return map(pieces, files)


def write_corpus(documents: Iterable[Document], file: IO[bytes], vocabulary_size: int) -> Corpus:
    """Write documents to an empty file. Memory: 8 bytes per document.

    Raises:
        UserError: if a token is outside the vocabulary, or there are none.
    """
    dtype = np.dtype("<u4" if vocabulary_size > 2**16 else "<u2")
    size = 0
    ends = array("q")
    for document in documents:
        begin = size
        for tokens in map(np.asarray, document):
            if not len(tokens):
                continue
            for token in map(int, (tokens.min(), tokens.max())):
                if not 0 <= token < vocabulary_size:
                    raise UserError(f"token {token} is outside a vocabulary of {vocabulary_size}")
            file.write(tokens.astype(dtype).tobytes())
            size += len(tokens)
        if size > begin:
            ends.append(size)
    if not size:
        raise UserError("the corpus is empty: there are no tokens to count")
    file.flush()
    return np.memmap(file, dtype=dtype, mode="r"), np.array(ends, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which keys and continuations to store.

    Attributes:
        least: the minimum count of a key.
        least_continuation: the minimum count of a continuation that is not the most frequent one.
        least_share: its minimum share.
        most: the most continuations per key.
        max_bytes: the size of the file, which takes the keys with the highest gains.
    """

    least: int = 2
    least_continuation: int = 2
    least_share: float = 0.04
    most: int = 4
    max_bytes: int = 6_000_000


def count_keys(
    corpus: Corpus,
    vocabulary_size: int,
    longest: int,
    pruning: Pruning,
    per_document: bool = False,
    part_tokens: int = PART_TOKENS,
    progress: Progress | None = None,
) -> KeyTable:
    """Count what follows each key of up to ``longest`` tokens, and return the keys that ``pruning``
    keeps; with ``per_document`` a continuation counts once per document.
    """
    tokens = corpus[0]
    chunks = range(0, len(corpus[0]), CHUNK)
    counts = sum(np.bincount(tokens[k : k + CHUNK], minlength=vocabulary_size) for k in chunks)
    until = np.cumsum(counts)
    kept: list[KeyTable] = []
    low = done = 0
    while low < vocabulary_size:
        high = max(low + 1, int(np.searchsorted(until, done + part_tokens, side="right")))
        if until[high - 1] > done:
            pieces = ((k, tokens[k : k + CHUNK]) for k in chunks)
            places = [k + np.flatnonzero((piece >= low) & (piece < high)) for k, piece in pieces]
            kept += _levels(
                corpus, np.concatenate(places), vocabulary_size, longest, pruning, per_document
            )
            # Fewer than these may fit into the file: the others are dropped from time to time.
            if 4 * sum(len(table.tokens) for table in kept) > pruning.max_bytes:
                kept = [select_keys(kept, pruning.max_bytes, vocabulary_size)]
        low = high
        done = int(until[high - 1])
        if progress:
            progress("counting", done / len(tokens))
    return select_keys(kept, pruning.max_bytes, vocabulary_size)


def _levels(
    corpus: Corpus,
    places: np.ndarray,
    vocabulary_size: int,
    longest: int,
    pruning: Pruning,
    per_document: bool,
) -> list[KeyTable]:
    """Return the keys of each length, the shortest first, that end at ``places`` (all those of some
    tokens).

    A key is represented by the number of its suffix without the first token, and that token,
    without hashes.
    """
    (tokens, ends) = corpus
    wide = np.int64(vocabulary_size)
    document = np.searchsorted(ends, places, side="right")
    before = np.minimum(places - np.append(0, ends)[document], longest).astype(np.int8)
    alive = places + 1 < ends[document]
    numbers = np.zeros(len(places), np.int32)  # by place, of the key that is one token shorter
    shorter: tuple[np.ndarray, ...] = ()
    tables: list[KeyTable] = []
    parents: list[np.ndarray] = []
    for length in range(1, longest + 1):
        alive &= before >= length - 1
        places = places[alive]
        document = document[alive]
        before = before[alive]
        numbers = numbers[alive]
        if not len(places):
            break
        if (int(numbers.max()) + 1) * vocabulary_size**2 >= 2**63:
            raise UserError("too many keys for this vocabulary: raise the minimum count")
        pairs = (numbers * wide + tokens[places - (length - 1)]) * wide + tokens[places + 1]
        pairs, which = np.unique(pairs, return_inverse=True)
        once = (
            np.unique(which * np.int64(len(ends)) + document) // len(ends)
            if per_document
            else which
        )
        counts = np.bincount(once)
        keys, owners = np.unique(pairs // wide, return_inverse=True)
        totals = np.bincount(owners, counts).astype(np.int64)
        enough = totals >= pruning.least
        number = (np.cumsum(enough) - 1).astype(np.int32)
        alive = enough[owners][which]
        numbers = number[owners][which]
        keys = keys[enough]
        totals = totals[enough]
        if not len(keys):
            break
        pairs, counts, owners = (column[enough[owners]] for column in (pairs, counts, owners))
        owners = number[owners].astype(np.int64)
        follower = pairs % wide
        stored, best = select_continuations(owners, follower, counts, totals, pruning)
        gains = counts[best].astype(float)
        if shorter:
            # Expected hits added: how much more probable the first continuation is than by the
            # shorter key.
            known, seen, times = shorter
            gains -= totals * (
                seen[np.searchsorted(known, keys // wide * wide + follower[best])]
                / times[keys // wide]
            )
        shorter = owners * wide + follower, counts, totals
        ends_at = np.zeros(len(keys), np.int64)
        ends_at[numbers[alive]] = places[alive]
        of_keys = marks(tokens[ends_at + k] for k in range(1 - length, 1))
        kept = np.bincount(owners[stored], minlength=len(keys))
        lengths = np.full(len(keys), length)
        tables.append(
            KeyTable(of_keys, lengths, totals, kept, gains, follower[stored], counts[stored])
        )
        parents.append(keys // wide)
    # A key gains at least what its extensions gain, because a look-up passes through it.
    for level in range(len(tables) - 1, 0, -1):
        np.maximum.at(tables[level - 1].gains, parents[level], tables[level].gains)
    return tables


def select_continuations(
    owners: np.ndarray,
    follower: np.ndarray,
    counts: np.ndarray,
    totals: np.ndarray,
    pruning: Pruning,
) -> tuple[np.ndarray, np.ndarray]:
    """Return which (key, continuation) pairs to store, most frequent first, and the most frequent
    of each key. ``owners`` (ascending from 0), ``follower`` and ``counts`` int [pairs]; ``totals``
    int [keys]. Among equals the lower token comes first.
    """
    order = np.lexsort((follower, -counts, owners))
    rank = np.arange(len(order)) - np.searchsorted(owners, np.arange(len(totals)))[owners[order]]
    enough = (counts >= pruning.least_continuation) & (
        counts >= pruning.least_share * totals[owners]
    )
    return order[
        ((rank == 0) | enough[order]) & (rank < min(pruning.most, MOST_CONTINUATIONS))
    ], order[rank == 0]


def select_keys(tables: Sequence[KeyTable], max_bytes: int, vocabulary_size: int) -> KeyTable:
    """Return the keys with the highest gains that fit into ``max_bytes``; those without a gain are
    left out. Among equals shorter keys come first.
    """
    none = np.zeros(0, dtype=np.int64)
    whole = KeyTable(
        *map(np.concatenate, zip((none.astype(np.uint32), *[none] * 6), *tables, strict=True))
    )
    sizes = KEY_BYTES + (4 if vocabulary_size > 2**16 else 2) * (1 + 2 * whole.numbers)
    order = np.lexsort((whole.lengths, -whole.gains))
    fits = order[np.cumsum(sizes[order]) <= max_bytes]
    keep = np.zeros(len(whole.gains), dtype=bool)
    keep[fits] = whole.gains[fits] > 0
    stored = np.repeat(keep, whole.numbers)
    return KeyTable(
        *(column[keep] for column in whole[:5]), *(column[stored] for column in whole[5:])
    )
