"""A corpus on disk: text files of any size are tokenized in pieces into one memory-mapped array of tokens."""

import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: Bytes of a file read, and approximately of text tokenized, at a time.
PIECE = 2**20
#: Maps texts to their token ids, without special tokens.
Encode = Callable[[list[str]], Sequence[Sequence[int]]]
#: Called with the current activity and its completed share.
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Corpus:
    """``tokens``: uint16 or uint32 [tokens], memory-mapped; ``ends``: int64 [documents], where each document ends."""

    tokens: np.ndarray
    ends: np.ndarray


class CorpusWriter:
    """Writes the documents of a corpus to disk, in pieces of any length. Memory: 8 bytes per document."""

    def __init__(self, folder: str | Path, vocabulary_size: int) -> None:
        self.vocabulary_size = vocabulary_size
        self._dtype = np.dtype("<u4" if vocabulary_size > 2**16 else "<u2")
        self._path = Path(folder) / "tokens"
        self._file = open(self._path, "wb")  # noqa: SIM115 (open until finish or close)
        self._ends = array("q")
        self.tokens = 0

    def add(self, tokens: Sequence[int] | np.ndarray) -> None:
        """Append tokens to the current document. Raises: ValueError: if a token is outside the vocabulary."""
        tokens = np.asarray(tokens)
        if not len(tokens):
            return
        if not 0 <= int(tokens.min()) <= int(tokens.max()) < self.vocabulary_size:
            wrong = int(tokens.min()) if int(tokens.min()) < 0 else int(tokens.max())
            raise ValueError(f"token {wrong} is outside a vocabulary of {self.vocabulary_size}")
        self._file.write(tokens.astype(self._dtype).tobytes())
        self.tokens += len(tokens)

    def end(self) -> None:
        """End the current document."""
        if self.tokens > (self._ends[-1] if self._ends else 0):
            self._ends.append(self.tokens)

    def drop(self) -> None:
        """Discard the current document."""
        self.tokens = self._ends[-1] if self._ends else 0
        self._file.seek(self.tokens * self._dtype.itemsize)
        self._file.truncate()

    def finish(self) -> Corpus:
        """Return the corpus; a document that has not ended is discarded."""
        self.drop()
        self.close()
        empty = np.zeros(0, dtype=self._dtype)
        tokens = np.memmap(self._path, dtype=self._dtype, mode="r") if self.tokens else empty
        return Corpus(tokens, np.array(self._ends, dtype=np.int64))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def find_texts(paths: Sequence[str | Path]) -> dict[Path, bool]:
    """Return the files of ``paths``, and those below folders, sorted, each with whether the user named it; hidden ones
    and links are skipped. Raises: ValueError: if a path does not exist or there are no files.
    """
    texts: dict[Path, bool] = {}
    for path in map(Path, paths):
        if path.is_dir():
            for folder, below, names in os.walk(path):
                below[:] = sorted(name for name in below if not name.startswith("."))
                files = [Path(folder, name) for name in sorted(names) if not name.startswith(".")]
                texts |= {file: texts.get(file, False) for file in files if file.is_file() and not file.is_symlink()}
        elif path.exists():
            texts[path] = True
        else:
            raise ValueError(f"there is no file or folder '{path}'")
    if not texts:
        raise ValueError(f"there is no file to read in {', '.join(map(str, paths))}")
    return texts


def read_pieces(path: Path, piece: int | None = None) -> Iterator[str]:
    """Yield the text of a UTF-8 file in pieces of about ``piece`` characters (default :data:`PIECE`) that end at line
    ends, except in lines longer than that.

    Line ends become ``\\n``. Tokens do not cross pieces.

    Raises: UnicodeError: if the file is not UTF-8, or contains a zero byte. OSError: if it cannot be read.
    """
    piece, left = piece or PIECE, ""
    with open(path, encoding="utf-8-sig") as f:
        while read := f.read(piece):
            if "\0" in read:
                raise UnicodeError("it contains a zero byte")
            left += read
            cut = left.rfind("\n") + 1 or (len(left) if len(left) >= piece else 0)
            if cut:
                yield left[:cut]
                left = left[cut:]
    if left:
        yield left


def write_texts(
    files: dict[Path, bool], writer: CorpusWriter, encode: Encode, *, eos: int | None, progress: Progress | None = None
) -> dict[str, int]:
    """Write every file as a document that begins and ends with ``eos``. Returns the numbers ``files`` and
    ``passed_over``. A file in a folder that is not UTF-8 text or cannot be read is skipped. Raises: ValueError: if a
    file named by the user cannot be read as text.
    """
    around = [] if eos is None else [eos]
    sizes = [file.stat().st_size if file.exists() else 0 for file in files]
    total, done, passed = max(1, sum(sizes)), 0, 0
    for (file, named), size in zip(files.items(), sizes, strict=True):
        start = writer.tokens
        try:
            for piece in read_pieces(file):
                ids = encode([piece])[0]
                writer.add([*around, *ids] if writer.tokens == start else ids)
                if progress:
                    progress("tokenizing", done / total)
            if writer.tokens > start:
                writer.add(around)
            writer.end()
        except (OSError, UnicodeError) as error:
            writer.drop()
            if named:
                raise ValueError(f"cannot read '{file}' as UTF-8 text: {_reason(error)}") from None
            passed += 1
        done += size
        if progress:
            progress("tokenizing", done / total)
    return {"files": len(files) - passed, "passed_over": passed}


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.object[error.start]:#04x} is not part of a character"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
