"""Drafters over logged requests: how many tokens of each output they would have drafted.

``requests`` reads a log, ``drafters`` makes what drafts, ``text`` replays an output (``above`` the
recorded drafter, too), ``tally`` adds up, ``report`` is the result.
"""
