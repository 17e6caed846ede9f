"""Audits of losslessness: is the output of a decoder distributed as the target's own?

:func:`exact` enumerates a Python callable over toy models, :func:`statistical` compares two OpenAI-style endpoints.
"""

from hsd_viz.audit.exact import ExactAudit, Task, exact
from hsd_viz.audit.statistical import Endpoint, StatisticalAudit, statistical

__all__ = ["Endpoint", "ExactAudit", "StatisticalAudit", "Task", "exact", "statistical"]
