"""One vocabulary for the metrics of speculative decoding: conversion between engines, with their formulas.

Engines use the same words for different ratios. All of them follow from a few quantities (:data:`QUANTITIES`), which
:func:`convert` derives from the metrics of one vocabulary as far as they determine them, and writes in another.

>>> vllm = {"num_spec_steps": 43, "num_draft_tokens": 129, "num_accepted_draft_tokens": 10}
>>> round(convert(vllm, "vllm", "llama.cpp")["mean acceptance length"], 4)
1.2326
"""

from collections.abc import Mapping
from typing import Any

from hsd_viz.adapters import ENGINES
from hsd_viz.adapters.quantities import QUANTITIES, Vocabulary, complete
from hsd_viz.words import did_you_mean

__all__ = ["QUANTITIES", "VOCABULARIES", "Vocabulary", "complete", "convert"]

VOCABULARIES = {
    "hsd_viz": Vocabulary(
        "0.2",
        {
            "tokens": "tokens",
            "target_forwards": "forwards",
            "drafted": "drafted",
            "accepted": "accepted",
            "acceptance_rate": "rate",
            "mean_acceptance_length": "length_forwards",
            "accepted_by_position": "by_position",
        },
    ),
    **{one.name: one.words for one in ENGINES},
    "spec-bench": Vocabulary("fd2c1cd", {"accept_lengths": "emitted", "mean_accepted_tokens": "length_forwards"}),
}


def convert(values: Mapping[str, Any], source: str, target: str = "hsd_viz") -> dict[str, Any]:
    """Return the metrics ``values`` of the vocabulary ``source`` in that of ``target``; ``None`` is not determined.
    Raises: ValueError: for an unknown vocabulary or metric.
    """
    for name in (source, target):
        if name not in VOCABULARIES:
            hint = did_you_mean(name, VOCABULARIES)
            raise ValueError(f"unknown vocabulary '{name}': use {', '.join(VOCABULARIES)}{hint}")
    names = VOCABULARIES[source].names
    if unknown := [name for name in values if name not in names]:
        hint = did_you_mean(unknown[0], names)
        raise ValueError(f"'{unknown[0]}' is not a metric of {source}: use {', '.join(names)}{hint}")
    found = complete({names[name]: value for name, value in values.items()})
    return {name: found.get(quantity) for name, quantity in VOCABULARIES[target].names.items()}
