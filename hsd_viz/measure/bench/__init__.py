"""Measurement of stacks side by side on a suite of prompts.

``runner`` decodes; each decode is an ``output``, which ``decodes`` stores. ``samples``, ``figures``
and ``hierarchy_gain`` compute a ``report`` from the outputs, which ``sentences`` and ``result``
present.
"""
