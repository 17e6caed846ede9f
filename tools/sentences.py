"""The figures inside the sentences of the pages, from the files in ``docs/bench``;
:mod:`tools.tables` writes them.

A sentence is the text around its figures, with a format in the place of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from statistics import median
from string import Formatter
from typing import Any

from benchmarks.grid_point import picks
from hsd_viz.figures.pays import WIDTHS, gain, measured_points
from hsd_viz.latency.basis import recorded
from hsd_viz.measure.hardware_plan import HardwarePlan
from hsd_viz.measure.predict import predict
from tools.results import PLAIN, TEMPERATURES, by_stack, read

Values = Callable[[], Iterable[Any]]
LLAMAS = ("llama-70b", "llama-8b", "llama-1b")


def figures(sentence: str, page: str) -> re.Match:
    """Return the only match of a sentence in a page: odd groups are text, even ones figures.

    Raises:
        ValueError: if the page does not have it once.
    """
    text = lambda literal: re.sub(r"(\\[ \n])+", r"\\s+", re.escape(literal))
    parts = "".join(
        f"({text(literal)})" + (r"(\S+?)" if form is not None else "()")
        for literal, form, _, _ in Formatter().parse(sentence)
    )
    found = list(re.finditer(parts, page))
    if len(found) != 1:
        raise ValueError(f"a page must have this sentence once, not {len(found)} times: {sentence}")
    return found[0]


def state(page: str, sentence: str, values: Iterable[Any]) -> str:
    """Return ``page`` with the figures of a sentence that it has once; the last part of a
    sentence is text.
    """
    found = figures(sentence, page)
    forms = [spec for _, form, spec, _ in Formatter().parse(sentence) if form is not None]
    stated = [f"{value:{spec}}" for value, spec in zip(values, forms, strict=True)]
    groups = list(found.groups())
    groups[1 : 2 * len(stated) : 2] = stated
    return page[: found.start()] + "".join(groups) + page[found.end() :]


def _over(
    part: str, target: str, kind: str = "models_over_single_draft", interval: bool = True
) -> list[float]:
    """Return the speed-up of the best hierarchy over the best single draft model, with its
    interval.
    """
    best = next(point for point in read(f"grid-{part}-cpu")["points"] if point["target"] == target)[
        kind
    ]
    return [best["speedup"], *(best["speedup_ci"] if interval else ())]


def _gains(column: str) -> list[float]:
    """Return the gains of a second draft model on the unpadded ladder by temperature: as measured
    (``gain``), by the ``law`` as calibrated there, or by the picture's ``field`` with measured
    passes.
    """
    grids = [read(f"grid-{part}-cpu") for _, part in TEMPERATURES]
    widths = [
        [point["verifying_over_one"][str(w)] for w in WIDTHS[1:]]
        for grid in grids
        for point in grid["points"]
    ]
    points = measured_points(grids)
    points["field"] = gain(
        points["cost"], points["agreement"], (1.0, *map(median, zip(*widths, strict=True)))
    )
    return points.loc[points["kind"] == "this ladder", column].tolist()


def _closer() -> list[float]:
    """Return the gain by the law with acceptances higher by 0.2, at ``target+6`` and T = 1; the
    best at 0.7 by 0.3.
    """
    by = lambda point, more: point["needed"]["gain"][0][point["needed"]["closer"].index(more)]
    one = next(point for point in read("grid-t1-cpu")["points"] if point["target"] == "target+6")
    return [by(one, 0.2), max(by(point, 0.3) for point in read("grid-t07-cpu")["points"])]


def _cached() -> list[float]:
    """Return the gain by the plan at T = 0.7 without and with the term for displaced caches."""
    known, rows = recorded(0.7).calibration, []
    for after in ({}, known.after):
        found = picks(replace(known, after=after), ("nano", "small"), bottom=None)
        rows.append(found.single[0].ms_per_token / found.models[0].ms_per_token)
    return rows


def _missed() -> list[float]:
    return [
        read(f"plan-{part}-cpu")["errors"]["ms_per_token"][key]
        for part, key in (("t1", "median"), ("greedy", "worst"))
    ]


def _plans() -> list[dict]:
    return [read(f"plan-{part}-cpu") for _, part in TEMPERATURES]


def _law() -> list[float]:
    """Return the number of stacks of all plans, and the median and worst error of their
    predictions.
    """
    rows = [row for plan in _plans() for row in plan["hierarchies"] if row["measured_ms_per_token"]]
    errors = [abs(row["predicted_ms_per_token"] / row["measured_ms_per_token"] - 1) for row in rows]
    return [len(errors), median(errors), max(errors)]


def _after(draft: str, sign: int) -> list[float]:
    """Return by how much verifications of the target cost more, or with sign -1 less, after a
    draft source.
    """
    shares = [
        sign * (x - 1)
        for plan in _plans()
        for a, b, x in plan["calibration"]["after"]
        if (a, b) == (draft, PLAIN)
    ]
    return [min(shares), max(shares)]


def _faster(*stacks: str) -> list[float]:
    """Return the least and largest ratio of the speed now to that of release 0.1, of all but
    transformers' loops.
    """
    ratios = [
        now[stack]["tokens_per_second"] / row["tokens_per_second"]
        for name, then in read("former")["reports"].items()
        for now in [by_stack(read(name))]
        for stack, row in then.items()
        if (stack in stacks if stacks else not stack.startswith("hf-"))
    ]
    return [min(ratios), max(ratios)]


def _prediction(*names: str) -> list[float]:
    """Return the number of figures, the median and the worst error of groups of predictions."""
    return [
        read("prediction")["summary"][name][key]
        for name in names
        for key in ("figures", "median", "worst")
    ]


def _aside(source: str, gpu: str = "") -> list[float]:
    """Return the same of the step times of a source, or of some of its cards alone."""
    rows = [
        row
        for row in read("prediction")["held_aside"]
        if source in row["source"] and row["gpu"].startswith(gpu)
    ]
    errors = [abs(row["error"]) for row in rows]
    return [len(errors), median(errors), max(errors)]


def _published_share() -> float:
    """Return the published speed of Llama 3.1 70B on two A100 over that on four."""
    times = {
        row["tp"]: row["ms"]
        for row in read("prediction")["held_aside"]
        if row["gpu"] == "A100 SXM" and row["model"] == "llama-70b"
    }
    return times[4] / times[2]


def _worst_on(source: str, kind: str = "held_aside") -> float:
    """Return the largest error of the step times of a source, regardless of its sign."""
    rows = [row for row in read("prediction")[kind] if source in row["source"]]
    return max(abs(row["error"]) for row in rows)


def _too_slow(gpu: str) -> float:
    """Return how much too long the times of a card are at the worst."""
    return max(row["error"] for row in read("prediction")["held_aside"] if gpu in row["gpu"])


def _too_fast(model: str) -> float:
    rows = [row for row in read("prediction")["held_aside"] if row["gpu"] == "A100 SXM"]
    return max(-row["error"] for row in rows if row["model"] == model)


@cache
def llamas() -> HardwarePlan:
    """Return the prediction for Llama 70B, 8B and 1B on four H100, with 8-bit weights."""
    batch, context = (1, 4, 16, 64), (2048, 8192, 32768)
    return predict("H100 SXM", LLAMAS, tp=4, weights="fp8", batch=batch, context=context)


def _llama_draft() -> list[float]:
    rows = [
        r.speedup_over_plain
        for r in llamas().rows
        if r.stack.startswith("llama-1b") and r.stack.count(">") == 1
    ]
    return [min(rows), max(rows)]


def _needed() -> float:
    """Return the acceptance of the 1B by the 70B model, in hundredths, from which on two draft
    models beat one.
    """
    for percent in range(70, 0, -1):
        acceptance = {"llama-1b > llama-70b": percent / 100}
        found = predict("H100 SXM", LLAMAS, tp=4, weights="fp8", acceptance=acceptance)
        if found.second_draft_gain[0]["gain"] > 0:
            return percent / 100
    return 0.0


def _assumed(*pairs: str) -> list[float]:
    values = {one.name: one.value for one in llamas().assumptions}
    return [float(values[f"acceptance {pair}"]) for pair in pairs]


def _h100(runtime: str = "compiled") -> dict[str, float]:
    """Return ms by width of the 1B shape on the H100."""
    return read("gpu-h100")["b"]["parts"][f"steps/1B/{runtime}"]["width_ms"]


def _compiled() -> list[float]:
    """Return the least and largest ratio of eager to compiled forward passes of the 1B shape,
    and what one costs.
    """
    ratios = [eager / _h100()[width] for width, eager in _h100("eager").items()]
    return [min(ratios), max(ratios), _bound(), _h100()["8"] / _h100()["1"] - 1]


def _bound() -> float:
    return read("gpu-h100")["b"]["parts"]["steps/1B/compiled"]["ratio_to_bound"]


def _rounding() -> float:
    row = next(row for row in read("int8-cpu")["models"] if row["model"] == PLAIN)
    return row["loss_int8"] - row["loss_float32"]


def _step(model: str) -> float:
    """Return ms of a forward pass over one token on the native runtime."""
    return read(f"curves-{model}-cpu")["milliseconds"]["native"]["1"]


def _block() -> list[float]:
    gains = [row["block_gain"] for row in read("rules-cpu")["rows"]]
    return [min(gains), max(gains)]


def _taken() -> list[float]:
    over = {lower: rates for lower, _, rates in read("plan-greedy-cpu")["calibration"]["over"]}[
        "db > small"
    ]
    return [over["taken"], over["own"]]


def _loops() -> float:
    return by_stack(read("heldout-greedy-cpu"))[PLAIN]["repetition_share"]


ALL = "held aside, without Gaudi at full load"
#: Page -> its sentences and what gives their figures.
SENTENCES: dict[str, dict[str, Values]] = {
    "README.md": {"measured here, once, by {:.0%} ([why]": lambda: [_over("t1", "target+6")[0] - 1]},
    "docs/report.md": {
        "one CPU thread, {} prompts of suite": lambda: [read("heldout-t07-cpu")["suite"]["prompts"]],
        "once: its loss by {:.4f} nats": lambda: [_rounding()],
        "often but costs {:.0%} of a step": lambda: [_step("small") / _step(PLAIN)],
        "at temperature 0.7: {:.2f} [{:.2f}, {:.2f}]; on padded": lambda: _over("t07", PLAIN),
        "The figure's field gives {:.2f} for the ladder": lambda: _gains("field")[:1],
        "it brings {:.2f} [{:.2f}, {:.2f}] where the upper": lambda: _over("t1", "target+6"),
        "fitted on {} published figures": lambda: _prediction("fitted")[:1],
        "median error {:.1%} on {} others": lambda: _prediction(ALL)[1::-1],
        "loop in {:.0%} of their greedy text": lambda: [_loops()],
        "needs {:.1f} times what reading the weights": lambda: [_bound()],
    },
    "docs/results.md": {
        "all of our stacks are {:.1f} to {:.1f} times as fast, plain decoding {:.1f} to {:.1f} times": lambda: [
            *_faster(), *_faster(PLAIN)
        ],
        "right after `small` costs {:.0%} to {:.0%} more than on average, after a database {:.0%} to {:.0%} less":
            lambda: [*_after("small", 1), *_after("db", -1)],
        "T = 1 missed the first ({:.1%}), greedy the second ({:.1%})": _missed,
        "would reach {:.2f} there, at T = 0.7 with 0.3 more {:.2f} at most": _closer,
        "its field gives {:.2f}, {:.2f} and {:.2f} (T = 0.7, 1, greedy) for the unpadded target; measured are {:.2f}, "
        "{:.2f} and {:.2f}, and the law as calibrated there gives {:.2f}, {:.2f} and {:.2f}. The": lambda: [
            *_gains("field"), *_gains("gain"), *_gains("law")
        ],
        "term takes the plan's gain from {:.2f} to {:.2f}. Draft": _cached,
        "below one draft model reaches {:.2f} at `target+6`": lambda: _over(
            "greedy", "target+6", "databases_over_single_draft", False
        ),
        "fitted on {} figures (median error {:.1%})":
            lambda: _prediction("fitted")[:2],
        **{
            f"{source} |" + " {} | {:.1%} | {:.1%} |": lambda known=known: _aside(*known)
            for source, known in {
                "Llama 3.1 8B, 70B and 405B, 1–8 A100": ("gpt-fast (README)",),
                "Mixtral 8x7B (mixture of experts), 1–8 A100": ("gpt-fast (mixtral",),
                "context 1k and 4k (fit of arXiv 2601.11580)": ("arXiv 2601.11580",),
                "H100, L40S or A100, Llama 2 7B and 70B, batch 16–480": ("TensorRT-LLM v0.6.1",),
                "Llama 3.3 70B on an H200": ("nvidia.com/blog",),
                "on four H200, batch 8 (SpecBundle)": ("SpecBundle",),
                "cost of a cached token, Qwen3 1.7B on an H100": ("per cached token",),
                "llama.cpp on four RTX cards, 7B to 70B, 16 and 4 bits": ("GPU-Benchmarks-on-LLM", "RTX"),
                "llama.cpp on an M1 Max and an M3 Max, 7B and 8B": ("GPU-Benchmarks-on-LLM", "M"),
                "eight MI300X, batch 2–256, between those fitted on": ("oracle.com",),
                "Gaudi 3, 7B to 70B, batch 44–768": ("intel.com",),
            }.items()
        },
        "| all of these | {} | {:.1%} | {:.1%} |": lambda: _prediction(ALL),
        "70B, {} figures, median error {:.0%}, worst {:.0%}; Qwen3 30B-A3B, {} figures, {:.0%}, {:.0%}.":
            lambda: _prediction("speed-ups, Llama-3.3-70B-Instruct", "speed-ups, Qwen3-30B-A3B-Instruct-2507"),
        "{} ratios of two lengths, median {:.1%}, worst {:.0%}.":
            lambda: _prediction("ratios of two draft lengths, held aside"),
        "of the {} are beyond": lambda: _prediction(ALL)[:1],
        "405B with 8 bits on eight A100 ({:.0%} too fast), 70B on two A100 ({:.0%} too fast; the published speed is "
        "{:.0%} of that on four)": lambda: [
            _too_fast("llama-405b"), _too_fast("llama-70b"), _published_share()
        ],
        "on an M3 Max ({:.0%} too slow)": lambda: [_too_slow("M3 Max")],
        "by up to {:.0%} on those held aside and by {:.0%} on one of those fitted on": lambda: [
            _worst_on("intel.com"), _worst_on("intel.com", "fitted")
        ],
        "two A100 ({:.0%} too fast) and 405B on eight ({:.0%})": lambda: map(_too_fast, ("llama-70b", "llama-405b")),
        "short, up to {:.0%} too high": lambda: _prediction("speed-ups, held aside")[2:],
        "plans ({} stacks, calibrated on other prompts: median {:.1%}, worst {:.0%})": _law,
        "(1B by 70B {:.2f}, 8B by 70B {:.2f}, 1B by 8B {:.2f})": lambda: _assumed(
            "llama-1b > llama-70b", "llama-8b > llama-70b", "llama-1b > llama-8b"
        ),
        "if the target accepted {:.2f} of the 1B model's tokens": lambda: [_needed()],
        "draft model is {:.1f} to {:.1f} times as fast": _llama_draft,
        "the compiled runtime is {:.1f} to {:.1f} times as fast as transformers' own forward pass, and still needs "
        "{:.1f} times the time in which the weights can be read: launches and Python take most of it. A draft of seven "
        "tokens costs {:.0%} of a step": _compiled,
    },
    "docs/explanation/hierarchies.md": {
        "own ({:.2f} against {:.2f} for `small`": _taken,
        "accepts {:.0%} to {:.0%} more tokens per round": _block,
    },
}  # fmt: skip
