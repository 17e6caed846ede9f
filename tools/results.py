"""The tables of ``docs/results.md``, from the files in ``docs/bench``; :mod:`tools.tables` writes them.

Each function returns one table with its source below it: the files, the machine's load, and their commands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import median

from training.evaluation import markdown

BENCH = Path(__file__).resolve().parents[1] / "docs" / "bench"
#: Temperatures, the everyday one first: heading and part of the file names.
TEMPERATURES = (("T = 0.7", "t07"), ("T = 1", "t1"), ("greedy", "greedy"))
PLAIN = "target"


def read(name: str) -> dict:
    """Return the measurements ``docs/bench/NAME.json``."""
    return json.loads((BENCH / f"{name}.json").read_text(encoding="utf-8"))


def source(*names: str) -> str:
    """Return where figures come from: files, load average where it was recorded, and commands."""
    lines = []
    for name in names:
        data = read(name)
        load = data.get("machine", {}).get("load_average")
        busy = "" if load is None else f", load average {load:.1f}"
        command = re.sub(r" --json \S+", "", data.get("command") or "")
        lines.append(f"[{name}.json](bench/{name}.json){busy}" + (f": `{command}`" if command else ""))
    return "Source: " + "; ".join(lines) + "."


def reports(suite: str) -> dict[str, tuple[str, dict]]:
    """Return the reports of a suite that were measured: heading -> (name, report)."""
    names = {title: f"{suite}-{part}-cpu" for title, part in TEMPERATURES}
    return {title: (name, read(name)) for title, name in names.items() if (BENCH / f"{name}.json").exists()}


def figure(row: dict | None, key: str, form: str = "{:.2f}", scale: float = 1.0) -> str:
    """Return a figure of a stack with its interval, or – where there is none."""
    value, ends = (row or {}).get(key), (row or {}).get(f"{key}_ci")
    if value is None:
        return "–"
    text = form.format(value * scale)
    return text if ends is None or None in ends else f"{text} [{', '.join(form.format(x * scale) for x in ends)}]"


def by_stack(report: dict) -> dict[str, dict]:
    """Return the rows of a report by stack."""
    return {row["stack"]: row for row in report["stacks"]}


def speed(suite: str) -> str:
    """Return speed-ups over plain decoding and acceptance lengths of all stacks, by temperature."""
    found = reports(suite)
    rows = {title: by_stack(report) for title, (_, report) in found.items()}
    stacks = sorted(
        dict.fromkeys(s for row in rows.values() for s in row),
        key=lambda s: -max(row[s]["speedup_over_plain"] for row in rows.values() if s in row),
    )
    head = ["stack", *(f"{title}: {what}" for title in found for what in ("speed-up", "acceptance length"))]
    keys = ("speedup_over_plain", "mean_acceptance_length")
    body = [[f"`{s}`", *(figure(rows[t].get(s), key) for t in found for key in keys)] for s in stacks]
    if "greedy" in found:
        head.append("greedy, low repetition: speed-up")
        for line, s in zip(body, stacks, strict=True):
            low = (rows["greedy"].get(s) or {}).get("low_repetition")
            line.append(figure(low, "speedup_over_plain"))
    return f"{markdown([head, *body], '---:')}\n\n{source(*(name for name, _ in found.values()))}"


def pace(suite: str) -> str:
    """Return tokens/s, time to the first token, time between tokens and memory of each stack, everyday temperature."""
    found = [
        (name, report)
        for name, report in reports(suite).values()
        if any(row.get("inter_token_seconds_p99") for row in report["stacks"])
    ]
    if not found:
        return "Not measured yet."
    name, report = found[0]
    head = ["stack", "tokens/s", "first token, ms", "between tokens, ms: median", "p99", "peak memory, MB"]
    body = [
        [
            f"`{row['stack']}`",
            figure(row, "tokens_per_second", "{:.0f}"),
            *(figure({key: row.get(key)}, key, form, 1e3) for key, form in (
                ("first_token_seconds", "{:.1f}"),
                ("inter_token_seconds_median", "{:.2f}"),
                ("inter_token_seconds_p99", "{:.2f}"),
            )),
            figure(row.get("memory"), "resident_bytes", "{:.0f}", 1e-6),
        ]
        for row in report["stacks"]
    ]  # fmt: skip
    title = f"T = {report['settings']['temperature']:g}"
    return f"{title}.\n\n{markdown([head, *body], '---:')}\n\n{source(name)}"


def lengths(temperature: float) -> str:
    """Return mean acceptance lengths by draft tokens per round, cost stopping off."""
    data = read("budgets")
    budgets = data["settings"]["budgets"]
    rows: dict[str, dict[int, str]] = {}
    for row in data["rows"]:
        if row["target"] == PLAIN and row["temperature"] == temperature:
            label = f"`{row['drafter']}`" + (", warm" if row["state"] == "warm" else "")
            text = f"{row['mean_acceptance_length']:.2f}"
            if temperature == 0 and (low := row["low_repetition"])["tokens"]:
                text += f" / {low['mean_acceptance_length']:.2f}"
            rows.setdefault(label, {})[row["budget"]] = text
    body = [[label, *(row.get(b, "–") for b in budgets)] for label, row in rows.items()]
    return f"{markdown([['drafter', *map(str, budgets)], *body], '---:')}\n\n{source('budgets')}"


def rules() -> str:
    """Return tokens per round under the verification rules, with the gain and the time of block and branch."""
    head = ["stack", "T", "level", "rounds", "token", "block", "branch", "block over token", "branch over token",
            "time per token, block over token", "branch over token"]  # fmt: skip

    def figure(row: dict, name: str, form: str) -> str:
        return f"{row[name]:{form}} [{', '.join(f'{end:{form}}' for end in row[f'{name}_ci'])}]" if name in row else ""

    body = [
        [f"`{row['stack']}`", f"{row['temperature']:g}", str(row["level"]), f"{row['rounds']:,}"]
        + [figure(row, f"{rule}_tokens_per_round", ".2f") for rule in ("token", "block", "branch")]
        + [figure(row, f"{rule}_gain", "+.1%") for rule in ("block", "branch")]
        + [figure(row, f"{rule}_time", ".2f") for rule in ("block", "branch")]
        for row in read("rules-cpu")["rows"]
    ]
    return f"{markdown([head, *body], '---:')}\n\n{source('rules-cpu')}"


def law() -> str:
    """Return the errors of the law's predictions and how its selection compares, by temperature."""
    head = ["", "stacks measured", "error of ms per token: median", "worst", "without drift: median", "worst",
            "error of forward passes: median", "worst", "selected", "slower than the fastest measured"]  # fmt: skip
    body, names = [], []
    for title, part in TEMPERATURES:
        name = f"plan-{part}-cpu"
        if not (BENCH / f"{name}.json").exists():
            continue
        data, names = read(name), [*names, name]
        errors = data["errors"]
        pairs = [errors[k] for k in ("ms_per_token", "ms_per_token_without_drift", "forwards_per_token")]
        measured = sum(row["measured_ms_per_token"] is not None for row in data["hierarchies"])
        cells = [f"{e[k]:.1%}" for e in pairs for k in ("median", "worst")]
        body.append([title, str(measured), *cells, f"`{data['picked']}`", f"{data['picked_over_best_measured']:.1%}"])
    return f"{markdown([head, *body], '---:')}\n\n{source(*names)}"


def predictions() -> str:
    """Return what the law predicted and what was measured for each stack, at the everyday temperature if measured."""
    name = next(n for _, part in TEMPERATURES if (BENCH / f"{(n := f'plan-{part}-cpu')}.json").exists())
    head = [
        "stack",
        "ms per token: predicted",
        "measured",
        "error",
        "forward passes of `target` per token: predicted",
        "measured",
    ]
    body = []
    rows = [row for row in read(name)["hierarchies"] if row["measured_ms_per_token"] is not None]
    for row in sorted(rows, key=lambda row: row["measured_ms_per_token"]):
        passes = row["forwards_per_token"][PLAIN]
        body.append([
            f"`{row['stack']}`", f"{row['predicted_ms_per_token']:.2f}", figure(row, "measured_ms_per_token"),
            f"{row['error']:+.1%}", *(f"{passes[k]:.3f}" for k in ("predicted", "measured")),
        ])  # fmt: skip
    return f"{markdown([head, *body], '---:')}\n\n{source(name)}"


def second_draft() -> str:
    """Return, for each target of the grids, the best hierarchy of models over the best single draft model."""
    head = ["", "target", "forward pass, ms", "best single draft", "best hierarchy of models", "speed-up over it",
            "best with a database", "speed-up over the single draft"]  # fmt: skip
    body, names = [], []
    for title, part in TEMPERATURES:
        if not (BENCH / f"grid-{part}-cpu.json").exists():
            continue
        names.append(f"grid-{part}-cpu")
        for point in read(names[-1])["points"]:
            line = [title, f"`{point['target']}`", f"{point['ms_per_forward'][PLAIN]:.2f}",
                    f"`{point['best_single_draft']}`"]  # fmt: skip
            for kind in ("models_over_single_draft", "databases_over_single_draft"):
                best = point.get(kind) or {}
                line += [f"`{best['hierarchy']}`" if best else "–", figure(best, "speedup")]
            body.append(line)
    return f"{markdown([head, *body], '---:')}\n\n{source(*names)}"


def forward_passes() -> str:
    """Return the time of a forward pass by the number of tokens fed, native and eager."""
    names = [f"curves-{model}-cpu" for model in ("target", "small", "nano")]
    widths = [w for w in read(names[0])["milliseconds"]["native"] if w.isdigit()]
    head = ["ms", *widths, "a step of a draft", "eager over native"]
    body = []
    for name in names:
        ms = read(name)["milliseconds"]
        ratio = median(ms["eager"][w] / ms["native"][w] for w in widths)
        body.append([f"`{read(name)['model']}`", *(f"{ms['native'][w]:.2f}" for w in widths),
                     f"{ms['native']['step']:.2f}", f"{ratio:.1f}"])  # fmt: skip
    return f"{markdown([head, *body], '---:')}\n\n{source(*names)}"


def integers() -> str:
    """Return what 8-bit integers bring and lose beside float32 with the same weights, and the overlap of two models."""
    if not (BENCH / "int8-cpu.json").exists():
        return "Not measured yet."
    data = read("int8-cpu")
    widths = [w for w in data["models"][0]["milliseconds"]["int8"] if w.isdigit()]
    head = ["", "loss, nats: float32", "int8", "same likeliest token", "overlap of the rows", "weights, MB",
            *(f"times as fast, {w} tokens" for w in widths)]  # fmt: skip
    body = []
    for row in data["models"]:
        after, before, sizes = *row["milliseconds"].values(), row["weight_bytes"]
        body.append([f"`{row['model']}`", f"{row['loss_float32']:.4f}", f"{row['loss_int8']:.4f}",
                     f"{row['same_likeliest']:.1%}", f"{row['overlap']:.4f}",
                     f"{sizes['int8'] / 1e6:.1f} of {sizes['float32'] / 1e6:.1f}",
                     *(f"{before[w] / after[w]:.2f}" for w in widths)])  # fmt: skip
    pairs = [[f"`{x}`, `{y}`", *(f"{row[kind]:.4f}" for kind in ("float32", "int8"))]
             for row in data["pairs"] for x, y in [row["pair"]]]  # fmt: skip
    tables = markdown([head, *body], "---:"), markdown([["overlap of", "float32", "int8"], *pairs], "---:")
    return "\n\n".join([*tables, source("int8-cpu")])


def before() -> str:
    """Return forward passes beside a former version, by model, context and width, and what the processor can do."""
    if not (BENCH / "before-cpu.json").exists():
        return "Not measured yet."
    data = read("before-cpu")
    head = [
        "",
        "context",
        "tokens",
        "before, ms",
        "now, ms",
        "now over before",
        "over 1 token",
        "attention",
        "GB/s",
        "GMAC/s",
    ]
    body = [
        [
            *(f"`{row['model']}`", str(row["context"]), str(row["tokens"]), f"{row['before_ms']:.3f}"),
            *(f"{row['now_ms']:.3f}", f"{row['now_ms'] / row['before_ms']:.2f}", f"{row['over_one']:.2f}"),
            f"{row['attention']:.0%}",
            *(f"{row['gb_per_second']:.1f}", f"{row['gmac_per_second']:.0f}"),
        ]
        for row in data["rows"]
    ]
    peak = data["peak"]
    most = f"One core can do {peak['gmac_per_second']:.0f} GMAC/s ({peak['instruction']}, registers only)"
    most += f" and read {peak['gb_per_second']:.1f} GB/s from {peak['megabytes']} MB."
    return "\n\n".join([markdown([head, *body], "---:"), most, source("before-cpu")])


def llama_cpp() -> str:
    """Return ratios of times beside llama.cpp on the same weights: above 1 this project is faster."""
    if not (BENCH / "llama-cpp.json").exists():
        return "Not measured yet."
    data = read("llama-cpp")
    passes: dict[str, dict[int, dict]] = {}
    for row in data["forward_passes"]:
        passes.setdefault(row["side"], {})[row["tokens"]] = row
    ours = passes.pop("hsd_viz")
    head = ["type: llama.cpp over this project, by tokens", *map(str, ours)]
    body = [[f"`{side}`", *(f"{found[w]['processor_ms'] / ours[w]['processor_ms']:.2f}" for w in ours)]
            for side, found in passes.items()]  # fmt: skip
    rows = {row["side"]: row for row in data["decodes"]}
    plain = rows["hsd_viz target"]
    head2 = [
        "greedy decodes",
        "ms per token",
        "by processor time, prefill included",
        "over plain decoding here",
        "the same texts",
    ]
    body2 = [
        [f"`{side}`", f"{row['ms_per_token']:.3f}", f"{row['processor_ms_per_token']:.3f}",
         f"{row['processor_ms_per_token'] / plain['processor_ms_per_token']:.2f}", "{} of {}".format(*row["same_text"])]
        for side, row in rows.items()
    ]  # fmt: skip
    return "\n\n".join([markdown([head, *body], "---:"), markdown([head2, *body2], "---:"), source("llama-cpp")])


def page() -> str:
    """Return how fast the explorer loads, follows keys and shows live runs."""
    data = read("page-cpu")
    load, keys, live = data["load"]["medians"], data["keys"]["medians"], data["live"]["medians"]
    size = sum(count for count, _ in data["load"]["bytes_and_files"]["cold"].values())
    slowest = max(keys.values())
    rows = [
        ["a recorded run visible, cold kernel", f"{load['cold']['the trace'] / 1e3:.1f} s"],
        ["a recorded run visible, waiting kernel", f"{load['preheated']['the trace'] / 1e3:.1f} s"],
        ["bytes of the page", f"{size / 1e6:.1f} MB"],
        [f"key to painted view, {data['keys']['tokens']:,} tokens, slowest view's median", f"{slowest:.0f} ms"],
        *([f"tokens/s of a watched run over an unwatched one, `{stack}`", f"{run['ratio']:.2f}"]
          for stack, run in live.items()),
    ]  # fmt: skip
    return f"{markdown([['', ''], *rows], '---:')}\n\n{source('page-cpu')}"


#: Marked place of ``docs/results.md`` -> its table.
RESULTS: dict[str, Callable[[], str]] = {
    "speed-heldout": lambda: speed("heldout"),
    "speed-python": lambda: speed("python"),
    "pace": lambda: pace("heldout"),
    "lengths-t07": lambda: lengths(0.7),
    "lengths-t1": lambda: lengths(1.0),
    "lengths-greedy": lambda: lengths(0.0),
    "rules": rules,
    "law": law,
    "predictions": predictions,
    "second-draft": second_draft,
    "forward-passes": forward_passes,
    "int8": integers,
    "before": before,
    "llama-cpp": llama_cpp,
    "page": page,
}
