"""The forward in C++ (``src/``), how it is compiled, and its Python side."""
