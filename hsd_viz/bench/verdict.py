"""What a bench report answers: which stack is fastest, by how much, and what speaks against believing it. For page, tab and terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from hsd_viz.bench.svg import Bar
from hsd_viz.stack import HFStack, parse_bench
from hsd_viz.words import counted

KINDS = {
    "plain": "plain decoding",
    "database": "databases",
    "models": "draft models",
    "both": "databases beneath draft models",
    "auto": "picked for this machine",
    "rival": "rival look-ups",
    "hf": "transformers' own loops",
}
#: Of each kind on a light and on a dark page; every one reads on both papers with 3 to 1 or more.
COLOURS = {
    "plain": ("#6e7781", "#9aa4af"),
    "database": ("#0a58ad", "#7fb9ff"),
    "models": ("#a81a62", "#ff93c2"),
    "both": ("#6f3bb0", "#c9a5ff"),
    "auto": ("#00655a", "#52d1c0"),
    "rival": ("#9a6a00", "#e3b34d"),
    "hf": ("#8a939d", "#7d8792"),
}
#: What stands beside a stack's name where stacks are in the order of their speed: the measure of all others, and what others built.
MARKS = {"plain": "plain", "rival": "rival", "hf": "transformers"}
#: Timings of a quiet machine differ by a few percent from repeat to repeat.
NOISE = 0.05
SPEED_TITLE = "Speed-up over plain decoding by stack"
OF_NOTE = "the fastest stack of each kind"


def kind(stack: str) -> str:
    """The kind of a row, a key of :data:`KINDS`, by its name."""
    try:
        parsed = parse_bench(re.sub(r" \((?:warm|best)\)\Z", "", stack))
    except ValueError:
        return "rival"
    if isinstance(parsed, HFStack):
        return "hf"
    if parsed.bottom is None:
        return "models" if parsed.drafts else "plain"
    if parsed.bottom.name in ("db", "auto"):
        return "auto" if parsed.bottom.name == "auto" else "both" if parsed.drafts else "database"
    return "rival"


def kinds_of(stacks: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The kinds among the stacks of a report, in the order of :data:`KINDS`, with their words."""
    there = {kind(s["stack"]) for s in stacks}
    return {name: words for name, words in KINDS.items() if name in there}


def ranked(stacks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The stacks of a report by their speed-up, the largest first; those without one last."""
    return sorted(stacks, key=lambda s: -(s["speedup_over_plain"] or 0.0))


def few(block: dict[str, Any]) -> dict[str, Any] | None:
    """The same figures over the prompts that repeat themselves little, where these are not all prompts."""
    low = block["low_repetition"]
    return low if low is not None and low["outputs"] < block["outputs"] else None


def of_note(report: dict[str, Any]) -> list[str]:
    """The fastest stack of each kind that drafts (:data:`OF_NOTE`), the fastest first."""
    found: dict[str, str] = {}
    for s in ranked(report["stacks"]):
        if s["mean_acceptance_length"] and s["mean_acceptance_length"] > 1:
            found.setdefault(kind(s["stack"]), s["stack"])
    return list(found.values())


def answer(report: dict[str, Any]) -> list[tuple[str, bool]]:
    """The answer in words, as parts (text, whether it stands out); [] where nothing but plain decoding was measured."""
    drafted = [
        s for s in ranked(report["stacks"]) if s["speedup_over_plain"] is not None and kind(s["stack"]) != "plain"
    ]
    if not drafted:
        return []
    best, interval = drafted[0], drafted[0]["speedup_over_plain_ci"]
    beaten = best["speedup_over_plain"] <= 1
    opening = "Nothing measured is faster than plain decoding; the fastest that drafts: " if beaten else "Fastest: "
    parts = [(opening, False), (best["stack"], True), (f", {times(best)} plain decoding", False)]
    if (low := few(best)) is not None and low["speedup_over_plain"] is not None:
        bounds = low["speedup_over_plain_ci"]
        unsure = ", which may be no gain at all" if bounds and bounds[0] <= 1 < low["speedup_over_plain"] else ""
        prompts = counted(low["outputs"], "prompt")
        parts.append((f"; on the {prompts} whose plain output repeats itself little, {times(low)}{unsure}", False))
    parts.append((".", False))
    if interval is None:
        parts.append((f" {counted(best['outputs'], 'prompt')} cannot say how far the figure holds for others.", False))
        return parts
    within = [
        f"{s['stack']} ({s['speedup_over_plain']:.2f}×)" for s in drafted[1:] if s["speedup_over_plain"] >= interval[0]
    ]
    within += ["plain decoding"] if interval[0] <= 1 <= best["speedup_over_plain"] else []
    if within:
        prompts = counted(best["outputs"], "prompt")
        parts.append((f" Within that interval, too: {_and(within)}; {prompts} do not settle which is faster.", False))
    return parts


def times(block: dict[str, Any]) -> str:
    """A speed-up with its interval."""
    interval = block["speedup_over_plain_ci"]
    return f"{block['speedup_over_plain']:.2f}×" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def warnings(report: dict[str, Any]) -> Iterator[str]:
    """Sentences on what speaks against the timings: a busy machine, and speed-ups that cannot be."""
    machine = report["machine"]
    load, cores = machine.get("load_average"), machine.get("cores")
    if load is not None and cores is not None and load > cores:
        yield (
            f"The machine had more to do than its {counted(cores, 'core')} (load average {load:.1f} at the end): "
            "tokens/s may be too low, and speed-ups less sure than their intervals say"
        )
    found = [
        f"{s['stack']} ({s['speedup_over_plain']:.2f}× at {s['mean_acceptance_length']:.2f})"
        for s in ranked(report["stacks"])
        if impossible(s["speedup_over_plain"], s["mean_acceptance_length"])
    ]
    if found:
        yield (
            f"Not to be believed: {_and(found)}. No draft makes decoding faster by more than its acceptance length, so the plain runs "
            "were disturbed: measure again on a quiet machine"
        )


def impossible(speedup: float | None, length: float | None) -> bool:
    """Whether a speed-up over plain decoding is more than its acceptance length can bring, timing noise apart.

    A forward that verifies drafts takes at least the time of a plain one, and emits ``length`` tokens where that emits one.
    """
    return speedup is not None and length is not None and speedup > length * (1 + NOISE)


def speed_bars(stacks: Sequence[dict[str, Any]], category: str | None = None) -> list[Bar]:
    """The speed-ups, of all prompts or of one category's, the largest first; beneath each that at little repetition, where it differs."""
    rows = []
    for s in stacks:
        block = s if category is None else s["by_category"].get(category)
        if block is None or block["speedup_over_plain"] is None:
            continue
        low = (few(block) if category is None else None) or {}
        second = low.get("speedup_over_plain"), low.get("speedup_over_plain_ci")
        rows.append(
            Bar(s["stack"], kind(s["stack"]), block["speedup_over_plain"], block["speedup_over_plain_ci"], *second)
        )
    return sorted(rows, key=lambda row: -row.value)


def speed_words(rows: Sequence[Bar]) -> str:
    """How to read the figure of the speed-ups."""
    thin = (
        " The thin bar beneath: the prompts whose plain output repeats itself little."
        if any(r.second is not None for r in rows)
        else ""
    )
    return f"Bars with their 95 % intervals; the dashed line is plain decoding.{thin}"


def _and(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])
