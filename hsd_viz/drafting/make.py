"""The registry of drafters, and what they work with: database files and the state that outlives a run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hsd_viz.stack import DATABASES, SOURCES, DraftSource, draft_sources

from .context import LOGITS, Database
from .estimates import CPU_MARGINAL, CostCurve
from .index.format import SUFFIX, DatabaseError, Index
from .tree import Drafter, as_eos_set

#: The databases stored as files, in order of locality, and the model database of Hierarchy Drafting as published.
STORED, FIVEGRAMS = ("model", "statistics"), "fivegrams"


def vocabulary_hash(vocabulary: Mapping[str, int]) -> str:
    """Return the SHA-256 of a vocabulary, the token → id mapping ``tokenizer.get_vocab()``, in hexadecimal."""
    digest = hashlib.sha256()
    for token, number in sorted(vocabulary.items(), key=lambda item: (item[1], item[0])):
        digest.update(f"{number}\t{len(token)}\t{token}\n".encode())
    return digest.hexdigest()


def check_folder(folder: str | Path) -> None:
    """Check that ``folder`` contains a database file. Raises: DatabaseError: if it does not."""
    files = [f"{source}{SUFFIX}" for source in (*STORED, FIVEGRAMS)]
    if not any((Path(folder) / file).exists() for file in files):
        raise DatabaseError(f"there are no databases in '{folder}': expected one of {', '.join(files)}")


@dataclass(frozen=True, slots=True)
class SharedDatabases:
    """The open databases by name (``model``, ``statistics``, ``fivegrams``), one-line reasons why others are absent,
    and what drafters derive from them once, by drafter.
    """

    found: dict[str, Database] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    derived: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def open(
        cls, folder: str | Path, vocabulary: Mapping[str, int], size: int | None = None, *, strict: bool = False
    ) -> SharedDatabases:
        """Open the databases ``NAME.hsdb`` of ``folder`` for models with this token → id mapping and of a vocabulary
        ``size``: larger ids are never returned. A file that cannot be used is omitted. Raises: DatabaseError: if
        ``strict`` and there is such a file, or none at all.
        """
        if strict:
            check_folder(folder)
        ours, shared = vocabulary_hash(vocabulary), cls()
        for source in (*STORED, FIVEGRAMS):
            path = Path(folder) / f"{source}{SUFFIX}"
            if not path.exists():
                shared.absent[source] = f"no {source} database for these models: '{path}' does not exist"
                continue
            try:
                index = Index(path, ours, vocabulary_size=size)
                if (kind := index.header["kind"]) != source:
                    raise DatabaseError(f"'{path.name}' contains a {kind} database, not a {source} database")
                shared.found[source] = index
            except DatabaseError as error:
                if strict:
                    raise
                shared.absent[source] = str(error)
        return shared


#: The state that outlives a run, by drafter: created on first use by the registered ``remembers``. Passed from run to
#: run, drafters start warm; with a new one, cold. It belongs to one target model, and serves one run at a time.
Memory = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """What a drafter is created for; ``source`` is as in the stack, ``state`` what it ``remembers`` (else ``None``)."""

    source: DraftSource
    databases: SharedDatabases
    state: Any
    eos: frozenset[int]
    costs: CostCurve | Sequence[float] | float | None
    temperature: float

    def sources(self, **files: str) -> tuple[str, ...]:
        """Return the named databases, without names all that exist; ``files`` are the names of their files where they
        differ. Raises: ValueError: if a named one is missing.
        """
        named = tuple(item for item in self.source.items if item in DATABASES)
        for name in named:
            if name != "context":
                self.database(files.get(name, name))
        found = self.databases.found
        return named or tuple(name for name in DATABASES if name == "context" or files.get(name, name) in found)

    def database(self, name: str) -> Database:
        """Return the shared database of that name. Raises: ValueError: if it is missing."""
        if name not in self.databases.found:
            why = self.databases.absent.get(name, f"no {name} database for these models")
            raise ValueError(f"'{self.source}' cannot be used: {why}")
        return self.databases.found[name]


class Baseline(Drafter):
    """A drafter that is made for a :class:`Run`. An end-of-text token may be drafted, nothing after it."""

    def __init__(self, run: Run) -> None:
        self.run, self.eos = run, run.eos
        self.start(())


_REGISTERED: dict[str, type[Drafter]] = {}


def drafter(
    name: str,
    *,
    items: Sequence[str] = (),
    colour: tuple[str, str] | None = None,
    remembers: Callable[[], Any] | None = None,
    make: Callable[[Run], Drafter] | None = None,
) -> Callable[[type], type]:
    """Register the decorated :class:`~hsd_viz.drafting.tree.Drafter` as the draft source ``name`` of stacks.

    ``items`` are what it takes in brackets, ``colour`` its ink on a light and a dark page (``#rrggbb``),
    ``remembers()`` creates the state that outlives a run, and ``make(run)`` the drafter for a :class:`Run` (default:
    the class is called with it). Other packages register drafters by entry points of the group ``hsd_viz.drafters``.
    Raises: ValueError: if the name is not a plain word, or is already registered.
    """

    def register(cls: Any) -> Any:
        known = _REGISTERED.get(name)
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name) or (known and known.__module__ != cls.__module__):
            raise ValueError(f"invalid name of a drafter: '{name}', use a new word of a-z, 0-9 and -")
        cls.name, cls.colour, cls.remembers, cls.make = name, colour, remembers, make or cls
        _REGISTERED[name], SOURCES[name] = cls, tuple(items)
        return cls

    return register


def drafters() -> dict[str, Any]:
    """Return the class of every registered draft source by name; its attributes are those of :func:`drafter`."""
    return {name: _REGISTERED[name] for name in draft_sources() if name in _REGISTERED}


def remembers(source: DraftSource) -> bool:
    """Return whether a draft source learns from run to run; ``db`` does with its ``logits``."""
    known = drafters().get(source.name)
    items = draft_sources()[source.name]
    return bool(known and known.remembers) and (LOGITS in source.items or LOGITS not in items)


def make_drafter(
    source: DraftSource,
    *,
    databases: SharedDatabases | None = None,
    memory: Memory | None = None,
    eos: int | Collection[int] | None = None,
    costs: CostCurve | Sequence[float] | float | None = CPU_MARGINAL,
    temperature: float = 0.0,
) -> Drafter:
    """Create the drafter that ``source`` names, for one run.

    ``databases`` are those of the models' tokenizer. Without brackets, ``db`` and ``hd`` use all that exist; if ``db``
    finds neither a model nor a statistics database, it adds ``logits`` to the context. ``memory`` is shared by runs of
    the same target (default: a new one). Only ``db`` uses the ``temperature`` of the sampling and the ``costs`` of
    verification (:func:`~hsd_viz.drafting.estimates.cost_curve`). Raises: ValueError: if a database is missing, or the
    name is unknown.
    """
    name, known = source.name, drafters().get(source.name)
    if known is None:
        raise ValueError(f"unknown drafter '{name}': expected {', '.join(drafters())}")
    memory = {} if memory is None else memory
    if known.remembers and name not in memory:
        memory[name] = known.remembers()
    shared = databases or SharedDatabases()
    return known.make(Run(source, shared, memory.get(name), as_eos_set(eos), costs, temperature))
