"""Measure what forward passes cost and what gets accepted on this machine; keep and load the results."""
