"""A cache of packed weights: packed once from a model's files, then memory-mapped by all processes.

A file in the cache folder ``weights`` contains the panels and vectors of a model, then a footer in
JSON, then the length of the footer. Its name is ``PLACE-STATE-DIGEST.weights``: a hash of the paths
of the model's files; a hash of their sizes and modification times, the model's form and the layout;
and a hash of the content. A file whose content does not match its name, or that other users can
write to, is packed again. If the folder cannot be written, each process packs the weights itself.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
import numpy as np

from hsd_viz import disk
from hsd_viz.errors import UNMAPPED
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.native.own_files import is_out_of_reach, own_folder
from hsd_viz.native.panels import PackedMatrix, pack
from hsd_viz.native.weights import Weights

#: The version of the layout of panels and files.
LAYOUT = "hsd_viz panels 1"
SUFFIX = ".weights"
#: The alignment of sections in bytes.
ALIGNMENT = 64
#: The number of bytes for the length of the footer, at the end of a file.
_LENGTH_BYTES = 8
_NAME_DIGITS = 16
_DIGEST_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Section:
    """A matrix or vector in a file.

    Attributes:
        layer: the index of the layer; -1 for a tensor outside the layers.
        slot: the slot in the library; on a site also ``head_tokens``.
        bits: the bits of an element, 4 or 8; 0 for a vector of float32.
        start: the offset in bytes.
        size: the size in bytes.
    """

    layer: int
    slot: str
    bits: int
    start: int
    size: int


#: The layer, the slot in the library, and the packed matrix or the vector.
Packed = tuple[int, str, PackedMatrix | np.ndarray]


def packed_weights(weights: Weights) -> list[Packed]:
    """Return the packed weights of a model in groups, from the cache if possible."""
    if not weights.source.files:
        return list(_pack_all(weights))
    try:
        return _cached_weights(weights)
    except OSError:
        return list(_pack_all(weights))


def _pack_all(weights: Weights) -> Iterator[Packed]:
    """Yield the weights of a model, with matrices packed."""
    for layer, slot, tensor in weights.items():
        if isinstance(tensor, GroupedMatrix):
            yield layer, slot, pack(tensor)
        else:
            yield layer, slot, tensor


def _cached_weights(weights: Weights) -> list[Packed]:
    """Return the packed weights from the cache, to which they are added if they are missing.

    Raises:
        OSError: if the cache folder or a file of the model cannot be used.
    """
    folder = disk.cache_folder("weights")
    place = _place_of(weights.source.files)
    name = f"{place}-{_state_of(weights)}"
    cached = _find(folder, name)
    if cached is not None:
        return cached
    own_folder(folder)
    with disk.locked(folder / f"{place}.lock"):
        cached = _find(folder, name)
        if cached is None:
            path = _write(folder, name, weights)
            for other in folder.glob(f"{place}-*{SUFFIX}"):
                if other != path:
                    other.unlink(missing_ok=True)
            cached = _read(path)
    if cached is None:
        raise OSError("the packed weights that were written cannot be read")
    return cached


def _place_of(files: Sequence[Path]) -> str:
    paths = [str(path.resolve()) for path in files]
    return _digest("\0".join(paths).encode(), _NAME_DIGITS)


def _state_of(weights: Weights) -> str:
    """Return a hash of everything that determines the content of a file of packed weights."""
    facts = [LAYOUT, repr(weights.form)]
    for path in weights.source.files:
        status = path.stat()
        facts.append(f"{status.st_size} {status.st_mtime_ns} {status.st_ino}")
    return _digest("\0".join(facts).encode(), _NAME_DIGITS)


def _digest(content: bytes, digits: int) -> str:
    return hashlib.sha256(content).hexdigest()[:digits]


def _find(folder: Path, name: str) -> list[Packed] | None:
    """Return the content of the first valid file with a name; ``None`` if there is none."""
    for path in sorted(folder.glob(f"{name}-*{SUFFIX}")):
        packed = _read(path)
        if packed is not None:
            return packed
    return None


def _read(path: Path) -> list[Packed] | None:
    """Memory-map the content of a file; return ``None`` if it does not match the file's name."""
    try:
        if not is_out_of_reach(path.resolve(strict=True)):
            return None
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except UNMAPPED:
        return None
    if hashlib.sha256(mapped).hexdigest()[:_DIGEST_DIGITS] != path.stem.rpartition("-")[2]:
        return None
    content = np.frombuffer(mapped, np.uint8)
    end = len(content) - _LENGTH_BYTES
    length = int.from_bytes(content[end:].tobytes(), "little")
    footer = json.loads(content[end - length : end].tobytes())
    sections = msgspec.convert(footer["sections"], list[Section])
    return [_section(content, section) for section in sections]


def _section(content: np.ndarray, section: Section) -> Packed:
    """Return a section of a file."""
    part = content[section.start : section.start + section.size]
    if section.bits:
        return section.layer, section.slot, PackedMatrix(part, section.bits)
    return section.layer, section.slot, part.view(np.float32)


def _write(folder: Path, name: str, weights: Weights) -> Path:
    """Write the packed weights of a model to a new file atomically, and return its path."""
    temporary = folder / f".{name}.{secrets.token_hex(6)}"
    digest = hashlib.sha256()
    sections: list[Section] = []
    try:
        with temporary.open("xb") as file:

            def put(data: bytes | memoryview) -> None:
                digest.update(data)
                file.write(data)

            for layer, slot, packed in _pack_all(weights):
                bits = 0
                content = packed
                if isinstance(packed, PackedMatrix):
                    bits = packed.bits
                    content = packed.content
                data = np.ascontiguousarray(content).data.cast("B")
                sections.append(
                    Section(
                        layer=layer,
                        slot=slot,
                        bits=bits,
                        start=file.tell(),
                        size=data.nbytes,
                    )
                )
                put(data)
                put(bytes(-data.nbytes % ALIGNMENT))
            footer = json.dumps({"sections": [asdict(section) for section in sections]}).encode()
            put(footer)
            put(len(footer).to_bytes(_LENGTH_BYTES, "little"))
        path = folder / f"{name}-{digest.hexdigest()[:_DIGEST_DIGITS]}{SUFFIX}"
        temporary.chmod(0o600)
        temporary.replace(path)
        return path
    finally:
        temporary.unlink(missing_ok=True)
