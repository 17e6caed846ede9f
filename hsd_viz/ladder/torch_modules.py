"""Load the shipped models as modules of transformers, and read the records about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.errors import UserError
from hsd_viz.models.families import CODE, LADDER
from hsd_viz.models.files import open_model, weights_hash
from hsd_viz.models.tensors import parameter_count
from hsd_viz.settings.engine_choices import DTYPES
from hsd_viz.stack import TARGET

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

#: The number types of a module; int8 is for the native runtime only.
_DTYPES = tuple(name for name in DTYPES if name != "int8")


def load_tokenizer(directory: str | Path | None = None) -> PreTrainedTokenizerFast:
    """Return the tokenizer of a checkpoint directory, by default that of the shipped target.

    The shipped tokenizer neither normalizes text nor adds tokens. Its
    ``decode(ids, clean_up_tokenization_spaces=False)`` returns exactly the encoded text.

    Raises:
        UserError: if the directory contains no ``tokenizer.json``.
    """
    from transformers import PreTrainedTokenizerFast

    path = Path(directory) if directory is not None else CODE.path(TARGET)
    if not (path / "tokenizer.json").exists():
        raise UserError(f"{path} contains no tokenizer.json")
    return PreTrainedTokenizerFast.from_pretrained(str(path))


def load_model(name: str, device: str = "cpu", dtype: str = "float32") -> PreTrainedModel:
    """Load a shipped model by name, or the model in a checkpoint directory, in evaluation mode.

    8-bit weights are converted to floats of the same values.

    Raises:
        UserError: if the model or the data type is unknown.
    """
    from hsd_viz.torch_models.load import Checkpoint

    path = CODE.path(name) if name in CODE.models else Path(name)
    if not (path / "config.json").exists():
        raise UserError(
            f"{name!r} is neither a shipped model ({', '.join(CODE.names)}) "
            "nor a checkpoint directory"
        )
    if dtype not in _DTYPES:
        raise UserError(f"unknown dtype {dtype!r}: choose from {', '.join(_DTYPES)}")
    checkpoint = Checkpoint(name, str(path.resolve()), device, dtype)
    return checkpoint.module(open_model(path, name)).eval()


def info(directory: str | Path | None = None) -> dict[str, Any]:
    """Return the records about the shipped models, without the parts that have no record.

    Returns:
        ``models``, the parameter count, size, hash and training of each model by name; ``corpus``,
        the data that they were trained on; and ``evaluation``, their measurements.
    """
    root = Path(directory) if directory is not None else LADDER
    models: dict[str, dict[str, Any]] = {}
    for name in CODE.names:
        path = root / name
        config = _read(path / "config.json")
        if config is not None:
            models[name] = _facts(path, config)
    parts = {
        "models": models,
        "corpus": _read(root / "manifest.json"),
        "evaluation": _read(root / "evaluation.json"),
    }
    return {name: part for name, part in parts.items() if part is not None}


def _facts(path: Path, config: dict[str, Any]) -> dict[str, Any]:
    files = open_model(path)
    form = files.form
    weights = files.tensors.files
    facts = {
        "path": str(path),
        "architecture": config["architectures"][0],
        "hash": weights_hash(weights),
        "bytes": sum(file.stat().st_size for file in weights),
        "parameters": parameter_count(form, files.tensors),
        "layers": form.layers,
        "width": form.width,
        "heads": form.heads,
        "vocabulary": form.vocabulary,
        "context": form.positions,
    }
    training = _read(path / "training.json")
    if training is not None:
        facts["training"] = training
    return facts


def _read(path: Path) -> Any:
    """Return the content of a JSON file; ``None`` if it does not exist."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
