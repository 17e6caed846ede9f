"""A server of the Model Context Protocol, through which chats request a diagnosis, a prediction, a
replay or a decode.

Its tools are read-only, and use only the shipped models and the files of one folder. See
``hsd-viz mcp``.
"""
