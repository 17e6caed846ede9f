"""The public names of the package, which load on first use, and where they are."""

from hsd_viz import figures as figures
from hsd_viz import views as views
from hsd_viz.decoding.engine import Engine as Engine
from hsd_viz.engine.local import load_engine as load_engine
from hsd_viz.engine.recordings import bundled as bundled
from hsd_viz.engine.recordings import load_bundled as load_bundled
from hsd_viz.engine.remote import connect as connect
from hsd_viz.errors import UserError as UserError
from hsd_viz.latency.inputs import Edge as Edge
from hsd_viz.latency.select import choose as choose
from hsd_viz.measure.audit.api import audit as audit
from hsd_viz.measure.audit.endpoint import Endpoint as Endpoint
from hsd_viz.measure.audit.schedules import audit_schedules as audit_schedules
from hsd_viz.measure.audit.statistical import audit_endpoints as audit_endpoints
from hsd_viz.measure.bench.api import bench as bench
from hsd_viz.measure.doctor.api import doctor as doctor
from hsd_viz.measure.doctor.options import Hardware as Hardware
from hsd_viz.measure.doctor.options import Known as Known
from hsd_viz.measure.plan.api import plan as plan
from hsd_viz.measure.predict.api import predict as predict
from hsd_viz.measure.replay.api import replay as replay
from hsd_viz.quick import compare as compare
from hsd_viz.quick import compare_traces as compare_traces
from hsd_viz.quick import run as run
from hsd_viz.records import convert
from hsd_viz.records.imported import import_records as import_records
from hsd_viz.results.result import Result as Result
from hsd_viz.stack import Stack as Stack
from hsd_viz.stack import StackError as StackError
from hsd_viz.stack import parse as parse
from hsd_viz.trace import Trace as Trace
from hsd_viz.trace import TraceError as TraceError
from hsd_viz.version import __version__ as __version__
from hsd_viz.views.app.dashboard import dashboard as dashboard
from hsd_viz.views.opened import show as show

serving_metrics = convert
