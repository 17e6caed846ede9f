"""A corpus on disk: documents written one after the other, then read as one memory-mapped array of tokens."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, slots=True)
class Corpus:
    """``tokens``: uint16 or uint32 [tokens], memory-mapped; ``ends``: int64 [documents], where each document ends."""

    tokens: np.ndarray
    ends: np.ndarray


class CorpusWriter:
    """Takes the documents of a corpus in pieces of any length. Holds 8 bytes a document in memory, and the tokens on disk.

    Raises ValueError for a token outside the vocabulary.
    """

    def __init__(self, folder: str | Path, vocabulary_size: int) -> None:
        self.vocabulary_size = vocabulary_size
        self._dtype = np.dtype("<u4" if vocabulary_size > 2**16 else "<u2")
        self._path = Path(folder) / "tokens"
        self._file = open(self._path, "wb")  # noqa: SIM115 (open from document to document)
        self._ends = array("q")
        self.tokens = 0

    def add(self, tokens: Sequence[int] | np.ndarray) -> None:
        """The document goes on with these tokens."""
        tokens = np.asarray(tokens)
        if not len(tokens):
            return
        if not 0 <= int(tokens.min()) <= int(tokens.max()) < self.vocabulary_size:
            wrong = int(tokens.min()) if int(tokens.min()) < 0 else int(tokens.max())
            raise ValueError(f"token {wrong} is outside a vocabulary of {self.vocabulary_size}")
        self._file.write(tokens.astype(self._dtype).tobytes())
        self.tokens += len(tokens)

    def end(self) -> None:
        """The document ends here."""
        if self.tokens > (self._ends[-1] if self._ends else 0):
            self._ends.append(self.tokens)

    def drop(self) -> None:
        """Forget what there is of the document."""
        self.tokens = self._ends[-1] if self._ends else 0
        self._file.seek(self.tokens * self._dtype.itemsize)
        self._file.truncate()

    @property
    def documents(self) -> int:
        return len(self._ends)

    def finish(self) -> Corpus:
        """The corpus, once its last document has ended."""
        self.drop()
        self._file.close()
        empty = np.zeros(0, dtype=self._dtype)
        tokens = np.memmap(self._path, dtype=self._dtype, mode="r") if self.tokens else empty
        return Corpus(tokens, np.array(self._ends, dtype=np.int64))

    def close(self) -> None:
        """Let go of the file; the corpus is not wanted any more."""
        self._file.close()
