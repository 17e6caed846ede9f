"""Commands for those who work on the project; run them in a checkout, as ``python -m tools.NAME``.

What the checks use:

- ``language``: wording to replace in docs, docstrings, comments and messages
- ``legibility``: what makes code hard to read and no linter counts
- ``mutants``: faults that the tests must notice
- ``next_steps``: what the changed files need before a commit
- ``attack``: damaged and hostile inputs at every door by which data of strangers enters

What is written from the source, or from the weights:

- ``reference``: reference pages, the page's types, headers of the native runtime
- ``wasm``: the native runtime for browser tabs
- ``record``: the recordings that are shipped
- ``docs``: tables, figures in sentences and pictures of the documentation
- ``int8``: a checkpoint with matrices of 8 bits
- ``rebuild``: all of that, in order, after the weights changed
- ``release``: checksums and a bill of materials; the check of an installed wheel

What measures:

- ``measure_page``: the page in a real Chromium, and the models in a browser tab
- ``load``: many visitors and clients on the servers

``browser`` serves the dashboard and opens a browser, for the others.
"""
