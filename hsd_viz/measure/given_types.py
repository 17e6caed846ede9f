"""Types of values that only Python gives, named without an import: the help of the command line
imports neither engines, nor traces, nor the latency law.
"""

from typing import TYPE_CHECKING, NewType

if TYPE_CHECKING:
    from hsd_viz.decoding.engine import Engine as Engine
    from hsd_viz.latency.inputs import Edge as Edge
    from hsd_viz.trace import Trace as Trace
else:
    Edge = NewType("Edge", object)
    Engine = NewType("Engine", object)
    Trace = NewType("Trace", object)
