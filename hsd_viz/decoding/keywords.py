"""The keyword arguments of a decode, for type checkers.

Written by ``python -m tools.reference`` from
:class:`hsd_viz.decoding.options.DecodingOptions`.
"""

from __future__ import annotations

from typing import Any, TypedDict


class DecodingKeywords(TypedDict, total=False):
    """The options of a decode that differ from their defaults.

    Attributes:
        max_new_tokens: the largest number of tokens in an output.
        record: whether to record probabilities, entropies and top-5 lists, which are expensive.
        chat: whether to pass the prompt as a user turn through the target's chat template.
        budget: the largest number of draft tokens, 1-256, that a database or baseline may propose
            at a time, regardless of their cost; by default each uses its own limit.
        memory: the memory that drafters keep between runs. Pass the same memory to each run of a
            stack for warm runs; by default a run is cold.
        temperature: the sampling temperature; 0 is greedy decoding.
        top_k: the number of likeliest tokens to sample from; 0 samples from all.
        top_p: the total probability of the likeliest tokens to sample from; 1 samples from all.
        min_p: the minimum probability of a token relative to that of the likeliest one; 0 samples
            from all.
        seed: the seed of the random numbers; the same seed gives the same text.
        rule: the verification rule for drafts that a draft model sampled at a temperature above 0.
    """

    max_new_tokens: int
    record: bool
    chat: bool
    budget: int | None
    memory: dict[str, Any] | None
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    seed: int
    rule: str
