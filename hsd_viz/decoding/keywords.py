"""The keyword arguments of a decode, for type checkers.

Written by ``python -m tools.reference`` from :class:`hsd_viz.decoding.engine.CallOptions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from hsd_viz.drafting import Memory


class Options(TypedDict, total=False):
    """The options of a decode that differ from their defaults.

    Attributes:
        max_new_tokens: the most tokens of an output.
        temperature: 0 is greedy decoding.
        top_k: the likeliest tokens to sample among; 0: all.
        top_p: the total probability of the likeliest tokens to sample among; 1: all.
        min_p: the least probability, relative to the likeliest token; 0: all tokens.
        seed: the same seed gives the same text.
        rule: verifies drafts that were sampled from rows, by a draft model at a temperature above
            0.
        record: whether to record probabilities, entropies and top-5 lists, which are expensive.
        chat: whether to pass the prompt as a user turn through the target's chat template.
        budget: the largest number of draft tokens, 1-256, that a database or baseline may propose
            at a time, regardless of their cost; by default each uses its own limit.
        memory: the memory that drafters keep between runs. Pass the same memory to each run of a
            stack for warm runs; by default a run is cold.
    """

    max_new_tokens: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    seed: int
    rule: str
    record: bool
    chat: bool
    budget: int | None
    memory: Memory | None
