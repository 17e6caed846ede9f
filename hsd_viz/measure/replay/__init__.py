"""Drafters over logged requests: how many tokens of each output they would have drafted.

``requests`` reads a log (``log_forms`` the forms of its entries, ``log_tokenizer`` its text),
``drafters`` makes what drafts, ``text`` replays an output (``above`` the recorded drafter, too),
``tally`` adds up, ``report`` is the result.
"""
