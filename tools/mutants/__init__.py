"""Faults that the tests must notice: their lists, what applies them, and what follows moved code.

The faults are in ``tests/mutants/``, a file for each package, and the figures with a value by hand
in ``tests/figures_by_hand.toml``.
"""
