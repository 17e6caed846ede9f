"""Open a database file and look up keys. The format is :mod:`hsd_viz.drafting.index.format`."""

import json
import mmap
import zlib
from codecs import utf_32_le_encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from hsd_viz.drafting.context_database import Match
from hsd_viz.drafting.index.format import (
    MAX_BITS,
    MAX_CONTINUATIONS,
    MAX_HEADER,
    MAX_VALUES,
    NO_CHECKSUM,
    TENSORS,
    VERSION,
    DatabaseError,
)
from hsd_viz.errors import MALFORMED
from hsd_viz.settings.ranges import MAX_IDS, MAX_KEY_LENGTH

#: The largest file in bytes whose tensors are checked when it is opened, which takes about 50 ms.
READ_WHOLE = 64 * 2**20
#: The largest number of keys that are examined in a bucket. Of 2**28 buckets of random marks none
#: reaches twenty.
MAX_IN_BUCKET = 32
_NO_POSITIONS = (None,) * MAX_CONTINUATIONS
_TYPES: Mapping[str, Literal["H", "I"]] = {"U16": "H", "U32": "I"}


@dataclass(frozen=True, slots=True)
class _Header:
    """The header of a file. Only its own checksum has been checked.

    Attributes:
        version: the version of the format.
        is_whole: whether the header matches its checksum.
        facts: the facts about the contents; empty if the header is not whole.
        entries: the type, shape and offsets of each tensor by name.
        begin: the offset of the tensors in bytes.
        end: the offset of their end in bytes.
        checksum: the CRC-32 of the tensors.
    """

    version: Any
    is_whole: bool
    facts: dict[str, Any]
    entries: dict[str, Any]
    begin: int
    end: int
    checksum: Any

    @classmethod
    def of(cls, contents: mmap.mmap) -> Self:
        """Read the header of a file.

        A file of another format raises one of the exceptions :data:`hsd_viz.errors.MALFORMED`.
        """
        begin = 8 + int.from_bytes(contents[:8], "little")
        if begin > MAX_HEADER:
            raise ValueError("no header is so long")
        if begin > len(contents):
            raise ValueError("the header is longer than the file")
        text = contents[8:begin]
        entries = json.loads(text)
        metadata = entries.pop("__metadata__")
        checksum = metadata["checksum"]
        unsigned = text.replace(str(checksum).encode(), NO_CHECKSUM.encode(), 1)
        is_whole = f"{zlib.crc32(unsigned):08x}" == checksum
        return cls(
            version=metadata["hsd_viz"],
            is_whole=is_whole,
            facts=json.loads(metadata["facts"]) if is_whole else {},
            entries=entries,
            begin=begin,
            end=begin + max(entry["data_offsets"][1] for entry in entries.values()),
            checksum=metadata["tensors"],
        )

    def fault(self) -> str | None:
        """Return a description of a value that
        :func:`~hsd_viz.drafting.index.write.write_index` never writes; ``None`` if there is none.

        Checksums do not make a header trustworthy, because the author of a file computes them, too.
        """
        if not isinstance(self.facts, dict):
            return "no facts"
        return _wrong_fact(self.facts) or _wrong_tensor(self.facts, self.entries)


def _wrong_fact(facts: Mapping[str, Any]) -> str | None:
    """Return a description of a fact of the wrong type or out of range; ``None`` without one."""
    kinds = {"kind": str, "vocabulary_hash": str, "meta": dict, "keys_by_length": dict}
    for name, kind in kinds.items():
        if not isinstance(facts.get(name), kind):
            return f"the {name} {facts.get(name)!r:.40}"
    numbers = {
        "vocabulary_size": (1, MAX_IDS),
        "bits": (1, MAX_BITS),
        "longest": (1, MAX_KEY_LENGTH),
        "continuations": (0, MAX_VALUES),
    }
    for name, (low, high) in numbers.items():
        value = facts.get(name)
        if type(value) is not int or not low <= value <= high:
            return f"the {name} {value!r:.40}"
    for length, keys in facts["keys_by_length"].items():
        if not length.isdecimal() or type(keys) is not int or keys < 0:
            return f"{keys!r:.40} keys of the length {length!r:.40}"
    return None


def _wrong_tensor(facts: Mapping[str, Any], entries: Mapping[str, Any]) -> str | None:
    """Return a description of a wrong tensor entry; ``None`` if the tensors have their types and
    follow each other.
    """
    if set(entries) != set(TENSORS):
        return f"the tensors {', '.join(entries)!r:.80}"
    values = "U32" if facts["vocabulary_size"] > 2**16 else "U16"
    sizes = []
    begin = 0
    for name in TENSORS:
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
    if sizes[0] != 2 ** facts["bits"] + 1 or sizes[1] != sizes[2]:
        return f"{sizes[0]} buckets, {sizes[1]} marks and {sizes[2]} places"
    return None


class Index:
    """An open database file, read-only and memory-mapped, so that processes share its pages.

    Args:
        path: the path of the file.
        vocabulary_hash: the hash of the required vocabulary; ``None`` accepts any.
        vocabulary_size: the size of the models' vocabulary; token ids from it on are never
            returned.
        verify: whether to check the tensors; by default those of files up to :data:`READ_WHOLE`
            bytes.

    Attributes:
        path: the path of the file.
        size: the size of the file in bytes.
        header: the facts about the contents: kind, vocabulary, origin and counts.
        verified: whether the tensors were checked.
        starts: the tensor of this name as a memoryview, like ``marks``, ``places`` and ``values``.
        bits: the number of bits by which a mark is shifted right to get its bucket.
        wide: whether values are u32.
        longest: the length of the longest keys in tokens.
        limit: the upper bound (exclusive) of the token ids that are returned.

    Raises:
        DatabaseError: if the file is missing, damaged or of another version, or if it was made with
            another vocabulary than ``vocabulary_hash``.
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
        self._map = _map_file(self.path, name)
        self.size = len(self._map)
        self.verified = self.size <= READ_WHOLE if verify is None else verify
        try:
            header = _Header.of(self._map)
        except MALFORMED:
            raise DatabaseError(f"'{self.path.name}' is not a database file of hsd_viz") from None
        contents = memoryview(self._map)[header.begin :]
        self._check(header, contents, name)
        self.header = header.facts
        if vocabulary_hash is not None:
            self._check_vocabulary(vocabulary_hash, name)
        # Reading a scalar from a memoryview is several times faster than from a numpy array.
        tensors = {key: _tensor_in(contents, header.entries[key]) for key in TENSORS}
        self.starts = tensors["starts"]
        self.marks = tensors["marks"]
        self.places = tensors["places"]
        self.values = tensors["values"]
        file_vocabulary = self.header["vocabulary_size"]
        self.limit = (
            file_vocabulary if vocabulary_size is None else min(file_vocabulary, vocabulary_size)
        )
        self.bits = 32 - self.header["bits"]
        self.wide = file_vocabulary > 2**16
        self.longest = self.header["longest"]

    def _check(self, header: _Header, contents: memoryview, name: str) -> None:
        """Check that the file is of this version and undamaged."""
        if header.version != VERSION:
            raise DatabaseError(
                f"{name} has format version {header.version}, expected {VERSION}: rebuild it"
            )
        if not header.is_whole or self.size != header.end:
            raise DatabaseError(f"{name} is damaged: its header does not match it")
        fault = header.fault()
        if fault is not None:
            raise DatabaseError(f"{name} is damaged: its header has {fault}")
        if self.verified and f"{zlib.crc32(contents):08x}" != header.checksum:
            raise DatabaseError(f"{name} is damaged: its contents do not match its checksum")

    def _check_vocabulary(self, expected: str, name: str) -> None:
        """Check that the file was made with the vocabulary of a hash."""
        vocabulary = self.header["vocabulary_hash"]
        if vocabulary == expected:
            return
        vocabularies = f"vocabulary {vocabulary[:12]}, expected that of the models, {expected[:12]}"
        raise DatabaseError(f"{name} was made with another tokenizer ({vocabularies})")

    def lookup(self, tail: str) -> Match | None:
        """Return the continuations of the longest suffix of ``tail`` (spelled) that is a key;
        ``None`` if no suffix is a key.
        """
        starts = self.starts
        marks = self.marks
        bits = self.bits
        crc32 = zlib.crc32
        keys = len(self.marks)
        tail = tail[-self.longest :]
        size = len(tail)
        # UTF-32 gives the tokens as u32. "surrogatepass" allows ids that are surrogates, which are
        # not valid characters.
        packed = utf_32_le_encode(tail, "surrogatepass")[0]
        last = 4 * size - 4
        key = -1
        # Most pairs of tokens are keys, so the search begins with two tokens, and extends the
        # suffix until it is not a key. A single token is the fallback.
        at = last - 4 if size > 1 else last
        while at >= 0:
            wanted = crc32(packed[at:])
            bucket = wanted >> bits
            i = starts[bucket]
            end = starts[bucket + 1]
            if end > keys or end - i > MAX_IN_BUCKET:  # damaged
                end = min(keys, i + MAX_IN_BUCKET)
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
        """Return the total and the valid continuations of row ``key``; ``None`` if it has none."""
        place = self.places[key]
        at = place >> 3
        numbers = 2 * (place & 7)
        if at + numbers >= len(self.values):  # damaged
            return None
        row = self.values[at : at + 1 + numbers].tolist()
        if not self.wide and max(row) >= 32768:
            row[::2] = [count if count < 32768 else (count - 32768) << 8 for count in row[::2]]
        # Rounding preserves the order of counts, so a valid count never exceeds the total.
        total = row[0]
        limit = self.limit
        rows = zip(row[1::2], row[2::2], _NO_POSITIONS, strict=False)
        continuations = [c for c in rows if c[0] < limit and 0 < c[1] <= total]
        return (total, continuations) if continuations else None


def _map_file(path: Path, name: str) -> mmap.mmap:
    """Map a file into memory.

    Raises:
        DatabaseError: if it cannot be read.
    """
    if path.exists() and not path.is_file():
        raise DatabaseError(f"{name} cannot be read: it is not a file")
    try:
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise DatabaseError(f"{name} cannot be read: {error.strerror or error}") from None
    except ValueError:  # an empty file cannot be mapped
        raise DatabaseError(f"'{path.name}' is not a database file of hsd_viz") from None


def _tensor_in(contents: memoryview, entry: Mapping[str, Any]) -> memoryview:
    """Return the tensor that an entry of the header describes."""
    start, end = entry["data_offsets"]
    return contents[start:end].cast(_TYPES[entry["dtype"]])
