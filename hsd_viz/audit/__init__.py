"""Audits of losslessness: is the output of a decoder distributed as the target's own?"""

from hsd_viz.audit.exact import ExactAudit, Task, exact

__all__ = ["ExactAudit", "Task", "exact"]
