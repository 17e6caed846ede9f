"""From the bottom of a stack to the drafter that serves one run of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hsd_viz.drafting.baselines.lookup import PromptLookup
from hsd_viz.drafting.baselines.ngram_cache import NgramCache
from hsd_viz.drafting.baselines.recycling import TokenRecycling
from hsd_viz.drafting.baselines.retrieval import Retrieval
from hsd_viz.drafting.baselines.sam import SAMDecoding
from hsd_viz.drafting.baselines.suffix import SuffixDecoding
from hsd_viz.stack import DATABASES, DraftSource

from .costs import CPU_MARGINAL, CostCurve
from .hd import HierarchyDrafting, StoredDrafts, WindowedHierarchyDrafting
from .hierarchy import DatabaseDrafter, HarvestingDrafter
from .logits import LOGITS
from .memory import Memory
from .shared import FIVEGRAMS, SharedDatabases
from .tree import Drafter

_DRAFTERS = "db, hd, lookup, sam, suffix, recycling, retrieval or ngram-cache"


def make_drafter(
    bottom: DraftSource,
    *,
    databases: SharedDatabases | None = None,
    memory: Memory | None = None,
    eos: int | Collection[int] | None = None,
    costs: CostCurve | Sequence[float] | float | None = CPU_MARGINAL,
    temperature: float = 0.0,
) -> Drafter:
    """The drafter a stack's bottom names; make a new one for each run.

    ``databases`` are the databases of the models' tokenizer. Without brackets, ``db`` and ``hd`` use the databases there are; one that
    is named but absent is refused with a ``ValueError``, and so is ``retrieval`` without statistics. Where ``db`` finds neither a model
    nor a statistics database, it has ``logits`` beside the context; with them it gains little and is left to be named. ``memory`` is
    what runs of the same target leave to each other: the same one for every run means warm, ``None`` cold. ``costs`` is what the
    verifier's forwards cost (relative cost of one more draft token, or costs by number of draft tokens); ``costs=None`` drafts up
    to the budget. Only ``db`` weighs costs, and looks at the ``temperature`` of the sampling: the rivals draft as published.
    """
    shared = databases if databases is not None else SharedDatabases()
    memory = memory if memory is not None else Memory()
    name, statistics = bottom.name, shared.found.get("statistics")
    if name == "db":
        sources = _sources(bottom, shared, {})
        options = {"eos": eos, "costs": costs, "temperature": temperature}
        if LOGITS in bottom.items or (not bottom.items and sources == ("context",)):
            named = bottom.items or (*sources, LOGITS)
            return HarvestingDrafter(named, {**shared.found, LOGITS: memory.logits}, **options)
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
    raise ValueError(f"no drafter is called '{name}': the bottom of a stack is {_DRAFTERS}")


def _sources(bottom: DraftSource, shared: SharedDatabases, stands_for: dict[str, str]) -> tuple[str, ...]:
    """The databases to ask, in order: those named, else all there are. ``stands_for`` tells under which name one is stored."""
    named = tuple(item for item in bottom.items if item in DATABASES)
    there = tuple(s for s in DATABASES if s == "context" or stands_for.get(s, s) in shared.found)
    for source in named:
        if source not in there:
            raise ValueError(f"'{bottom}' cannot be used: {shared.why_absent(stands_for.get(source, source))}")
    return named or there
