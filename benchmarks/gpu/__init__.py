"""Measure and check the CUDA path: ``bash benchmarks/gpu/run.sh a|b|c|compare [--tiny]``.

``a`` checks (tests, equal bits in strict mode, a tiny benchmark), ``b`` measures, ``c`` trains the ladder, ``compare``
times transformers' static cache under torch.compile beside our forward passes. ``--tiny`` runs the same code on any
machine.
"""
