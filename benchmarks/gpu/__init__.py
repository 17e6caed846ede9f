"""Measure and check the CUDA path: ``bash benchmarks/gpu/run.sh a|b|c [--tiny]``.

``a`` checks (tests, equal bits in strict mode, a tiny benchmark), ``b`` measures, ``c`` trains the ladder. ``--tiny``
runs the same code on any machine.
"""
