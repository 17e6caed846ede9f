"""Errors of limits. Importing this module does not import torch."""

from __future__ import annotations


class PromptTooLong(ValueError):
    """A prompt of ``tokens`` tokens that fills a context of ``positions``: no token could be emitted."""

    def __init__(self, tokens: int, positions: int) -> None:
        super().__init__(f"the prompt has {tokens} tokens and the context holds {positions}: use a shorter prompt")
