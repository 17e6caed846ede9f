"""Selection of the counted keys with the highest gains, and the database file written from them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hsd_viz.drafting.index.format import KEY_BYTES, MOST_VALUES, Table, bucket_bits, pack_rows, write_file

#: Approximate number of keys sorted together when a file is written.
SORTED_TOGETHER = 500_000
_PIECE = 2**20


@dataclass(frozen=True, slots=True)
class Level(Table):
    """The keys of one length in one part of the corpus. ``gains`` float64 [keys]: hits added to shorter keys."""

    gains: np.ndarray


class Candidates:
    """Counted keys with a positive gain, in blocks in two files: their gains, and their rows."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._gains, self._rows = self.folder / "gains", self.folder / "rows"
        for path in (self._gains, self._rows):
            path.write_bytes(b"")

    def add(self, levels: list[Level]) -> None:
        """Add the keys of these levels that have a positive gain."""
        for level in levels:
            keep = level.gains > 0
            if not keep.any():
                continue
            numbers = np.diff(level.firsts)
            stored = np.repeat(keep, numbers)
            lengths, tokens = level.lengths[keep].astype(np.uint8), level.tokens[stored].astype(np.uint32)
            _append(self._gains, level.gains[keep], lengths, numbers[keep].astype(np.uint8))
            _append(self._rows, level.marks[keep], level.totals[keep], tokens, level.counts[stored])

    def weights(self, value_bytes: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield per block: gains float64, lengths uint8, and bytes in the file int64."""
        for gains, lengths, numbers in _blocks(self._gains, 3):
            yield gains, lengths, KEY_BYTES + value_bytes * (1 + 2 * numbers.astype(np.int64))

    def rows(self) -> Iterator[Table]:
        """Yield per block, in the same order: the keys with their continuations."""
        blocks = zip(_blocks(self._gains, 3), _blocks(self._rows, 4), strict=True)
        for (_, lengths, numbers), (marks, totals, tokens, counts) in blocks:
            firsts = np.concatenate(([0], np.cumsum(numbers, dtype=np.int64)))
            yield Table(marks, lengths.astype(np.int64), totals, firsts, tokens, counts)


def _append(path: Path, *arrays: np.ndarray) -> None:
    with open(path, "ab") as f:
        for array in arrays:
            np.save(f, array)


def _blocks(path: Path, arrays: int) -> Iterator[list[np.ndarray]]:
    size = path.stat().st_size
    with open(path, "rb") as f:
        while f.tell() < size:
            yield [np.load(f) for _ in range(arrays)]


@dataclass(frozen=True, slots=True)
class Header:
    """What a database file is: ``statistics``, ``model`` or ``fivegrams``, for which vocabulary, and its origin."""

    kind: str
    vocabulary_size: int
    vocabulary_hash: str
    meta: Mapping[str, Any]


@dataclass(slots=True)
class Cut:
    """A limit in the order of decreasing gain (among equals: shorter keys first, then in the order of counting).
    ``bits``: the gain at the limit as a float64 bit pattern (for positive numbers these sort like the numbers);
    ``length``: that of the keys at the limit; ``room``: bytes for keys of that gain and length. All zero: no limit.
    """

    bits: int = 0
    length: int = 0
    room: float = 0.0
    _used: float = 0.0

    def kept(self, gains: np.ndarray, lengths: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return which keys of the next block are within the limit, as a bool array."""
        bits = gains.view(np.uint64)
        cut = np.uint64(self.bits)
        keep = (bits > cut) | ((bits == cut) & (lengths < self.length))
        ties = np.flatnonzero((bits == cut) & (lengths == self.length))
        if len(ties):
            reached = self._used + np.cumsum(sizes[ties])
            self._used = float(reached[-1])
            keep[ties] = reached <= self.room
        return keep


def find_cut(candidates: Candidates, max_bytes: int, value_bytes: int) -> Cut:
    """Return the cut that keeps as many of the best keys as fit into ``max_bytes``, by radix selection without sorting.
    At most five passes over the gains, with 65 536 sums in memory.
    """
    prefix, room = np.uint64(0), float(max_bytes)
    for shift in (48, 32, 16, 0):
        held = np.zeros(2**16)
        for gains, _, sizes in candidates.weights(value_bytes):
            bits = gains.view(np.uint64)
            same = (bits >> np.uint64(shift + 16)) == prefix if shift < 48 else slice(None)
            digits = (bits[same] >> np.uint64(shift)) & np.uint64(0xFFFF)
            held += np.bincount(digits.astype(np.int64), sizes[same], minlength=2**16)
        digit, room = _first_too_many(held[::-1], room)
        if digit is None:
            return Cut()
        prefix = (prefix << np.uint64(16)) | np.uint64(2**16 - 1 - digit)
    held = np.zeros(256)
    for gains, lengths, sizes in candidates.weights(value_bytes):
        same = gains.view(np.uint64) == prefix
        held += np.bincount(lengths[same], sizes[same], minlength=256)
    length, room = _first_too_many(held, room)
    assert length is not None
    return Cut(int(prefix), length, room)


def _first_too_many(held: np.ndarray, room: float) -> tuple[int | None, float]:
    """Return the first index at which the sum exceeds ``room``, and the room left before it."""
    reached = np.cumsum(held)
    over = int(np.searchsorted(reached, room, side="right"))
    if over == len(held):
        return None, room
    return over, room - (reached[over - 1] if over else 0.0)


@contextmanager
def beside(path: str | Path) -> Iterator[str]:
    """Yield a temporary folder next to ``path``, whose folder is created."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        yield folder


def write_index(path: str | Path, table: Table, header: Header) -> None:
    """Write all rows of ``table`` as a database file, atomically."""
    with beside(path) as folder:
        candidates = Candidates(folder)
        columns = (table.marks, table.lengths, table.totals, table.firsts, table.tokens, table.counts)
        candidates.add([Level(*columns, np.ones(len(table.marks)))])
        write_chosen(candidates, path, header, max_bytes=2**62)


def write_chosen(candidates: Candidates, path: str | Path, header: Header, *, max_bytes: int) -> None:
    """Write the ``candidates`` with the highest gains that fit into ``max_bytes`` as a database file, atomically. Keys
    are divided by the upper bits of their marks into files of about :data:`SORTED_TOGETHER`, of which one is in memory
    at a time. Raises: ValueError: if there are too many values for one file.
    """
    wide = header.vocabulary_size > 2**16
    value_bytes = 4 if wide else 2
    cut = find_cut(candidates, max_bytes, value_bytes)
    values = 0
    by_length = np.zeros(256, dtype=np.int64)
    masks = []
    for gains, lengths, sizes in candidates.weights(value_bytes):
        kept = cut.kept(gains, lengths, sizes)
        masks.append(np.packbits(kept))
        values += int((sizes[kept] - KEY_BYTES).sum()) // value_bytes
        by_length += np.bincount(lengths[kept], minlength=256)
    if values >= MOST_VALUES:
        raise ValueError(
            f"{values} values are too many for one database file: reduce its bytes or raise the minimum count"
        )
    keys = int(by_length.sum())
    bits = bucket_bits(keys)
    files, continuations = _write_arrays(candidates, masks, bits, keys, wide)
    lengths = np.flatnonzero(by_length)
    fields = {
        "kind": header.kind,
        "vocabulary_size": header.vocabulary_size,
        "vocabulary_hash": header.vocabulary_hash,
        "bits": bits,
        "longest": int(lengths.max(initial=1)),
        "keys_by_length": {str(n): int(by_length[n]) for n in lengths},
        "continuations": continuations,
        "arrays": {
            "starts": ["uint32", 2**bits + 1],
            "marks": ["uint32", keys],
            "places": ["uint32", keys],
            "values": ["uint32" if wide else "uint16", values],
        },
        "meta": dict(header.meta),
    }
    write_file(path, fields, map(_pieces, files))


def _write_arrays(
    candidates: Candidates, masks: list[np.ndarray], bits: int, keys: int, wide: bool
) -> tuple[list[Path], int]:
    """Write the four arrays of the chosen keys to files; return these and the number of continuations."""
    part_bits = min(bits, 8, max(0, -(-keys // SORTED_TOGETHER) - 1).bit_length())
    parts = [candidates.folder / f"chosen{part}" for part in range(2**part_bits)]
    for part in parts:
        part.write_bytes(b"")
    for table, mask in zip(candidates.rows(), masks, strict=True):
        _divide(table, np.unpackbits(mask, count=len(table.marks)).astype(bool), parts, part_bits)
    files = [candidates.folder / name for name in ("starts", "marks", "places", "values")]
    written = first = continuations = 0
    buckets = 2 ** (bits - part_bits)
    with ExitStack() as stack:
        starts, marks, places, values = (stack.enter_context(open(file, "wb")) for file in files)
        for number, part in enumerate(parts):
            table = _join(list(_blocks(part, 5)))
            # The shorter of two keys with the same mark comes first and is found: it is the more frequent one.
            order = np.lexsort((table.lengths, table.marks))
            ranked = table.marks[order]
            bounds = np.arange(number * buckets, (number + 1) * buckets)
            starts.write((written + np.searchsorted(ranked >> np.uint32(32 - bits), bounds)).astype("<u4").tobytes())
            marks.write(ranked.astype("<u4").tobytes())
            packed_places, packed_values = pack_rows(table, order, wide, first)
            places.write(packed_places.tobytes())
            values.write(packed_values.tobytes())
            first += len(packed_values)
            written += len(order)
            continuations += len(table.tokens)
            part.unlink()
        starts.write(np.array([written], dtype="<u4").tobytes())
    return files, continuations


def _divide(table: Table, keep: np.ndarray, parts: list[Path], bits: int) -> None:
    """Append the kept rows of a block to the files of their parts."""
    rows = np.flatnonzero(keep)
    which = table.marks[rows] >> np.uint32(32 - bits) if bits else np.zeros(len(rows), dtype=np.uint32)
    numbers = np.diff(table.firsts)
    for part in np.unique(which):
        mine = rows[which == part]
        number = numbers[mine]
        stored = np.repeat(table.firsts[mine] - np.cumsum(number) + number, number) + np.arange(number.sum())
        pairs = np.stack([table.tokens[stored].astype(np.int64), table.counts[stored]])
        lengths = table.lengths[mine].astype(np.uint8)
        _append(parts[part], table.marks[mine], lengths, table.totals[mine], number.astype(np.uint8), pairs)


def _join(blocks: list[list[np.ndarray]]) -> Table:
    """Join the blocks of one part into one table."""
    if not blocks:
        empty = np.zeros(0, dtype=np.int64)
        return Table(empty.astype(np.uint32), empty, empty, np.zeros(1, dtype=np.int64), empty, empty)
    marks, lengths, totals, numbers = (np.concatenate([block[i] for block in blocks]) for i in range(4))
    tokens, counts = np.concatenate([block[4] for block in blocks], axis=1)
    firsts = np.concatenate(([0], np.cumsum(numbers, dtype=np.int64)))
    return Table(marks, lengths.astype(np.int64), totals, firsts, tokens, counts)


def _pieces(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as f:
        while piece := f.read(_PIECE):
            yield piece
    path.unlink()
