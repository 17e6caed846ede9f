"""The figures inside the sentences of the pages, from the files in ``docs/bench``;
:mod:`tools.tables` writes them.

A sentence is the text around its figures, with a format in the place of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from statistics import median
from string import Formatter
from typing import Any

from benchmarks.grid_point import picks
from hsd_viz.figures.pays import WIDTHS, gain, measured_points
from hsd_viz.latency.basis import recorded
from hsd_viz.measure.bench.hierarchy_gain import GAIN
from hsd_viz.measure.predict.api import predict
from hsd_viz.measure.predict.hardware_plan import HardwarePlan
from tools.results.files import PLAIN, TEMPERATURES, by_stack, read

Values = Callable[[], Iterable[Any]]
LLAMAS = ("llama-70b", "llama-8b", "llama-1b")


def figures(sentence: str, page: str) -> re.Match:
    """Return the only match of a sentence in a page: odd groups are text, even ones figures.

    Raises:
        ValueError: if the page does not have it once.
    """
    pattern = ""
    for literal, form, _, _ in Formatter().parse(sentence):
        # A page may break its lines elsewhere.
        text = re.sub(r"(\\[ \n])+", r"\\s+", re.escape(literal))
        number = r"\S+?" if form is not None else ""
        pattern += f"({text})({number})"
    found = list(re.finditer(pattern, page))
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


def _grids() -> list[dict]:
    """Return the grids, by temperature."""
    return [read(f"grid-{part}-cpu") for _, part in TEMPERATURES]


def _plans() -> list[dict]:
    """Return the plans of the ladder, by temperature."""
    return [read(f"plan-{part}-cpu") for _, part in TEMPERATURES]


def _point(part: str, target: str) -> dict:
    """Return the point of a grid that has this target."""
    for point in read(f"grid-{part}-cpu")["points"]:
        if point["target"] == target:
            return point
    raise ValueError(f"the grid of {part} has no target {target}")


def _over(
    part: str, target: str, kind: str = "models_over_single_draft", interval: bool = True
) -> list[float]:
    """Return the speed-up of the best hierarchy over the best single draft model, with its
    interval.
    """
    best = _point(part, target)[kind]
    return [best["speedup"], *(best["speedup_ci"] if interval else ())]


def _gains(column: str) -> list[float]:
    """Return the gains of a second draft model on the unpadded ladder by temperature: as measured
    (``gain``), by the ``law`` as calibrated there, or by the picture's ``field`` with measured
    passes.
    """
    grids = _grids()
    # The cost of a pass over that of one token, from all points, by the number of tokens.
    costs: dict[int, list[float]] = {width: [] for width in WIDTHS[1:]}
    for grid in grids:
        for point in grid["points"]:
            for width, over_one in costs.items():
                over_one.append(point["verifying_over_one"][str(width)])
    verifying = (1.0, *map(median, costs.values()))
    points = measured_points(grids)
    points["field"] = gain(points["cost"], points["agreement"], verifying)
    return points.loc[points["kind"] == "this ladder", column].tolist()


def _closer() -> list[float]:
    """Return the gain by the law with acceptances higher by 0.2, at ``target+6`` and T = 1; the
    best at 0.7 by 0.3.
    """
    first = _gain_if_closer(_point("t1", "target+6"), 0.2)
    second = max(_gain_if_closer(point, 0.3) for point in read("grid-t07-cpu")["points"])
    return [first, second]


def _gain_if_closer(point: dict, more: float) -> float:
    """Return the gain of a second draft model at its cost if its acceptance is higher."""
    needed = point["needed"]
    at_its_cost = needed["gain"][0]
    return at_its_cost[needed["closer"].index(more)]


def _cached() -> list[float]:
    """Return the gain by the plan at T = 0.7 without and with the term for displaced caches."""
    known = recorded(0.7).calibration
    rows = []
    for after in ({}, known.after):
        found = picks(replace(known, after=after), ("nano", "small"), bottom=None)
        rows.append(found.single[0].ms_per_token / found.models[0].ms_per_token)
    return rows


def _missed() -> list[float]:
    """Return the errors of the law that miss its goals: at T = 1 the median, greedy the worst."""
    median_at_one = read("plan-t1-cpu")["errors"]["ms_per_token"]["median"]
    worst_of_greedy = read("plan-greedy-cpu")["errors"]["ms_per_token"]["worst"]
    return [median_at_one, worst_of_greedy]


def _law() -> list[float]:
    """Return the number of stacks of all plans, and the median and worst error of their
    predictions.
    """
    errors = []
    for plan in _plans():
        for row in plan["hierarchies"]:
            if row["measured_ms_per_token"]:
                ratio = row["predicted_ms_per_token"] / row["measured_ms_per_token"]
                errors.append(abs(ratio - 1))
    return [len(errors), median(errors), max(errors)]


def _after(draft: str, sign: int) -> list[float]:
    """Return by how much verifications of the target cost more, or with sign -1 less, after a
    draft source.
    """
    shares = []
    for plan in _plans():
        for before, verifier, ratio in plan["calibration"]["after"]:
            if (before, verifier) == (draft, PLAIN):
                shares.append(sign * (ratio - 1))
    return [min(shares), max(shares)]


def _faster(*stacks: str) -> list[float]:
    """Return the least and largest ratio of the speed now to that of release 0.1, of all but
    transformers' loops.
    """
    ratios = []
    for name, then in read("former")["reports"].items():
        now = by_stack(read(name))
        for stack, row in then.items():
            asked_for = stack in stacks if stacks else not stack.startswith("hf-")
            if asked_for:
                ratios.append(now[stack]["tokens_per_second"] / row["tokens_per_second"])
    return [min(ratios), max(ratios)]


def _prediction(*names: str) -> list[float]:
    """Return the number of figures, the median and the worst error of groups of predictions."""
    values = []
    for name in names:
        summary = read("prediction")["summary"][name]
        values += [summary["figures"], summary["median"], summary["worst"]]
    return values


def _held_aside(source: str = "", gpu: str = "", model: str = "") -> list[dict]:
    """Return the published step times that nothing was fitted on: of sources that contain a text,
    of cards whose name begins with one, and of a model if one is given.
    """
    rows = []
    for row in read("prediction")["held_aside"]:
        is_of_model = model in ("", row["model"])
        if source in row["source"] and row["gpu"].startswith(gpu) and is_of_model:
            rows.append(row)
    return rows


def _aside(source: str, gpu: str = "") -> list[float]:
    """Return the same of the step times of a source, or of some of its cards alone."""
    errors = [abs(row["error"]) for row in _held_aside(source, gpu)]
    return [len(errors), median(errors), max(errors)]


def _published_share() -> float:
    """Return the published speed of Llama 3.1 70B on two A100 over that on four."""
    times = {row["tp"]: row["ms"] for row in _held_aside(gpu="A100 SXM", model="llama-70b")}
    return times[4] / times[2]


def _worst_on(source: str, kind: str = "held_aside") -> float:
    """Return the largest error of the step times of a source, regardless of its sign."""
    rows = [row for row in read("prediction")[kind] if source in row["source"]]
    return max(abs(row["error"]) for row in rows)


def _too_slow(gpu: str) -> float:
    """Return how much too long the times of a card are at the worst."""
    return max(row["error"] for row in read("prediction")["held_aside"] if gpu in row["gpu"])


def _too_fast(model: str) -> float:
    """Return how much too short the times of a model on A100 are at the worst."""
    return max(-row["error"] for row in _held_aside(gpu="A100 SXM", model=model))


@cache
def llamas() -> HardwarePlan:
    """Return the prediction for Llama 70B, 8B and 1B on four H100, with 8-bit weights."""
    batch = (1, 4, 16, 64)
    context = (2048, 8192, 32768)
    return predict("H100 SXM", LLAMAS, tp=4, weights="fp8", batch=batch, context=context)


def _llama_draft() -> list[float]:
    """Return the least and largest speed-up with the 1B model as the only draft."""
    speedups = []
    for row in llamas().rows:
        has_one_draft = row.stack.count(">") == 1
        if row.stack.startswith("llama-1b") and has_one_draft:
            speedups.append(row.speedup_over_plain)
    return [min(speedups), max(speedups)]


def _needed() -> float:
    """Return the acceptance of the 1B by the 70B model, in hundredths, from which on two draft
    models beat one.
    """
    for percent in range(70, 0, -1):
        acceptance = {"llama-1b > llama-70b": percent / 100}
        found = predict("H100 SXM", LLAMAS, tp=4, weights="fp8", acceptance=acceptance)
        if found.second_draft_gain[0].gain > 0:
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
    compiled = _h100()
    ratios = [eager / compiled[width] for width, eager in _h100("eager").items()]
    draft_of_seven = compiled["8"] / compiled["1"] - 1
    return [min(ratios), max(ratios), _bound(), draft_of_seven]


def _bound() -> float:
    return read("gpu-h100")["b"]["parts"]["steps/1B/compiled"]["ratio_to_bound"]


def _rounding() -> float:
    """Return by how much the loss of the target is higher with 8-bit weights."""
    [row] = [row for row in read("int8-cpu")["models"] if row["model"] == PLAIN]
    return row["loss_int8"] - row["loss_float32"]


def _step(model: str) -> float:
    """Return ms of a forward pass over one token on the native runtime."""
    return read(f"curves-{model}-cpu")["milliseconds"]["native"]["1"]


def _block() -> list[float]:
    """Return the least and largest gain of block verification."""
    gains = [row["block_gain"] for row in read("rules-cpu")["rows"]]
    return [min(gains), max(gains)]


def _taken() -> list[float]:
    """Return the acceptance of tokens of a database that ``small`` passed, and of its own ones."""
    calibration = read("plan-greedy-cpu")["calibration"]
    over = {lower: rates for lower, _, rates in calibration["over"]}
    rates = over["db > small"]
    return [rates["taken"], rates["own"]]


def _copy_with_databases() -> list[float]:
    """Return the number of questions, and what databases below a copy of the target bring over
    plain decoding and over the best single draft, with intervals.
    """
    report = read("copies-whole-t07-cpu")
    gain = report["hierarchy_gain"]
    row = by_stack(report)[gain["hierarchy"]]
    over_plain = [row["speedup_over_plain"], *row["speedup_over_plain_ci"]]
    return [gain["outputs"], *over_plain, gain[GAIN], *gain[f"{GAIN}_ci"]]


def _loops() -> float:
    return by_stack(read("heldout-greedy-cpu"))[PLAIN]["repetition_share"]


ALL = "held aside, without Gaudi at full load"
_LLAMA_SPEEDUPS = "speed-ups, Llama-3.3-70B-Instruct"
_QWEN_SPEEDUPS = "speed-ups, Qwen3-30B-A3B-Instruct-2507"
_LENGTH_RATIOS = "ratios of two draft lengths, held aside"
#: Line of the table of published step times -> what its sources contain, and the cards' names.
HELD_ASIDE: dict[str, tuple[str, ...]] = {
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
}


def _held_aside_sentences() -> dict[str, Values]:
    """Return the lines of the table of published step times, with what gives their figures."""
    sentences: dict[str, Values] = {}
    for line, known in HELD_ASIDE.items():
        sentences[f"{line} | {{}} | {{:.1%}} | {{:.1%}} |"] = partial(_aside, *known)
    return sentences


_README: dict[str, Values] = {
    "on all {} questions of Spec-Bench (T = 0.7, intervals over questions): {:.2f} "
    "[{:.2f}, {:.2f}] times as fast as plain decoding, {:.2f} [{:.2f}, {:.2f}] times as fast as "
    "the copy alone": _copy_with_databases,
    "measured here, once, by {:.0%} ([why]": lambda: [_over("t1", "target+6")[0] - 1],
}
_README_IN_CHINESE: dict[str, Values] = {
    "在 Spec-Bench 的全部 {} 个问题上（T = 0.7，区间基于问题），速度是普通解码的 {:.2f} "
    "[{:.2f}, {:.2f}] 倍，是单独使用副本的 {:.2f} [{:.2f}, {:.2f}] 倍": _copy_with_databases,
}
_REPORT: dict[str, Values] = {
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
}
_RESULTS: dict[str, Values] = {
    "all of our stacks are {:.1f} to {:.1f} times as fast, "
    "plain decoding {:.1f} to {:.1f} times": lambda: [*_faster(), *_faster(PLAIN)],
    "right after `small` costs {:.0%} to {:.0%} more than on average, "
    "after a database {:.0%} to {:.0%} less": lambda: [*_after("small", 1), *_after("db", -1)],
    "T = 1 missed the first ({:.1%}), greedy the second ({:.1%})": _missed,
    "would reach {:.2f} there, at T = 0.7 with 0.3 more {:.2f} at most": _closer,
    "its field gives {:.2f}, {:.2f} and {:.2f} (T = 0.7, 1, greedy) for the unpadded target; "
    "measured are {:.2f}, {:.2f} and {:.2f}, and the law as calibrated there gives "
    "{:.2f}, {:.2f} and {:.2f}. The": lambda: [
        *_gains("field"),
        *_gains("gain"),
        *_gains("law"),
    ],
    "term takes the plan's gain from {:.2f} to {:.2f}. Draft": _cached,
    "below one draft model reaches {:.2f} at `target+6`": lambda: _over(
        "greedy", "target+6", "databases_over_single_draft", interval=False
    ),
    "fitted on {} figures (median error {:.1%})": lambda: _prediction("fitted")[:2],
    **_held_aside_sentences(),
    "| all of these | {} | {:.1%} | {:.1%} |": lambda: _prediction(ALL),
    "70B, {} figures, median error {:.0%}, worst {:.0%}; "
    "Qwen3 30B-A3B, {} figures, {:.0%}, {:.0%}.": lambda: _prediction(
        _LLAMA_SPEEDUPS, _QWEN_SPEEDUPS
    ),
    "{} ratios of two lengths, median {:.1%}, worst {:.0%}.": lambda: _prediction(_LENGTH_RATIOS),
    "of the {} are beyond": lambda: _prediction(ALL)[:1],
    "405B with 8 bits on eight A100 ({:.0%} too fast), 70B on two A100 ({:.0%} too fast; "
    "the published speed is {:.0%} of that on four)": lambda: [
        _too_fast("llama-405b"),
        _too_fast("llama-70b"),
        _published_share(),
    ],
    "on an M3 Max ({:.0%} too slow)": lambda: [_too_slow("M3 Max")],
    "by up to {:.0%} on those held aside and by {:.0%} on one of those fitted on": lambda: [
        _worst_on("intel.com"),
        _worst_on("intel.com", "fitted"),
    ],
    "two A100 ({:.0%} too fast) and 405B on eight ({:.0%})": lambda: [
        _too_fast("llama-70b"),
        _too_fast("llama-405b"),
    ],
    "short, up to {:.0%} too high": lambda: _prediction("speed-ups, held aside")[2:],
    "plans ({} stacks, calibrated on other prompts: median {:.1%}, worst {:.0%})": _law,
    "(1B by 70B {:.2f}, 8B by 70B {:.2f}, 1B by 8B {:.2f})": lambda: _assumed(
        "llama-1b > llama-70b", "llama-8b > llama-70b", "llama-1b > llama-8b"
    ),
    "if the target accepted {:.2f} of the 1B model's tokens": lambda: [_needed()],
    "draft model is {:.1f} to {:.1f} times as fast": _llama_draft,
    "the compiled runtime is {:.1f} to {:.1f} times as fast as transformers' own forward pass, "
    "and still needs {:.1f} times the time in which the weights can be read: launches and Python "
    "take most of it. A draft of seven tokens costs {:.0%} of a step": _compiled,
}
_HIERARCHIES: dict[str, Values] = {
    "own ({:.2f} against {:.2f} for `small`": _taken,
    "accepts {:.0%} to {:.0%} more tokens per round": _block,
}
#: Page -> its sentences and what gives their figures.
SENTENCES: dict[str, dict[str, Values]] = {
    "README.md": _README,
    "README.zh-CN.md": _README_IN_CHINESE,
    "docs/report.md": _REPORT,
    "docs/results.md": _RESULTS,
    "docs/explanation/hierarchies.md": _HIERARCHIES,
}
