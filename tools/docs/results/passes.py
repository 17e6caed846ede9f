"""Tables of the times of forward passes and look-ups, and of the fidelity of integers."""

from __future__ import annotations

from hsd_viz.stack import PLAIN
from tools.docs.results.files import headings, read, source, table, texts
from training.evaluation import markdown


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


def tab() -> str:
    """Return milliseconds of a forward pass in a browser tab and on the native runtime, by the
    number of tokens.
    """
    tab = read("tab-cpu")
    head = ["tokens in one pass", *tab["milliseconds"][PLAIN]]
    body = []
    for model, in_tab in tab["milliseconds"].items():
        native = read(f"curves-{model}-cpu")["milliseconds"]["native"]
        body.append([f"{model}, tab", *texts("{:.2f}", in_tab, in_tab)])
        body.append([f"{model}, native", *texts("{:.2f}", native, in_tab)])
    measured = f"{tab['browser']}, measured on {tab['date']}"
    if "page" in tab:
        measured += f" ({tab['page']})"
    where = f"Source: [tab-cpu.json](../bench/tab-cpu.json): {measured}."
    return f"{markdown([head, *body], '---:')}\n\n{where}"


def tab_family() -> str:
    """Return tokens per second of SmolLM2 in a browser tab and on the native runtime."""
    name = "tab-smollm2-cpu"
    tab = read(name)
    speeds = tab["tokens_per_second"]
    head = ["stack", "tab, tokens/s", "native, tokens/s", "tab over native"]
    body = []
    for stack, in_tab in speeds["tab"].items():
        native = speeds["native"][stack]
        ratio = in_tab / native
        body.append([f"`{stack}`", f"{in_tab:.1f}", f"{native:.1f}", f"{ratio:.2f}"])
    load = tab["machine"]["load_average"]
    where = (
        f"Source: [{name}.json](../bench/{name}.json): {tab['browser']}, measured on "
        f"{tab['date']} (load average {load:.1f})."
    )
    return f"{markdown([head, *body], '---:')}\n\n{where}"
