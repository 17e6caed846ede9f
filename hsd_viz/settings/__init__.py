"""How settings are declared: each once, for the command line, the page and functions of Python.

The settings themselves are beside the code that acts on them: those of a decode in
:mod:`hsd_viz.decoding.options`, those of an engine in :mod:`hsd_viz.engine.options`, and those of a
measurement in its package, as in :mod:`hsd_viz.measure.plan.options`.
"""
