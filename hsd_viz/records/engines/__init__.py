"""The serving engines, each with its forms: log lines, responses, ``/metrics`` and summaries.

``registry`` lists the readers of all of them.
"""
