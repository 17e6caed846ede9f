"""Experiments behind the published figures; run from a checkout, as in `python -m
benchmarks.grid`.
"""
