"""Counted keys on disk, which of them are worth their bytes, and the database file written from those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hsd_viz.drafting.index.count import KEY_BYTES, Level
from hsd_viz.drafting.index.format import MOST_VALUES, Table, bucket_bits, pack_rows, write_file

#: Keys sorted together when a file is written, about.
SORTED_TOGETHER = 500_000
_PIECE = 2**20


class Candidates:
    """Keys that gain something, block by block in two files: what decides, and the rows themselves."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.keys = 0
        self._gains, self._rows = self.folder / "gains", self.folder / "rows"
        for path in (self._gains, self._rows):
            path.write_bytes(b"")

    def add(self, levels: list[Level]) -> None:
        """Keep the keys of these levels (their ``parents`` are lengths) that gain something."""
        for level in levels:
            keep = level.gains > 0
            if not keep.any():
                continue
            numbers = np.diff(level.firsts)
            stored = np.repeat(keep, numbers)
            with open(self._gains, "ab") as f:
                for part in (level.gains[keep], level.parents[keep].astype(np.uint8), numbers[keep].astype(np.uint8)):
                    np.save(f, part)
            with open(self._rows, "ab") as f:
                for part in (
                    level.marks[keep],
                    level.totals[keep],
                    level.tokens[stored].astype(np.uint32),
                    level.counts[stored],
                ):
                    np.save(f, part)
            self.keys += int(keep.sum())

    def weights(self, value_bytes: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Per block: gains float64, lengths, and bytes in the file."""
        for gains, lengths, numbers in _blocks(self._gains, 3):
            yield gains, lengths, KEY_BYTES + value_bytes * (1 + 2 * numbers.astype(np.int64))

    def rows(self) -> Iterator[Table]:
        """Per block, in the same order: the keys with their continuations."""
        blocks = zip(_blocks(self._gains, 3), _blocks(self._rows, 4), strict=True)
        for (_, lengths, numbers), (marks, totals, tokens, counts) in blocks:
            firsts = np.concatenate(([0], np.cumsum(numbers, dtype=np.int64)))
            yield Table(marks, lengths.astype(np.int64), totals, firsts, tokens, counts)


def _blocks(path: Path, arrays: int) -> Iterator[list[np.ndarray]]:
    size = path.stat().st_size
    with open(path, "rb") as f:
        while f.tell() < size:
            yield [np.load(f) for _ in range(arrays)]


@dataclass(slots=True)
class Cut:
    """Where to stop in the order of falling gain (shorter keys first among equals, then as counted).

    ``bits``: the gain at the cut, a float64's bit pattern (for positive numbers these sort as the numbers do); ``length`` of the keys at
    it; ``room``: bytes for those of that gain and length. All zero: nothing is cut.
    """

    bits: int = 0
    length: int = 0
    room: float = 0.0
    _used: float = field(default=0.0)

    def kept(self, gains: np.ndarray, lengths: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Which keys of the next block are kept."""
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
    """The cut that keeps as many of the best keys as fit into ``max_bytes``, found digit by digit without sorting anything.

    Five passes over the gains at most, 65 536 sums in memory.
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
    return Cut(int(prefix), length, room)


def _first_too_many(held: np.ndarray, room: float) -> tuple[int | None, float]:
    """The first place at which the sum passes ``room``, and the room left before it."""
    reached = np.cumsum(held)
    over = int(np.searchsorted(reached, room, side="right"))
    if over == len(held):
        return None, room
    return over, room - (reached[over - 1] if over else 0.0)


def write_chosen(
    candidates: Candidates,
    path: str | Path,
    *,
    kind: str,
    vocabulary_size: int,
    vocabulary_hash: str,
    max_bytes: int,
    meta: Mapping,
) -> None:
    """Write the best ``candidates`` that fit into ``max_bytes`` as a database file, as :func:`hsd_viz.drafting.index.write_index` would.

    Keys are divided by the upper bits of their marks into files of some :data:`SORTED_TOGETHER`, and only one of those is in memory at a
    time.
    """
    wide = vocabulary_size > 2**16
    value_bytes = 4 if wide else 2
    cut = find_cut(candidates, max_bytes, value_bytes)
    keys = values = 0
    by_length = np.zeros(256, dtype=np.int64)
    masks = []
    for gains, lengths, sizes in candidates.weights(value_bytes):
        kept = cut.kept(gains, lengths, sizes)
        masks.append(np.packbits(kept))
        keys += int(kept.sum())
        values += int((sizes[kept] - KEY_BYTES).sum()) // value_bytes
        by_length += np.bincount(lengths[kept], minlength=256)
    if values >= MOST_VALUES:
        raise ValueError(
            f"{values} values are too many for one database file: allow it fewer bytes or count only what was seen more often"
        )
    bits = bucket_bits(keys)
    parts_bits = min(bits, 8, max(0, -(-keys // SORTED_TOGETHER) - 1).bit_length())
    parts = [candidates.folder / f"chosen{part}" for part in range(2**parts_bits)]
    for part in parts:
        part.write_bytes(b"")
    for table, mask in zip(candidates.rows(), masks, strict=True):
        _divide(table, np.unpackbits(mask, count=len(table.marks)).astype(bool), parts, parts_bits)
    names = ("starts", "marks", "places", "values")
    files = {name: candidates.folder / name for name in names}
    written = first = continuations = 0
    buckets = 2 ** (bits - parts_bits)
    with ExitStack() as stack:
        out = {name: stack.enter_context(open(files[name], "wb")) for name in names}
        for number, part in enumerate(parts):
            table = _join(list(_blocks(part, 5)))
            order = np.lexsort((table.lengths, table.marks))
            ranked = table.marks[order]
            bounds = np.arange(number * buckets, (number + 1) * buckets)
            out["starts"].write(
                (written + np.searchsorted(ranked >> np.uint32(32 - bits), bounds)).astype("<u4").tobytes()
            )
            out["marks"].write(ranked.astype("<u4").tobytes())
            places, packed = pack_rows(table, order, wide, first)
            out["places"].write(places.tobytes())
            out["values"].write(packed.tobytes())
            first += len(packed)
            written += len(order)
            continuations += len(table.tokens)
            part.unlink()
        out["starts"].write(np.array([written], dtype="<u4").tobytes())
    lengths = np.flatnonzero(by_length)
    value = "uint32" if wide else "uint16"
    header = {
        "kind": kind,
        "vocabulary_size": vocabulary_size,
        "vocabulary_hash": vocabulary_hash,
        "bits": bits,
        "longest": int(lengths.max(initial=1)),
        "keys_by_length": {str(n): int(by_length[n]) for n in lengths},
        "continuations": continuations,
        "arrays": {
            "starts": ["uint32", 2**bits + 1],
            "marks": ["uint32", keys],
            "places": ["uint32", keys],
            "values": [value, first],
        },
        "meta": dict(meta),
    }
    write_file(path, header, (_pieces(files[name]) for name in names))


def _divide(table: Table, keep: np.ndarray, parts: list[Path], bits: int) -> None:
    """Append the kept rows of a block to the files of their parts."""
    rows = np.flatnonzero(keep)
    which = table.marks[rows] >> np.uint32(32 - bits) if bits else np.zeros(len(rows), dtype=np.uint32)
    numbers = np.diff(table.firsts)
    for part in np.unique(which):
        mine = rows[which == part]
        number = numbers[mine]
        stored = np.repeat(table.firsts[mine] - np.cumsum(number) + number, number) + np.arange(number.sum())
        with open(parts[part], "ab") as f:
            for array in (
                table.marks[mine],
                table.lengths[mine].astype(np.uint8),
                table.totals[mine],
                number.astype(np.uint8),
            ):
                np.save(f, array)
            np.save(f, np.stack([table.tokens[stored].astype(np.int64), table.counts[stored]]))


def _join(blocks: list[list[np.ndarray]]) -> Table:
    """The blocks of one part as one table."""
    if not blocks:
        empty = np.zeros(0, dtype=np.int64)
        return Table(empty.astype(np.uint32), empty, empty, np.zeros(1, dtype=np.int64), empty, empty)
    marks, lengths, totals, numbers = (np.concatenate([block[i] for block in blocks]) for i in range(4))
    pairs = np.concatenate([block[4] for block in blocks], axis=1)
    return Table(
        marks,
        lengths.astype(np.int64),
        totals,
        np.concatenate(([0], np.cumsum(numbers, dtype=np.int64))),
        pairs[0],
        pairs[1],
    )


def _pieces(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as f:
        while piece := f.read(_PIECE):
            yield piece
    path.unlink()
