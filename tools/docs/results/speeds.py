"""Tables of speed-ups and acceptance lengths, from reports of ``hsd-viz bench``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hsd_viz.measure.bench.hierarchy_gain import GAIN
from hsd_viz.stack import PLAIN
from tools.docs.results.files import (
    TEMPERATURES,
    by_stack,
    drafting,
    figure,
    read,
    report_names,
    reports,
    table,
    texts,
)

#: The stacks that the report speaks of.
IN_THE_REPORT = (
    "db > target",
    "small:4 > target",
    "nano:4 > target",
    "db > small:3 > target",
    "nano:4 > small:8 > target",
)

#: `db` without and with its semantic database.
BESIDE_SEMANTIC = ("db > target", "db[context,semantic,model,statistics] > target")


def speed(suite: str, only: Sequence[str] = ()) -> str:
    """Return speed-ups over plain decoding by temperature: with acceptance lengths, or of some
    stacks only.
    """
    rows = {title: by_stack(report) for title, (_, report) in reports(suite).items()}
    head = ["stack"]
    for title in rows:
        head.append(f"{title}: speed-up")
        if not only:
            head.append(f"{title}: acceptance length")
    if "greedy" in rows:
        head.append("greedy, low repetition: speed-up")
    body = []
    for stack in only or _by_best_speed(rows.values()):
        line = [f"`{stack}`"]
        for rows_of_temperature in rows.values():
            row = rows_of_temperature.get(stack) or {}
            line.append(figure(row, "speedup_over_plain"))
            if not only:
                length = {"length": row.get("mean_acceptance_length")}
                line.append(figure(length, "length"))
        if "greedy" in rows:
            low = (rows["greedy"].get(stack) or {}).get("low_repetition")
            line.append(figure(low, "speedup_over_plain"))
        body.append(line)
    return table(head, body, *report_names(suite))


def _by_best_speed(reports_by_stack: Iterable[dict[str, dict]]) -> list[str]:
    """Return all stacks but plain decoding, by their largest speed-up at any temperature."""
    best: dict[str, float] = {}
    for rows in reports_by_stack:
        for stack, row in rows.items():
            if stack != PLAIN:
                speedup = row["speedup_over_plain"]
                best[stack] = max(speedup, best.get(stack, speedup))
    return sorted(best, key=lambda stack: -best[stack])


def by_task(suite: str, most: int = 6) -> str:
    """Return the speed-ups of the fastest stacks by task and temperature."""
    head: list[str] = []
    body = []
    for title, (_, report) in reports(suite).items():
        tasks = list(report["suite"]["categories"])
        head = ["temperature", "stack", "all", *tasks]
        for row in drafting(report)[:most]:
            line = [title, f"`{row['stack']}`", figure(row, "speedup_over_plain")]
            for task in tasks:
                line.append(figure(row["by_category"].get(task), "speedup_over_plain"))
            body.append(line)
    return table(head, body, *report_names(suite))


def lengths_by_task(suite: str, stacks: Sequence[str]) -> str:
    """Return the acceptance lengths of some stacks by task and temperature."""
    head: list[str] = []
    body = []
    for title, (_, report) in reports(suite).items():
        tasks = list(report["suite"]["categories"])
        head = ["temperature", "stack", "all", *tasks]
        rows = by_stack(report)
        for stack in stacks:
            row = rows[stack]
            line = [title, f"`{stack}`", figure(row, "mean_acceptance_length")]
            for task in tasks:
                line.append(figure(row["by_category"][task], "mean_acceptance_length"))
            body.append(line)
    return table(head, body, *report_names(suite))


def hierarchy_gain(suite: str) -> str:
    """Return the speed of the fastest hierarchy over that of the fastest single draft, overall and
    by task, at each temperature.
    """
    head: list[str] = []
    body = []
    for title, (_, report) in reports(suite).items():
        tasks = list(report["suite"]["categories"])
        head = ["temperature", "hierarchy", "over the single draft", "all", *tasks]
        gain = report["hierarchy_gain"]
        line = [title, f"`{gain['hierarchy']}`", f"`{gain['single_draft']}`", figure(gain, GAIN)]
        for task in tasks:
            line.append(figure(gain["by_category"][task], GAIN))
        body.append(line)
    return table(head, body, *report_names(suite))


def beside_paper(most: int = 4) -> str:
    """Return the greedy speed-ups by task that Hierarchy Drafting's paper published, and ours on
    the same questions.
    """
    name, report = reports("spec-bench")["greedy"]
    tasks = list(report["suite"]["categories"])
    head = ["model", "method", *tasks]
    body = []
    for row in read("published-hd")["rows"]:
        speeds = texts("{:.2f}", row["speedup_by_task"], tasks)
        body.append([row["model"], row["method"], *speeds])
    for place, row in enumerate(drafting(report)):
        if place >= most and row["stack"] != "hd > target":
            continue
        line = ["SmolLM2-135M, one CPU thread", f"`{row['stack']}`"]
        for task in tasks:
            line.append(f"{row['by_category'][task]['speedup_over_plain']:.2f}")
        body.append(line)
    return table(head, body, "published-hd", name)


def pace(suite: str) -> str:
    """Return tokens/s, time to the first token and time between tokens of each stack, everyday
    temperature.
    """
    name, report = next(iter(reports(suite).values()))
    head = ["stack", "tokens/s", "first token, ms", "between tokens, ms: median", "p99"]
    times = {
        "first_token_seconds": "{:.1f}",
        "inter_token_seconds_median": "{:.2f}",
        "inter_token_seconds_p99": "{:.2f}",
    }
    body = []
    for row in report["stacks"]:
        line = [f"`{row['stack']}`", figure(row, "tokens_per_second", "{:.0f}")]
        for key, form in times.items():
            # Without its interval.
            line.append(figure({key: row.get(key)}, key, form, 1e3))
        body.append(line)
    title = f"T = {report['settings']['temperature']:g}"
    return f"{title}.\n\n{table(head, body, name)}"


def former() -> str:
    """Return tokens per second, speed-ups and acceptance lengths of release 0.1 beside those of
    now.
    """
    then = read("former")["reports"]
    now = {name: by_stack(read(name)) for name in then}
    head = ["former → present"]
    for title, _ in TEMPERATURES:
        head += [f"{title}: tokens/s", "speed-up", "acceptance length"]
    forms = {
        "tokens_per_second": "{:,.0f}",
        "speedup_over_plain": "{:.2f}",
        "mean_acceptance_length": "{:.2f}",
    }
    body = []
    for stack in next(iter(then.values())):
        line = [f"`{stack}`"]
        for _, part in TEMPERATURES:
            name = f"heldout-{part}-cpu"
            for key, form in forms.items():
                before = form.format(then[name][stack][key])
                after = form.format(now[name][stack][key])
                line.append(f"{before}→{after}")
        body.append(line)
    return table(head, body, "former")
