"""The quantities of all metrics of speculative decoding, how they follow from each other, and what an adapter is."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hsd_viz.trace import Trace

#: Quantity -> what it is. Counts are of one request or pooled over requests.
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


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The metrics of one engine: ``names`` maps each to a quantity; ``version`` is the one they were checked in."""

    version: str
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Adapter:
    """One serving engine.

    ``flags(method, tokens, model, by_batch)`` writes its settings for a drafter ("plain": none) with ``tokens`` draft
    tokens ("": it has no such drafter), as documented in ``flags_version``; ``by_batch`` has (batch size, the draft
    tokens from it on). ``read(response)`` returns the trace of a response, ``None`` if it is of another form;
    ``read_text(text)`` yields the traces of a log.
    """

    name: str
    words: Vocabulary
    flags_version: str
    flags: Callable[[str, int, str, Sequence[tuple[int, int]]], str]
    read: Callable[[Mapping], Trace | None] = lambda response: None
    read_text: Callable[[str], Iterator[Trace]] = lambda text: iter(())


#: Quantity, what it needs, and how it follows.
_RULES: tuple[tuple[str, tuple[str, ...], Callable[..., Any]], ...] = (
    ("emitted", ("emitted_less_one",), lambda matches: [n + 1 for n in matches]),
    ("emitted_less_one", ("emitted",), lambda emitted: [n - 1 for n in emitted]),
    ("forwards", ("emitted",), len),
    ("tokens", ("emitted",), sum),
    ("verifications", ("histogram",), sum),
    ("accepted", ("histogram",), lambda h: sum(j * n for j, n in enumerate(h))),
    ("by_position", ("histogram",), lambda h: [sum(h[k:]) for k in range(1, len(h))]),
    ("accepted", ("by_position",), sum),
    (
        "histogram",
        ("by_position", "verifications"),
        lambda p, v: [a - b for a, b in zip([v, *p], [*p, 0], strict=True)],
    ),
    ("by_position", ("position_rate", "verifications"), lambda rates, v: [rate * v for rate in rates]),
    ("position_rate", ("by_position", "verifications"), lambda p, v: [n / v for n in p]),
    ("accepted", ("rate", "drafted"), lambda rate, drafted: rate * drafted),
    ("accepted", ("length_drafts", "verifications"), lambda length, v: (length - 1) * v),
    ("accepted", ("tokens", "forwards"), lambda tokens, forwards: tokens - forwards),
    ("drafted", ("accepted", "rate"), lambda accepted, rate: accepted / rate),
    ("verifications", ("accepted", "length_drafts"), lambda accepted, length: accepted / (length - 1)),
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
    """Return all quantities that follow from ``known`` ones; ``None`` is unknown. Each forward pass emits one token of
    its own, so ``tokens = forwards + accepted``: exact unless the last draft was cut.
    """
    found = {name: value for name, value in known.items() if value is not None}
    progress = True
    while progress:
        progress = False
        for name, needs, rule in _RULES:
            if name not in found and all(need in found for need in needs):
                try:
                    found[name] = rule(*(found[need] for need in needs))
                    progress = True
                except ZeroDivisionError:
                    continue
    return found
