"""The forward and the database drafter in C++ (``src/``), how they are compiled, and their Python
side.
"""
