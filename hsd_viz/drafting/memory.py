"""What drafters remember from run to run."""

from __future__ import annotations

from dataclasses import dataclass, field

from .automaton import StaticAutomaton
from .hd import StoredDrafts
from .logits import LogitsDatabase
from .ngram_cache import DynamicCache
from .recycling import Successors
from .suffix import OUTPUTS
from .suffix_tree import SuffixTree


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
