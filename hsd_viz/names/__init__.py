"""The names of the package: loaded on first use, with a hint where a name is wrong."""
