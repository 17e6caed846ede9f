"""What was measured on a GPU, and of the page of the explorer."""

from __future__ import annotations

from statistics import median

from hsd_viz.stack import PLAIN
from tools.docs.results.files import read, source, texts
from training.evaluation import markdown


def gpu() -> str:
    """Return forward passes by the number of tokens, and the plan of the ladder, on a GPU."""
    data = read("gpu-h100")
    machine = data["plan"]["machine"]
    where = (
        f"Source: [gpu-h100.json](bench/gpu-h100.json) ({machine['gpu']}, "
        f"torch {machine['torch']}, bfloat16)."
    )
    tables = [
        markdown(_gpu_passes(data["b"]["parts"]), "---:"),
        markdown(_gpu_plan(data["plan"]["hierarchies"]), "---:"),
    ]
    words = _gpu_text(data["plan"]["errors"], data["a"]["parts"]["greedy/strict"])
    return "\n\n".join([*tables, words, where])


def _gpu_passes(parts: dict[str, dict]) -> list[list[str]]:
    """Return the rows of a table of forward passes by shape and runtime, the head first."""
    widths = ("1", "4", "8", "16", "32")
    head = ["random Llama", "runtime"]
    for width in widths:
        plural = "" if width == "1" else "s"
        head.append(f"ms, {width} token{plural}")
    head.append("weights / bandwidth, ms")
    rows = []
    for name, part in parts.items():
        kind, *place = name.split("/")
        if kind == "steps":
            milliseconds = texts("{:.2f}", part["width_ms"], widths)
            rows.append([place[0], place[1], *milliseconds, f"{part['bound_ms']:.2f}"])
    return [head, *sorted(rows)]


def _gpu_plan(hierarchies: list[dict]) -> list[list[str]]:
    """Return the rows of a table of the stacks that were measured, the head first."""
    rows = [
        [
            "shipped models, T = 0.7",
            "predicted ms/token",
            "measured ms/token",
            "tokens per forward pass",
        ]
    ]
    for row in hierarchies:
        if row["measured_ms_per_token"]:
            times = texts("{:.2f}", row, ("predicted_ms_per_token", "measured_ms_per_token"))
            length = f"{row['acceptance_length']['measured']:.2f}"
            rows.append([f"`{row['stack']}`", *times, length])
    return rows


def _gpu_text(errors: dict, greedy: list[dict]) -> str:
    """Return the errors of the law, and how many greedy texts equal those of plain decoding."""
    error = errors["ms_per_token"]["median"]
    settled = errors["ms_per_token_without_drift"]["median"]
    counts = []
    for row in greedy:
        if row["stack"] != PLAIN:
            equal, of = row["token_identical_to_plain"]
            counts.append(f"{equal} of {of} (`{row['stack']}`)")
    return (
        f"Median error of the law: {error:.1%}, without the machine's drift {settled:.1%}. "
        f"Greedy texts of `--runtime strict` that equal plain decoding: {', '.join(counts)}."
    )


def page() -> str:
    """Return how fast the explorer loads, opens a trace, follows keys and shows live runs."""
    data = read("page-cpu")
    cold = data["load"]["medians"]["cold"]["the trace"] / 1e3
    waiting = data["load"]["medians"]["preheated"]["the trace"] / 1e3
    size = data["load"]["bytes"]["all"] / 1e6
    own_size = data["load"]["bytes"]["own"] / 1e6
    opening = median(data["keys"]["opening"]) / 1e3
    slowest_view = max(data["keys"]["medians"].values())
    ratios = []
    for stack, run in data["live"]["medians"].items():
        ratios.append(f"{run['ratio']:.2f} (`{stack}`)")
    sentences = [
        f"A recorded run is visible after {cold:.1f} s with a cold kernel and "
        f"{waiting:.1f} s with a waiting one; it takes {size:.1f} MB, "
        f"{own_size:.1f} MB of them the page's own.",
        f"A trace of {data['keys']['tokens']:,} tokens opens in "
        f"{opening:.2f} s; a key in it is painted after {slowest_view:.0f} ms "
        "(the slowest view's median).",
        "Share of the speed of an unwatched run that a watched one has: "
        f"{', '.join(ratios)}.\n\n{source('page-cpu')}",
    ]
    return "\n".join(sentences)
