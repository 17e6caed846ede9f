"""The files of the model and statistics databases: a pre-counted, memory-mapped index of
continuations.

Keys are the last 1 to ``longest`` tokens; all suffixes of a key are keys. The mark of a key is the
CRC-32 of its tokens as little-endian u32, the fastest hash in plain Python. Its upper bits select a
bucket of about two keys, in which whole marks are compared. A collision (one unknown key in 14 000
with 300 000 keys) costs one bad draft token.

A file is a safetensors file of four tensors: ``starts`` (u32 per bucket, one more at the end),
``marks`` (u32 per key), ``places`` (u32 per key: first value * 8 + number of continuations) and
``values`` (u16, or u32 for large vocabularies; per key its total, then token, count, ...). Its
metadata contains the version, ``facts`` as JSON, and the CRC-32 of the header (counted with zeros
in place of the checksum), always checked, and of the tensors. With any damage, a look-up ends after
a bounded number of steps, and returns no token outside the vocabulary.
"""

import json
import mmap
import zlib
from codecs import utf_32_le_encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from hsd_viz.disk import write_inside
from hsd_viz.drafting.context import Match
from hsd_viz.errors import MALFORMED, BadFile, UserError

VERSION = "2"
SUFFIX = ".hsdb"
#: Most continuations per key (their number has three bits), and values in one file (a place has 29
#: bits).
MOST_CONTINUATIONS = 7
MOST_VALUES = 2**29
#: Bytes of a key in the file besides its values: mark, place, and half of a bucket's start.
KEY_BYTES = 10
#: The largest values of a header: token ids are stored as characters, and a mark has 32 bits.
MOST_IDS = 0x110000
MOST_BITS = 28
MOST_LONGEST = 32
#: The most bytes of a header.
MOST_HEADER = 2**20
#: Largest size in bytes of a file whose tensors are checked when it is opened, which takes about 50
#: ms.
READ_WHOLE = 64 * 2**20
#: Most keys examined in one bucket. Among 2**28 buckets of random marks none reaches twenty.
MOST_IN_BUCKET = 32
_NO_POSITIONS = (None,) * MOST_CONTINUATIONS
_TENSORS = ("starts", "marks", "places", "values")
_TYPES: Mapping[str, Literal["H", "I"]] = {"U16": "H", "U32": "I"}
_NO_CHECKSUM = "0" * 8


class DatabaseError(BadFile):
    """A database file that cannot be used; the message is one line with the file's name."""


def marks(columns: Iterable[np.ndarray]) -> np.ndarray:
    """Return the CRC-32 of keys as little-endian u32, uint32 [keys]; ``columns`` are their first
    tokens, second, ...
    """
    # What one byte changes, from zlib itself, which inverts the checksum before and after.
    table = np.array(
        [zlib.crc32(bytes([byte ^ 0xFF])) ^ 0xFF000000 for byte in range(256)], dtype=np.uint32
    )
    crc: Any = np.uint32(0xFFFFFFFF)
    for tokens in columns:
        for shift in (0, 8, 16, 24):
            crc = table[(crc ^ (tokens.astype(np.uint32) >> shift)) & 0xFF] ^ (crc >> 8)
    return ~crc


def pack_counts(counts: np.ndarray, wide: bool) -> np.ndarray:
    """Return counts as stored: u16 is exact up to 32767, then multiples of 256 up to 8 388 352
    (error below 0.8 %).
    """
    counts = counts.astype(np.int64)
    if wide:
        return np.minimum(counts, 2**32 - 1).astype(np.uint32)
    return np.where(counts < 32768, counts, 32768 + np.minimum(counts >> 8, 32767)).astype(
        np.uint16
    )


class KeyTable(NamedTuple):
    """Counted keys, a row per key, with their continuations in the order of the keys, most frequent
    first.

    Attributes:
        marks: of the keys, uint32 [keys].
        lengths: their tokens, int [keys].
        totals: how often each was seen with anything after it, int [keys].
        numbers: how many continuations each has, at most seven, int [keys].
        gains: the correct first continuations that a key adds to those of its suffix, float [keys].
        tokens: of the continuations, int [continuations].
        counts: of the continuations, int [continuations].
    """

    marks: np.ndarray
    lengths: np.ndarray
    totals: np.ndarray
    numbers: np.ndarray
    gains: np.ndarray
    tokens: np.ndarray
    counts: np.ndarray


def write_index(
    path: str | Path,
    table: KeyTable,
    kind: str,
    vocabulary_size: int,
    vocabulary_hash: str,
    meta: Mapping[str, Any],
) -> None:
    """Write a database atomically; ``meta`` is its origin.

    Raises:
        UserError: if there are too many values.
    """
    wide = vocabulary_size > 2**16
    keys = len(table.marks)
    total = len(table.marks) + 2 * len(table.tokens)
    if total >= MOST_VALUES:
        raise UserError(
            f"{total} values are too many for one file: reduce its bytes or raise the minimum count"
        )
    # The shorter of two keys with the same mark comes first and is found: it is the more frequent
    # one.
    order = np.lexsort((table.lengths, table.marks))
    ranked = table.marks[order]
    numbers = table.numbers[order]
    bits = max(1, (max(keys, 2) // 2 - 1).bit_length())
    starts = np.searchsorted(ranked >> np.uint32(32 - bits), np.arange(2**bits + 1))
    # Of each key the place of its total, and of each continuation that of its token.
    offsets = np.cumsum(1 + 2 * numbers) - (1 + 2 * numbers)
    rank = np.arange(len(table.tokens)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    source = np.repeat((np.cumsum(table.numbers) - table.numbers)[order], numbers) + rank
    places = np.repeat(offsets, numbers) + 1 + 2 * rank
    values = np.zeros(total, dtype="<u4" if wide else "<u2")
    values[offsets] = pack_counts(table.totals[order], wide)
    values[places] = table.tokens[source]
    values[places + 1] = pack_counts(table.counts[source], wide)
    lengths, of_length = np.unique(table.lengths, return_counts=True)
    facts = {
        "kind": kind,
        "vocabulary_size": vocabulary_size,
        "vocabulary_hash": vocabulary_hash,
        "meta": dict(meta),
        "bits": bits,
        "longest": int(lengths.max(initial=1)),
        "keys_by_length": dict(zip(map(str, lengths), of_length.tolist(), strict=True)),
        "continuations": len(table.tokens),
    }
    tensors = (
        starts.astype("<u4"),
        ranked.astype("<u4"),
        (offsets * 8 + numbers).astype("<u4"),
        values,
    )
    body = b""
    entries = {}
    for name, tensor in zip(_TENSORS, tensors, strict=True):
        start = len(body)
        body += tensor.tobytes()
        entries[name] = {
            "dtype": f"U{8 * tensor.itemsize}",
            "shape": [len(tensor)],
            "data_offsets": [start, len(body)],
        }
    checksums = {"checksum": _NO_CHECKSUM, "tensors": f"{zlib.crc32(body):08x}"}
    metadata = {"hsd_viz": VERSION, **checksums, "facts": json.dumps(facts)}
    head = json.dumps({"__metadata__": metadata, **entries}).encode()
    head += b" " * (-len(head) % 8)
    head = head.replace(_NO_CHECKSUM.encode(), f"{zlib.crc32(head):08x}".encode(), 1)
    path = Path(path)
    write_inside(path.parent, path.name, len(head).to_bytes(8, "little") + head + body)


def _wrong_in(header: Any, entries: Mapping[str, Any]) -> str | None:
    """Return what of a header is not a value of :func:`write_index`; ``None`` if all are.

    The writer of a file also writes its checksums, so that they do not make a header trustworthy.
    """
    if not isinstance(header, dict):
        return "no facts"
    kinds = {"kind": str, "vocabulary_hash": str, "meta": dict, "keys_by_length": dict}
    for name, kind in kinds.items():
        if not isinstance(header.get(name), kind):
            return f"the {name} {header.get(name)!r:.40}"
    numbers = {
        "vocabulary_size": (1, MOST_IDS),
        "bits": (1, MOST_BITS),
        "longest": (1, MOST_LONGEST),
        "continuations": (0, MOST_VALUES),
    }
    for name, (low, high) in numbers.items():
        value = header.get(name)
        if type(value) is not int or not low <= value <= high:
            return f"the {name} {value!r:.40}"
    for length, keys in header["keys_by_length"].items():
        if not length.isdecimal() or type(keys) is not int or keys < 0:
            return f"{keys!r:.40} keys of the length {length!r:.40}"
    return _wrong_in_tensors(header, entries)


def _wrong_in_tensors(header: Mapping[str, Any], entries: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the tensors' entries: they follow each other, in their types."""
    if set(entries) != set(_TENSORS):
        return f"the tensors {', '.join(entries)!r:.80}"
    values = "U32" if header["vocabulary_size"] > 2**16 else "U16"
    sizes = []
    begin = 0
    for name in _TENSORS:
        entry = entries[name]
        dtype = values if name == "values" else "U32"
        if not isinstance(entry, dict) or entry.get("dtype") != dtype:
            return f"another type of {name} than {dtype}"
        shape = entry.get("shape")
        if not isinstance(shape, list) or [type(size) for size in shape] != [int] or shape[0] < 0:
            return f"the shape {shape!r:.40} of {name}"
        end = begin + shape[0] * (4 if dtype == "U32" else 2)
        offsets = entry.get("data_offsets")
        if offsets != [begin, end] or any(type(offset) is not int for offset in offsets):
            return f"the place {offsets!r:.40} of {name}"
        sizes.append(shape[0])
        begin = end
    if sizes[0] != 2 ** header["bits"] + 1 or sizes[1] != sizes[2]:
        return f"{sizes[0]} buckets, {sizes[1]} marks and {sizes[2]} places"
    return None


def _tensor_in(contents: memoryview, entry: Mapping[str, Any]) -> memoryview:
    """Return a tensor by its entry in the header."""
    start, end = entry["data_offsets"]
    return contents[start:end].cast(_TYPES[entry["dtype"]])


class Index:
    """An open database file, read-only and memory-mapped: runs and processes share its pages.

    Args:
        path: of the file.
        vocabulary_hash: of the tokenizer that it must be of; ``None``: of any.
        vocabulary_size: tokens from this one on are not returned.
        verify: whether to check the tensors; ``None``: those of files that are not large.

    Attributes:
        starts: tensors as memoryviews, like ``marks``, ``places`` and ``values``.
        bits: the shift from a mark to its bucket.
        wide: whether values are u32.

    Raises:
        DatabaseError: if the file is missing, damaged, of another version or, where
            ``vocabulary_hash`` is given, of another tokenizer.
    """

    def __init__(
        self,
        path: str | Path,
        vocabulary_hash: str | None = None,
        *,
        vocabulary_size: int | None = None,
        verify: bool | None = None,
    ) -> None:
        self.path = Path(path)
        name = f"the database '{self.path.name}'"
        if self.path.exists() and not self.path.is_file():
            raise DatabaseError(f"{name} cannot be read: it is not a file")
        try:
            with open(self.path, "rb") as f:
                self._map = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
            self.size = len(self._map)
            body = 8 + int.from_bytes(self._map[:8], "little")
            if body > MOST_HEADER:
                raise ValueError("no header is so long")
            entries = json.loads(self._map[8:body]) if body <= self.size else {}
            metadata = entries.pop("__metadata__")
            version, checksum, tensors = (
                metadata[key] for key in ("hsd_viz", "checksum", "tensors")
            )
            unsigned = self._map[8:body].replace(str(checksum).encode(), _NO_CHECKSUM.encode(), 1)
            is_whole = f"{zlib.crc32(unsigned):08x}" == checksum
            expected = body + max(entry["data_offsets"][1] for entry in entries.values())
            self.header: dict[str, Any] = json.loads(metadata["facts"]) if is_whole else {}
        except OSError as error:
            raise DatabaseError(f"{name} cannot be read: {error.strerror or error}") from None
        except MALFORMED:
            raise DatabaseError(f"'{self.path.name}' is not a database file of hsd_viz") from None
        if version != VERSION:
            raise DatabaseError(
                f"{name} has format version {version}, expected {VERSION}: rebuild it"
            )
        contents = memoryview(self._map)[body:]
        self.verified = self.size <= READ_WHOLE if verify is None else verify
        if not is_whole or self.size != expected:
            raise DatabaseError(f"{name} is damaged: its header does not match it")
        if reason := _wrong_in(self.header, entries):
            raise DatabaseError(f"{name} is damaged: its header has {reason}")
        if self.verified and f"{zlib.crc32(contents):08x}" != tensors:
            raise DatabaseError(f"{name} is damaged: its contents do not match its checksum")
        known = self.header["vocabulary_hash"]
        own = self.header["vocabulary_size"]
        if vocabulary_hash is not None and known != vocabulary_hash:
            vocabularies = (
                f"vocabulary {known[:12]}, expected that of the models, {vocabulary_hash[:12]}"
            )
            raise DatabaseError(f"{name} was made with another tokenizer ({vocabularies})")
        # Reading a scalar from a memoryview is several times as fast as from a numpy array.
        self.starts, self.marks, self.places, self.values = (
            _tensor_in(contents, entries[name]) for name in _TENSORS
        )
        self.limit = own if vocabulary_size is None else min(own, vocabulary_size)
        self.bits = 32 - self.header["bits"]
        self.wide = own > 2**16
        self.longest = self.header["longest"]

    def lookup(self, tail: str) -> Match | None:
        """Return what followed the longest suffix of ``tail`` (spelled) that is a key, or
        ``None``.
        """
        starts = self.starts
        marks = self.marks
        bits = self.bits
        crc32 = zlib.crc32
        keys = len(self.marks)
        tail = tail[-self.longest :]
        size = len(tail)
        # Characters in UTF-32 are the tokens as u32; some ids are surrogates, which are not valid
        # characters.
        packed = utf_32_le_encode(tail, "surrogatepass")[0]
        last = 4 * size - 4
        key = -1
        # Most pairs that occur are keys, so the search begins with two tokens and extends the
        # suffix until it misses; a single token is the fall-back.
        at = last - 4 if size > 1 else last
        while at >= 0:
            wanted = crc32(packed[at:])
            bucket = wanted >> bits
            i = starts[bucket]
            end = starts[bucket + 1]
            if end > keys or end - i > MOST_IN_BUCKET:  # damaged
                end = min(keys, i + MOST_IN_BUCKET)
            while i < end and marks[i] != wanted:
                i += 1
            if i < end:
                key = i
                length = at
                if at == last:
                    break
                at -= 4
            elif at == last - 4:
                at = last
            else:
                break
        row = self._read(key) if key >= 0 else None
        if row is None:
            return None
        total, continuations = row
        return Match(size - (length >> 2), total, continuations)

    def _read(self, key: int) -> tuple[int, list[tuple[int, int, None]]] | None:
        """Return the total and the possible continuations of row ``key``; ``None`` if it has
        none.
        """
        place = self.places[key]
        at = place >> 3
        numbers = 2 * (place & 7)
        if at + numbers >= len(self.values):  # damaged
            return None
        row = self.values[at : at + 1 + numbers].tolist()
        if not self.wide and max(row) >= 32768:
            row[::2] = [count if count < 32768 else (count - 32768) << 8 for count in row[::2]]
        # Rounding large counts preserves their order, so none exceeds its total.
        total = row[0]
        limit = self.limit
        rows = zip(row[1::2], row[2::2], _NO_POSITIONS, strict=False)
        continuations = [c for c in rows if c[0] < limit and 0 < c[1] <= total]
        return (total, continuations) if continuations else None
