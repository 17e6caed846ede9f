"""Create the drafter that a stack names, and the state that outlives a run: database files and :class:`Memory`."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hsd_viz.stack import DATABASES, DraftSource

from .baselines.lookup import PromptLookup
from .baselines.ngrams import DynamicCache, NgramCache
from .baselines.recycling import Successors, TokenRecycling
from .baselines.retrieval import Retrieval
from .baselines.sam import SAMDecoding, StaticAutomaton
from .baselines.suffix import OUTPUTS, SuffixDecoding, SuffixTree
from .context import LOGITS, Database, LogitsDatabase
from .db import DatabaseDrafter, LogitsDatabaseDrafter
from .estimates import CPU_MARGINAL, CostCurve
from .hd import HierarchyDrafting, StoredDrafts
from .index.format import SUFFIX, DatabaseError, open_index
from .tree import Drafter

#: The databases stored as files, in order of locality.
STORED = ("model", "statistics")
#: The model database of Hierarchy Drafting as published.
FIVEGRAMS = "fivegrams"
_DRAFTERS = "db, hd, lookup, sam, suffix, recycling, retrieval or ngram-cache"


def vocabulary_hash(vocabulary: Mapping[str, int]) -> str:
    """Return the SHA-256 of a vocabulary, the token → id mapping ``tokenizer.get_vocab()``, in hexadecimal. Tokenizers
    with the same tokens and ids have the same hash, regardless of their names.
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
        """Open the databases ``NAME.hsdb`` of ``folder`` for models with this token → id mapping. ``size`` is the
        vocabulary size of the models, if it may be smaller than that of a file: larger ids are never returned. A file
        that is missing, damaged or made with another tokenizer is omitted; :meth:`why_absent` returns the reason.
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
                kind = index.header["kind"]
                if kind != source:
                    raise DatabaseError(f"'{path.name}' contains a {kind} database, not a {source} database")
                found[source] = index
            except DatabaseError as error:
                absent[source] = str(error)
        return cls(found, absent)

    @classmethod
    def require(cls, folder: str | Path, vocabulary: Mapping[str, int], size: int | None = None) -> SharedDatabases:
        """Open a folder that the user named, like :meth:`open`. Raises: DatabaseError: if the folder has no database,
        or one that cannot be used.
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


@dataclass(slots=True)
class Memory:
    """The state that outlives a run. Passed from run to run, drafters start warm; with a new one, cold.

    ``outputs`` are the earlier outputs of ``suffix``, ``ngrams`` the dynamic cache of ``ngram-cache``, ``successors``
    the adjacency matrix of ``recycling``, ``logits`` that database of ``db``. ``static`` holds other texts for ``sam``;
    it is never updated, so it is there only if set (``StaticAutomaton(texts)``). ``stored`` caches drafts of ``hd``
    without changing any. ``lookup``, ``retrieval`` and the other databases keep no state. A memory belongs to one
    target model, and serves one run at a time.
    """

    outputs: SuffixTree = field(default_factory=lambda: SuffixTree(most=OUTPUTS))
    ngrams: DynamicCache = field(default_factory=DynamicCache)
    successors: Successors = field(default_factory=dict)
    static: StaticAutomaton | None = None
    stored: StoredDrafts | None = None
    logits: LogitsDatabase = field(default_factory=LogitsDatabase)


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
    finds neither a model nor a statistics database, it adds ``logits`` to the context (next to them it gains little).
    ``memory`` is shared by runs of the same target (default: a new one). ``costs`` are the costs of verification
    (relative cost of one more draft token, or costs by number of draft tokens); ``None`` drafts up to the budget. Only
    ``db`` uses ``costs`` and the ``temperature`` of the sampling: the baselines draft as published.

    Raises: ValueError: if a named database, or the statistics database of ``retrieval``, is missing, or the name is
    unknown.
    """
    shared = databases if databases is not None else SharedDatabases()
    memory = memory if memory is not None else Memory()
    name, statistics = source.name, shared.found.get("statistics")
    if name == "db":
        sources = _sources(source, shared, {})
        options: dict[str, Any] = {"eos": eos, "costs": costs, "temperature": temperature}
        if LOGITS in source.items or (not source.items and sources == ("context",)):
            named = source.items or (*sources, LOGITS)
            return LogitsDatabaseDrafter(named, {**shared.found, LOGITS: memory.logits}, **options)
        return DatabaseDrafter(sources, shared.found, **options)
    if name == "hd":
        sources = _sources(source, shared, {"model": FIVEGRAMS})
        if memory.stored is None or memory.stored.shared != shared.found:
            memory.stored = StoredDrafts(shared.found)
        return HierarchyDrafting(sources, shared.found, eos=eos, stored=memory.stored)
    if name == "lookup":
        return PromptLookup(eos=eos, longest=3, whole=True) if "original" in source.items else PromptLookup(eos=eos)
    if name == "sam":
        return SAMDecoding(static=memory.static, eos=eos)
    if name == "suffix":
        return SuffixDecoding(outputs=memory.outputs, eos=eos)
    if name == "recycling":
        return TokenRecycling(successors=memory.successors, eos=eos)
    if name == "retrieval":
        if statistics is None:
            raise ValueError(f"'{source}' cannot be used: {shared.why_absent('statistics')}")
        return Retrieval(statistics, eos=eos)
    if name == "ngram-cache":
        return NgramCache(dynamic=memory.ngrams, static=statistics, eos=eos)
    raise ValueError(f"unknown drafter '{name}': expected {_DRAFTERS}")


def _sources(source: DraftSource, shared: SharedDatabases, stored_as: dict[str, str]) -> tuple[str, ...]:
    """Return the named databases, or all that exist. ``stored_as`` maps a database to the name of its file."""
    named = tuple(item for item in source.items if item in DATABASES)
    available = tuple(name for name in DATABASES if name == "context" or stored_as.get(name, name) in shared.found)
    for name in named:
        if name not in available:
            raise ValueError(f"'{source}' cannot be used: {shared.why_absent(stored_as.get(name, name))}")
    return named or available
