"""Text files of any size, read in pieces and turned into the documents of a corpus."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hsd_viz.drafting.index.spool import CorpusWriter

#: Bytes of a file read at a time, and about as much text is tokenized at a time.
PIECE = 2**20
#: From texts to their token ids, without special tokens.
Encode = Callable[[list[str]], Sequence[Sequence[int]]]


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file to read. ``named``: somebody asked for this very file, so being no text is an error and not a reason to pass it over."""

    path: Path
    named: bool


def find_texts(paths: Sequence[str | Path]) -> list[TextFile]:
    """The files named, and those in the folders named and below, sorted; hidden files and folders are left out, links not followed.

    Raises ValueError with one sentence for a path that does not exist and where there is no file.
    """
    found: dict[Path, TextFile] = {}
    for path in map(Path, paths):
        if path.is_dir():
            for folder, below, names in os.walk(path):
                below[:] = sorted(name for name in below if not name.startswith("."))
                for name in sorted(names):
                    place = Path(folder, name)
                    if not name.startswith(".") and place.is_file() and not place.is_symlink():
                        found.setdefault(place, TextFile(place, named=False))
        elif path.exists():
            found[path] = TextFile(path, named=True)
        else:
            raise ValueError(f"there is no file or folder '{path}'")
    if not found:
        raise ValueError(f"there is no file to read in {', '.join(map(str, paths))}")
    return list(found.values())


def read_pieces(path: Path, piece: int = PIECE) -> Iterator[str]:
    """The text of a UTF-8 file in pieces of about ``piece`` bytes that end at line ends, line ends as ``\\n``.

    Tokens never reach over two pieces. A line longer than a piece is cut where it must be. Raises UnicodeDecodeError, and
    ValueError for a zero byte, which no text has.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    left = ""
    with open(path, "rb") as f:
        while raw := f.read(piece):
            if b"\0" in raw:
                raise _NoText("it holds a zero byte")

            left += decoder.decode(raw)
            cut = left.rfind("\n") + 1
            if not cut and len(left) >= piece:
                cut = len(left) - left.endswith("\r")
            if cut:
                yield _plain(left[:cut])
                left = left[cut:]
        left += decoder.decode(b"", final=True)
    if left:
        yield _plain(left)


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def write_texts(
    files: Sequence[TextFile],
    writer: CorpusWriter,
    encode: Encode,
    *,
    eos: int | None,
    progress: Callable[[str, float], None] | None = None,
) -> dict[str, int]:
    """Every file as a document that begins and ends with ``eos``; how many files were ``files`` and how many ``passed_over``.

    A file in a folder that is no UTF-8 text or cannot be read is passed over; one that was named raises ValueError with one sentence.
    Small files are tokenized together, a large one piece by piece.
    """
    around = [] if eos is None else [eos]
    sizes = [_size(file.path) for file in files]
    total, done, passed = sum(sizes), 0, 0
    waiting: list[str] = []
    held = 0

    def flush() -> None:
        nonlocal held
        for ids in encode(waiting):
            writer.add([*around, *ids, *around])
            writer.end()
        waiting.clear()
        held = 0

    for file, size in zip(files, sizes, strict=True):
        try:
            if size <= PIECE:
                text = "".join(read_pieces(file.path))
                if text:
                    waiting.append(text)
                    held += len(text)
                if held >= PIECE:
                    flush()
            else:
                flush()
                writer.add(around)
                for piece in read_pieces(file.path):
                    writer.add(encode([piece])[0])
                    if progress:
                        progress("tokenizing", min(1.0, done / max(1, total)))
                writer.add(around)
                writer.end()
        except (OSError, UnicodeDecodeError, _NoText) as error:
            writer.drop()
            if file.named:
                raise ValueError(f"cannot read '{file.path}' as UTF-8 text: {_reason(error)}") from None
            passed += 1
        done += size
        if progress:
            progress("tokenizing", min(1.0, done / max(1, total)))
    flush()
    return {"files": len(files) - passed, "passed_over": passed}


class _NoText(ValueError):
    """A file that holds something else than text."""


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.object[error.start]:#04x} is not part of a character"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
