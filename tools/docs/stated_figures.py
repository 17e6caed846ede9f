"""The figures that the sentences of the pages state, from the files in ``docs/bench``."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from statistics import median

from benchmarks.grid_point import picks
from hsd_viz.figures.second_draft import WIDTHS, gain, measured_points
from hsd_viz.latency.basis import recorded
from hsd_viz.measure.bench.hierarchy_gain import GAIN
from hsd_viz.measure.predict.api import predict
from hsd_viz.measure.predict.hardware_plan import HardwarePlan
from hsd_viz.stack import PLAIN
from tools.docs.results.files import TEMPERATURES, by_stack, read

LLAMAS = ("llama-70b", "llama-8b", "llama-1b")


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


def over(
    part: str, target: str, kind: str = "models_over_single_draft", interval: bool = True
) -> list[float]:
    """Return the speed-up of the best hierarchy over the best single draft model, with its
    interval.
    """
    best = _point(part, target)[kind]
    return [best["speedup"], *(best["speedup_ci"] if interval else ())]


def gains(column: str) -> list[float]:
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


def closer() -> list[float]:
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


def cached() -> list[float]:
    """Return the gain by the plan at T = 0.7 without and with the term for displaced caches."""
    calibration = recorded(0.7).calibration
    rows = []
    for after in ({}, calibration.after):
        choice = picks(replace(calibration, after=after), ("nano", "small"), bottom=None)
        rows.append(choice.single[0].ms_per_token / choice.models[0].ms_per_token)
    return rows


def missed() -> list[float]:
    """Return the errors of the law that miss its goals: at T = 1 the median, greedy the worst."""
    median_at_one = read("plan-t1-cpu")["errors"]["ms_per_token"]["median"]
    worst_of_greedy = read("plan-greedy-cpu")["errors"]["ms_per_token"]["worst"]
    return [median_at_one, worst_of_greedy]


def law() -> list[float]:
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


def after(draft: str, sign: int) -> list[float]:
    """Return by how much verifications of the target cost more, or with sign -1 less, after a
    draft source.
    """
    shares = []
    for plan in _plans():
        for before, verifier, ratio in plan["calibration"]["after"]:
            if (before, verifier) == (draft, PLAIN):
                shares.append(sign * (ratio - 1))
    return [min(shares), max(shares)]


def faster(*stacks: str) -> list[float]:
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


def prediction(*names: str) -> list[float]:
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


def aside(source: str, gpu: str = "") -> list[float]:
    """Return the same of the step times of a source, or of some of its cards alone."""
    errors = [abs(row["error"]) for row in _held_aside(source, gpu)]
    return [len(errors), median(errors), max(errors)]


def published_share() -> float:
    """Return the published speed of Llama 3.1 70B on two A100 over that on four."""
    times = {row["tp"]: row["ms"] for row in _held_aside(gpu="A100 SXM", model="llama-70b")}
    return times[4] / times[2]


def worst_on(source: str, kind: str = "held_aside") -> float:
    """Return the largest error of the step times of a source, regardless of its sign."""
    rows = [row for row in read("prediction")[kind] if source in row["source"]]
    return max(abs(row["error"]) for row in rows)


def too_slow(gpu: str) -> float:
    """Return how much too long the times of a card are at the worst."""
    return max(row["error"] for row in read("prediction")["held_aside"] if gpu in row["gpu"])


def too_fast(model: str) -> float:
    """Return how much too short the times of a model on A100 are at the worst."""
    return max(-row["error"] for row in _held_aside(gpu="A100 SXM", model=model))


@cache
def llamas() -> HardwarePlan:
    """Return the prediction for Llama 70B, 8B and 1B on four H100, with 8-bit weights."""
    batch = (1, 4, 16, 64)
    context = (2048, 8192, 32768)
    return predict("H100 SXM", LLAMAS, tp=4, weights="fp8", batch=batch, context=context)


def llama_draft() -> list[float]:
    """Return the least and largest speed-up with the 1B model as the only draft."""
    speedups = []
    for row in llamas().rows:
        has_one_draft = row.stack.count(">") == 1
        if row.stack.startswith("llama-1b") and has_one_draft:
            speedup = row.speedup_over_plain.value
            assert speedup is not None
            speedups.append(speedup)
    return [min(speedups), max(speedups)]


def needed() -> float:
    """Return the acceptance of the 1B by the 70B model, in hundredths, from which on two draft
    models beat one.
    """
    for percent in range(70, 0, -1):
        acceptance = {"llama-1b > llama-70b": percent / 100}
        prediction = predict("H100 SXM", LLAMAS, tp=4, weights="fp8", acceptance=acceptance)
        if prediction.second_draft_gain[0].gain > 0:
            return percent / 100
    return 0.0


def assumed(*pairs: str) -> list[float]:
    values = {assumption.name: assumption.value for assumption in llamas().assumptions}
    return [float(values[f"acceptance {pair}"]) for pair in pairs]


def _h100(runtime: str = "compiled") -> dict[str, float]:
    """Return ms by width of the 1B shape on the H100."""
    return read("gpu-h100")["b"]["parts"][f"steps/1B/{runtime}"]["width_ms"]


def compiled() -> list[float]:
    """Return the least and largest ratio of eager to compiled forward passes of the 1B shape,
    and what one costs.
    """
    compiled = _h100()
    ratios = [eager / compiled[width] for width, eager in _h100("eager").items()]
    draft_of_seven = compiled["8"] / compiled["1"] - 1
    return [min(ratios), max(ratios), bound(), draft_of_seven]


def bound() -> float:
    return read("gpu-h100")["b"]["parts"]["steps/1B/compiled"]["ratio_to_bound"]


def rounding() -> float:
    """Return by how much the loss of the target is higher with 8-bit weights."""
    [row] = [row for row in read("int8-cpu")["models"] if row["model"] == PLAIN]
    return row["loss_int8"] - row["loss_float32"]


def step(model: str) -> float:
    """Return ms of a forward pass over one token on the native runtime."""
    return read(f"curves-{model}-cpu")["milliseconds"]["native"]["1"]


def block() -> list[float]:
    """Return the least and largest gain of block verification."""
    gains = [row["block_gain"] for row in read("rules-cpu")["rows"]]
    return [min(gains), max(gains)]


def taken() -> list[float]:
    """Return the acceptance of tokens of a database that ``small`` passed, and of its own ones."""
    calibration = read("plan-greedy-cpu")["calibration"]
    over = {lower: rates for lower, _, rates in calibration["over"]}
    rates = over["db > small"]
    return [rates["taken"], rates["own"]]


def copy_with_databases() -> list[float]:
    """Return the number of questions, and what databases below a copy of the target bring over
    plain decoding and over the best single draft, with intervals.
    """
    report = read("copies-whole-t07-cpu")
    gain = report["hierarchy_gain"]
    row = by_stack(report)[gain["hierarchy"]]
    over_plain = [row["speedup_over_plain"], *row["speedup_over_plain_ci"]]
    return [gain["outputs"], *over_plain, gain[GAIN], *gain[f"{GAIN}_ci"]]


def loops() -> float:
    return by_stack(read("heldout-greedy-cpu"))[PLAIN]["repetition_share"]
