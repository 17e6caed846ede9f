"""What drafters remember from run to run."""

from __future__ import annotations

from dataclasses import dataclass, field

from hsd_viz.drafting.baselines.automaton import StaticAutomaton
from hsd_viz.drafting.baselines.ngram_cache import DynamicCache
from hsd_viz.drafting.baselines.recycling import Successors
from hsd_viz.drafting.baselines.suffix import OUTPUTS
from hsd_viz.drafting.baselines.suffix_tree import SuffixTree

from .hd import StoredDrafts
from .logits import LogitsDatabase


@dataclass(slots=True)
class Memory:
    """The state that outlives a run, for the drafters that have any. One object passed to run after run: warm. A fresh one: cold.

    ``outputs`` are the earlier outputs that ``suffix`` draws on, ``ngrams`` the dynamic cache of ``ngram-cache``, ``successors``
    the adjacency matrix of ``recycling``. ``static`` is what ``sam`` knows of other texts: it learns nothing by itself, so it is there
    only where it was put (``StaticAutomaton(texts)``). ``stored`` holds the drafts that ``hd`` has worked out from the
    databases: it spares time and changes no draft. ``logits`` is that database of ``db``. The other databases, ``lookup`` and
    ``retrieval`` remember nothing.

    A memory belongs to one target model, and serves one run at a time.
    """

    outputs: SuffixTree = field(default_factory=lambda: SuffixTree(most=OUTPUTS))
    ngrams: DynamicCache = field(default_factory=DynamicCache)
    successors: Successors = field(default_factory=dict)
    static: StaticAutomaton | None = None
    stored: StoredDrafts | None = None
    logits: LogitsDatabase = field(default_factory=LogitsDatabase)
