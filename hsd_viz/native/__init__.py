"""The native runtime: forward passes, the database drafter and the decoding loop in C++ (``src/``),
their compilation, and their Python interface.
"""
