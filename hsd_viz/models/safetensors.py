"""Read safetensors files: headers and memory-mapped tensors.

The format is that of https://github.com/huggingface/safetensors. Sizes in a header are checked
against the size of the file before they are used.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hsd_viz.conversion import OF_ANOTHER_TYPE
from hsd_viz.disk import MAX_TEXT, read_object
from hsd_viz.errors import INVALID_JSON, UNMAPPED, BadFile
from hsd_viz.models.blocks import widen_bfloat16
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.models.tensors import HEAD_OFFSETS, Tensor

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
#: The names of weight files in the formats of torch, which run code when they are loaded.
PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
#: The largest header in bytes that the format allows.
MAX_HEADER = 100_000_000
#: The numpy types of weights, by type in a header.
NUMBER_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I8": "<i1",
}
#: The numpy types of tables of tokens, by type in a header.
TABLE_TYPES = {
    "I32": "<i4",
    "I64": "<i8",
}
#: The suffixes of a matrix of 8-bit integers and of its scales: ``NAME.weight``, ``NAME.scale``.
WEIGHT = ".weight"
SCALE = ".scale"


@dataclass(frozen=True, slots=True)
class SafetensorsEntry:
    """The location and the type of a tensor in a file.

    Attributes:
        shape: the shape.
        kind: the number type, a key of :data:`NUMBER_TYPES` if it can be read.
        start: the offset of the first byte in the file.
        size: the size in bytes.
    """

    shape: tuple[int, ...]
    kind: str
    start: int
    size: int


class SafetensorsFile:
    """An open safetensors file.

    Attributes:
        path: the path of the file.
        tensors: the entries of the tensors by name.

    Raises:
        BadFile: if it is not a valid safetensors file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.tensors: dict[str, SafetensorsEntry] = {}
        try:
            self._content = np.memmap(self.path, np.uint8, "r")
        except UNMAPPED as error:
            raise BadFile(f"{self.path} cannot be read: {error}") from None
        try:
            self._read()
        except BadFile as error:
            raise BadFile(f"{self.path} is not a valid safetensors file: {error}") from None

    def read(self, name: str) -> np.ndarray:
        """Read a tensor; bfloat16 is widened to float32.

        Raises:
            BadFile: if its number type is not in :data:`NUMBER_TYPES`.
        """
        stored = self.tensors[name]
        types = NUMBER_TYPES | TABLE_TYPES if name == HEAD_OFFSETS else NUMBER_TYPES
        if stored.kind not in types:
            readable = ", ".join(NUMBER_TYPES)
            raise BadFile(
                f"{self.path}: the tensor {name} has numbers of the type {stored.kind}, "
                f"expected one of {readable}"
            )
        raw = np.asarray(self._content[stored.start : stored.start + stored.size])
        numbers = raw.view(types[stored.kind])
        if stored.kind == "BF16":
            numbers = widen_bfloat16(numbers)
        return numbers.reshape(stored.shape)

    def _read(self) -> None:
        size = len(self._content)
        if size < 8:
            raise BadFile(f"it has {size} bytes")
        length = int.from_bytes(self._content[:8].tobytes(), "little")
        if length > min(size - 8, MAX_HEADER):
            raise BadFile(f"its header has {length} bytes, the file {size}")
        begin = 8 + length
        try:
            header = json.loads(self._content[8:begin].tobytes())
        except INVALID_JSON:
            raise BadFile("its header is not JSON") from None
        if not isinstance(header, dict):
            raise BadFile("its header is not a JSON object")
        for name, entry in header.items():
            if name != "__metadata__":
                self.tensors[name] = _stored(name, entry, begin, size)


def _stored(name: str, entry: Any, begin: int, file_size: int) -> SafetensorsEntry:
    """Return the checked entry of a tensor in a header.

    Args:
        name: the name of the tensor.
        entry: the entry in the header.
        begin: the offset of the data in the file.
        file_size: the size of the file in bytes.
    """
    if not isinstance(entry, dict):
        raise BadFile(f"the entry of the tensor {name!r} is not a JSON object")
    kind = entry.get("dtype")
    shape: Any = entry.get("shape")
    offsets: Any = entry.get("data_offsets")
    if not isinstance(kind, str) or not _whole_numbers(shape) or not _whole_numbers(offsets):
        raise BadFile(f"the entry of the tensor {name!r} has no dtype, shape and data_offsets")
    if len(offsets) != 2 or len(shape) > 8:
        raise BadFile(f"the entry of the tensor {name!r} has {len(shape)} dimensions")
    start, end = offsets
    if not start <= end <= file_size - begin:
        raise BadFile(f"the tensor {name!r} ends at byte {begin + end}, the file has {file_size}")
    itemsize = NUMBER_TYPES | TABLE_TYPES
    if kind in itemsize:
        expected = np.dtype(itemsize[kind]).itemsize
        for length in shape:
            expected *= length
        if expected != end - start:
            raise BadFile(f"the tensor {name!r} has {end - start} bytes, its shape {expected}")
    return SafetensorsEntry(tuple(shape), kind, begin + start, end - start)


def _whole_numbers(values: Any) -> bool:
    if not isinstance(values, list):
        return False
    return all(type(value) is int and value >= 0 for value in values)


def weight_files(folder: str | Path) -> list[Path]:
    """Return the safetensors files in a model's folder: those of its index, or the single file.

    Raises:
        BadFile: if there is no file, or if the index names a file outside the folder.
    """
    folder = Path(folder)
    index = folder / INDEX
    if index.is_file():
        return [folder / name for name in _names_in(index)]
    single = folder / SINGLE
    if single.is_file():
        return [single]
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        pickled = any(any(folder.glob(pattern)) for pattern in PICKLED)
        reason = ": pickled weights are never loaded" if pickled else ""
        raise BadFile(f"{folder} contains no safetensors file{reason}")
    return files


class _Index(msgspec.Struct):
    """An index of safetensors files.

    Attributes:
        weight_map: the name of the file of each tensor.
    """

    weight_map: dict[str, Any]


def _names_in(index: Path) -> list[str]:
    """Return the distinct file names in an index."""
    content = read_object(index, "index", MAX_TEXT)
    try:
        file_of_tensor = msgspec.convert(content, _Index).weight_map
    except OF_ANOTHER_TYPE:
        raise BadFile(f"{index} is not an index of safetensors files") from None
    names: set[str] = set()
    for name in file_of_tensor.values():
        if not isinstance(name, str) or Path(name).name != name or "\\" in name:
            raise BadFile(
                f"{index} names {str(name)!r:.80}: expected the name of a file in the same folder"
            )
        names.add(name)
    for name in names:
        if not name.endswith(".safetensors"):
            raise BadFile(f"{index} names {name!r:.80}: expected a safetensors file")
        if not (index.parent / name).is_file():
            raise BadFile(f"{index} names {name!r:.80}, which does not exist")
    if not names:
        raise BadFile(f"{index} names no file")
    return sorted(names)


class SafetensorsTensors:
    """The tensors of safetensors files as a :class:`~hsd_viz.models.tensors.TensorSource`.

    A matrix of 8-bit integers ``NAME.weight`` and its scales ``NAME.scale`` ``[out]`` in float32
    are one tensor.

    Raises:
        BadFile: if a file is not valid, or if a tensor occurs twice.
    """

    borrowed: frozenset[str] = frozenset()

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = tuple(files)
        self._file_of: dict[str, SafetensorsFile] = {}
        for path in self.files:
            file = SafetensorsFile(path)
            for name in file.tensors:
                if name in self._file_of:
                    raise BadFile(f"{path} has the tensor {name}, as {self._file_of[name].path}")
                self._file_of[name] = file

    def names(self) -> Collection[str]:
        return [name for name in self._file_of if not self._is_scale(name)]

    def shape(self, name: str) -> tuple[int, ...]:
        return self._file_of[name].tensors[name].shape

    def read(self, name: str) -> Tensor:
        tensor = self._file_of[name].read(name)
        if tensor.dtype != np.int8:
            return tensor
        scale = self._scale_of(name)
        scales = self._file_of[scale].read(scale) if scale in self._file_of else None
        if tensor.ndim != 2 or scales is None or scales.shape != tensor.shape[:1]:
            raise BadFile(
                f"{self._file_of[name].path}: the 8-bit integers {name} have no scale per row"
            )
        return GroupedMatrix(tensor, scales.astype(np.float32)[:, None])

    @property
    def has_row_scales(self) -> bool:
        """Whether matrices are 8-bit integers with a scale per row."""
        return any(self._is_scale(name) for name in self._file_of)

    @staticmethod
    def _scale_of(name: str) -> str:
        return name.removesuffix(WEIGHT) + SCALE

    def _is_scale(self, name: str) -> bool:
        return name.endswith(SCALE) and name.removesuffix(SCALE) + WEIGHT in self._file_of
