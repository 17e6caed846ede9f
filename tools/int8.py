"""Round a checkpoint's matrices to 8 bits: ``python -m tools.int8 FOLDER [FOLDER ...]``.

The shipped models were made this way from the float16 files of training. In place of a folder's
safetensors files there is one ``model.safetensors`` with int8 matrices ``NAME.weight``, their
float32 scales ``NAME.scale``, and the rest in float32; ``docs/reference/arithmetic.md`` states the
rule. Rounding what is rounded changes nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from hsd_viz.disk import write_whole
from hsd_viz.models.config import ROW_SCALES, read_config
from hsd_viz.models.files import folder_hash
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.models.safetensors import SafetensorsTensors, weight_files
from hsd_viz.native.rounding import rounded_rows

_TYPES = {np.dtype(np.int8): "I8", np.dtype(np.float32): "F32"}


def convert(folder: Path) -> Path:
    """Replace the safetensors files of ``folder``; return the new one."""
    tensors: dict[str, np.ndarray] = {}
    source = SafetensorsTensors(weight_files(folder))
    for name in source.names():
        tensor = source.read(name)
        if isinstance(tensor, GroupedMatrix):
            matrix = tensor
        elif tensor.ndim == 2:
            matrix = rounded_rows(tensor)
        else:
            tensors[name] = tensor.astype(np.float32)
            continue
        tensors[name] = matrix.numbers
        tensors[f"{name.removesuffix('weight')}scale"] = matrix.scales[:, 0]
    # Float32 first: every tensor begins at a multiple of four bytes.
    ordered = sorted(tensors.items(), key=lambda item: (item[1].dtype == np.int8, item[0]))
    header: dict[str, dict[str, Any]] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in ordered:
        begin = end
        end = end + tensor.nbytes
        header[name] = {
            "dtype": _TYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    content = (
        len(text).to_bytes(8, "little") + text + b"".join(tensor.tobytes() for _, tensor in ordered)
    )
    for old in (*folder.glob("*.safetensors"), *folder.glob("*.safetensors.index.json")):
        old.unlink()
    path = folder / "model.safetensors"
    path.write_bytes(content)
    mark(folder)
    return path


def mark(folder: Path) -> None:
    """Have transformers refuse a folder, whose integers it would read as floats."""
    config = read_config(folder) | {"quantization_config": ROW_SCALES}
    write_whole(folder / "config.json", json.dumps(config, indent=2, sort_keys=True) + "\n")


def note(folder: Path, hash_before: str) -> None:
    """Note beside the evaluation of the weights ``hash_before`` what they are now."""
    path = folder.parent / "evaluation.json"
    evaluation = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"models": {}}
    if (row := evaluation["models"].get(folder.name, {})).get("hash") == hash_before:
        row["rounded_hash"] = folder_hash(folder)
        write_whole(path, json.dumps(evaluation, indent=1) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        hashed = folder_hash(Path(name))
        converted = convert(Path(name))
        note(Path(name), hashed)
        print(f"{converted}: {converted.stat().st_size / 1e6:.1f} MB")
