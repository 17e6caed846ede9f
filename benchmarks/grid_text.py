"""Print a grid as text."""

from __future__ import annotations

from typing import Any

from hsd_viz.results.table import Table
from hsd_viz.results.text import plain
from hsd_viz.words import counted

#: The comparisons of a grid.
COMPARED = {
    "models_over_single_draft": "hierarchies of models over the best single draft",
    "databases_over_single_draft": "databases under models over the best single draft",
    "databases_over_database_alone": "databases under models over databases alone",
}


def table(report: dict[str, Any]) -> str:
    """Return one row per target, then the speed-ups reached, then the errors of the law."""
    settings, machine = report["settings"], report["machine"]
    how = "greedy" if settings["temperature"] == 0 else f"temperature {settings['temperature']:g}"
    lines = [
        f"{settings['suite']}: {settings['prompts']} prompts, {settings['tokens']} tokens each, {how}; "
        f"{machine['cpu']}, "
        f"{counted(settings['threads'], 'thread')}, calibrated on {settings['calibration_prompts']} other prompts",
    ]
    if not report["points"]:
        return lines[0]
    compared = ("over single (law)", "best over db", "over single (law)", "over db alone")
    rows = [
        [
            "target",
            "cost per draft token",
            "overlap",
            "plain ms",
            "best single draft",
            "best of models",
            *compared,
        ]
    ]
    for p in report["points"]:
        ms = {row["stack"]: row["ms_per_token"] for row in p["rows"]}
        models, databases, alone = (p[name] for name in COMPARED)
        rows.append(
            [
                p["target"],
                " ".join(f"{d} {c:.2f}" for d, c in p["cost_ratio"].items()),
                " ".join(f"{c:.2f}" for c in p["overlap"].values()),
                f"{ms['target']:.2f}",
                f"{p['best_single_draft']}: {ms[p['best_single_draft']]:.2f}",
                _named(models, ms),
                _gain(models),
                _named(databases, ms),
                _gain(databases),
                _gain(alone),
            ]
        )
    lines += plain([Table("", rows)]).splitlines()[1:]
    parts = (_reached(report["reached"]), _needed(report), _errors(report["points"]))
    lines += [line for part in parts for line in ("", *part)]
    return "\n".join(lines)


def _named(found: dict[str, Any] | None, ms: dict[str, float]) -> str:
    return "-" if found is None else f"{found['hierarchy']}: {ms[found['hierarchy']]:.2f}"


def _gain(found: dict[str, Any] | None) -> str:
    if found is None:
        return "-"
    interval = found["speedup_ci"]
    shown = "" if interval is None else f" [{interval[0]:.2f}, {interval[1]:.2f}]"
    return f"{found['speedup']:.2f}{shown} ({found['predicted_speedup']:.2f})"


def _reached(reached: dict[str, Any]) -> list[str]:
    lines = []
    for name, what in COMPARED.items():
        row = reached[name]
        if row["best"] is None:
            continue
        best, some, sure = row["best"], ", ".join(row["reached"]), ", ".join(row["surely"])
        lines.append(
            f"{what}: best {best['speedup']:.2f} x at {best['target']}; {reached['wanted']:g} x reached at "
            f"{some or 'no point'}, with "
            f"the whole interval at {sure or 'none'}; the interval is above 1 at {len(row['faster'])}, below 1 at "
            f"{len(row['slower'])}"
        )
    if same := reached["outputs_same_as_plain"]:
        lines.append(
            f"greedy outputs the same as that target's plain decoding: {same[0]} of {same[1]}"
        )
    return lines


def _needed(report: dict[str, Any]) -> list[str]:
    """Return the cost or acceptance at which, by the law, a hierarchy of models would be fast
    enough.
    """
    wanted = report["reached"]["wanted"]
    lines = []
    for p in report["points"]:
        if p["needed"] is None:
            continue
        by_cost, by_acceptance = [row[0] for row in p["needed"]["gain"]], p["needed"]["gain"][0]
        gains = zip(p["needed"]["cheaper"], by_cost, strict=True)
        ways = [
            next((f"lower drafts at {c:g} x their cost" for c, g in gains if g >= wanted), None)
        ]
        gains = zip(p["needed"]["closer"], by_acceptance, strict=True)
        ways.append(
            next((f"{a:g} more acceptance among drafts" for a, g in gains if g >= wanted), None)
        )
        most = max(max(row) for row in p["needed"]["gain"])
        if by_acceptance[0] >= wanted:
            found = f"{wanted:g} x as measured"
        else:
            found = (
                f"{by_acceptance[0]:.2f} x as measured, {wanted:g} x with "
                f"{' or '.join(filter(None, ways)) or 'neither alone'}"
            )
        lines.append(
            f"{p['target']}, by the law (texts pooled) models over a single draft: {found}; {most:.2f} x at most "
            "within the variations"
        )
    return lines


def _errors(points: list[dict[str, Any]]) -> list[str]:
    """Return the error of the law over all measured rows."""
    rows = [row for p in points for row in p["rows"] if row["kind"] != "plain"]
    lines = []
    for field, what in (
        ("prediction_error", "ms per token"),
        ("speedup_prediction_error", "speed-up over plain"),
    ):
        off = sorted(abs(row[field]) for row in rows)
        lines.append(
            f"the law's error in {what}: median {off[len(off) // 2]:.1%}, worst {off[-1]:.1%} of {len(off)}"
        )
    return lines
