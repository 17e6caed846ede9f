"""Audits of losslessness: is the output of a decoder distributed as the target's own?

:func:`exact` enumerates the output law of a Python callable over toy models; :func:`statistical` compares two
OpenAI-style endpoints of one model, with and without speculation. ``hsd_viz.audit.stacks`` has this project's own loop
as a decoder.
"""

from hsd_viz.audit.exact import ExactAudit, Task, exact
from hsd_viz.audit.statistical import Endpoint, StatisticalAudit, statistical

__all__ = ["Endpoint", "ExactAudit", "StatisticalAudit", "Task", "exact", "statistical"]
