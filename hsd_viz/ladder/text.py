"""The tokenizer of the shipped models by the package ``tokenizers`` alone; transformers takes seconds to import."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

_END = "<|endoftext|>"


class LadderTokenizer:
    """The tokenizer in a folder of the ladder, with the methods of a ``PreTrainedTokenizerFast`` that decoding needs.

    Texts begin and end with the same special token, and there is no chat template.
    """

    eos_token = bos_token = _END
    chat_template: str | None = None

    def __init__(self, folder: str | Path) -> None:
        path = Path(folder) / "tokenizer.json"
        if not path.is_file():
            raise ValueError(f"{folder} contains no tokenizer.json")
        self.backend_tokenizer = Tokenizer.from_file(str(path))
        self.eos_token_id = self.bos_token_id = self.backend_tokenizer.token_to_id(_END)
        self.all_special_ids = [self.eos_token_id]

    def __len__(self) -> int:
        return self.backend_tokenizer.get_vocab_size(with_added_tokens=True)

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """Return ``{"input_ids": token ids}``."""
        return {"input_ids": self.encode(text, add_special_tokens)}

    def encode(self, text: str, add_special_tokens: bool = True, verbose: bool = False) -> list[int]:
        """Return the token ids of a text; ``verbose`` is there for tokenizers of transformers."""
        return self.backend_tokenizer.encode(text, add_special_tokens=add_special_tokens).ids

    def decode(self, token_ids: Sequence[int] | int, skip_special_tokens: bool = False, **_: Any) -> str:
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
