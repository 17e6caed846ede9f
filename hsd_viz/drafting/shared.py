"""The databases that drafters share: files that are opened for the tokenizer of a target."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hsd_viz.drafting.context_database import Database
from hsd_viz.drafting.index.format import SUFFIX, DatabaseError
from hsd_viz.drafting.index.read import Index
from hsd_viz.drafting.semantic_database import SEMANTIC

#: The databases that are stored as files, in order of locality.
STORED = ("model", "statistics")
#: The model database of Hierarchy Drafting as published, which is also stored.
FIVEGRAMS = "fivegrams"
#: The databases of the current run's text, which are not stored.
OF_THE_TEXT = ("context", SEMANTIC)


def vocabulary_hash(vocabulary: Mapping[str, int]) -> str:
    """Return the SHA-256 of a vocabulary in hexadecimal.

    The vocabulary maps tokens to ids, as ``tokenizer.get_vocab()`` does.
    """
    digest = hashlib.sha256()
    for token, number in sorted(vocabulary.items(), key=lambda item: (item[1], item[0])):
        digest.update(f"{number}\t{len(token)}\t{token}\n".encode())
    return digest.hexdigest()


def check_folder(folder: str | Path) -> None:
    """Check that ``folder`` contains a database file.

    Raises:
        DatabaseError: if it contains none.
    """
    files = [f"{source}{SUFFIX}" for source in (*STORED, FIVEGRAMS)]
    if not any((Path(folder) / file).exists() for file in files):
        raise DatabaseError(
            f"there are no databases in '{folder}': expected one of {', '.join(files)}"
        )


@dataclass(frozen=True, slots=True)
class SharedDatabases:
    """The databases that drafters share.

    Attributes:
        present: the open databases by name: ``model``, ``statistics``, ``fivegrams``.
        absent: a one-line reason for each database that is not open, by name.
        derived: data that drafters compute once from the databases, by drafter name.
    """

    present: dict[str, Database] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    derived: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def open(
        cls,
        folder: str | Path,
        vocabulary: Mapping[str, int],
        size: int | None = None,
        *,
        strict: bool = False,
    ) -> SharedDatabases:
        """Open the databases ``NAME.hsdb`` of a folder, without those that cannot be used.

        Args:
            folder: the folder.
            vocabulary: the token → id mapping of the models.
            size: the size of the models' vocabulary; ids from it on are never returned.
            strict: whether to raise an error for a database that cannot be used.

        Raises:
            DatabaseError: if ``strict``, and a database cannot be used or the folder has none.
        """
        if strict:
            check_folder(folder)
        ours = vocabulary_hash(vocabulary)
        shared = cls()
        for source in (*STORED, FIVEGRAMS):
            path = Path(folder) / f"{source}{SUFFIX}"
            if not path.exists():
                shared.absent[source] = (
                    f"no {source} database for these models: '{path}' does not exist"
                )
                continue
            try:
                index = Index(path, ours, vocabulary_size=size)
                if (kind := index.header["kind"]) != source:
                    raise DatabaseError(
                        f"'{path.name}' contains a {kind} database, not a {source} database"
                    )
                shared.present[source] = index
            except DatabaseError as error:
                if strict:
                    raise
                shared.absent[source] = str(error)
        return shared
