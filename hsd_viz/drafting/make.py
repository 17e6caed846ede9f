"""Create the drafter that a stack names, and the state that drafters keep from run to run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from hsd_viz.stack import DATABASES, DraftSource

from .baselines.lookup import PromptLookup
from .baselines.ngram_cache import DynamicCache, NgramCache
from .baselines.recycling import Successors, TokenRecycling
from .baselines.retrieval import Retrieval
from .baselines.sam import SAMDecoding, StaticAutomaton
from .baselines.suffix import OUTPUTS, SuffixDecoding, SuffixTree
from .costs import CPU_MARGINAL, CostCurve
from .db import DatabaseDrafter, LogitsDatabaseDrafter
from .hd import HierarchyDrafting, StoredDrafts, WindowedHierarchyDrafting
from .logits import LOGITS, LogitsDatabase
from .shared import FIVEGRAMS, SharedDatabases
from .tree import Drafter

_DRAFTERS = "db, hd, lookup, sam, suffix, recycling, retrieval or ngram-cache"


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
    bottom: DraftSource,
    *,
    databases: SharedDatabases | None = None,
    memory: Memory | None = None,
    eos: int | Collection[int] | None = None,
    costs: CostCurve | Sequence[float] | float | None = CPU_MARGINAL,
    temperature: float = 0.0,
) -> Drafter:
    """Create the drafter that ``bottom`` names, for one run.

    ``databases`` are those of the models' tokenizer. Without brackets, ``db`` and ``hd`` use all that exist; if ``db``
    finds neither a model nor a statistics database, it adds ``logits`` to the context (next to them it gains little).
    ``memory`` is shared by runs of the same target (default: a new one). ``costs`` are the costs of verification
    (relative cost of one more draft token, or costs by number of draft tokens); ``None`` drafts up to the budget. Only
    ``db`` uses ``costs`` and the ``temperature`` of the sampling: the baselines draft as published.

    Raises:
        ValueError: if a named database, or the statistics database of ``retrieval``, is missing, or the name is
        unknown.
    """
    shared = databases if databases is not None else SharedDatabases()
    memory = memory if memory is not None else Memory()
    name, statistics = bottom.name, shared.found.get("statistics")
    if name == "db":
        sources = _sources(bottom, shared, {})
        options: dict[str, Any] = {"eos": eos, "costs": costs, "temperature": temperature}
        if LOGITS in bottom.items or (not bottom.items and sources == ("context",)):
            named = bottom.items or (*sources, LOGITS)
            return LogitsDatabaseDrafter(named, {**shared.found, LOGITS: memory.logits}, **options)
        return DatabaseDrafter(sources, shared.found, **options)
    if name == "hd":
        sources = _sources(bottom, shared, {"model": FIVEGRAMS})
        if memory.stored is None or memory.stored.shared != shared.found:
            memory.stored = StoredDrafts(shared.found)
        kind = WindowedHierarchyDrafting if "window" in bottom.items else HierarchyDrafting
        return kind(sources, shared.found, eos=eos, stored=memory.stored)
    if name == "lookup":
        return PromptLookup.original(eos=eos) if "original" in bottom.items else PromptLookup(eos=eos)
    if name == "sam":
        return SAMDecoding(static=memory.static, eos=eos)
    if name == "suffix":
        return SuffixDecoding(outputs=memory.outputs, eos=eos)
    if name == "recycling":
        return TokenRecycling(successors=memory.successors, eos=eos)
    if name == "retrieval":
        if statistics is None:
            raise ValueError(f"'{bottom}' cannot be used: {shared.why_absent('statistics')}")
        return Retrieval(statistics, eos=eos)
    if name == "ngram-cache":
        return NgramCache(dynamic=memory.ngrams, static=statistics, eos=eos)
    raise ValueError(f"unknown drafter '{name}': expected {_DRAFTERS}")


def _sources(bottom: DraftSource, shared: SharedDatabases, stored_as: dict[str, str]) -> tuple[str, ...]:
    """Return the named databases, or all that exist. ``stored_as`` maps a database to the name of its file."""
    named = tuple(item for item in bottom.items if item in DATABASES)
    available = tuple(s for s in DATABASES if s == "context" or stored_as.get(s, s) in shared.found)
    for source in named:
        if source not in available:
            raise ValueError(f"'{bottom}' cannot be used: {shared.why_absent(stored_as.get(source, source))}")
    return named or available
