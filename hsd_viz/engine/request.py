"""A request to decode, checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hsd_viz.calibration.pick import candidates, is_auto
from hsd_viz.decoding.settings import DEFAULT_RULE, Sampling
from hsd_viz.drafting import Memory
from hsd_viz.engine.models import Models
from hsd_viz.ladder.load import names
from hsd_viz.stack import Stack, parse, split_variant, variant_name
from hsd_viz.words import check_budget, check_range, did_you_mean

MAX_NEW_TOKENS = 100_000


@dataclass(frozen=True, slots=True)
class Request:
    """A checked request to decode: the levels of ``parsed`` or, with ``choosing``, the fastest of them."""

    prompt: str | Sequence[int]
    written: str
    parsed: Stack
    choosing: bool
    sampling: Sampling
    max_new_tokens: int
    record: bool
    chat: bool
    memory: Memory | None
    budget: int | None
    rules: Mapping[str, str]


def own_name(models: Models, name: str) -> str:
    """Return the name of a model itself: ``target`` is the target of ``models``."""
    if name == models.target:
        return name
    base, variant = split_variant(name)
    return variant_name(models.target if base == "target" else base, variant)


def chain_of(models: Models, stack: Stack) -> list[str]:
    """Return the models of a stack by their own names, the target last: the padded one also where the stack names its
    checkpoint.
    """
    last = "target" if stack.target.name == models.target_base else stack.target.name
    return [own_name(models, name) for name in (*(m.name for m in stack.drafts), last)]


def checked_request(
    models: Models,
    prompt: str | Sequence[int],
    stack: str | Stack,
    memory: Memory | None,
    budget: int | None,
    options: Mapping[str, Any],
) -> Request:
    """Return the request with the ``options`` of :meth:`hsd_viz.engine.Engine.decode`.

    Raises:
        ValueError: if a value or the stack is invalid.
    """
    written, rule = str(stack), options["rule"]
    by_level = rule if isinstance(rule, Mapping) else {}
    temperature, top_p = float(options["temperature"]), float(options["top_p"])
    general = DEFAULT_RULE if by_level is rule else rule
    sampling = Sampling(temperature, options["top_k"], top_p, options["seed"], general)
    for name in by_level.values():
        Sampling(rule=name)
    check_range("max new tokens", options["max_new_tokens"], 1, MAX_NEW_TOKENS)
    check_budget(budget)
    parsed = parse(written)
    if choosing := is_auto(parsed):
        parsed = candidates(parsed, models.base(chain_of(models, parsed)[-1]), names())
    named = chain_of(models, parsed)
    if models.pad_layers and split_variant(named[-1])[0] != models.target:
        raise ValueError(
            f"'{written.strip()}' ends in {named[-1]}, which is not padded: "
            f"end it in target, which means {models.target}"
        )
    for name in named:
        models.where(name)
        if named.count(name) > 1:
            raise ValueError(f"in '{written.strip()}' {name} would draft for itself: 'target' means {name} here")
    levels = ["target", *(m.name for m in parsed.drafts)]
    if unknown := next((name for name in by_level if name not in levels), None):
        raise ValueError(
            f"the rule is for '{unknown}', which is not in '{written.strip()}': use {', '.join(levels)}"
            + did_you_mean(unknown, levels)
        )
    length, record, chat = (options[name] for name in ("max_new_tokens", "record", "chat"))
    return Request(prompt, written, parsed, choosing, sampling, length, record, chat, memory, budget, by_level)
