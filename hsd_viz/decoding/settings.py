"""The settings of one decode and their limits. Importing this module does not import torch."""

from __future__ import annotations

from dataclasses import dataclass

from hsd_viz.trace.tables import DEFAULT_RULE, RULES

#: How a draft model with another tokenizer than the target's drafts (:mod:`hsd_viz.decoding.bridge`).
BRIDGES = ("slem", "tli")


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn: ``temperature`` 0 is greedy; ``top_k`` 0 and ``top_p`` 1 are off; the same ``seed`` gives
    the same text. ``rule`` verifies drafts that were sampled from rows, by a draft model at a temperature above 0:
    ``token``, ``block`` or ``branch``.

    Raises:
        ValueError: if a value is out of range.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    rule: str = DEFAULT_RULE

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 100:
            raise ValueError(
                f"the temperature {self.temperature:g} is out of range: it is a number from 0 (greedy) to 100"
            )
        if isinstance(self.top_k, bool) or not isinstance(self.top_k, int) or self.top_k < 0:
            raise ValueError(f"top-k {self.top_k} is out of range: it is a whole number, 0 switches it off")
        if not 0 < self.top_p <= 1:
            raise ValueError(
                f"top-p {self.top_p:g} is out of range: it is a number above 0 and up to 1 (1 switches it off)"
            )
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < 2**63:
            raise ValueError(f"the seed {self.seed} is out of range: it is a whole number from 0 to 2^63-1")
        if self.rule not in RULES:
            raise ValueError(f"unknown verification rule '{self.rule}': use {' or '.join(RULES)}")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0


class PromptTooLong(ValueError):
    """A prompt of ``tokens`` tokens that fills a context of ``positions``: no token could be emitted."""

    def __init__(self, tokens: int, positions: int) -> None:
        super().__init__(f"the prompt has {tokens} tokens and the context holds {positions}: use a shorter prompt")
