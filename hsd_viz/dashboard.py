"""Deprecated alias of :mod:`hsd_viz.views.app.dashboard`, removed in the next release. The module can be called."""

import sys
import types
from typing import Any

from hsd_viz.views.app.dashboard import OPENED, Dashboard, dashboard

__all__ = ["OPENED", "Dashboard", "dashboard"]


class _CallableModule(types.ModuleType):
    """Once imported, this module shadows ``hsd_viz.dashboard``, which must remain callable."""

    def __call__(self, *args: Any, **options: Any) -> Dashboard:
        return dashboard(*args, **options)


sys.modules[__name__].__class__ = _CallableModule
