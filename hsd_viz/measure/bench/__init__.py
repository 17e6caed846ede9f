"""Stacks measured side by side on a suite of prompts.

``runner`` decodes, each decode an ``output`` that ``decodes`` keeps; ``samples``, ``figures`` and
``hierarchy_gain`` make a ``report`` of them, which ``words`` and ``result`` show.
"""
