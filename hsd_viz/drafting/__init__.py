"""Where database drafts come from: the draft tree, the databases, the hierarchy, rivals. Pure: numpy only.

>>> from hsd_viz.stack import DraftSource
>>> drafter = make_drafter(DraftSource("db"))
>>> drafter.start([1, 2, 3, 4, 1, 2, 3])
>>> drafter.draft([1, 2, 3, 4, 1, 2, 3], budget=2).tokens
[4, 1]
"""

from .make import make_drafter
from .memory import Memory
from .observe import Observer
from .shared import SharedDatabases
from .tree import Drafter, DraftTree

__all__ = ["DraftTree", "Drafter", "Memory", "Observer", "SharedDatabases", "make_drafter"]
