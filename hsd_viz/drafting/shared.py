"""The databases that outlive a run: memory-mapped, read-only files, shared by all runs and processes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .context import Database
from .index.format import SUFFIX, DatabaseError
from .index.read import open_index

#: The databases stored as files, in order of locality.
STORED = ("model", "statistics")
#: The model database of Hierarchy Drafting as published.
FIVEGRAMS = "fivegrams"


def vocabulary_hash(vocabulary: Mapping[str, int]) -> str:
    """Return the SHA-256 of a vocabulary, the token → id mapping ``tokenizer.get_vocab()``, in hexadecimal.

    Tokenizers with the same tokens and ids have the same hash, regardless of their names.
    """
    digest = hashlib.sha256()
    for token, number in sorted(vocabulary.items(), key=lambda item: (item[1], item[0])):
        digest.update(f"{number}\t{len(token)}\t{token}\n".encode())
    return digest.hexdigest()


def check_folder(folder: str | Path) -> None:
    """Raise :class:`~hsd_viz.drafting.index.format.DatabaseError` unless ``folder`` contains a database file."""
    files = [f"{source}{SUFFIX}" for source in (*STORED, FIVEGRAMS)]
    if not any((Path(folder) / file).exists() for file in files):
        raise DatabaseError(f"there are no databases in '{folder}': expected one of {', '.join(files)}")


@dataclass(frozen=True, slots=True)
class SharedDatabases:
    """The open databases by name (``model``, ``statistics``, ``fivegrams``); ``absent`` has reasons for the rest."""

    found: dict[str, Database] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: str | Path, vocabulary: Mapping[str, int], size: int | None = None) -> SharedDatabases:
        """Open the databases ``NAME.hsdb`` of ``folder`` for models with this token → id mapping.

        ``size`` is the vocabulary size of the models, if it may be smaller than that of a file: larger ids are never
        returned. A file that is missing, damaged or made with another tokenizer is omitted; :meth:`why_absent` returns
        the reason.
        """
        ours = vocabulary_hash(vocabulary)
        found: dict[str, Database] = {}
        absent: dict[str, str] = {}
        for source in (*STORED, FIVEGRAMS):
            path = Path(folder) / f"{source}{SUFFIX}"
            if not path.exists():
                absent[source] = f"no {source} database for these models: '{path}' does not exist"
                continue
            try:
                index = open_index(path, ours, vocabulary_size=size)
                if index.header["kind"] != source:
                    raise DatabaseError(
                        f"'{path.name}' contains a {index.header['kind']} database, not a {source} database"
                    )
                found[source] = index
            except DatabaseError as error:
                absent[source] = str(error)
        return cls(found, absent)

    @classmethod
    def require(cls, folder: str | Path, vocabulary: Mapping[str, int], size: int | None = None) -> SharedDatabases:
        """Open a folder that the user named, like :meth:`open`.

        Raises:
            DatabaseError: if the folder has no database, or one that cannot be used.
        """
        check_folder(folder)
        opened = cls.open(folder, vocabulary, size)
        for source, why in opened.absent.items():
            if (Path(folder) / f"{source}{SUFFIX}").exists():
                raise DatabaseError(why)
        return opened

    def why_absent(self, source: str) -> str:
        """Return a one-line reason why ``source`` is not among the databases."""
        return self.absent.get(source, f"no {source} database for these models")
