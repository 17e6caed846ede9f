"""See, measure and learn speculative decoding.

Importing this package imports neither torch nor transformers: names load on first use, so that the
viewer, recorded traces and decodes of the shipped models on the CPU work without them. The names
are those of ``__init__.pyi``.

>>> import hsd_viz as hsd
>>> str(hsd.parse("db>nano:4>target"))
'db > nano:4 > target'
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from hsd_viz.drawing import Drawing, register_drawing
from hsd_viz.names.lazy import lazily_as_in
from hsd_viz.stack.draft_sources import ItemsByName, register_drafters
from hsd_viz.version import __version__ as __version__

__getattr__, __dir__, __all__ = lazily_as_in(Path(__file__).with_suffix(".pyi"), __name__)


def _show(trace: Any) -> Any:
    return import_module("hsd_viz.views").overview(trace)


def _page(trace: Any) -> str:
    return import_module("hsd_viz.views").run_page(trace)


def _figure(result: Any) -> Any:
    return import_module("hsd_viz.figures").of_result(result)


def _list_drafters() -> ItemsByName:
    return import_module("hsd_viz.drafting.make").items_by_name()


register_drawing(Drawing(show=_show, to_html=_page, figure=_figure))
register_drafters(_list_drafters)
