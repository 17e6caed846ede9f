"""Draft trees and their sources: database drafting (``db``), Hierarchy Drafting (``hd``), baselines. Pure: numpy only.

>>> from hsd_viz.stack import DraftSource
>>> drafter = make_drafter(DraftSource("db"))
>>> drafter.start([1, 2, 3, 4, 1, 2, 3])
>>> drafter.draft([1, 2, 3, 4, 1, 2, 3], budget=2).tokens
[4, 1]
"""

from . import db, hd  # noqa: F401 (importing registers)
from .baselines import lookup, ngrams, recycling, suffix  # noqa: F401
from .make import Baseline, Memory, Run, SharedDatabases, drafter, drafters, make_drafter
from .tree import Drafter, DraftTree, LogitsObserver, Observer

__all__ = [
    "Baseline",
    "DraftTree",
    "Drafter",
    "LogitsObserver",
    "Memory",
    "Observer",
    "Run",
    "SharedDatabases",
    "drafter",
    "drafters",
    "make_drafter",
]
