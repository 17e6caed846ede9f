"""A corpus on disk, and exact counts of what follows each key in it.

:class:`CorpusWriter` and :func:`write_texts` tokenize text files of any size in pieces into one memory-mapped array of
tokens. :class:`KeyCount` counts in numpy, one key length after the other: a key of n tokens is represented by the
number of its suffix of n - 1 tokens and its first token, without hashes. For each place of the corpus a file holds the
number of the key that ends there, so that the corpus may be larger than memory. Limits: about 100 bytes of memory per
key that occurs ``least`` times and 50 bytes per ``part_tokens`` places, 8 bytes of temporary disk space per token, and
2^63 for keys of one length times the square of the vocabulary size. A corpus of more places is read once per part.
"""

import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hsd_viz.drafting.index.format import KEY_BYTES, MOST_CONTINUATIONS, Table, marks
from hsd_viz.words import check_range

#: Bytes of a file read, and approximately of text tokenized, at a time.
PIECE = 2**20
#: Maps texts to their token ids, without special tokens.
Encode = Callable[[list[str]], Sequence[Sequence[int]]]
#: Called with the current activity and its completed share.
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Corpus:
    """``tokens``: uint16 or uint32 [tokens], memory-mapped; ``ends``: int64 [documents], where each document ends."""

    tokens: np.ndarray
    ends: np.ndarray


class CorpusWriter:
    """Writes the documents of a corpus to disk, in pieces of any length. Memory: 8 bytes per document."""

    def __init__(self, folder: str | Path, vocabulary_size: int) -> None:
        self.vocabulary_size = vocabulary_size
        self._dtype = np.dtype("<u4" if vocabulary_size > 2**16 else "<u2")
        self._path = Path(folder) / "tokens"
        self._file = open(self._path, "wb")  # noqa: SIM115 (open until finish or close)
        self._ends, self.tokens = array("q"), 0

    def add(self, tokens: Sequence[int] | np.ndarray) -> None:
        """Append tokens to the current document. Raises: ValueError: if a token is outside the vocabulary."""
        tokens = np.asarray(tokens)
        if not len(tokens):
            return
        if not 0 <= int(tokens.min()) <= int(tokens.max()) < self.vocabulary_size:
            wrong = int(tokens.min()) if int(tokens.min()) < 0 else int(tokens.max())
            raise ValueError(f"token {wrong} is outside a vocabulary of {self.vocabulary_size}")
        self._file.write(tokens.astype(self._dtype).tobytes())
        self.tokens += len(tokens)

    def end(self) -> None:
        """End the current document."""
        if self.tokens > (self._ends[-1] if self._ends else 0):
            self._ends.append(self.tokens)

    def drop(self) -> None:
        """Discard the current document."""
        self.tokens = self._ends[-1] if self._ends else 0
        self._file.seek(self.tokens * self._dtype.itemsize)
        self._file.truncate()

    def finish(self) -> Corpus:
        """Return the corpus; a document that has not ended is discarded."""
        self.drop()
        self.close()
        empty = np.zeros(0, dtype=self._dtype)
        tokens = np.memmap(self._path, dtype=self._dtype, mode="r") if self.tokens else empty
        return Corpus(tokens, np.array(self._ends, dtype=np.int64))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def find_texts(paths: Sequence[str | Path]) -> dict[Path, bool]:
    """Return the files of ``paths``, and those below folders, sorted, each with whether the user named it; hidden ones
    and links are skipped. Raises: ValueError: if a path does not exist or there are no files.
    """
    texts: dict[Path, bool] = {}
    for path in map(Path, paths):
        if path.is_dir():
            for folder, below, names in os.walk(path):
                below[:] = sorted(name for name in below if not name.startswith("."))
                files = [Path(folder, name) for name in sorted(names) if not name.startswith(".")]
                texts |= {file: texts.get(file, False) for file in files if file.is_file() and not file.is_symlink()}
        elif path.exists():
            texts[path] = True
        else:
            raise ValueError(f"there is no file or folder '{path}'")
    if not texts:
        raise ValueError(f"there is no file to read in {', '.join(map(str, paths))}")
    return texts


def read_pieces(path: Path, piece: int | None = None) -> Iterator[str]:
    """Yield the text of a UTF-8 file in pieces of about ``piece`` characters (default :data:`PIECE`) that end at line
    ends, except in lines longer than that.

    Line ends become ``\\n``. Tokens do not cross pieces. Raises: UnicodeError: if the file is not UTF-8, or contains a
    zero byte. OSError: if it cannot be read.
    """
    piece, left = piece or PIECE, ""
    with open(path, encoding="utf-8-sig") as f:
        while read := f.read(piece):
            if "\0" in read:
                raise UnicodeError("it contains a zero byte")
            left += read
            cut = left.rfind("\n") + 1 or (len(left) if len(left) >= piece else 0)
            if cut:
                yield left[:cut]
                left = left[cut:]
    if left:
        yield left


def write_texts(
    files: dict[Path, bool], writer: CorpusWriter, encode: Encode, *, eos: int | None, progress: Progress | None = None
) -> dict[str, int]:
    """Write every file as a document that begins and ends with ``eos``. Returns the numbers ``files`` and
    ``passed_over``. A file in a folder that is not UTF-8 text or cannot be read is skipped. Raises: ValueError: if a
    file named by the user cannot be read as text.
    """
    around = [] if eos is None else [eos]
    sizes = [file.stat().st_size if file.exists() else 0 for file in files]
    total, done, passed = max(1, sum(sizes)), 0, 0
    for (file, named), size in zip(files.items(), sizes, strict=True):
        start = writer.tokens
        try:
            for piece in read_pieces(file):
                ids = encode([piece])[0]
                writer.add([*around, *ids] if writer.tokens == start else ids)
                if progress:
                    progress("tokenizing", done / total)
            if writer.tokens > start:
                writer.add(around)
            writer.end()
        except (OSError, UnicodeError) as error:
            writer.drop()
            if named:
                why = (error.strerror if isinstance(error, OSError) else None) or str(error)
                if isinstance(error, UnicodeDecodeError):
                    why = f"byte {error.object[error.start]:#04x} is not part of a character"
                raise ValueError(f"cannot read '{file}' as UTF-8 text: {why}") from None
            passed += 1
        done += size
        if progress:
            progress("tokenizing", done / total)
    return {"files": len(files) - passed, "passed_over": passed}


#: Places processed together, and places counted together.
CHUNK, PART_TOKENS = 2**20, 2**25


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which keys and continuations to store.

    ``least``: minimum count of a key (its suffixes have at least the same count). ``least_continuation`` and
    ``least_share``: minimum count and share of a continuation, except the most frequent one. ``most``: continuations
    per key. ``max_bytes``: size of the file; the keys with the highest gains are stored.
    """

    least: int = 2
    least_continuation: int = 2
    least_share: float = 0.04
    most: int = 4
    max_bytes: int = 6_000_000


@dataclass(frozen=True, slots=True)
class Level(Table):
    """The keys of one length. ``parents`` are the numbers of their suffixes, ``gains`` the correct first continuations
    that they add to those of their suffixes: float64 [keys].
    """

    parents: np.ndarray
    gains: np.ndarray


#: Of one key length: pairs (key number * vocabulary size + following token, ascending) and their counts, int64.
Pairs = tuple[np.ndarray, np.ndarray]


class KeyCount:
    """Counts what follows each key of up to ``longest`` tokens in ``corpus``, with a temporary file in ``folder``; with
    ``per_document`` a continuation counts once per document.
    """

    def __init__(
        self,
        corpus: Corpus,
        folder: str | Path,
        vocabulary_size: int,
        longest: int,
        pruning: Pruning,
        per_document: bool = False,
        part_tokens: int = PART_TOKENS,
        progress: Progress | None = None,
    ) -> None:
        check_range("the number of tokens of a part", part_tokens, 1)
        self._tokens, self._ends, self._begins = corpus.tokens, corpus.ends, np.append(0, corpus.ends[:-1])
        self._wide, self._longest, self._pruning = np.int64(vocabulary_size), longest, pruning
        self._per_document, self._part_tokens = per_document, part_tokens
        self._progress = progress or (lambda what, share: None)
        # By place, the number of the key that ends there, -1 without a key or without a token after it.
        self._numbers = np.memmap(Path(folder) / "numbers", np.int64, "w+", shape=self._tokens.shape)
        self._numbers[corpus.ends - 1] = -1
        self._live = len(self._tokens)

    def levels(self) -> list[Level]:
        """Return the keys of each length, the shortest first."""
        levels: list[Level] = []
        shorter: Pairs | None = None
        keys = np.zeros(1, dtype=np.int64)
        for length in range(1, self._longest + 1):
            if len(keys) * int(self._wide) ** 2 >= 2**63:
                raise ValueError("too many keys for this vocabulary: raise the minimum count")
            pairs, counts = self._count(length)
            if not len(pairs):
                break
            keys, owners = np.unique(pairs // self._wide, return_inverse=True)
            ends_at = self._number(length, keys)
            pairs = owners * self._wide + pairs % self._wide
            levels.append(self._level(length, keys // self._wide, ends_at, (pairs, counts), shorter))
            shorter = pairs, counts
        self._progress("counting", 1.0)
        # A key gains at least what its extensions gain, because a look-up passes through it.
        for level, longer in zip(levels[-2::-1], levels[:0:-1], strict=True):
            np.maximum.at(level.gains, longer.parents, longer.gains)
        return levels

    def _parts(self, length: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield the corpus in pieces, of counts per document whole documents: the places of the piece, those among them
        where a key of ``length`` tokens ends, and the keys, as number of the suffix * vocabulary size + first token.
        """
        start = 0
        while start < len(self._tokens):
            stop = min(start + min(CHUNK, self._part_tokens), len(self._tokens))
            if self._per_document:
                stop = int(self._ends[np.searchsorted(self._ends, stop)])
            numbers = self._numbers[start:stop]
            places = start + np.flatnonzero(numbers >= 0)
            document = np.searchsorted(self._ends, places, side="right")
            places = places[places - (length - 1) >= self._begins[document]]
            yield slice(start, stop), places, numbers[places - start] * self._wide + self._tokens[places - (length - 1)]
            start = stop

    def _count(self, length: int) -> Pairs:
        """Count (key, following token) for the keys that occur often enough, those of one remainder at a time, which
        bounds the memory.
        """
        passes, counted = max(1, -(-self._live // self._part_tokens)), []
        for remainder in range(passes):
            pieces: list[Pairs] = []
            for piece, places, keys in self._parts(length):
                done = (remainder + piece.start / len(self._tokens)) / passes
                self._progress("counting", (length - 1 + 0.8 * done) / self._longest)
                if passes > 1:
                    mine = keys % passes == remainder
                    places, keys = places[mine], keys[mine]
                pairs = keys * self._wide + self._tokens[places + 1]
                pieces.append(_joined([(pairs, self._new_in_document(pairs, places))]))
                if sum(len(values) for values, _ in pieces) > 2 * self._part_tokens:
                    pieces = [_joined(pieces)]
            pairs, counts = _joined(pieces)
            _, owners = np.unique(pairs // self._wide, return_inverse=True)
            enough = (np.bincount(owners, counts) >= self._pruning.least)[owners]
            counted.append((pairs[enough], counts[enough]))
        return _joined(counted)

    def _new_in_document(self, pairs: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return how much each pair counts: 1, or 0 if its document has had it before and repetitions do not count."""
        counts = np.ones(len(pairs), np.int64)
        if self._per_document:
            document = np.searchsorted(self._ends, places, side="right")
            order = np.lexsort((document, pairs))
            again = (np.diff(pairs[order]) == 0) & (np.diff(document[order]) == 0)
            counts[order[1:][again]] = 0
        return counts

    def _number(self, length: int, keys: np.ndarray) -> np.ndarray:
        """Write for each place of the corpus which of ``keys`` ends there; return a place where each ends."""
        ends_at, self._live = np.zeros(len(keys), dtype=np.int64), 0
        for piece, places, own in self._parts(length):
            at = np.searchsorted(keys, own)
            hit = np.append(keys, -1)[at] == own
            ends_at[at[hit]] = places[hit]
            self._live += int(hit.sum())
            self._numbers[piece] = -1
            self._numbers[places[hit]] = at[hit]
        return ends_at

    def _level(
        self, length: int, parents: np.ndarray, ends_at: np.ndarray, counted: Pairs, shorter: Pairs | None
    ) -> Level:
        (pairs, counts), wide = counted, self._wide
        owners, follower = pairs // wide, pairs % wide
        totals = np.bincount(owners, counts).astype(np.int64)
        stored, best = select_continuations(owners, follower, counts, totals, self._pruning)
        gains = counts[best].astype(float)
        if shorter is not None:
            # Expected hits added: how much more probable the first continuation is than by the shorter key.
            at = np.searchsorted(shorter[0], parents * wide + follower[best])
            gains -= totals * (shorter[1][at] / np.bincount(shorter[0] // wide, shorter[1])[parents])
        hashes = [
            marks(self._tokens[ends_at[k : k + CHUNK, None] + np.arange(1 - length, 1)])
            for k in range(0, len(ends_at), CHUNK)
        ]
        firsts = np.append(0, np.cumsum(np.bincount(owners[stored], minlength=len(parents))))
        lengths = np.full(len(parents), length)
        columns = (np.concatenate(hashes), lengths, totals, firsts, follower[stored], counts[stored])
        return Level(*columns, parents, gains)


def _joined(tallies: list[Pairs]) -> Pairs:
    """Return the sum of tallies: the values, ascending, and how often each occurs."""
    distinct, which = np.unique(np.concatenate([values for values, _ in tallies]), return_inverse=True)
    counts = np.bincount(which, np.concatenate([counts for _, counts in tallies]), minlength=len(distinct))
    return distinct, counts.astype(np.int64)


def select_continuations(
    owners: np.ndarray, follower: np.ndarray, counts: np.ndarray, totals: np.ndarray, pruning: Pruning
) -> tuple[np.ndarray, np.ndarray]:
    """Return which (key, continuation) pairs to store, most frequent first, and the most frequent of each key.
    ``owners`` (ascending from 0), ``follower`` and ``counts`` int [pairs]; ``totals`` int [keys]. Among equals the
    lower token comes first.
    """
    order = np.lexsort((follower, -counts, owners))
    rank = np.arange(len(order)) - np.searchsorted(owners, np.arange(len(totals)))[owners[order]]
    enough = (counts >= pruning.least_continuation) & (counts >= pruning.least_share * totals[owners])
    return order[((rank == 0) | enough[order]) & (rank < min(pruning.most, MOST_CONTINUATIONS))], order[rank == 0]


def select_keys(levels: list[Level], max_bytes: int, vocabulary_size: int) -> Table:
    """Return the keys with the highest gains that fit into ``max_bytes``; those without a gain are left out. Among
    equals shorter keys come first.
    """
    if not levels:
        none = np.zeros(0, dtype=np.int64)
        return Table(none.astype(np.uint32), none, none, np.zeros(1, dtype=np.int64), none, none)
    names = ("gains", "lengths", "marks", "totals", "tokens", "counts")
    gains, lengths, hashes, totals, tokens, counts = (
        np.concatenate([getattr(level, name) for level in levels]) for name in names
    )
    numbers = np.concatenate([np.diff(level.firsts) for level in levels])
    sizes = KEY_BYTES + (4 if vocabulary_size > 2**16 else 2) * (1 + 2 * numbers)
    order = np.lexsort((lengths, -gains))
    fits = order[np.cumsum(sizes[order]) <= max_bytes]
    keep = np.zeros(len(gains), dtype=bool)
    keep[fits] = gains[fits] > 0
    stored = np.repeat(keep, numbers)
    firsts = np.concatenate(([0], np.cumsum(numbers[keep])))
    return Table(hashes[keep], lengths[keep], totals[keep], firsts, tokens[stored], counts[stored])
