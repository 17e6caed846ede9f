"""Draft trees and the drafters that propose them: database drafting (``db``), Hierarchy Drafting as
published (``hd``) and baselines. The only dependency is numpy.

>>> from hsd_viz.stack import DraftSource
>>> drafter = make_drafter(DraftSource("db"))
>>> drafter.start([1, 2, 3, 4, 1, 2, 3])
>>> drafter.draft([1, 2, 3, 4, 1, 2, 3], budget=2).tokens
[4, 1]
"""

from importlib import import_module
from pkgutil import iter_modules

from hsd_viz.drafting import baselines, db, hd  # noqa: F401 (importing registers)
from hsd_viz.drafting.make import (
    Baseline,
    DrafterRun,
    Memory,
    drafter,
    drafters,
    make_drafter,
)
from hsd_viz.drafting.shared import SharedDatabases
from hsd_viz.drafting.tree import Drafter, DraftTree, LogitsObserver, Observer

__all__ = [
    "Baseline",
    "DraftTree",
    "Drafter",
    "DrafterRun",
    "LogitsObserver",
    "Memory",
    "Observer",
    "SharedDatabases",
    "drafter",
    "drafters",
    "make_drafter",
]
for _module in iter_modules(baselines.__path__):
    import_module(f".baselines.{_module.name}", __name__)
