"""Write a database file. The format is :mod:`hsd_viz.drafting.index.format`."""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hsd_viz.disk import write_inside
from hsd_viz.drafting.index.format import (
    MAX_VALUES,
    NO_CHECKSUM,
    TENSORS,
    VERSION,
    KeyTable,
    pack_counts,
)
from hsd_viz.errors import UserError


def write_index(
    path: str | Path,
    table: KeyTable,
    kind: str,
    vocabulary_size: int,
    vocabulary_hash: str,
    meta: Mapping[str, Any],
) -> None:
    """Write a database file atomically.

    Args:
        path: the path of the file.
        table: the keys and their continuations.
        kind: ``statistics``, ``model`` or ``fivegrams``.
        vocabulary_size: the size of the vocabulary.
        vocabulary_hash: the hash of the vocabulary.
        meta: facts about the origin of the counts.

    Raises:
        UserError: if there are too many values.
    """
    total = len(table.marks) + 2 * len(table.tokens)
    if total >= MAX_VALUES:
        raise UserError(
            f"{total} values are too many for one file: reduce its bytes or raise the minimum count"
        )
    # About two keys per bucket.
    bits = max(1, (max(len(table.marks), 2) // 2 - 1).bit_length())
    lengths, keys_of_length = np.unique(table.lengths, return_counts=True)
    facts = {
        "kind": kind,
        "vocabulary_size": vocabulary_size,
        "vocabulary_hash": vocabulary_hash,
        "meta": dict(meta),
        "bits": bits,
        "longest": int(lengths.max(initial=1)),
        "keys_by_length": dict(zip(map(str, lengths), keys_of_length.tolist(), strict=True)),
        "continuations": len(table.tokens),
    }
    tensors = _tensors(table, bits, wide=vocabulary_size > 2**16)
    path = Path(path)
    write_inside(path.parent, path.name, _file_of(tensors, facts))


def _tensors(table: KeyTable, bits: int, *, wide: bool) -> dict[str, np.ndarray]:
    """Return the tensors of a file by name.

    Args:
        table: the keys and their continuations.
        bits: the number of bits of a mark that select a bucket.
        wide: whether values are u32.
    """
    # Of two keys with the same mark a look-up finds the first. The shorter key comes first, because
    # it is more frequent.
    order = np.lexsort((table.lengths, table.marks))
    marks = table.marks[order]
    numbers = table.numbers[order]
    starts = np.searchsorted(marks >> np.uint32(32 - bits), np.arange(2**bits + 1))
    # The values of a key: its total, then a token and a count for each continuation.
    sizes = 1 + 2 * numbers
    total_places = np.cumsum(sizes) - sizes
    rank = np.arange(len(table.tokens)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    first_in_table = (np.cumsum(table.numbers) - table.numbers)[order]
    in_table = np.repeat(first_in_table, numbers) + rank
    token_places = np.repeat(total_places, numbers) + 1 + 2 * rank
    values = np.zeros(int(sizes.sum()), dtype="<u4" if wide else "<u2")
    values[total_places] = pack_counts(table.totals[order], wide)
    values[token_places] = table.tokens[in_table]
    values[token_places + 1] = pack_counts(table.counts[in_table], wide)
    return {
        "starts": starts.astype("<u4"),
        "marks": marks.astype("<u4"),
        "places": (total_places * 8 + numbers).astype("<u4"),
        "values": values,
    }


def _file_of(tensors: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> bytes:
    """Return tensors and facts as a safetensors file with checksums."""
    body = b""
    entries = {}
    for name in TENSORS:
        tensor = tensors[name]
        start = len(body)
        body += tensor.tobytes()
        entries[name] = {
            "dtype": f"U{8 * tensor.itemsize}",
            "shape": [len(tensor)],
            "data_offsets": [start, len(body)],
        }
    metadata = {
        "hsd_viz": VERSION,
        "checksum": NO_CHECKSUM,
        "tensors": f"{zlib.crc32(body):08x}",
        "facts": json.dumps(facts),
    }
    header = json.dumps({"__metadata__": metadata} | entries).encode()
    header += b" " * (-len(header) % 8)
    checksum = f"{zlib.crc32(header):08x}"
    header = header.replace(NO_CHECKSUM.encode(), checksum.encode(), 1)
    return len(header).to_bytes(8, "little") + header + body
