"""The tables of ``docs/results.md``, from the files in ``docs/bench``; :mod:`tools.tables` writes
them.

Each function returns one table with its source below it: the files, and the machine's load.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from tools.basis import is_former
from training.evaluation import markdown

BENCH = Path(__file__).resolve().parents[1] / "docs" / "bench"
#: Temperatures, the everyday one first: heading and part of the file names.
TEMPERATURES = (("T = 0.7", "t07"), ("T = 1", "t1"), ("greedy", "greedy"))
PLAIN = "target"
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


def read(name: str) -> dict:
    """Return the measurements ``docs/bench/NAME.json``."""
    return json.loads((BENCH / f"{name}.json").read_text(encoding="utf-8"))


def source(*names: str) -> str:
    """Return where figures come from: files, which state their commands, load averages where
    recorded, and whether models, databases or costs have changed since.
    """
    lines = []
    for name in names:
        report = read(name)
        load = report.get("machine", {}).get("load_average")
        remarks = [] if load is None else [f"load average {load:.1f}"]
        if is_former(name, report):
            remarks.append("with former costs")
        about = f" ({', '.join(remarks)})" if remarks else ""
        lines.append(f"[{name}.json](bench/{name}.json){about}")
    return f"Source: {', '.join(lines)}."


def reports(suite: str) -> dict[str, tuple[str, dict]]:
    """Return the reports of a suite: heading -> (name, report), of the temperatures that were
    measured.
    """
    names = {title: f"{suite}-{part}-cpu" for title, part in TEMPERATURES}
    measured = {title: name for title, name in names.items() if (BENCH / f"{name}.json").exists()}
    return {title: (name, read(name)) for title, name in measured.items()}


def figure(row: dict | None, key: str, form: str = "{:.2f}", scale: float = 1.0) -> str:
    """Return a figure of a stack with its interval, or – where there is none."""
    value, ends = (row or {}).get(key), (row or {}).get(f"{key}_ci")
    if value is None:
        return "–"
    text = form.format(value * scale)
    return (
        text
        if ends is None or None in ends
        else f"{text} [{', '.join(form.format(x * scale) for x in ends)}]"
    )


def by_stack(report: dict) -> dict[str, dict]:
    """Return the rows of a report by stack."""
    return {row["stack"]: row for row in report["stacks"]}


def speed(suite: str, only: Sequence[str] = ()) -> str:
    """Return speed-ups over plain decoding by temperature: with acceptance lengths, or of some
    stacks only.
    """
    found = reports(suite)
    rows = {title: by_stack(report) for title, (_, report) in found.items()}
    stacks = only or sorted(
        dict.fromkeys(s for row in rows.values() for s in row if s != PLAIN),
        key=lambda s: -max(row[s]["speedup_over_plain"] for row in rows.values() if s in row),
    )
    columns = ("speed-up",) if only else ("speed-up", "acceptance length")
    head = ["stack", *(f"{title}: {column}" for title in found for column in columns)]
    body = []
    for s in stacks:
        pairs = [rows[title].get(s) or {} for title in found]
        length = lambda row: figure({"length": row.get("mean_acceptance_length")}, "length")
        cells = [(figure(row, "speedup_over_plain"), length(row))[: len(columns)] for row in pairs]
        body.append([f"`{s}`", *(cell for pair in cells for cell in pair)])
    if "greedy" in rows:
        head.append("greedy, low repetition: speed-up")
        for line, s in zip(body, stacks, strict=True):
            low = (rows["greedy"].get(s) or {}).get("low_repetition")
            line.append(figure(low, "speedup_over_plain"))
    return f"{markdown([head, *body], '---:')}\n\n{source(*(name for name, _ in found.values()))}"


def by_task(suite: str, most: int = 6) -> str:
    """Return the speed-ups of the fastest stacks by task and temperature."""
    head: list[str] = []
    body = []
    for title, (_, report) in reports(suite).items():
        tasks = list(report["suite"]["categories"])
        head = ["temperature", "stack", "all", *tasks]
        rows = [row for row in report["stacks"] if row["stack"] != PLAIN]
        fastest = sorted(rows, key=lambda row: -row["speedup_over_plain"])[:most]
        for row in fastest:
            found = [figure(row["by_category"].get(task), "speedup_over_plain") for task in tasks]
            whole = figure(row, "speedup_over_plain")
            body.append([title, f"`{row['stack']}`", whole, *found])
    names = [name for name, _ in reports(suite).values()]
    return f"{markdown([head, *body], '---:')}\n\n{source(*names)}"


def beside_paper(most: int = 4) -> str:
    """Return the greedy speed-ups by task that Hierarchy Drafting's paper published, and ours on
    the same questions.
    """
    name, report = reports("spec-bench")["greedy"]
    published = read("published-hd")["rows"]
    tasks = list(report["suite"]["categories"])
    head = ["model", "method", *tasks]
    body = []
    for row in published:
        speeds = [f"{row['speedup_by_task'][task]:.2f}" for task in tasks]
        body.append([row["model"], row["method"], *speeds])
    own = [row for row in report["stacks"] if row["stack"] != PLAIN]
    own.sort(key=lambda row: -row["speedup_over_plain"])
    hd = [row for row in own[most:] if row["stack"] == "hd > target"]
    for row in [*own[:most], *hd]:
        speeds = [f"{row['by_category'][task]['speedup_over_plain']:.2f}" for task in tasks]
        body.append(["SmolLM2-135M, one CPU thread", f"`{row['stack']}`", *speeds])
    return f"{markdown([head, *body], '---:')}\n\n{source('published-hd', name)}"


def pace(suite: str) -> str:
    """Return tokens/s, time to the first token and time between tokens of each stack, everyday
    temperature.
    """
    name, report = next(iter(reports(suite).values()))
    head = ["stack", "tokens/s", "first token, ms", "between tokens, ms: median", "p99"]
    body = [
        [
            f"`{row['stack']}`",
            figure(row, "tokens_per_second", "{:.0f}"),
            *(figure({key: row.get(key)}, key, form, 1e3) for key, form in (
                ("first_token_seconds", "{:.1f}"),
                ("inter_token_seconds_median", "{:.2f}"),
                ("inter_token_seconds_p99", "{:.2f}"),
            )),
        ]
        for row in report["stacks"]
    ]  # fmt: skip
    title = f"T = {report['settings']['temperature']:g}"
    return f"{title}.\n\n{markdown([head, *body], '---:')}\n\n{source(name)}"


def lengths() -> str:
    """Return mean acceptance lengths by temperature and draft tokens per round, cost stopping
    off.
    """
    columns = [(0.7, 4), (0.7, 16), (0.7, 64), (1.0, 16), (0.0, 16)]
    titles = {1.0: "T = 1", 0.7: "T = 0.7", 0.0: "greedy, low repetition"}
    rows: dict[str, dict[tuple, str]] = {}
    for row in read("budgets")["rows"]:
        if row["target"] == PLAIN:
            label = f"`{row['drafter']}`" + (", warm" if row["state"] == "warm" else "")
            figures = row["low_repetition"] if row["temperature"] == 0 else row
            cells = rows.setdefault(label, {})
            cells[row["temperature"], row["budget"]] = f"{figures['mean_acceptance_length']:.2f}"
    head = ["drafter", *(f"{titles[t]}: {budget}" for t, budget in columns)]
    body = [
        [label, *(cells.get(column, "–") for column in columns)] for label, cells in rows.items()
    ]
    return f"{markdown([head, *body], '---:')}\n\n{source('budgets')}"


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
        label = f"`{row['drafter']}`" + (", warm" if row["state"] == "warm" else "")
        line = cells.setdefault(label, {})
        line[row["temperature"], row["budget"]] = figure(row, "mean_acceptance_length")
        if row["temperature"] == 0.7 and row["budget"] == most:
            for task in tasks:
                line[task] = figure(row["by_category"][task], "mean_acceptance_length").split(" ")[
                    0
                ]
    columns = [(temperature, budget) for temperature in titles for budget in budgets]
    head = ["drafter", *(f"{titles[t]}: {budget}" for t, budget in columns)]
    head += [f"T = 0.7, {most}: {task}" for task in tasks]
    body = [[label, *(line[c] for c in (*columns, *tasks))] for label, line in cells.items()]
    return f"{markdown([head, *body], '---:')}\n\n{source(name)}"


def rules() -> str:
    """Return tokens per round under the verification rules, with the gain and the time of block
    and branch.
    """
    head = ["stack", "T", "level", "tokens per round: token", "block over token", "branch over token",
            "time per token: block over token", "branch over token"]  # fmt: skip

    def figure(row: dict, name: str, form: str) -> str:
        return (
            f"{row[name]:{form}} [{', '.join(f'{end:{form}}' for end in row[f'{name}_ci'])}]"
            if name in row
            else ""
        )

    body = [
        [
            f"`{row['stack']}`",
            f"{row['temperature']:g}",
            str(row["level"]),
            f"{row['token_tokens_per_round']:.2f}",
        ]
        + [figure(row, f"{rule}_gain", "+.1%") for rule in ("block", "branch")]
        + [figure(row, f"{rule}_time", ".2f") for rule in ("block", "branch")]
        for row in read("rules-cpu")["rows"]
    ]
    return f"{markdown([head, *body], '---:')}\n\n{source('rules-cpu')}"


def law() -> str:
    """Return the errors of the law's predictions and how its selection compares, by temperature."""
    head = ["", "stacks measured", "error of ms per token: median", "worst", "without drift: median", "worst",
            "error of forward passes: median", "worst", "selected", "slower than the fastest measured"]  # fmt: skip
    body, names = [], [f"plan-{part}-cpu" for _, part in TEMPERATURES]
    for (title, _), data in zip(TEMPERATURES, map(read, names), strict=True):
        errors = data["errors"]
        pairs = [
            errors[k] for k in ("ms_per_token", "ms_per_token_without_drift", "forwards_per_token")
        ]
        measured = sum(row["measured_ms_per_token"] is not None for row in data["hierarchies"])
        cells = [f"{e[k]:.1%}" for e in pairs for k in ("median", "worst")]
        body.append(
            [
                title,
                str(measured),
                *cells,
                f"`{data['picked']}`",
                f"{data['picked_over_best_measured']:.1%}",
            ]
        )
    return f"{markdown([head, *body], '---:')}\n\n{source(*names)}"


def law_of_stops() -> str:
    """Return what the law predicts of drafts that stop when they are unsure, and what was
    measured.
    """
    name = "plan-stops-t07-cpu"
    head = [
        "stack",
        "ms per token: predicted",
        "measured",
        "acceptance length: predicted",
        "measured",
    ]
    body = []
    for row in read(name)["hierarchies"]:
        if "?" not in row["stack"] or row["measured_ms_per_token"] is None:
            continue
        lengths = row["acceptance_length"]
        body.append(
            [
                f"`{row['stack']}`",
                f"{row['predicted_ms_per_token']:.3f}",
                figure(row, "measured_ms_per_token", "{:.3f}"),
                f"{lengths['predicted']:.2f}",
                f"{lengths['measured']:.2f}",
            ]
        )
    return f"{markdown([head, *body], '---:')}\n\n{source(name)}"


def lengths_by_task(suite: str, stacks: Sequence[str]) -> str:
    """Return the acceptance lengths of some stacks by task and temperature."""
    head: list[str] = []
    body = []
    for title, (_, report) in reports(suite).items():
        tasks = list(report["suite"]["categories"])
        head = ["temperature", "stack", "all", *tasks]
        rows = by_stack(report)
        for stack in stacks:
            parts = [rows[stack], *(rows[stack]["by_category"][task] for task in tasks)]
            lengths = [figure(part, "mean_acceptance_length") for part in parts]
            body.append([title, f"`{stack}`", *lengths])
    names = [name for name, _ in reports(suite).values()]
    return f"{markdown([head, *body], '---:')}\n\n{source(*names)}"


def semantic_lookup() -> str:
    """Return the time of a draft of the semantic database by the length of the text."""
    name = "semantic-lookup"
    rows = read(name)["rows"]
    drafters = [key for key in rows[0] if key.startswith("db[")]
    head = ["tokens of text", "occurrences, at most", *(f"`{key}`, µs" for key in drafters)]
    body = [
        [
            str(row["length"]),
            str(row["occurrences"]),
            *(f"{1e6 * row[key]:.1f}" for key in drafters),
        ]
        for row in rows
    ]
    return f"{markdown([head, *body], '---:')}\n\n{source(name)}"


def second_draft() -> str:
    """Return, for each target of the grids, the best hierarchy of models over the best single
    draft model.
    """
    head = ["", "target", "forward pass, ms", "best single draft", "best hierarchy of models", "speed-up over it",
            "best with a database", "speed-up over the single draft"]  # fmt: skip
    body, names = [], []
    for title, part in TEMPERATURES:
        names.append(f"grid-{part}-cpu")
        for point in (p for p in read(names[-1])["points"] if "~" not in p["target"]):
            line = [title, f"`{point['target']}`", f"{point['ms_per_forward'][PLAIN]:.2f}",
                    f"`{point['best_single_draft']}`"]  # fmt: skip
            for kind in ("models_over_single_draft", "databases_over_single_draft"):
                best = point.get(kind) or {}
                line += [f"`{best['hierarchy']}`" if best else "–", figure(best, "speedup")]
            body.append(line)
    return f"{markdown([head, *body], '---:')}\n\n{source(*names)}"


def integers() -> str:
    """Return what 8-bit integers lose and bring: loss beside float32, forward passes beside the
    former float16 ones.
    """
    widths, data, passes = (1, 4, 16), read("int8-cpu"), read("before-cpu")["rows"]
    head = ["", "loss, nats: float32", "int8", "overlap of the rows", "weights, MB",
            *(f"ms, width {w}" for w in widths), *(f"float16 over int8, {w}" for w in widths),
            "float32 over int8, 1"]  # fmt: skip
    body = []
    for row in data["models"]:
        times = {
            r["tokens"]: r for r in passes if r["model"] == row["model"] and r["context"] == 300
        }
        after, before, sizes = *row["milliseconds"].values(), row["weight_bytes"]
        body.append([f"`{row['model']}`", f"{row['loss_float32']:.4f}", f"{row['loss_int8']:.4f}",
                     f"{row['overlap']:.4f}", f"{sizes['int8'] / 1e6:.1f} of {sizes['float32'] / 1e6:.1f}",
                     *(f"{times[w]['now_ms']:.3f}" for w in widths),
                     *(f"{times[w]['before_ms'] / times[w]['now_ms']:.1f}" for w in widths),
                     f"{before['1'] / after['1']:.1f}"])  # fmt: skip
    return f"{markdown([head, *body], '---:')}\n\n{source('int8-cpu', 'before-cpu')}"


def llama_cpp() -> str:
    """Return ratios of times beside llama.cpp on the same weights: above 1 this project is
    faster.
    """
    data = read("llama-cpp")
    passes: dict[str, dict[int, dict]] = {}
    for row in data["forward_passes"]:
        passes.setdefault(row["side"], {})[row["tokens"]] = row
    ours = passes.pop("hsd_viz")
    head = ["type: llama.cpp over this project, by tokens", *map(str, ours)]
    body = [[f"`{side}`", *(f"{found[w]['processor_ms'] / ours[w]['processor_ms']:.2f}" for w in ours)]
            for side, found in passes.items()]  # fmt: skip
    rows = {row["side"]: row["processor_ms_per_token"] for row in data["decodes"]}
    head += ["greedy decode", "with `ngram-mod`"]
    for line in body:
        side = line[0].strip("`")
        line += [
            f"{rows[f'llama.cpp {side} {kind}'] / rows['hsd_viz target']:.2f}"
            for kind in ("none", "ngram-mod")
        ]
    ratio = rows["hsd_viz db > target"] / rows["hsd_viz target"]
    ours_with_databases = f"`db > target` takes {ratio:.2f} of our plain time."
    return "\n\n".join([markdown([head, *body], "---:"), ours_with_databases, source("llama-cpp")])


def passes_by_side(name: str) -> dict[str, dict[str, float]]:
    """Return the milliseconds of the passes of a file: side -> number of tokens -> time."""
    times: dict[str, dict[str, float]] = {}
    for row in read(name)["passes"]:
        times.setdefault(row["side"], {})[row["tokens"]] = row["ms"]
    return times


def smollm2_llama() -> str:
    """Return times of SmolLM2's passes, and how many times as long llama.cpp takes."""
    widths = ["1", "2", "4", "8", "16", "prefill"]
    head = ["threads", "side", *widths[:-1], "prefill of 512"]
    body = []
    for threads in (1, 2):
        times = passes_by_side(f"smollm2-llama-{threads}")
        ours = times.pop("hsd_viz")
        body.append([str(threads), "hsd_viz, ms", *(f"{ours[width]:.1f}" for width in widths)])
        for side, its in times.items():
            ratios = [f"{its[width] / ours[width]:.2f} ×" for width in widths]
            body.append([str(threads), side, *ratios])
    for threads in (1, 2):
        ours = passes_by_side(f"smollm2-avx2-{threads}")["hsd_viz"]
        body.append(
            [str(threads), "hsd_viz with AVX2, ms", *(f"{ours[width]:.1f}" for width in widths)]
        )
    names = [f"smollm2-{kind}-{threads}" for kind in ("llama", "avx2") for threads in (1, 2)]
    shares = [_share_of_memory(read(f"smollm2-llama-{threads}")) for threads in (1, 2)]
    words = (
        f"A pass of one token reads its weights at {shares[0]} with one thread, and at {shares[1]} "
        "with two."
    )
    return f"{markdown([head, *body], '---:')}\n\n{words}\n\n{source(*names)}"


def _share_of_memory(figures: dict) -> str:
    """Return how fast a pass of one token reads its weights, beside what the machine reads."""
    [one] = [
        row["ms"] for row in figures["passes"] if (row["side"], row["tokens"]) == ("hsd_viz", "1")
    ]
    reads = figures["weight_bytes"] / one / 1e6
    most = figures["read_bytes_per_second"] / 1e9
    return f"{reads:.1f} GB/s ({reads / most:.0%} of the {most:.1f} GB/s that the machine reads)"


def smollm2_fidelity() -> str:
    """Return how near the rows of SmolLM2 are to those of float32 on the same weights."""
    head = ["side", "overlap", "arg-max equal", "loss − float32, nats"]
    body = []
    for side, row in read("smollm2-fidelity")["fidelity"].items():
        loss = f"{row['loss_less_float32']:+.4f}"
        body.append([side, f"{row['overlap']:.4f}", f"{row['argmax_equal']:.4f}", loss])
    return f"{markdown([head, *body], '---:')}\n\n{source('smollm2-fidelity')}"


def smollm2_context() -> str:
    """Return times of SmolLM2's passes behind contexts of three lengths."""
    widths = ["1", "2", "4", "8", "16"]
    files = {
        (context, threads): f"smollm2-context-{context}-{threads}"
        for context in (2000, 7900)
        for threads in (1, 2)
    }
    files |= {(300, threads): f"smollm2-llama-{threads}" for threads in (1, 2)}
    head = ["context", "threads", *widths]
    body = []
    for (context, threads), name in sorted(files.items()):
        ours = passes_by_side(name)["hsd_viz"]
        body.append([str(context), str(threads), *(f"{ours[width]:.1f}" for width in widths)])
    return f"{markdown([head, *body], '---:')}\n\n{source(*sorted(files.values()))}"


def tab() -> str:
    """Return milliseconds of a forward pass in a browser tab and on the native runtime, by the
    number of tokens.
    """
    here, body = read("tab-cpu"), []
    for model, tab in here["milliseconds"].items():
        native = read(f"curves-{model}-cpu")["milliseconds"]["native"]
        body += [
            [f"{model}, {place}", *(f"{ms[w]:.2f}" for w in tab)]
            for place, ms in (("tab", tab), ("native", native))
        ]
    head = ["tokens in one pass", *here["milliseconds"][PLAIN]]
    words = f"{here['browser']}, measured on {here['date']}" + (
        f" ({here['page']})" if "page" in here else ""
    )
    return f"{markdown([head, *body], '---:')}\n\nSource: [tab-cpu.json](../bench/tab-cpu.json): {words}."


def former() -> str:
    """Return tokens per second, speed-ups and acceptance lengths of release 0.1 beside those of
    now.
    """
    then = read("former")["reports"]
    now = {name: by_stack(read(name)) for name in then}
    head = ["former → present"]
    for title, _ in TEMPERATURES:
        head += [f"{title}: tokens/s", "speed-up", "acceptance length"]
    body = []
    for stack in next(iter(then.values())):
        line = [f"`{stack}`"]
        for _, part in TEMPERATURES:
            name = f"heldout-{part}-cpu"
            for key in ("tokens_per_second", "speedup_over_plain", "mean_acceptance_length"):
                form = "{:,.0f}" if key == "tokens_per_second" else "{:.2f}"
                line.append(
                    "→".join(form.format(rows[stack][key]) for rows in (then[name], now[name]))
                )
        body.append(line)
    return f"{markdown([head, *body], '---:')}\n\n{source('former')}"


def gpu() -> str:
    """Return forward passes by the number of tokens, and the plan of the ladder, on a GPU."""
    data = read("gpu-h100")
    passes, widths = data["b"]["parts"], ("1", "4", "8", "16", "32")
    rows = [
        [name.split("/")[1], name.split("/")[2], *(f"{found['width_ms'][w]:.2f}" for w in widths),
         f"{found['bound_ms']:.2f}"]
        for name, found in passes.items() if name.startswith("steps/")
    ]  # fmt: skip
    head = [
        "random Llama",
        "runtime",
        *(f"ms, {w} token{'s' * (w != '1')}" for w in widths),
        "weights / bandwidth, ms",
    ]
    plan = [
        [f"`{row['stack']}`", f"{row['predicted_ms_per_token']:.2f}", f"{row['measured_ms_per_token']:.2f}",
         f"{row['acceptance_length']['measured']:.2f}"]
        for row in data["plan"]["hierarchies"] if row["measured_ms_per_token"]
    ]  # fmt: skip
    columns = [
        "shipped models, T = 0.7",
        "predicted ms/token",
        "measured ms/token",
        "tokens per forward pass",
    ]
    machine, errors = data["plan"]["machine"], data["plan"]["errors"]
    error, settled = (
        errors[key]["median"] for key in ("ms_per_token", "ms_per_token_without_drift")
    )
    same = {
        row["stack"]: row["token_identical_to_plain"] for row in data["a"]["parts"]["greedy/strict"]
    }
    equal = ", ".join(
        f"{n} of {m} (`{stack}`)" for stack, (n, m) in same.items() if stack != "target"
    )
    words = (
        f"Median error of the law: {error:.1%}, without the machine's drift {settled:.1%}. "
        f"Greedy texts of `--runtime strict` that equal plain decoding: {equal}."
    )
    return "\n\n".join(
        (
            markdown([head, *sorted(rows)], "---:"),
            markdown([columns, *plan], "---:"),
            words,
            f"Source: [gpu-h100.json](bench/gpu-h100.json) ({machine['gpu']}, torch {machine['torch']}, bfloat16).",
        )
    )


def page() -> str:
    """Return how fast the explorer loads, opens a trace, follows keys and shows live runs."""
    data = read("page-cpu")
    load = data["load"]["medians"]
    keys = data["keys"]["medians"]
    live = data["live"]["medians"]
    size = data["load"]["bytes"]
    opening = median(data["keys"]["opening"]) / 1e3
    ratios = ", ".join(f"{run['ratio']:.2f} (`{stack}`)" for stack, run in live.items())
    return (
        f"A recorded run is visible after {load['cold']['the trace'] / 1e3:.1f} s with a cold kernel and "
        f"{load['preheated']['the trace'] / 1e3:.1f} s with a waiting one; it takes {size['all'] / 1e6:.1f} MB, "
        f"{size['own'] / 1e6:.1f} MB of them the page's own.\nA trace of {data['keys']['tokens']:,} tokens opens in "
        f"{opening:.2f} s; a key in it is painted after {max(keys.values()):.0f} ms (the slowest view's median).\n"
        f"Share of the speed of an unwatched run that a watched one has: {ratios}.\n\n{source('page-cpu')}"
    )


#: Marked place of ``docs/results.md`` -> its table.
RESULTS: dict[str, Callable[[], str]] = {
    "speed-heldout": lambda: speed("heldout"),
    "speed-spec-bench": lambda: speed("spec-bench"),
    "spec-bench-tasks": lambda: by_task("spec-bench"),
    "spec-bench-paper": beside_paper,
    "semantic": lambda: speed("semantic"),
    "semantic-tasks": lambda: lengths_by_task("semantic", BESIDE_SEMANTIC),
    "semantic-lookup": semantic_lookup,
    "stops": lambda: speed("stops"),
    "stops-code": lambda: speed("stops-code"),
    "stops-law": law_of_stops,
    "copies": lambda: speed("copies"),
    "lengths-smollm2": chat_lengths,
    "pays": lambda: speed("heldout", IN_THE_REPORT),
    "speed-python": lambda: speed("python"),
    "pace": lambda: pace("heldout"),
    "page": page,
    "lengths": lengths,
    "rules": rules,
    "law": law,
    "second-draft": second_draft,
    "int8": integers,
    "llama-cpp": llama_cpp,
    "smollm2-llama": smollm2_llama,
    "smollm2-context": smollm2_context,
    "smollm2-fidelity": smollm2_fidelity,
    "former": former,
    "tab": tab,
    "gpu": gpu,
}
