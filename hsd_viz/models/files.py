"""Open the files of a Llama-shaped model in any format: form, tensors, tokenizer and end tokens."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hsd_viz.disk import read_object
from hsd_viz.errors import BadFile, UserError
from hsd_viz.models.config import form_of, read_config
from hsd_viz.models.families import FAMILIES
from hsd_viz.models.form import LlamaForm
from hsd_viz.models.gguf import GGUFFile
from hsd_viz.models.gguf_model import GGUFTensors, read_form
from hsd_viz.models.gguf_tokenizer import read_ends, read_tokenizer
from hsd_viz.models.safetensors import SafetensorsTensors, weight_files
from hsd_viz.models.tensors import BorrowingTensors, TensorSource, check_shapes
from hsd_viz.models.tokenizer import FileTokenizer, load_tokenizer

GGUF = ".gguf"
#: The number of hexadecimal digits in a hash of weights.
HASH_DIGITS = 12
#: The key of a ``config.json`` that names the family whose target lends its embedding.
LENDER = "embedding_of"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a Llama-shaped model, whose tensors have the shapes of its form.

    Attributes:
        name: the name of the model in messages.
        path: the folder or the GGUF file.
        form: the form of the model.
        tensors: the tensors of the model.
        gguf: the opened GGUF file; ``None`` for a folder.
        lender: the target whose embedding and tokenizer the model uses; ``None`` if the model has
            its own.
    """

    name: str
    path: Path
    form: LlamaForm
    tensors: TensorSource
    gguf: GGUFFile | None = None
    lender: ModelFiles | None = None

    def tokenizer(self) -> FileTokenizer:
        """Load the tokenizer of the model.

        Raises:
            Unsupported: if it is not a byte-level BPE.
            BadFile: if it is missing or not valid.
        """
        if self.lender is not None:
            return self.lender.tokenizer()
        if self.gguf is not None:
            return read_tokenizer(str(self.path), self.gguf.metadata)
        return load_tokenizer(self.path)

    def ends(self, tokenizer: FileTokenizer) -> frozenset[int]:
        """Return the tokens that end an answer, from the model's files or else its tokenizer."""
        if self.lender is not None:
            return self.lender.ends(tokenizer)
        ends = read_ends(self.gguf.metadata) if self.gguf is not None else folder_ends(self.path)
        if ends:
            return ends
        end = tokenizer.eos_token_id
        return frozenset() if end is None else frozenset([end])


def open_model(path: str | Path, name: str | None = None) -> ModelFiles:
    """Open the folder or the GGUF file of a model, reading only headers.

    Args:
        path: the folder or the GGUF file.
        name: the name of the model in messages; by default the path.

    Raises:
        Unsupported: if the model is not Llama-shaped.
        BadFile: if a file is missing, damaged, or does not match the model's form.
    """
    path = Path(path)
    name = name or str(path)
    if path.suffix == GGUF and path.is_file():
        gguf = GGUFFile(path)
        form = read_form(gguf)
        gguf_tensors = GGUFTensors(gguf, form)
        check_shapes(name, form, gguf_tensors)
        return ModelFiles(name, path, form, gguf_tensors, gguf)
    if not path.is_dir():
        raise BadFile(f"{name} is not a model: expected a folder or a {GGUF} file")
    config = read_config(path)
    form = form_of(name, config)
    tensors: TensorSource = SafetensorsTensors(weight_files(path))
    lender = None
    if LENDER in config:
        lender = _lender(name, config[LENDER], form)
        tensors = BorrowingTensors(tensors, lender.tensors)
    check_shapes(name, form, tensors)
    return ModelFiles(name, path, form, tensors, lender=lender)


def _lender(name: str, family: Any, form: LlamaForm) -> ModelFiles:
    """Open the target of a family, whose embedding a draft model uses.

    Raises:
        BadFile: if the family is unknown, or if its embedding has another shape.
        MissingPackage: if the target is not installed.
    """
    if family not in FAMILIES:
        allowed = ", ".join(FAMILIES)
        raise BadFile(f"{name}: {LENDER} is {family!r:.60}, expected one of {allowed}")
    target = FAMILIES[family]
    lender = open_model(target.path(target.names[-1]))
    expected = (lender.form.vocabulary, lender.form.width)
    if (form.vocabulary, form.width) != expected:
        raise BadFile(
            f"{name}: its embedding has the shape {[form.vocabulary, form.width]}, "
            f"that of the target of {family} {[*expected]}"
        )
    return lender


def folder_ends(folder: Path) -> frozenset[int]:
    """Return the tokens that end an answer, from ``generation_config.json`` or ``config.json``."""
    for file in ("generation_config.json", "config.json"):
        path = folder / file
        if not path.is_file():
            continue
        ends = read_object(path, "config").get("eos_token_id")
        if ends is not None:
            return _as_ends(path, ends)
    return frozenset()


def _as_ends(path: Path, value: Any) -> frozenset[int]:
    ends = value if isinstance(value, list) else [value]
    if not all(type(end) is int and end >= 0 for end in ends):
        raise BadFile(f"{path}: eos_token_id is {value!r:.60}, expected token numbers")
    return frozenset(ends)


def weights_hash(files: Sequence[Path]) -> str:
    """Return twelve hexadecimal digits of the SHA-256 over files, in the order of their names.

    The folders of the files have no effect on the hash, so that it does not depend on where a model
    and the model whose tensors it shares are installed.
    """
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.name):
        with file.open("rb") as content:
            hashlib.file_digest(content, lambda: digest)
    return digest.hexdigest()[:HASH_DIGITS]


def folder_hash(folder: str | Path) -> str:
    """Return the hash of the weights in a folder.

    Raises:
        BadFile: if there are none.
    """
    return weights_hash(weight_files(folder))


def cached_folder(hub_id: str) -> Path | None:
    """Return the folder of a hub model's ``main`` branch in the local cache of Hugging Face.

    Return ``None`` if the cache does not contain its configuration and weights.
    """
    owner, _, model = hub_id.partition("/")
    repository = _cache() / f"models--{owner}--{model}"
    try:
        revision = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    folder = repository / "snapshots" / revision
    if Path(revision).name != revision or not (folder / "config.json").is_file():
        return None
    try:
        weight_files(folder)
    except UserError:
        return None
    return folder


def _cache() -> Path:
    """Return the cache folder of ``huggingface_hub``, from its environment variables."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache)
    if home := os.environ.get("HF_HOME"):
        return Path(home) / "hub"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "huggingface" / "hub"
