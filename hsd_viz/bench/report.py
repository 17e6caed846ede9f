"""From outputs to figures: ratios of sums over prompts, each with a bootstrap interval, as JSON data and as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from hsd_viz.trace.metrics import repetition_share

from .answers import build_section, text_tables
from .output import Output
from .profile import FORWARD, summary
from .rivals import GRIDS, in_words
from .runner import PLAIN, Measurement
from .turns import TEMPLATES

RESAMPLES = 1000
PARTS = ("drafting", "acceptance", "recording", "rest")
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
    measurement: Measurement, machine: dict[str, Any], engine: dict[str, Any], memory: dict[str, dict[str, int | None]] | None = None
) -> dict[str, Any]:
    """The report as JSON data: machine, suite, settings, and per stack every figure of :data:`FIGURES`.

    Each figure has a sibling ``..._ci``: the 95 % interval of a bootstrap over prompts, and is ``None`` where it does not
    exist, as with a single prompt.
    ``low_repetition`` has the same figures over the prompts whose *plain* output repeats itself little (all stacks are thus
    compared on the same prompts), ``by_category`` over each category. ``engine`` (device, dtype, threads, target, padding: a sentence
    or ``None``) joins the settings. Each stack also has its ``runtime``; where they were measured its ``memory`` (bytes of one
    decode in a process of its own), its ``profile`` (:func:`hsd_viz.bench.profile.summary`) and, for a rival whose settings were tried, ``rival_settings``.
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
            **engine,
            "interleaved": True,
            "bootstrap_resamples": RESAMPLES,
            "low_repetition_below": LOW_REPETITION,
        },
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
    return {**found.settings, "tuned_on": list(found.prompts), "tried": sorted(tried, key=lambda t: -t["tokens_per_second"])}


def _figures(outputs: Sequence[Output], plain: Sequence[Output], chosen: list[int], low: list[int]) -> dict[str, Any]:
    found: dict[str, Any] = {"outputs": len(chosen), **figures([outputs[k] for k in chosen], [plain[k] for k in chosen])}
    few = [k for k in chosen if k in set(low)]
    found["low_repetition"] = {"outputs": len(few), **figures([outputs[k] for k in few], [plain[k] for k in few])} if few else None
    return found


def figures(outputs: Sequence[Output], plain: Sequence[Output], seed: int = 0) -> dict[str, Any]:
    """Every figure of :data:`FIGURES` with its interval. ``plain[k]`` is the plain output of the prompt of ``outputs[k]``.

    Sums over prompts come before ratios, so that long outputs weigh more; a resample draws prompts, and for the speed-up the
    same prompts on both sides.
    """
    n = len(outputs)
    # Row 0 takes every prompt once: the figure itself. The other rows are resamples.
    draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES) if n else np.zeros((0, 0), int)
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
        "draft_seconds_per_round": ratio(total([sum(r) for r in rounds]), total([len(r) for r in rounds])) if told else nothing,
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


def text_table(report: dict[str, Any]) -> str:
    """The report for reading: all outputs, those that repeat themselves little, and the speed-up by category."""
    machine, settings, suite = report["machine"], report["settings"], report["suite"]
    where = machine["gpu"] if str(settings["device"]).startswith("cuda") else machine["cpu"]
    how = "greedy" if settings["temperature"] == 0 else f"temperature {settings['temperature']:g}"
    lines = [
        f"{suite['name']}: {suite['prompts']} prompts, {settings['max_new_tokens']} new tokens, {how}, median of {settings['repeats']}; "
        f"{where}, {settings['threads']} threads, {settings['dtype']}",
    ]
    if settings.get("padding"):
        lines.append(settings["padding"])
    if not report["complete"]:
        lines.append("cut short: only the prompts that every stack had finished count")
    questions = report.get("spec_bench")
    if questions is not None:
        lines += _questions(questions)
    if not suite["prompts"]:
        return "\n".join(lines)
    stacks = report["stacks"]
    lines += ["", *_table(stacks)]
    few = stacks[0]["low_repetition"]
    share = f"{settings['low_repetition_below']:.0%}"
    if few is None:
        lines += ["", f"every plain output repeats itself in {share} of its tokens or more"]
    elif few["outputs"] < suite["prompts"]:
        lines += ["", f"the {few['outputs']} outputs with less than {share} repetition:"]
        lines += _table(
            [{**s["low_repetition"], "stack": s["stack"], "runtime": s["runtime"], "token_identical_to_plain": None} for s in stacks]
        )
    if len(suite["categories"]) > 1:
        head = ["speed-up by category", *suite["categories"]]
        rows = [[s["stack"], *(_show(s["by_category"][c], "speedup_over_plain", "{:.2f}") for c in suite["categories"])] for s in stacks]
        lines += ["", *_columns([head, *rows])]
    lines += _notes(stacks)
    if questions is not None:
        lines += [
            "",
            "by Spec-Bench's definitions: prefill counts, tokens/s is the mean over questions, speed-up the ratio of such means",
        ]
        for rows in text_tables(questions["stacks"]):
            lines += ["", *_columns(rows)]
    return "\n".join(lines)


def _questions(questions: dict[str, Any]) -> list[str]:
    """How questions were written, and which were left out."""
    lines = [f"template {questions['template']}: {TEMPLATES[questions['template']]}"]
    if left_out := questions["left_out"]:
        lines.append(f"left out, as a turn does not fit the context: {', '.join(left_out)} ({len(left_out)} in all)")
    return lines


def _notes(stacks: Sequence[dict[str, Any]]) -> list[str]:
    """Profiles, memory and the rivals' settings, where they were measured."""
    lines = []
    profiled = [s for s in stacks if s["profile"]]
    if profiled:
        rows = [
            [
                "where a target round's time goes: median µs (share of all)",
                "round",
                "forwards",
                "target's",
                *PARTS,
                "Python / target's forwards",
            ]
        ]
        for s in profiled:
            profile = s["profile"]
            parts = profile["parts"]
            forwards = [part for part in parts if part.startswith(FORWARD)]
            cells = [f"{sum(parts[f]['median_us'] for f in forwards):.0f} ({sum(parts[f]['share'] for f in forwards):.0%})"]
            for part in (f"{FORWARD}target", *PARTS):
                cells.append(f"{parts[part]['median_us']:.0f} ({parts[part]['share']:.0%})" if part in parts else "-")
            rows.append([s["stack"], f"{profile['round_us']:.0f}", *cells, f"{profile['python_over_forward']:.0%}"])
        lines += ["", *_columns(rows)]
    if any(s["memory"] for s in stacks):
        rows = [["memory of one decode in a process of its own, MB", "resident", "GPU"]]
        for s in stacks:
            found = s["memory"] or {}
            rows.append([s["stack"], *(_megabytes(found.get(kind)) for kind in ("resident_bytes", "device_bytes"))])
        lines += ["", *_columns(rows)]
    tuned = [s for s in stacks if s["rival_settings"]]
    if tuned:
        lines += ["", "best of the settings that were tried on prompts that are not measured:"]
        names = {name for grid in GRIDS.values() for options in grid for name in options}
        for s in tuned:
            chosen = {name: value for name, value in s["rival_settings"].items() if name in names}
            lines.append(f"{s['stack']}: {in_words(chosen)}")
    return lines


def _megabytes(value: int | None) -> str:
    return "-" if value is None else f"{value / 1e6:.0f}"


def _table(stacks: Sequence[dict[str, Any]]) -> list[str]:
    head = ["stack", "tokens/s", "speed-up", "acceptance length", "accepted", "drafting µs/round", "repetition", "same as plain", "runtime"]
    rows = []
    for s in stacks:
        same = s["token_identical_to_plain"]
        draft = s["draft_seconds_per_round"]
        rows.append(
            [
                s["stack"],
                _show(s, "tokens_per_second", "{:.1f}"),
                _show(s, "speedup_over_plain", "{:.2f}"),
                _show(s, "mean_acceptance_length", "{:.2f}"),
                "-" if s["acceptance_rate"] is None else f"{s['acceptance_rate']:.0%}",
                "-" if draft is None else f"{draft * 1e6:.0f}",
                f"{s['repetition_share'] or 0:.0%}",
                "-" if same is None else f"{same[0]}/{same[1]}",
                s["runtime"] or "-",
            ]
        )
    return _columns([head, *rows])


def _show(block: dict[str, Any], name: str, form: str) -> str:
    value, interval = block[name], block[f"{name}_ci"]
    if value is None:
        return "-"
    return form.format(value) + (f" [{form.format(interval[0])}, {form.format(interval[1])}]" if interval else "")


def _columns(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip() for row in rows]
