"""Use the shipped models: paths, facts and loading. Works offline; imports torch only to load a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.dtypes import DTYPES
from hsd_viz.errors import UserError
from hsd_viz.native.weights import parameter_count, read_tensors, widened

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

NAMES = ("nano", "small", "target")
#: The types of a module, which has no 8-bit integers.
_DTYPES = tuple(name for name in DTYPES if name != "int8")


def weights_dir() -> Path:
    """Return the folder of the shipped weights."""
    return Path(__file__).parent / "weights"


def names() -> tuple[str, ...]:
    """Return the names of the shipped models, smallest first: ``("nano", "small", "target")``."""
    return NAMES


def model_path(name: str) -> Path:
    """Return the Hugging Face checkpoint directory of a shipped model. Raises: ValueError: if the model is unknown or
    its weights are missing.
    """
    if name not in NAMES:
        raise UserError(f"unknown model {name!r}: choose from {', '.join(NAMES)}")
    path = weights_dir() / name
    if not (path / "config.json").exists():
        raise UserError(
            f"the weights of {name} are not in {path}: train them with `hsd-viz ladder train`"
        )
    return path


def weights_hash(path: str | Path) -> str:
    """Return twelve hexadecimal digits of the SHA-256 over a checkpoint's safetensors files, in name order. Raises:
    ValueError: if the folder contains none.
    """
    shards = sorted(Path(path).glob("*.safetensors"))
    if not shards:
        raise UserError(f"{path} contains no safetensors file")
    digest = hashlib.sha256()
    for shard in shards:
        with shard.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()[:12]


def is_rounded(directory: str | Path) -> bool:
    """Return whether a checkpoint's matrices are 8-bit numbers with scales, as those of the shipped models."""
    try:
        return (Path(directory) / "config.json").exists() and any(
            n.endswith(".scale") for n in read_tensors(directory)
        )
    except ValueError:
        return False


def load_tokenizer(directory: str | Path | None = None) -> PreTrainedTokenizerFast:
    """Return the tokenizer of a checkpoint directory, by default of the shipped target. It neither normalizes text nor
    adds tokens; ``decode(ids, clean_up_tokenization_spaces=False)`` returns exactly the encoded text.
    """
    from transformers import PreTrainedTokenizerFast

    path = Path(directory) if directory is not None else model_path("target")
    if not (path / "tokenizer.json").exists():
        raise UserError(f"{path} contains no tokenizer.json")
    return PreTrainedTokenizerFast.from_pretrained(str(path))


def load_model(
    name: str, device: str = "cpu", dtype: str | torch.dtype = "float32"
) -> PreTrainedModel:
    """Load a shipped model by name, or any Hugging Face checkpoint directory, as a causal language model in eval mode.
    Matrices of 8-bit numbers are widened: the same weights in floats. Raises: ValueError: if the model or the data type
    is unknown.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

    path = model_path(name) if name in NAMES else Path(name)
    if not (path / "config.json").exists():
        raise UserError(
            f"{name!r} is neither a shipped model ({', '.join(NAMES)}) nor a checkpoint directory"
        )
    if isinstance(dtype, str):
        if dtype not in _DTYPES:
            raise UserError(f"unknown dtype {dtype!r}: choose from {', '.join(_DTYPES)}")
        dtype = getattr(torch, dtype)
    if not is_rounded(path):
        return (
            AutoModelForCausalLM.from_pretrained(str(path), dtype=dtype, local_files_only=True)
            .to(device)
            .eval()
        )
    config = AutoConfig.from_pretrained(str(path), local_files_only=True)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    tensors = {key: torch.tensor(tensor) for key, tensor in widened(read_tensors(path)).items()}
    model.load_state_dict(tensors, strict=False)
    model.generation_config = GenerationConfig.from_pretrained(str(path))
    return model.to(device).eval()


def info(directory: str | Path | None = None) -> dict:
    """Return what is recorded about the shipped models: ``models`` (parameters, size, hash, training), ``corpus`` and
    ``evaluation``; parts without a record are absent.
    """
    root = Path(directory) if directory is not None else weights_dir()
    read = lambda path: json.loads(path.read_text()) if path.exists() else None
    models: dict[str, dict] = {}
    for name in NAMES:
        path = root / name
        if (config := read(path / "config.json")) is None:
            continue
        models[name] = {
            "path": str(path),
            "architecture": config["architectures"][0],
            "hash": weights_hash(path),
            "bytes": sum(f.stat().st_size for f in path.glob("*.safetensors")),
            "parameters": parameter_count(read_tensors(path)),
            "layers": config["num_hidden_layers"],
            "width": config["hidden_size"],
            "heads": config["num_attention_heads"],
            "vocabulary": config["vocab_size"],
            "context": config["max_position_embeddings"],
        }
        if training := read(path / "training.json"):
            models[name]["training"] = training
    parts = {
        "models": models,
        "corpus": read(root / "manifest.json"),
        "evaluation": read(root / "evaluation.json"),
    }
    return {name: part for name, part in parts.items() if part is not None}


class LadderTokenizer:
    """The tokenizer in a folder of the ladder by the package ``tokenizers`` alone (transformers takes seconds to import),
    with the methods of a ``PreTrainedTokenizerFast`` that decoding needs. Texts begin and end with one special token.
    """

    eos_token = bos_token = "<|endoftext|>"
    chat_template: str | None = None

    def __init__(self, folder: str | Path) -> None:
        path = Path(folder) / "tokenizer.json"
        if not path.is_file():
            raise UserError(f"{folder} contains no tokenizer.json")
        from tokenizers import Tokenizer

        self.backend_tokenizer = Tokenizer.from_file(str(path))
        self.eos_token_id = self.bos_token_id = self.backend_tokenizer.token_to_id(self.eos_token)
        self.all_special_ids = [self.eos_token_id]

    def __len__(self) -> int:
        return self.backend_tokenizer.get_vocab_size(with_added_tokens=True)

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """Return ``{"input_ids": token ids}``."""
        return {"input_ids": self.encode(text, add_special_tokens)}

    def encode(
        self, text: str, add_special_tokens: bool = True, verbose: bool = False
    ) -> list[int]:
        """Return the token ids of a text; ``verbose`` is there for tokenizers of transformers."""
        return self.backend_tokenizer.encode(text, add_special_tokens=add_special_tokens).ids

    def decode(
        self, token_ids: Sequence[int] | int, skip_special_tokens: bool = False, **_: Any
    ) -> str:
        """Return the text of tokens, by default with special ones."""
        ids = [token_ids] if isinstance(token_ids, int) else list(token_ids)
        return self.backend_tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)

    def get_vocab(self) -> dict[str, int]:
        """Return the number of each token."""
        return self.backend_tokenizer.get_vocab(with_added_tokens=True)

    def convert_ids_to_tokens(self, ids: int | Sequence[int]) -> str | list[str | None] | None:
        """Return the token of an id, or those of several."""
        token = self.backend_tokenizer.id_to_token
        return token(ids) if isinstance(ids, int) else [token(k) for k in ids]
