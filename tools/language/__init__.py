"""The wording of docs, docstrings, comments and messages: what is replaced, and where it is."""
