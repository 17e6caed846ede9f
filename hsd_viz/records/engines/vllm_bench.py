"""Printed and saved results of vLLM's benchmarks: ``vllm bench serve``, ``spec_decode.py``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from hsd_viz.records.fields import Number, typed
from hsd_viz.records.file_context import Context, LinePattern, figure, number
from hsd_viz.records.sample import Sample, with_fixed_length


def summary_rows(rows: Mapping[str, str]) -> Sample | None:
    """Return the sample of the rows of a printed summary; ``None`` if it has no counts of
    drafts.
    """
    drafts = number(rows.get("Drafts"))
    if drafts is None:
        return None
    rates = _rates_of_rows(rows)
    tpot = number(rows.get("Median TPOT (ms)")) or number(rows.get("Mean TPOT (ms)"))
    return bench_sample(
        drafts=drafts,
        drafted=number(rows.get("Draft tokens")),
        accepted=number(rows.get("Accepted tokens")),
        rates=tuple(rate / 100 for rate in rates),
        running=number(rows.get("Maximum request concurrency")),
        ms_per_token=tpot,
    )


def _rates_of_rows(rows: Mapping[str, str]) -> list[float]:
    rates: list[float] = []
    while (text := rows.get(f"Position {len(rates)}")) is not None:
        rates.append(figure(text))
    return rates


class _Result(msgspec.Struct):
    """A result file of ``vllm bench serve --save-result``.

    Attributes:
        spec_decode_num_drafts: the number of verifications.
        spec_decode_draft_tokens: the number of draft tokens.
        spec_decode_accepted_tokens: the number of accepted draft tokens.
        spec_decode_per_position_acceptance_rates: the acceptance by position, as shares or in
            percent.
        max_concurrency: the maximum number of requests at a time.
        median_tpot_ms: the median time per output token in milliseconds.
        mean_tpot_ms: the mean time per output token in milliseconds.
    """

    spec_decode_num_drafts: Number | None = None
    spec_decode_draft_tokens: Number | None = None
    spec_decode_accepted_tokens: Number | None = None
    spec_decode_per_position_acceptance_rates: list[Number] | None = None
    max_concurrency: Number | None = None
    median_tpot_ms: Number | None = None
    mean_tpot_ms: Number | None = None


def bench_json(value: Mapping[str, Any]) -> Sample | None:
    """Return the sample of a result file of ``vllm bench serve --save-result``."""
    result = typed(value, _Result)
    drafts = result.spec_decode_num_drafts
    if drafts is None:
        return None
    rates = result.spec_decode_per_position_acceptance_rates or []
    accepted = result.spec_decode_accepted_tokens
    scale = 100 if _are_percent(rates, drafts, accepted) else 1
    return bench_sample(
        drafts=drafts,
        drafted=result.spec_decode_draft_tokens,
        accepted=accepted,
        rates=tuple(rate / scale for rate in rates),
        running=result.max_concurrency,
        ms_per_token=result.median_tpot_ms or result.mean_tpot_ms,
    )


def _are_percent(rates: Sequence[float], drafts: float, accepted: float | None) -> bool:
    """Return whether rates by position are in percent; as shares they would sum to the accepted
    tokens per draft.
    """
    if accepted is None or not drafts:
        return any(rate > 1 for rate in rates)
    of_a_draft = accepted / drafts
    return abs(sum(rates) / 100 - of_a_draft) < abs(sum(rates) - of_a_draft)


def bench_sample(
    *,
    drafts: float,
    drafted: float | None,
    accepted: float | None,
    rates: tuple[float, ...],
    running: float | None,
    ms_per_token: float | None,
) -> Sample:
    """Return the sample of a benchmark.

    The speed is that of all requests together, computed from the time per token of one request and
    the maximum number of running requests. It is an overestimate if fewer were running.
    """
    speed = None
    if ms_per_token:
        speed = 1e3 / ms_per_token * (running or 1.0)
    sample = Sample(
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        by_position=tuple(rate * drafts for rate in rates) or None,
        running=running,
        speed=speed,
        draft_length=len(rates) or None,
        derived=frozenset(("by_position",)) if rates else frozenset(),
    )
    return with_fixed_length(sample)


# --- the example --------------------------------------------------------------------------------

#: Figures of the example, with their names in this package.
EXAMPLE_ROWS = {
    "num_drafts": "drafts",
    "num_draft_tokens": "drafted",
    "num_accepted_tokens": "accepted",
    "num_tokens_generated_without_sd": "idle",
    "mean acceptance length": "length",
}


@dataclass(slots=True)
class _Example:
    """The printed figures of one output of the example.

    Attributes:
        figures: the figures by name.
        rates: the acceptance by position.
    """

    figures: dict[str, float] = field(default_factory=dict)
    rates: list[float] = field(default_factory=list)


@dataclass(slots=True)
class _ExampleNotes:
    """The state from previous lines of the example.

    Attributes:
        outputs: the outputs.
    """

    outputs: list[_Example] = field(default_factory=list)


def _example_row(match: re.Match[str], context: Context) -> None:
    """Store a figure of the example. A figure that appears again starts the next output."""
    outputs = context.notes_of(_ExampleNotes).outputs
    if match[1] == "total_num_output_tokens":
        outputs.append(_Example())
    name = EXAMPLE_ROWS.get(match[1])
    if name is None:
        return
    if not outputs or name in outputs[-1].figures:
        outputs.append(_Example())
    outputs[-1].figures[name] = figure(match[2])


def _example_rate(match: re.Match[str], context: Context) -> None:
    outputs = context.notes_of(_ExampleNotes).outputs
    if not outputs:
        outputs.append(_Example())
    rates = outputs[-1].rates
    if figure(match[1]) == len(rates):
        rates.append(figure(match[2]))


def examples(context: Context) -> list[Sample]:
    """Return the samples of the example's outputs in a file."""
    samples = []
    for output in context.notes_of(_ExampleNotes).outputs:
        block = output.figures
        rates = tuple(output.rates)
        drafts = block.get("drafts")
        if not drafts:
            if rates and block.get("length"):
                samples.append(Sample(length=block["length"], draft_length=len(rates)))
            continue
        idle = block.get("idle", 0.0)
        sample = Sample(
            drafts=drafts,
            drafted=block.get("drafted"),
            accepted=block.get("accepted"),
            by_position=tuple(rate * drafts for rate in rates) or None,
            passes=drafts + idle if idle else None,
            draft_length=len(rates) or None,
            derived=frozenset(("by_position",)),
        )
        samples.append(with_fixed_length(sample))
    return samples


EXAMPLE_LINES = (
    LinePattern(
        None,
        re.compile(
            r"^\s*(total_num_output_tokens|num_drafts|num_draft_tokens|num_accepted_tokens"
            r"|num_tokens_generated_without_sd|(?:seq normalized |mean )acceptance length)"
            r": *(\d+(?:\.\d+)?)\s*$"
        ),
        _example_row,
    ),
    LinePattern(
        None, re.compile(r"^\s*acceptance at token (\d+): *(\d+(?:\.\d+)?)\s*$"), _example_rate
    ),
)
