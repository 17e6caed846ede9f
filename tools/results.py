"""The tables of ``docs/results.md``, from the files in ``docs/bench``; :mod:`tools.tables` writes
them.

Each function returns one table with its source below it: the files, and the machine's load.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from hsd_viz.words import counted
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
    found = {}
    for title, part in TEMPERATURES:
        name = f"{suite}-{part}-cpu"
        if (BENCH / f"{name}.json").exists():
            found[title] = (name, read(name))
    return found


def report_names(suite: str) -> list[str]:
    """Return the names of the reports of a suite."""
    return [name for name, _ in reports(suite).values()]


def table(head: Sequence[str], body: Iterable[Sequence[str]], *names: str) -> str:
    """Return a table with the source of its figures below it."""
    return f"{markdown([head, *body], '---:')}\n\n{source(*names)}"


def texts(form: str, values: Mapping, keys: Iterable) -> list[str]:
    """Return the values of some keys in one format."""
    return [form.format(values[key]) for key in keys]


def headings(form: str, values: Iterable) -> list[str]:
    """Return a heading per value."""
    return [form.format(value) for value in values]


def figure(row: dict | None, key: str, form: str = "{:.2f}", scale: float = 1.0) -> str:
    """Return a figure of a stack with its interval, or – where there is none."""
    value = (row or {}).get(key)
    ends = (row or {}).get(f"{key}_ci")
    if value is None:
        return "–"
    text = form.format(value * scale)
    if ends is None or None in ends:
        return text
    low, high = ends
    return f"{text} [{form.format(low * scale)}, {form.format(high * scale)}]"


def by_stack(report: dict) -> dict[str, dict]:
    """Return the rows of a report by stack."""
    return {row["stack"]: row for row in report["stacks"]}


def drafting(report: dict) -> list[dict]:
    """Return the rows of a report but that of plain decoding, the fastest first."""
    rows = [row for row in report["stacks"] if row["stack"] != PLAIN]
    return sorted(rows, key=lambda row: -row["speedup_over_plain"])


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
        for found in rows.values():
            row = found.get(stack) or {}
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


def rules() -> str:
    """Return tokens per round under the verification rules, with the gain and the time of block
    and branch.
    """
    head = [
        "stack",
        "T",
        "level",
        "tokens per round: token",
        "block over token",
        "branch over token",
        "time per token: block over token",
        "branch over token",
    ]
    body = []
    for row in read("rules-cpu")["rows"]:
        line = [
            f"`{row['stack']}`",
            f"{row['temperature']:g}",
            str(row["level"]),
            f"{row['token_tokens_per_round']:.2f}",
        ]
        gain_and_time = {"gain": "{:+.1%}", "time": "{:.2f}"}
        for quantity, form in gain_and_time.items():
            for rule in ("block", "branch"):
                name = f"{rule}_{quantity}"
                line.append(figure(row, name, form) if name in row else "")
        body.append(line)
    return table(head, body, "rules-cpu")


def law() -> str:
    """Return the errors of the law's predictions and how its selection compares, by temperature."""
    head = [
        "",
        "stacks measured",
        "error of ms per token: median",
        "worst",
        "without drift: median",
        "worst",
        "error of forward passes: median",
        "worst",
        "selected",
        "slower than the fastest measured",
    ]
    body = []
    names = []
    for title, part in TEMPERATURES:
        name = f"plan-{part}-cpu"
        names.append(name)
        plan = read(name)
        measured = sum(row["measured_ms_per_token"] is not None for row in plan["hierarchies"])
        line = [title, str(measured)]
        for quantity in ("ms_per_token", "ms_per_token_without_drift", "forwards_per_token"):
            line += texts("{:.1%}", plan["errors"][quantity], ("median", "worst"))
        line.append(f"`{plan['picked']}`")
        line.append(f"{plan['picked_over_best_measured']:.1%}")
        body.append(line)
    return table(head, body, *names)


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
    return table(head, body, name)


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


def semantic_lookup() -> str:
    """Return the time of a draft of the semantic database by the length of the text."""
    name = "semantic-lookup"
    rows = read(name)["rows"]
    drafters = [key for key in rows[0] if key.startswith("db[")]
    head = ["tokens of text", "occurrences, at most", *headings("`{}`, µs", drafters)]
    body = []
    for row in rows:
        line = [str(row["length"]), str(row["occurrences"])]
        for drafter in drafters:
            line.append(f"{1e6 * row[drafter]:.1f}")
        body.append(line)
    return table(head, body, name)


def second_draft() -> str:
    """Return, for each target of the grids, the best hierarchy of models over the best single
    draft model.
    """
    head = [
        "",
        "target",
        "forward pass, ms",
        "best single draft",
        "best hierarchy of models",
        "speed-up over it",
        "best with a database",
        "speed-up over the single draft",
    ]
    body = []
    names = []
    for title, part in TEMPERATURES:
        name = f"grid-{part}-cpu"
        names.append(name)
        for point in read(name)["points"]:
            has_noise = "~" in point["target"]
            if has_noise:
                continue
            line = [
                title,
                f"`{point['target']}`",
                f"{point['ms_per_forward'][PLAIN]:.2f}",
                f"`{point['best_single_draft']}`",
            ]
            for kind in ("models_over_single_draft", "databases_over_single_draft"):
                best = point.get(kind) or {}
                line.append(f"`{best['hierarchy']}`" if best else "–")
                line.append(figure(best, "speedup"))
            body.append(line)
    return table(head, body, *names)


def integers() -> str:
    """Return what 8-bit integers lose and bring: loss beside float32, forward passes beside the
    former float16 ones.
    """
    widths = (1, 4, 16)
    passes = read("before-cpu")["rows"]
    head = [
        "",
        "loss, nats: float32",
        "int8",
        "overlap of the rows",
        "weights, MB",
        *headings("ms, width {}", widths),
        *headings("float16 over int8, {}", widths),
        "float32 over int8, 1",
    ]
    body = []
    for row in read("int8-cpu")["models"]:
        integer_ms = {}
        gains = {}
        for measured in passes:
            if measured["model"] == row["model"] and measured["context"] == 300:
                width = measured["tokens"]
                integer_ms[width] = measured["now_ms"]
                gains[width] = measured["before_ms"] / measured["now_ms"]
        int8_ms, float32_ms = row["milliseconds"].values()
        megabytes = {dtype: size / 1e6 for dtype, size in row["weight_bytes"].items()}
        body.append(
            [
                f"`{row['model']}`",
                f"{row['loss_float32']:.4f}",
                f"{row['loss_int8']:.4f}",
                f"{row['overlap']:.4f}",
                f"{megabytes['int8']:.1f} of {megabytes['float32']:.1f}",
                *texts("{:.3f}", integer_ms, widths),
                *texts("{:.1f}", gains, widths),
                f"{float32_ms['1'] / int8_ms['1']:.1f}",
            ]
        )
    return table(head, body, "int8-cpu", "before-cpu")


def llama_cpp() -> str:
    """Return ratios of times beside llama.cpp on the same weights: above 1 this project is
    faster.
    """
    data = read("llama-cpp")
    passes: dict[str, dict[int, float]] = {}
    for row in data["forward_passes"]:
        passes.setdefault(row["side"], {})[row["tokens"]] = row["processor_ms"]
    ours = passes.pop("hsd_viz")
    decodes = {row["side"]: row["processor_ms_per_token"] for row in data["decodes"]}
    head = ["type: llama.cpp over this project, by tokens", *map(str, ours)]
    head += ["greedy decode", "with `ngram-mod`"]
    body = []
    for side, milliseconds in passes.items():
        line = [f"`{side}`"]
        for width, our_ms in ours.items():
            line.append(f"{milliseconds[width] / our_ms:.2f}")
        for kind in ("none", "ngram-mod"):
            ratio = decodes[f"llama.cpp {side} {kind}"] / decodes["hsd_viz target"]
            line.append(f"{ratio:.2f}")
        body.append(line)
    ratio = decodes["hsd_viz db > target"] / decodes["hsd_viz target"]
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
    names = []
    shares = []
    for threads in (1, 2):
        name = f"smollm2-llama-{threads}"
        names.append(name)
        shares.append(_share_of_memory(read(name)))
        times = passes_by_side(name)
        ours = times.pop("hsd_viz")
        body.append([str(threads), "hsd_viz, ms", *texts("{:.1f}", ours, widths)])
        for side, its in times.items():
            ratios = {width: its[width] / ours[width] for width in widths}
            body.append([str(threads), side, *texts("{:.2f} ×", ratios, widths)])
    for threads in (1, 2):
        name = f"smollm2-avx2-{threads}"
        names.append(name)
        ours = passes_by_side(name)["hsd_viz"]
        body.append([str(threads), "hsd_viz with AVX2, ms", *texts("{:.1f}", ours, widths)])
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
    return table(head, body, "smollm2-fidelity")


def smollm2_context() -> str:
    """Return times of SmolLM2's passes behind contexts of three lengths."""
    widths = ["1", "2", "4", "8", "16"]
    head = ["context", "threads", *widths]
    body = []
    names = []
    for context in (300, 2000, 7900):
        for threads in (1, 2):
            name = f"smollm2-context-{context}-{threads}"
            if context == 300:
                name = f"smollm2-llama-{threads}"
            names.append(name)
            ours = passes_by_side(name)["hsd_viz"]
            body.append([str(context), str(threads), *texts("{:.1f}", ours, widths)])
    return table(head, body, *sorted(names))


def tab() -> str:
    """Return milliseconds of a forward pass in a browser tab and on the native runtime, by the
    number of tokens.
    """
    here = read("tab-cpu")
    head = ["tokens in one pass", *here["milliseconds"][PLAIN]]
    body = []
    for model, in_tab in here["milliseconds"].items():
        native = read(f"curves-{model}-cpu")["milliseconds"]["native"]
        body.append([f"{model}, tab", *texts("{:.2f}", in_tab, in_tab)])
        body.append([f"{model}, native", *texts("{:.2f}", native, in_tab)])
    measured = f"{here['browser']}, measured on {here['date']}"
    if "page" in here:
        measured += f" ({here['page']})"
    where = f"Source: [tab-cpu.json](../bench/tab-cpu.json): {measured}."
    return f"{markdown([head, *body], '---:')}\n\n{where}"


def designs() -> str:
    """Return what designs of a draft model for SmolLM2 learn in the same time, and what it brings
    by the law.
    """
    found = read("draft-designs")
    head = [
        "design",
        "overlap",
        "tokens learned from",
        "pass, of the target's",
        "speed-up by the law",
        "lookahead",
    ]
    body = []
    ranked = sorted(found["designs"].items(), key=lambda each: -each[1]["speedup"])
    for name, facts in ranked:
        body.append(
            [
                name,
                f"{facts['overlap']:.3f}",
                f"{facts['seen']:,}",
                f"{facts['cost']:.3f}",
                f"{facts['speedup']:.3f}",
                str(facts["lookahead"]),
            ]
        )
    words = (
        f"{found['seconds']:.0f} seconds of processor time each, {found['machine']['cpu']}, "
        f"{counted(found['machine']['threads'], 'thread')}"
    )
    return (
        f"{markdown([head, *body], '---:')}\n\n"
        f"Source: [draft-designs.json](../bench/draft-designs.json): {words}."
    )


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
    words = _gpu_words(data["plan"]["errors"], data["a"]["parts"]["greedy/strict"])
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
    for name, found in parts.items():
        kind, *place = name.split("/")
        if kind == "steps":
            milliseconds = texts("{:.2f}", found["width_ms"], widths)
            rows.append([place[0], place[1], *milliseconds, f"{found['bound_ms']:.2f}"])
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


def _gpu_words(errors: dict, greedy: list[dict]) -> str:
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
    "designs": designs,
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
