"""See, measure and learn speculative decoding.

Importing this package imports neither torch nor transformers: names load on first use, so that the
viewer, recorded traces and decodes of the shipped models on the CPU work without them.

>>> import hsd_viz as hsd
>>> str(hsd.parse("db>nano:4>target"))
'db > nano:4 > target'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hsd_viz.drawing import Drawing, register_drawing
from hsd_viz.names.lazy import lazily
from hsd_viz.stack.draft_sources import ItemsByName, register_drafters
from hsd_viz.version import __version__

# ruff: noqa: F401 (the names below are for type checkers; they load on first use)
if TYPE_CHECKING:
    from hsd_viz import figures, views
    from hsd_viz.decoding.engine import Engine
    from hsd_viz.engine.local import load_engine
    from hsd_viz.engine.recordings import bundled, load_bundled
    from hsd_viz.engine.remote import connect
    from hsd_viz.errors import UserError
    from hsd_viz.latency.inputs import Edge
    from hsd_viz.latency.select import choose
    from hsd_viz.measure.audit.api import audit
    from hsd_viz.measure.audit.endpoint import Endpoint
    from hsd_viz.measure.audit.schedules import audit_schedules
    from hsd_viz.measure.audit.statistical import audit_endpoints
    from hsd_viz.measure.bench.api import bench
    from hsd_viz.measure.doctor.api import doctor
    from hsd_viz.measure.doctor.options import Hardware, Known
    from hsd_viz.measure.plan.api import plan
    from hsd_viz.measure.predict.api import predict
    from hsd_viz.measure.replay.api import replay
    from hsd_viz.quick import compare, compare_traces, run
    from hsd_viz.records import convert as serving_metrics
    from hsd_viz.records.imported import import_records
    from hsd_viz.results.result import Result
    from hsd_viz.stack import Stack, StackError, parse
    from hsd_viz.trace import Trace, TraceError
    from hsd_viz.views.app.dashboard import dashboard
    from hsd_viz.views.opened import show

# Module -> the public names that load it.
_MODULES = {
    ".decoding.engine": ("Engine",),
    ".engine.local": ("load_engine",),
    ".engine.remote": ("connect",),
    ".engine.recordings": ("bundled", "load_bundled"),
    ".errors": ("UserError",),
    ".latency.inputs": ("Edge",),
    ".latency.select": ("choose",),
    ".measure.audit.api": ("audit",),
    ".measure.audit.endpoint": ("Endpoint",),
    ".measure.audit.schedules": ("audit_schedules",),
    ".measure.audit.statistical": ("audit_endpoints",),
    ".measure.bench.api": ("bench",),
    ".measure.doctor.api": ("doctor",),
    ".measure.doctor.options": ("Hardware", "Known"),
    ".measure.plan.api": ("plan",),
    ".measure.predict.api": ("predict",),
    ".measure.replay.api": ("replay",),
    ".quick": ("compare", "compare_traces", "run"),
    ".records.imported": ("import_records",),
    ".results.result": ("Result",),
    ".stack": ("Stack", "StackError", "parse"),
    ".trace": ("Trace", "TraceError"),
    ".version": ("__version__",),
    ".views.app.dashboard": ("dashboard",),
    ".views.opened": ("show",),
}
# Public names that are modules themselves.
_SUBMODULES = {
    "figures": ".figures",
    "serving_metrics": ".records.convert",
    "views": ".views",
}
__getattr__, __dir__, __all__ = lazily(__name__, _MODULES, _SUBMODULES)


def _show(trace: Any) -> Any:
    return __getattr__("views").overview(trace)


def _page(trace: Any) -> str:
    return __getattr__("views").run_page(trace)


def _figure(result: Any) -> Any:
    return __getattr__("figures").of_result(result)


def _list_drafters() -> ItemsByName:
    return import_module("hsd_viz.drafting.make").items_by_name()


register_drawing(Drawing(show=_show, to_html=_page, figure=_figure))
register_drafters(_list_drafters)
