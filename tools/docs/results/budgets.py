"""Tables of acceptance lengths at equal budgets of draft tokens."""

from __future__ import annotations

from hsd_viz.stack import PLAIN
from tools.docs.results.files import figure, headings, read, table, texts


def _drafter_label(row: dict) -> str:
    warm = ", warm" if row["state"] == "warm" else ""
    return f"`{row['drafter']}`{warm}"


def lengths() -> str:
    """Return mean acceptance lengths by temperature and draft tokens per round, cost stopping
    off.
    """
    columns = [(0.7, 4), (0.7, 16), (0.7, 64), (1.0, 16), (0.0, 16)]
    titles = {1.0: "T = 1", 0.7: "T = 0.7", 0.0: "greedy, low repetition"}
    rows: dict[str, dict[tuple, str]] = {}
    for row in read("budgets")["rows"]:
        if row["target"] == PLAIN:
            figures = row["low_repetition"] if row["temperature"] == 0 else row
            cells = rows.setdefault(_drafter_label(row), {})
            cells[row["temperature"], row["budget"]] = f"{figures['mean_acceptance_length']:.2f}"
    head = ["drafter"]
    for temperature, budget in columns:
        head.append(f"{titles[temperature]}: {budget}")
    body = []
    for label, cells in rows.items():
        body.append([label, *(cells.get(column, "–") for column in columns)])
    return table(head, body, "budgets")


def chat_lengths() -> str:
    """Return mean acceptance lengths at equal budgets on a chat model: by temperature, and by
    task at the largest.
    """
    name = "budgets-smollm2"
    report = read(name)
    budgets = report["settings"]["budgets"]
    titles = {0.7: "T = 0.7", 1.0: "T = 1", 0.0: "greedy"}
    tasks = list(report["rows"][0]["by_category"])
    most = max(budgets)
    cells: dict[str, dict] = {}
    for row in report["rows"]:
        line = cells.setdefault(_drafter_label(row), {})
        line[row["temperature"], row["budget"]] = figure(row, "mean_acceptance_length")
        if row["temperature"] == 0.7 and row["budget"] == most:
            for task in tasks:
                length = figure(row["by_category"][task], "mean_acceptance_length")
                without_interval = length.split(" ")[0]
                line[task] = without_interval
    head = ["drafter"]
    columns: list = []
    for temperature, title in titles.items():
        for budget in budgets:
            head.append(f"{title}: {budget}")
            columns.append((temperature, budget))
    head += headings(f"T = 0.7, {most}: {{}}", tasks)
    columns += tasks
    body = []
    for label, line in cells.items():
        body.append([label, *texts("{}", line, columns)])
    return table(head, body, name)
