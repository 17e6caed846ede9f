"""The Model Context Protocol: a chat asks for a diagnosis, a prediction, a replay or a decode.

Everything is read-only, on the shipped models, and on files of one folder. See ``hsd-viz mcp``.
"""
