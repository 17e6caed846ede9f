"""The databases that drafters share: files, opened for the tokenizer of a target."""

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

#: The databases stored as files, in order of locality, and the model database of Hierarchy Drafting
#: as published.
STORED = ("model", "statistics")
FIVEGRAMS = "fivegrams"
#: The databases of the text of a run, which are not stored.
OF_THE_TEXT = ("context", SEMANTIC)


def vocabulary_hash(vocabulary: Mapping[str, int]) -> str:
    """Return the SHA-256 of a vocabulary, the token → id mapping ``tokenizer.get_vocab()``, in
    hexadecimal.
    """
    digest = hashlib.sha256()
    for token, number in sorted(vocabulary.items(), key=lambda item: (item[1], item[0])):
        digest.update(f"{number}\t{len(token)}\t{token}\n".encode())
    return digest.hexdigest()


def check_folder(folder: str | Path) -> None:
    """Check that ``folder`` contains a database file.

    Raises:
        DatabaseError: if it does not.
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
        present: the open ones by name: ``model``, ``statistics``, ``fivegrams``.
        absent: why others are absent, a line each.
        derived: what drafters derive from them once, by drafter.
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
        """Open the databases ``NAME.hsdb`` of ``folder`` for models with this token → id mapping
        and of a vocabulary ``size``: larger ids are never returned. A file that cannot be used is
        omitted.

        Raises:
            DatabaseError: if ``strict`` and there is such a file, or none at all.
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
