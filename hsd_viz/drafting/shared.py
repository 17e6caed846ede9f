"""The databases that outlive a run: opened once, memory-mapped, read-only, shared by every run and process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hsd_viz.drafting.index.format import SUFFIX, DatabaseError

from .guarded import open_index
from .hierarchy import Database

#: The databases that are files, in order of locality.
STORED = ("model", "statistics")
#: And the model database of Hierarchy Drafting as published.
FIVEGRAMS = "fivegrams"


def vocabulary_hash(vocabulary: Mapping[str, int]) -> str:
    """The identity of a tokenizer's vocabulary, from its token → id mapping (``tokenizer.get_vocab()``): a SHA-256 in hexadecimal.

    Two tokenizers of different name with the same tokens under the same ids have the same hash.
    """
    digest = hashlib.sha256()
    for token, number in sorted(vocabulary.items(), key=lambda item: (item[1], item[0])):
        digest.update(f"{number}\t{len(token)}\t{token}\n".encode())
    return digest.hexdigest()


def check_folder(folder: str | Path) -> None:
    """Raise :class:`hsd_viz.drafting.index.format.DatabaseError` unless ``folder`` holds a database that a stack may use."""
    files = [f"{source}{SUFFIX}" for source in (*STORED, FIVEGRAMS)]
    if not any((Path(folder) / file).exists() for file in files):
        raise DatabaseError(f"there are no databases in '{folder}': it holds none of {', '.join(files)}")


@dataclass(frozen=True, slots=True)
class SharedDatabases:
    """The model and statistics databases by source name, and ``fivegrams``; ``absent`` says in one sentence why one is not there."""

    found: dict[str, Database] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: str | Path, vocabulary: Mapping[str, int], size: int | None = None) -> SharedDatabases:
        """Open ``model.hsdb``, ``statistics.hsdb`` and ``fivegrams.hsdb`` of ``folder`` for models with this token → id mapping.

        ``size`` is how many token ids the models know, where that may be fewer than a file was made for: none beyond is given.
        A file that is missing, damaged or made with another tokenizer is left out; :meth:`why_absent` says why.
        """
        ours = vocabulary_hash(vocabulary)
        found: dict[str, Database] = {}
        absent: dict[str, str] = {}
        for source in (*STORED, FIVEGRAMS):
            path = Path(folder) / f"{source}{SUFFIX}"
            if not path.exists():
                absent[source] = f"no {source} database is at hand for these models: '{path}' does not exist"
                continue
            try:
                index = open_index(path, ours, vocabulary_size=size)
                if index.header["kind"] != source:
                    raise DatabaseError(
                        f"'{path.name}' holds a {index.header['kind']} database, not a {source} database"
                    )
                found[source] = index
            except DatabaseError as error:
                absent[source] = str(error)
        return cls(found, absent)

    @classmethod
    def require(cls, folder: str | Path, vocabulary: Mapping[str, int], size: int | None = None) -> SharedDatabases:
        """As :meth:`open`, for a folder that somebody named.

        Raises :class:`hsd_viz.drafting.index.format.DatabaseError` for a file that is there and cannot be used, and where there is none.
        """
        check_folder(folder)
        opened = cls.open(folder, vocabulary, size)
        for source, why in opened.absent.items():
            if (Path(folder) / f"{source}{SUFFIX}").exists():
                raise DatabaseError(why)
        return opened

    def why_absent(self, source: str) -> str:
        """One sentence on why ``source`` is not among the databases."""
        return self.absent.get(source, f"no {source} database is at hand for these models")
