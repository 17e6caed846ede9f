"""Print a grid as text."""

from __future__ import annotations

from typing import Any

from hsd_viz.results.estimate import estimate_of
from hsd_viz.results.plain_text import plain
from hsd_viz.results.table import Table
from hsd_viz.text import counted

#: The comparisons of a grid.
COMPARED = {
    "models_over_single_draft": "hierarchies of models over the best single draft",
    "databases_over_single_draft": "databases under models over the best single draft",
    "databases_over_database_alone": "databases under models over databases alone",
}


def table(report: dict[str, Any]) -> str:
    """Return one row per target, then the speed-ups reached, then the errors of the law."""
    settings = report["settings"]
    machine = report["machine"]
    how = "greedy" if settings["temperature"] == 0 else f"temperature {settings['temperature']:g}"
    about = (
        f"{settings['suite']}: {settings['prompts']} prompts, {settings['tokens']} tokens each, "
        f"{how}; {machine['cpu']}, {counted(settings['threads'], 'thread')}, "
        f"calibrated on {settings['calibration_prompts']} other prompts"
    )
    if not report["points"]:
        return about
    rows = [
        [
            "target",
            "cost per draft token",
            "overlap",
            "plain ms",
            "best single draft",
            "best of models",
            "over single (law)",
            "best over db",
            "over single (law)",
            "over db alone",
        ]
    ]
    for point in report["points"]:
        rows.append(_row(point))
    lines = [about, *plain([Table("", rows)]).splitlines()[1:]]
    for part in (_reached(report["reached"]), _needed_lines(report), _errors(report["points"])):
        lines += ["", *part]
    return "\n".join(lines)


def _row(point: dict[str, Any]) -> list[str]:
    """Return the cells of a target."""
    ms = {row["stack"]: row["ms_per_token"] for row in point["rows"]}
    models, databases, alone = (point[name] for name in COMPARED)
    single = point["best_single_draft"]
    costs = []
    for draft, cost in point["cost_ratio"].items():
        costs.append(f"{draft} {cost:.2f}")
    return [
        point["target"],
        " ".join(costs),
        " ".join(f"{overlap:.2f}" for overlap in point["overlap"].values()),
        f"{ms['target']:.2f}",
        f"{single}: {ms[single]:.2f}",
        _name_and_time(models, ms),
        _gain(models),
        _name_and_time(databases, ms),
        _gain(databases),
        _gain(alone),
    ]


def _name_and_time(row: dict[str, Any] | None, ms: dict[str, float]) -> str:
    return "-" if row is None else f"{row['hierarchy']}: {ms[row['hierarchy']]:.2f}"


def _gain(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    speedup = estimate_of(row, "speedup")
    return f"{speedup.as_text('{:.2f}')} ({row['predicted_speedup']:.2f})"


def _reached(reached: dict[str, Any]) -> list[str]:
    lines = []
    for name, what in COMPARED.items():
        row = reached[name]
        if row["best"] is None:
            continue
        best = row["best"]
        reached_at = ", ".join(row["reached"])
        surely_at = ", ".join(row["surely"])
        lines.append(
            f"{what}: best {best['speedup']:.2f} x at {best['target']}; "
            f"{reached['wanted']:g} x reached at {reached_at or 'no point'}, "
            f"with the whole interval at {surely_at or 'none'}; "
            f"the interval is above 1 at {len(row['faster'])}, below 1 at {len(row['slower'])}"
        )
    same = reached["outputs_same_as_plain"]
    if same:
        lines.append(
            f"greedy outputs the same as that target's plain decoding: {same[0]} of {same[1]}"
        )
    return lines


def _needed_lines(report: dict[str, Any]) -> list[str]:
    """Return the cost or acceptance at which, by the law, a hierarchy of models would be fast
    enough.
    """
    goal = report["reached"]["wanted"]
    lines = []
    for point in report["points"]:
        if point["needed"] is None:
            continue
        gains = point["needed"]["gain"]
        as_measured = gains[0][0]
        largest = max(map(max, gains))
        if as_measured >= goal:
            words = f"{goal:g} x as measured"
        else:
            ways = " or ".join(_ways(point["needed"], goal)) or "neither alone"
            words = f"{as_measured:.2f} x as measured, {goal:g} x with {ways}"
        lines.append(
            f"{point['target']}, by the law (texts pooled) models over a single draft: {words}; "
            f"{largest:.2f} x at most within the variations"
        )
    return lines


def _ways(needed: dict[str, Any], goal: float) -> list[str]:
    """Return the least change of the cost alone, and of the acceptance alone, that is enough."""
    ways = []
    by_acceptance = needed["gain"][0]
    for cost, row in zip(needed["cheaper"], needed["gain"], strict=True):
        gain_at_measured_acceptance = row[0]
        if gain_at_measured_acceptance >= goal:
            ways.append(f"lower drafts at {cost:g} x their cost")
            break
    for difference, gain in zip(needed["closer"], by_acceptance, strict=True):
        if gain >= goal:
            ways.append(f"{difference:g} more acceptance among drafts")
            break
    return ways


def _errors(points: list[dict[str, Any]]) -> list[str]:
    """Return the error of the law over all measured rows."""
    lines = []
    for field, what in (
        ("prediction_error", "ms per token"),
        ("speedup_prediction_error", "speed-up over plain"),
    ):
        off = []
        for point in points:
            off += [abs(row[field]) for row in point["rows"] if row["kind"] != "plain"]
        off.sort()
        middle = off[len(off) // 2]
        lines.append(
            f"the law's error in {what}: median {middle:.1%}, worst {off[-1]:.1%} of {len(off)}"
        )
    return lines
