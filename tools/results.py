"""The tables of ``docs/results.md``, from the files in ``docs/bench``; :mod:`tools.tables` writes them.

Each function returns one table with its source below it: the files, the machine's load, and their commands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import median

from hsd_viz.ladder.training.evaluation import markdown

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
    """Return tokens per round under token and block verification."""
    head = ["stack", "T", "verified by level", "rounds", "token", "block", "gain", "time per token, block over token"]
    body = []
    for row in read("rules-cpu")["rows"]:
        low, high = row["gain_ci"]
        time, ends = row.get("time_per_token_block_over_token"), row.get("time_ci")
        body.append([
            f"`{row['stack']}`", f"{row['temperature']:g}", str(row["level"]), f"{row['rounds']:,}",
            f"{row['token_tokens_per_round']:.2f}", f"{row['block_tokens_per_round']:.2f}",
            f"{row['gain']:+.1%} [{low:.1%}, {high:.1%}]",
            f"{time:.2f} [{ends[0]:.2f}, {ends[1]:.2f}]" if time and row["level"] == row["stack"].count(">") else "",
        ])  # fmt: skip
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


def rounded() -> str:
    """Return what rounding weights to 8 bits brings and loses."""
    if not all((BENCH / f"{name}.json").exists() for name in ("int8-cpu", "int8-target-t07-cpu", "int8-draft-t07-cpu")):
        return "Not measured yet."
    models = read("int8-cpu")["models"]
    widths = [w for w in models[0]["milliseconds"]["int8"] if w.isdigit() or w == "step"]
    head = [
        "times as fast, by tokens",
        *widths[:-1],
        "a token decoded",
        "bits per token",
        "rounded",
        "overlap of the rows",
        "weights, MB",
    ]
    body = []
    for row in models:
        ms, sizes = row["milliseconds"], row["weight_bytes"]
        body.append([f"`{row['model']}[int8]`", *(f"{ms['as_shipped'][w] / ms['int8'][w]:.2f}" for w in widths),
                     f"{row['bits_per_token']:.3f}", f"{row['bits_per_token_int8']:.3f}", f"{row['overlap']:.4f}",
                     f"{sizes['int8'] / 1e6:.1f} of {sizes['as_shipped'] / 1e6:.1f}"])  # fmt: skip
    head2 = [
        "T = 0.7: `target` is",
        "stack",
        "tokens/s",
        "speed-up over `target`",
        "acceptance length",
        "first token, ms",
    ]
    keys = (("tokens_per_second", "{:.0f}", 1.0), ("speedup_over_plain", "{:.2f}", 1.0),
            ("mean_acceptance_length", "{:.2f}", 1.0), ("first_token_seconds", "{:.1f}", 1e3))  # fmt: skip
    names = {"`target[int8]`": "int8-target-t07-cpu", "as shipped": "int8-draft-t07-cpu"}
    body2 = [[title, f"`{row['stack']}`", *(figure(row, *key) for key in keys)]
             for title, name in names.items() for row in read(name)["stacks"]]  # fmt: skip
    tables = markdown([head, *body], "---:"), markdown([head2, *body2], "---:")
    return "\n\n".join([*tables, source("int8-cpu", *names.values())])


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
    "int8": rounded,
    "llama-cpp": llama_cpp,
    "page": page,
}
