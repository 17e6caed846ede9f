"""Convert text files of any size to a corpus on disk: a memory-mapped file of tokens.

The corpus takes 4 bytes of disk space per token (2 for vocabularies up to 65 536).
"""

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from hsd_viz.errors import UserError
from hsd_viz.terminal import Progress, ignore_progress

#: The approximate number of characters that are read and tokenized at a time.
PIECE = 2**20
#: The tokens of a document, in pieces of any length.
Document = Iterable[Sequence[int] | np.ndarray]
#: A function that returns the token ids of a text, without special tokens.
Encode = Callable[[str], Sequence[int]]


class Corpus(NamedTuple):
    """Documents as tokens.

    Attributes:
        tokens: the tokens of all documents, uint16 or uint32 [tokens], memory-mapped.
        ends: the end of each document in ``tokens``, int64 [documents].
    """

    tokens: np.ndarray
    ends: np.ndarray


def find_texts(paths: Sequence[str | Path]) -> tuple[list[Path], int]:
    """Find the UTF-8 text files among ``paths`` and below the folders among them.

    Hidden files and folders, and links, are skipped.

    Returns:
        The text files, sorted within each folder, and the number of files that are not text.

    Raises:
        UserError: if a path does not exist, a named file is not text, or there are no files.
    """
    is_text: dict[Path, bool] = {}
    for path in map(Path, paths):
        if path.is_file():
            _check_text(path)
            is_text[path] = True
        elif not path.is_dir():
            raise UserError(f"there is no file or folder '{path}'")
        for file in _files_below(path):
            is_text[file] = False
            with suppress(UserError):
                _check_text(file)
                is_text[file] = True
    if not is_text:
        raise UserError(f"there is no file to read in {', '.join(map(str, paths))}")
    texts = [file for file in is_text if is_text[file]]
    return texts, len(is_text) - len(texts)


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, sorted within each folder, except hidden ones and links."""
    for parent, folders, names in os.walk(folder):
        # Changed in place, because os.walk visits the folders that remain in the list.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(parent, name)
            if not name.startswith(".") and file.is_file() and not file.is_symlink():
                yield file


def _check_text(file: Path) -> None:
    """Check that a file is UTF-8 text, by reading it to its end.

    Raises:
        UserError: if it is not.
    """
    for _ in read_pieces(file):
        pass


def read_pieces(path: Path) -> Iterator[str]:
    """Yield the text of a UTF-8 file in pieces of about :data:`PIECE` characters.

    A piece ends at the end of a line, unless the line is longer than a piece. Line ends become
    ``\\n``.

    Raises:
        UserError: if the file cannot be read, is not UTF-8, or contains a zero byte.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            while text := file.read(PIECE) + file.readline(PIECE):
                if "\0" in text:
                    raise UnicodeError("it contains a zero byte")
                yield text
    except (OSError, UnicodeError) as error:
        raise UserError(
            f"cannot read '{path}' as UTF-8 text: {getattr(error, 'strerror', None) or error}"
        ) from None


def read_documents(
    files: Sequence[Path], encode: Encode, *, eos: int | None, progress: Progress = ignore_progress
) -> Iterator[Document]:
    """Yield each file as a document that begins and ends with ``eos``.

    Each piece of text is tokenized by itself.
    """
    around = [] if eos is None else [eos]
    total = max(1, sum(file.stat().st_size for file in files))
    done = 0

    def pieces(file: Path) -> Document:
        nonlocal done
        before = around
        for text in read_pieces(file):
            yield [*before, *encode(text)]
            before = []
            done = done + len(text)
            progress(min(done, total), total, "tokenizing")
        yield [] if before else around

    return map(pieces, files)


def write_corpus(documents: Iterable[Document], file: IO[bytes], vocabulary_size: int) -> Corpus:
    """Write documents to an empty file, and return them as a corpus.

    This takes 8 bytes of memory per document.

    Raises:
        UserError: if a token is outside the vocabulary, or if there are no tokens.
    """
    dtype = np.dtype("<u4" if vocabulary_size > 2**16 else "<u2")
    size = 0
    ends = array("q")
    for document in documents:
        begin = size
        for tokens in map(np.asarray, document):
            if not len(tokens):
                continue
            for token in map(int, (tokens.min(), tokens.max())):
                if not 0 <= token < vocabulary_size:
                    raise UserError(f"token {token} is outside a vocabulary of {vocabulary_size}")
            file.write(tokens.astype(dtype).tobytes())
            size += len(tokens)
        if size > begin:
            ends.append(size)
    if not size:
        raise UserError("the corpus is empty: there are no tokens to count")
    file.flush()
    tokens_on_disk = np.memmap(file, dtype=dtype, mode="r")
    return Corpus(tokens_on_disk, np.array(ends, dtype=np.int64))
