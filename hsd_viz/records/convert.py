"""One vocabulary for the metrics of speculative decoding: conversion between engines, with their
formulas.

Engines use the same words for different ratios. All of them follow from a few quantities
(:data:`QUANTITIES`), which :func:`convert` derives from the metrics of one vocabulary as far as
they determine them, and writes in another.

>>> vllm = {"num_spec_steps": 43, "num_draft_tokens": 129, "num_accepted_draft_tokens": 10}
>>> round(convert(vllm, "vllm", "llama.cpp")["mean acceptance length"], 4)
1.2326
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import pairwise
from numbers import Real
from typing import Any

from hsd_viz.errors import UserError
from hsd_viz.names.hints import did_you_mean
from hsd_viz.records.engine_settings import ENGINES
from hsd_viz.results.positions import at_least

#: Descriptions of quantities. Counts are of one request or pooled over requests.
QUANTITIES = {
    "tokens": "emitted tokens, the first one (of the prefill) included",
    "forwards": "forward passes of the target that emitted tokens, with or without a draft",
    "verifications": "forward passes of the target that verified a draft",
    "drafted": "draft tokens",
    "accepted": "accepted draft tokens",
    "by_position": "verifications that accepted k or more draft tokens, k = 1, 2, ...",
    "histogram": "verifications that accepted exactly j draft tokens, j = 0, 1, ...",
    "emitted": "tokens emitted by each forward pass, in order",
    "rate": "accepted / drafted",
    "position_rate": "by_position / verifications",
    "length_drafts": "1 + accepted / verifications",
    "length_forwards": "tokens / forwards",
    "length_tokens": "tokens / verifications",
}
#: Quantities that are lists.
_LISTS = {"by_position", "histogram", "emitted", "emitted_less_one", "position_rate"}
#: Metrics of each engine, with the quantity that each denotes.
VOCABULARIES: dict[str, dict[str, str]] = {
    name: own["metrics"] for name, own in ENGINES.items() if "metrics" in own
}
#: Rules: a quantity, the quantities that it follows from, and the formula.
_RULES: tuple[tuple[str, tuple[str, ...], Callable[..., Any]], ...] = (
    ("emitted", ("emitted_less_one",), lambda matches: [n + 1 for n in matches]),
    ("emitted_less_one", ("emitted",), lambda emitted: [n - 1 for n in emitted]),
    ("forwards", ("emitted",), len),
    ("tokens", ("emitted",), sum),
    ("verifications", ("histogram",), sum),
    ("accepted", ("histogram",), lambda h: sum(j * n for j, n in enumerate(h))),
    ("by_position", ("histogram",), at_least),
    ("accepted", ("by_position",), sum),
    (
        "histogram",
        ("by_position", "verifications"),
        lambda p, v: [a - b for a, b in pairwise([v, *p, 0])],
    ),
    (
        "by_position",
        ("position_rate", "verifications"),
        lambda rates, v: [rate * v for rate in rates],
    ),
    ("position_rate", ("by_position", "verifications"), lambda p, v: [n / v for n in p]),
    ("accepted", ("rate", "drafted"), lambda rate, drafted: rate * drafted),
    ("accepted", ("length_drafts", "verifications"), lambda length, v: (length - 1) * v),
    ("accepted", ("tokens", "forwards"), lambda tokens, forwards: tokens - forwards),
    ("drafted", ("accepted", "rate"), lambda accepted, rate: accepted / rate),
    (
        "verifications",
        ("accepted", "length_drafts"),
        lambda accepted, length: accepted / (length - 1),
    ),
    ("verifications", ("tokens", "length_tokens"), lambda tokens, length: tokens / length),
    ("tokens", ("verifications", "length_tokens"), lambda v, length: v * length),
    ("forwards", ("tokens", "length_forwards"), lambda tokens, length: tokens / length),
    ("forwards", ("tokens", "accepted"), lambda tokens, accepted: tokens - accepted),
    ("tokens", ("forwards", "accepted"), lambda forwards, accepted: forwards + accepted),
    ("rate", ("accepted", "drafted"), lambda accepted, drafted: accepted / drafted),
    ("length_drafts", ("accepted", "verifications"), lambda accepted, v: 1 + accepted / v),
    ("length_drafts", ("position_rate",), lambda rates: 1 + sum(rates)),
    ("length_forwards", ("tokens", "forwards"), lambda tokens, forwards: tokens / forwards),
    ("length_tokens", ("tokens", "verifications"), lambda tokens, v: tokens / v),
)


def complete(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return all quantities that follow from the ``known`` ones; ``None``: unknown.

    Each forward pass emits one token of the target, so ``tokens = forwards + accepted``. This is
    exact unless the last draft was cut.
    """
    quantities = {name: value for name, value in known.items() if value is not None}
    before = -1
    while len(quantities) > before:
        before = len(quantities)
        for name, needs, rule in _RULES:
            if name not in quantities and all(need in quantities for need in needs):
                with suppress(ZeroDivisionError):
                    quantities[name] = rule(*(quantities[need] for need in needs))
    return quantities


def convert(values: Mapping[str, Any], source: str, target: str = "hsd_viz") -> dict[str, Any]:
    """Convert metrics of the vocabulary ``source`` to that of ``target``; ``None``: not determined.

    Raises:
        UserError: for an unknown vocabulary or metric, or a value that is not a number or, where
            the metric has several, a list of numbers.
    """
    for name in (source, target):
        if name not in VOCABULARIES:
            hint = did_you_mean(name, VOCABULARIES)
            raise UserError(f"unknown vocabulary '{name}': use {', '.join(VOCABULARIES)}{hint}")
    names = VOCABULARIES[source]
    unknown = [name for name in values if name not in names]
    if unknown:
        hint = did_you_mean(unknown[0], names)
        raise UserError(f"'{unknown[0]}' is not a metric of {source}: use {', '.join(names)}{hint}")
    for name, value in values.items():
        if value is not None:
            _check_value(name, value, is_list=names[name] in _LISTS)
    quantities = complete({names[name]: value for name, value in values.items()})
    return {name: quantities.get(quantity) for name, quantity in VOCABULARIES[target].items()}


def _check_value(name: str, value: Any, is_list: bool) -> None:
    """Raise ``UserError`` unless a value is a number, or a list of numbers."""
    expected = "a number"
    numbers = [value]
    if is_list:
        expected = "a list of numbers"
        numbers = list(value) if isinstance(value, Iterable) else [None]
    if not all(isinstance(number, Real) for number in numbers):
        raise UserError(f"'{name}' is {value!r:.40}: expected {expected}")
