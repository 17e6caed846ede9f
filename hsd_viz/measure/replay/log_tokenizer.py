"""The tokenizer of a log, which encodes texts as token ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from hsd_viz.disk import MAX_JSON, read_text
from hsd_viz.errors import UserError, no_panics
from hsd_viz.models.families import CODE, FAMILIES, find_family
from hsd_viz.models.files import GGUF, open_model
from hsd_viz.models.tokenizer import CONFIG, FILE, load_tokenizer
from hsd_viz.models.tokenizer_process import TokenizerProcess
from hsd_viz.settings.ranges import MAX_IDS
from hsd_viz.stack import TARGET


class LogTokenizer:
    """A tokenizer: ``None`` (ids only), a ``tokenizer.json`` or its folder, a GGUF file, a family,
    a model of the family ``code``, or a hub id.

    Tokenizer files are used in a separate process (:mod:`hsd_viz.models.tokenizer_process`), which
    :meth:`close` ends.
    """

    def __init__(self, name: str | Path | None = None) -> None:
        self.name = None if name is None else str(name)
        self._encoder: _Encoder | None = None
        self.vocabulary: dict[str, int] = {}
        end = ""
        if self.name is not None:
            self._encoder, end = _load(self.name)
            self.vocabulary = self._encoder.vocabulary
        self.eos = frozenset({self.vocabulary[end]} if end in self.vocabulary else ())
        self.size = max(self.vocabulary.values(), default=MAX_IDS - 1) + 1

    def close(self) -> None:
        """End the process of the tokenizer, if it has one."""
        if self._encoder is not None:
            self._encoder.close()

    def ids(self, value: str | Sequence[int], what: str = "text") -> Sequence[int]:
        """Return the token ids of a text (without special tokens around it), or check given ids.

        Raises:
            UserError: if an id is outside the vocabulary, or if there is text but no tokenizer.
        """
        if not isinstance(value, str):
            if wrong := [token for token in value if not 0 <= token < self.size]:
                raise UserError(
                    f"{what}: token id {wrong[0]} is outside the vocabulary of {self.size}"
                )
            return value
        if self._encoder is None:
            raise UserError(f"the {what} is text: give the tokenizer of its model")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise UserError(f"the {what} is not valid Unicode") from None
        return self._encoder.encode(value)


class _Encoder(Protocol):
    """The interface of tokenizers for logs."""

    vocabulary: dict[str, int]

    def encode(self, text: str) -> list[int]: ...

    def close(self) -> None: ...


class _OwnEncoder:
    """A tokenizer of this project or of a model, in this process.

    Args:
        backend: the tokenizer of the package ``tokenizers``, without padding and truncation.
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.vocabulary: dict[str, int] = backend.get_vocab(with_added_tokens=True)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text.

        Raises:
            BadFile: if the tokenizer cannot encode it.
        """
        with no_panics("the tokenizer does not take this text"):
            return self._backend.encode(text, add_special_tokens=False).ids

    def close(self) -> None:
        """Do nothing: the tokenizer runs in this process."""


def _load(name: str) -> tuple[_Encoder, str]:
    """Load a tokenizer; return it with the token that ends a text."""
    if name in CODE.models:
        return _own(load_tokenizer(CODE.path(name)))
    path = find_family(name).path(TARGET) if name in FAMILIES else Path(name).expanduser()
    if path.suffix == GGUF and path.is_file():
        return _own(open_model(path).tokenizer())
    file = path / FILE if path.is_dir() else path
    if file.is_file():
        return TokenizerProcess(file), _end_token(file)
    from hsd_viz.engine.databases import find_tokenizer

    return _own(find_tokenizer(name))


def _own(tokenizer: Any) -> tuple[_Encoder, str]:
    """Return an opened tokenizer with the token that ends a text."""
    return _OwnEncoder(tokenizer.backend_tokenizer), tokenizer.eos_token or ""


class _SpecialToken(msgspec.Struct):
    """A special token of a tokenizer's configuration.

    Attributes:
        content: the text of the token.
    """

    content: str | None = None


class _TokenizerConfig(msgspec.Struct):
    """The configuration beside a tokenizer.

    Attributes:
        eos_token: the token that ends a text.
    """

    eos_token: str | _SpecialToken | None = None


def _end_token(file: Path) -> str:
    """Return the token that ends a text, from the configuration beside a tokenizer; "": unknown."""
    try:
        config = read_text(file.with_name(CONFIG), "tokenizer", MAX_JSON)
        end = msgspec.json.decode(config, type=_TokenizerConfig).eos_token
    except (UserError, msgspec.DecodeError):
        return ""
    return (end.content if isinstance(end, _SpecialToken) else end) or ""
