"""See, measure and learn speculative decoding.

Importing this package imports neither torch nor transformers: names load on first use, so that the viewer and recorded
traces work without them.

>>> import hsd_viz as hsd
>>> str(hsd.parse("db>nano:4>target"))
'db > nano:4 > target'
"""

import importlib
from typing import TYPE_CHECKING, Any

from hsd_viz.version import __version__

if TYPE_CHECKING:
    from hsd_viz import audit, figures, views
    from hsd_viz.engine.local import load_engine
    from hsd_viz.engine.remote import connect
    from hsd_viz.engine.replay import bundled, load_bundled
    from hsd_viz.logs import vocabulary as metrics
    from hsd_viz.logs.report import replay
    from hsd_viz.magic import load_ipython_extension
    from hsd_viz.quick import compare, run
    from hsd_viz.stack import StackError, parse
    from hsd_viz.trace import Trace, TraceError
    from hsd_viz.views.app.dashboard import dashboard

__all__ = [
    "StackError",
    "Trace",
    "TraceError",
    "__version__",
    "audit",
    "bundled",
    "compare",
    "connect",
    "dashboard",
    "figures",
    "load_bundled",
    "load_engine",
    "load_ipython_extension",
    "metrics",
    "parse",
    "replay",
    "run",
    "views",
]

# Public name -> (module, attribute); without an attribute, the module itself.
_HOMES: dict[str, tuple[str, str | None]] = {
    "StackError": ("hsd_viz.stack", "StackError"),
    "Trace": ("hsd_viz.trace", "Trace"),
    "TraceError": ("hsd_viz.trace", "TraceError"),
    "audit": ("hsd_viz.audit", None),
    "bundled": ("hsd_viz.engine.replay", "bundled"),
    "compare": ("hsd_viz.quick", "compare"),
    "connect": ("hsd_viz.engine.remote", "connect"),
    "dashboard": ("hsd_viz.views.app.dashboard", "dashboard"),
    "figures": ("hsd_viz.figures", None),
    "load_bundled": ("hsd_viz.engine.replay", "load_bundled"),
    "load_engine": ("hsd_viz.engine.local", "load_engine"),
    "load_ipython_extension": ("hsd_viz.magic", "load_ipython_extension"),
    "metrics": ("hsd_viz.logs.vocabulary", None),
    "parse": ("hsd_viz.stack", "parse"),
    "replay": ("hsd_viz.logs.report", "replay"),
    "run": ("hsd_viz.quick", "run"),
    "views": ("hsd_viz.views", None),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hsd_viz' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name in ("torch", "transformers", "tokenizers", "safetensors"):
            raise ImportError(f"hsd_viz.{name} needs {error.name}: pip install 'hsd-viz[models]'") from error
        raise
    return found if attribute is None else getattr(found, attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
