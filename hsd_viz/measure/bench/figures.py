"""Computes the figures of a report from the measurement of a bench: ratios of sums over prompts,
each with a bootstrap interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

import msgspec

from hsd_viz.machine import MachineFacts
from hsd_viz.measure.bench.block import (
    Figures,
    PromptFigures,
    RoundPart,
    RoundProfile,
    StackFigures,
)
from hsd_viz.measure.bench.hierarchy_gain import hierarchy_gain
from hsd_viz.measure.bench.output import FORWARD, Output
from hsd_viz.measure.bench.report import LOW_REPETITION, BenchReport, ReportSettings, SuiteInfo
from hsd_viz.measure.bench.runner import Measurement
from hsd_viz.measure.bench.samples import Samples
from hsd_viz.results.bootstrap import RESAMPLES
from hsd_viz.stack import PLAIN
from hsd_viz.trace.metrics import repetition_share


def build_report(
    measurement: Measurement,
    machine: Mapping[str, Any],
    engine: Mapping[str, Any],
    command: str | None = None,
) -> BenchReport:
    """Return the report of a measurement.

    ``engine`` has fields of :class:`ReportSettings`; ``command`` is the command line.
    """
    settings = measurement.settings
    used = [prompt.category for prompt in measurement.prompts]
    categories = {}
    for category, description in measurement.suite.categories.items():
        if category in used:
            categories[category] = description
    stacks = []
    for name, outputs in measurement.outputs.items():
        stacks.append(_stack_block(measurement, name, outputs, used, list(categories)))
    is_of_questions = measurement.template is not None
    return BenchReport(
        machine=msgspec.convert(machine, MachineFacts),
        suite=SuiteInfo(name=measurement.suite.name, prompts=len(used), categories=categories),
        settings=ReportSettings(
            max_new_tokens=settings.max_new_tokens,
            repeats=settings.repeats,
            state=settings.state,
            budget=settings.budget,
            template=measurement.template,
            left_out=measurement.left_out if is_of_questions else None,
            bootstrap_resamples=RESAMPLES,
            **asdict(settings.sampling),
            family=engine.get("family"),
            target=engine.get("target"),
            databases=engine.get("databases"),
            device=engine["device"],
            dtype=engine["dtype"],
            threads=engine["threads"],
        ),
        command=command,
        complete=measurement.complete,
        stacks=tuple(stacks),
        hierarchy_gain=hierarchy_gain(measurement.outputs, used, list(categories)),
    )


def _stack_block(
    measurement: Measurement,
    name: str,
    outputs: Sequence[Output],
    used: Sequence[str],
    categories: Sequence[str],
) -> StackFigures:
    """Return the figures of a stack; ``used`` are the categories of the prompts."""
    plain = measurement.outputs[PLAIN]
    whole = _block(outputs, plain, range(len(plain)))
    by_category = {}
    for category in categories:
        chosen = [k for k, of_prompt in enumerate(used) if of_prompt == category]
        by_category[category] = _block(outputs, plain, chosen)
    identical = None
    if measurement.settings.sampling.greedy:
        pairs = zip(outputs, plain, strict=True)
        same = sum(output.token_ids == other.token_ids for output, other in pairs)
        identical = (same, len(outputs))
    rounds: list[Mapping[str, int]] = []
    if measurement.settings.profile:
        for output in outputs:
            rounds += output.parts
    return StackFigures(
        stack=name,
        whole=whole.whole,
        low_repetition=whole.low_repetition,
        by_category=by_category,
        token_identical_to_plain=identical,
        state=measurement.states.get(name),
        runtime=outputs[0].runtime if outputs else None,
        profile=round_profile(rounds) if rounds else None,
    )


def _block(
    outputs: Sequence[Output], plain: Sequence[Output], chosen: Sequence[int]
) -> PromptFigures:
    """Return the figures over the ``chosen`` prompts, and over those of them whose plain output has
    little repetition.
    """
    few = [k for k in chosen if repetition_share(plain[k].token_ids) < LOW_REPETITION]
    low = None
    if few:
        low = figures([outputs[k] for k in few], [plain[k] for k in few])
    whole = figures([outputs[k] for k in chosen], [plain[k] for k in chosen])
    return PromptFigures(whole=whole, low_repetition=low)


def round_profile(rounds: Sequence[Mapping[str, int]]) -> RoundProfile:
    """Return the median microseconds of each part of a target round, forward passes first, and the
    part's share of the total.
    """
    names = set().union(*rounds)
    microseconds = {}
    for part in sorted(names, key=lambda part: (not part.startswith(FORWARD), part)):
        microseconds[part] = [times.get(part, 0) / 1e3 for times in rounds]
    total = sum(map(sum, microseconds.values()))
    parts = {}
    for part, spent in microseconds.items():
        parts[part] = RoundPart(median_us=median(spent), share=sum(spent) / total)
    whole = [sum(times.values()) / 1e3 for times in rounds]
    return RoundProfile(rounds=len(rounds), round_us=median(whole), parts=parts)


def figures(outputs: Sequence[Output], plain: Sequence[Output], seed: int = 0) -> Figures:
    """Return the figures over outputs; ``plain[k]`` is the plain output for the prompt of
    ``outputs[k]``.

    A figure is a ratio of sums over prompts, so that long outputs weigh more. A resample draws the
    same prompts for both sides.
    """
    return Samples(outputs, seed).figures(Samples(plain, seed))
