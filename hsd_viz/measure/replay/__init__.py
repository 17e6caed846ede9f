"""Replay of drafters over logged requests: how many tokens of each output they would have drafted.

``requests`` reads a log: ``log_forms`` parses the forms of entries, and ``log_tokenizer`` encodes
texts. ``drafters`` creates the drafters. ``text_replay`` replays an output, and ``above`` replays
it with a database above the recorded drafter. ``tally`` sums up, and ``report`` is the result.
"""
