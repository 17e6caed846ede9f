"""From outputs to figures: ratios of sums over prompts, each with a bootstrap interval, as JSON data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from hsd_viz.bench.answers import build_section
from hsd_viz.bench.output import Output
from hsd_viz.bench.profile import summary
from hsd_viz.bench.runner import PLAIN, Measurement
from hsd_viz.bench.tables import columns, text_table
from hsd_viz.trace.metrics import repetition_share

__all__ = ["FIGURES", "build_report", "columns", "figures", "read_report", "text_table"]

RESAMPLES = 1000
#: Outputs that repeat themselves less than this are looked at apart: see :func:`hsd_viz.trace.metrics.repetition_share`.
LOW_REPETITION = 0.2
FIGURES = (
    "tokens_per_second",
    "tokens_per_second_with_prefill",
    "mean_acceptance_length",
    "draft_seconds_per_round",
    "draft_seconds_p99",
    "speedup_over_plain",
    "acceptance_rate",
    "repetition_share",
)


def build_report(
    measurement: Measurement,
    machine: dict[str, Any],
    engine: dict[str, Any],
    memory: dict[str, dict[str, int | None]] | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """The report as JSON data: machine, suite, settings, and per stack every figure of :data:`FIGURES`.

    Each figure has a sibling ``..._ci``: the 95 % interval of a bootstrap over prompts, and is ``None`` where it does not
    exist, as with a single prompt.
    ``low_repetition`` has the same figures over the prompts whose *plain* output repeats itself little (all stacks are thus
    compared on the same prompts), ``by_category`` over each category. ``engine`` (device, dtype, threads, target, padding: a sentence
    or ``None``, databases: their folder or ``None`` for those that ship) joins the settings, and ``command`` is what was typed. Each
    stack also has its ``runtime`` and ``state`` (:class:`hsd_viz.bench.rows.Row`); where they were measured its ``memory`` (bytes of
    one decode in a process of its own), its ``profile`` (:func:`hsd_viz.bench.profile.summary`) and, for a rival whose settings
    were tried, ``rival_settings``.
    Where questions were asked, ``spec_bench`` has Spec-Bench's own figures (:mod:`hsd_viz.bench.answers`), the template that they
    were written with, and the questions that were left out.
    """
    suite, settings, plain = measurement.suite, measurement.settings, measurement.outputs[PLAIN]
    low = [k for k, o in enumerate(plain) if repetition_share(o.token_ids) < LOW_REPETITION]
    everything = list(range(len(plain)))
    categories = {c: [k for k, p in enumerate(measurement.prompts) if p.category == c] for c in suite.categories}
    stacks = []
    for name, outputs in measurement.outputs.items():
        by_category = {c: _figures(outputs, plain, ks, low) for c, ks in categories.items() if ks}
        same = sum(o.token_ids == p.token_ids for o, p in zip(outputs, plain, strict=True))
        stacks.append(
            {
                "stack": name,
                **_figures(outputs, plain, everything, low),
                "by_category": by_category,
                "token_identical_to_plain": [same, len(plain)] if settings.sampling.greedy else None,
                "state": measurement.rows[name].state if name in measurement.rows else None,
                "runtime": next((o.runtime for o in outputs), None),
                "memory": (memory or {}).get(name),
                "profile": summary(measurement.profiles.get(name, ())),
                "rival_settings": _tuned(measurement, name),
            }
        )
    report = {
        "machine": machine,
        "suite": {
            "name": suite.name,
            "prompts": len(measurement.prompts),
            "categories": {c: suite.categories[c] for c, ks in categories.items() if ks},
        },
        "settings": {
            "max_new_tokens": settings.max_new_tokens,
            **dataclasses.asdict(settings.sampling),
            "repeats": settings.repeats,
            "state": settings.state,
            "budget": settings.budget,
            **engine,
            "interleaved": True,
            "bootstrap_resamples": RESAMPLES,
            "low_repetition_below": LOW_REPETITION,
        },
        "command": command,
        "complete": measurement.complete,
        "stacks": stacks,
    }
    if measurement.template is not None:
        answers = {name: [o.turns for o in outputs] for name, outputs in measurement.outputs.items()}
        report["spec_bench"] = {
            "template": measurement.template,
            "left_out": dict(measurement.left_out),
            "stacks": build_section(measurement.prompts, answers, PLAIN),
        }
    return report


def _tuned(measurement: Measurement, name: str) -> dict[str, Any] | None:
    """What was tried for the rival's row ``name``, fastest first."""
    found = measurement.tuned.get(name)
    if found is None:
        return None
    tried = [{**settings, "tokens_per_second": speed} for settings, speed in found.tried]
    return {
        **found.settings,
        "tuned_on": list(found.prompts),
        "tried": sorted(tried, key=lambda t: -t["tokens_per_second"]),
    }


def _figures(outputs: Sequence[Output], plain: Sequence[Output], chosen: list[int], low: list[int]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "outputs": len(chosen),
        **figures([outputs[k] for k in chosen], [plain[k] for k in chosen]),
    }
    few = [k for k in chosen if k in set(low)]
    found["low_repetition"] = (
        {"outputs": len(few), **figures([outputs[k] for k in few], [plain[k] for k in few])} if few else None
    )
    return found


def figures(outputs: Sequence[Output], plain: Sequence[Output], seed: int = 0) -> dict[str, Any]:
    """Every figure of :data:`FIGURES` with its interval. ``plain[k]`` is the plain output of the prompt of ``outputs[k]``.

    Sums over prompts come before ratios, so that long outputs weigh more; a resample draws prompts, and for the speed-up the
    same prompts on both sides.
    """
    n = len(outputs)
    # Row 0 takes every prompt once: the figure itself. The other rows are resamples.
    draws = (
        np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES) if n else np.zeros((0, 0), int)
    )
    times = np.vstack([np.ones((1, n), int), draws])

    def total(values: Sequence[float]) -> np.ndarray:
        return times @ np.asarray(values, float)

    def ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
        return np.divide(over, under, out=np.full(len(over), np.nan), where=under > 0)

    tokens = total([len(o.token_ids) for o in outputs])
    speed = ratio(total([o.timed_tokens for o in outputs]), total([o.seconds for o in outputs]))
    plain_speed = ratio(total([o.timed_tokens for o in plain]), total([o.seconds for o in plain]))
    nothing = np.full(len(times), np.nan)
    told = all(o.draft_seconds is not None for o in outputs)
    rounds = [o.draft_seconds or () for o in outputs]
    samples = {
        "tokens_per_second": speed,
        "tokens_per_second_with_prefill": ratio(tokens, total([o.seconds + o.prefill_seconds for o in outputs])),
        "mean_acceptance_length": ratio(tokens, total([o.target_forwards for o in outputs])),
        "draft_seconds_per_round": ratio(total([sum(r) for r in rounds]), total([len(r) for r in rounds]))
        if told
        else nothing,
        "draft_seconds_p99": _percentile(rounds, times, 0.99) if told else nothing,
        "speedup_over_plain": ratio(speed, plain_speed),
        "acceptance_rate": ratio(total([o.accepted for o in outputs]), total([o.drafted for o in outputs])),
        "repetition_share": ratio(total([repetition_share(o.token_ids) * len(o.token_ids) for o in outputs]), tokens),
    }
    found: dict[str, Any] = {}
    for name in FIGURES:
        value, *resampled = samples[name]
        there = np.asarray(resampled)[~np.isnan(resampled)]
        found[name] = None if np.isnan(value) else float(value)
        # Resampling a single prompt gives that prompt again: an interval of no width would claim a certainty that is not there.
        known = len(outputs) > 1 and len(there) and not np.isnan(value)
        found[f"{name}_ci"] = [float(x) for x in np.quantile(there, (0.025, 0.975))] if known else None
    return found


def _percentile(rounds: Sequence[Sequence[float]], times: np.ndarray, share: float) -> np.ndarray:
    """For each row of ``times`` (how often each prompt counts) the percentile over the rounds of all its prompts."""
    values = np.concatenate([np.asarray(r, float) for r in rounds]) if rounds else np.zeros(0)
    if not len(values):
        return np.full(len(times), np.nan)
    order = np.argsort(values, kind="stable")
    owner = np.repeat(np.arange(len(rounds)), [len(r) for r in rounds])[order]
    found = []
    for row in times:
        reached = np.cumsum(row[owner])
        found.append(values[order[np.searchsorted(reached, share * reached[-1])]] if reached[-1] else np.nan)
    return np.array(found)


def read_report(text: str, name: str) -> dict[str, Any]:
    """A report that was written as JSON; what older ones lack is filled in. Raises ``ValueError`` where ``name`` is no report."""
    try:
        report = json.loads(text)
        report.setdefault("command", None)
        for stack in report["stacks"]:
            for key in ("state", "runtime", "memory", "profile", "rival_settings"):
                stack.setdefault(key, None)
        text_table(report)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise ValueError(f"{name} is no report of hsd-viz bench --json") from None
    return report
