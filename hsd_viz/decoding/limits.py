"""What does not fit. No torch here."""

from __future__ import annotations


class PromptTooLong(ValueError):
    """A prompt of ``tokens`` tokens that fills a context of ``positions`` or more: not one token could be written."""

    def __init__(self, tokens: int, positions: int) -> None:
        super().__init__(f"the prompt has {tokens} tokens and the context holds {positions}: use a shorter prompt")
