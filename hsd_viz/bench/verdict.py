"""The conclusions of a bench report: the fastest stack, by how much, and reasons for doubt."""

from collections.abc import Iterator, Sequence

from hsd_viz.bench.report import Figures, GroupFigures, Report, StackResult, impossible, kind
from hsd_viz.intervals import LEAST, Estimate
from hsd_viz.words import counted

#: Of each kind of stacks: its label, and its colour on a light and on a dark page (contrast of at least 3).
KINDS = {
    "plain": ("plain decoding", "#6e7781", "#9aa4af"),
    "database": ("databases", "#0a58ad", "#7fb9ff"),
    "models": ("draft models", "#a81a62", "#ff93c2"),
    "both": ("databases below draft models", "#6f3bb0", "#c9a5ff"),
    "auto": ("picked for this machine", "#00655a", "#52d1c0"),
    "baseline": ("baseline look-ups", "#9a6a00", "#e3b34d"),
    "hf": ("transformers' own loops", "#8a939d", "#7d8792"),
}
#: Kinds that are marked in tables ordered by speed: plain decoding, and methods of others.
OTHERS = ("plain", "baseline", "hf")
FEW = f"No interval is shown for fewer than {LEAST} prompts. The"
FASTEST_OF_KIND = "the fastest stack of each kind"


def ranked(stacks: Sequence[StackResult]) -> list[StackResult]:
    """Return the stacks by speed-up, the largest first; those without one last."""
    return sorted(stacks, key=lambda s: -(s.speedup_over_plain.value or 0.0))


def low_repetition(block: GroupFigures) -> Figures | None:
    """Return the figures over the prompts with little repetition, unless these are all prompts or none."""
    low = block.low_repetition
    return low if low is not None and low.outputs < block.outputs else None


def fastest_of_kind(report: Report) -> list[str]:
    """Return the fastest stack of each kind that drafts (:data:`FASTEST_OF_KIND`), the fastest first."""
    found: dict[str, str] = {}
    for s in ranked(report.stacks):
        if (s.mean_acceptance_length.value or 0.0) > 1:
            found.setdefault(kind(s.stack), s.stack)
    return list(found.values())


def answer(report: Report) -> list[tuple[str, bool]]:
    """Return the answer as parts (text, whether it is emphasized); [] if only plain decoding was measured.

    Stacks with an impossible speed-up are left out.
    """
    measured = [s for s in ranked(report.stacks) if s.speedup_over_plain.value is not None and kind(s.stack) != "plain"]
    drafted = [s for s in measured if plausible(s)]
    if not drafted:
        none = ("No speed-up: every one measured is impossible, so the timings were disturbed.", False)
        return [none] if measured else []
    best, speedup = drafted[0], drafted[0].speedup_over_plain
    slower = speedup.value <= 1
    opening = "Nothing measured is faster than plain decoding; the fastest that drafts: " if slower else "Fastest: "
    parts = [(opening, False), (best.stack, True), (f", {times(speedup)} plain decoding", False)]
    low = low_repetition(best)
    if low is not None and low.speedup_over_plain.value is not None and plausible(low):
        few = low.speedup_over_plain
        unsure = ", which may be no gain at all" if few.interval and few.interval[0] <= 1 < few.value else ""
        prompts = counted(low.outputs, "prompt")
        parts.append((f"; on the {prompts} whose plain output repeats itself little, {times(few)}{unsure}", False))
    parts.append((".", False))
    prompts = counted(best.outputs, "prompt")
    if speedup.interval is None:
        parts.append((f" {prompts} cannot show how far the figure holds for others.", False))
        return parts
    others = [(s.stack, s.speedup_over_plain.value) for s in drafted[1:]]
    within = [f"{name} ({value:.2f}×)" for name, value in others if value >= speedup.low]
    within += ["plain decoding"] if speedup.low <= 1 <= speedup.value else []
    if within:
        parts.append((f" Within that interval, too: {_and(within)}; {prompts} do not settle which is faster.", False))
    return parts


def times(speedup: Estimate) -> str:
    """Return a speed-up with its interval as text."""
    interval = speedup.interval
    return f"{speedup.value:.2f}×" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def warnings(report: Report) -> Iterator[str]:
    """Yield reasons to doubt the timings: a busy machine, and speed-ups that are impossible."""
    load, cores = report.machine.load_average, report.machine.cores
    if load is not None and cores is not None and load > cores:
        yield (
            f"The machine had more to do than its {counted(cores, 'core')} (load average {load:.1f} at the end): "
            "tokens/s may be too low, and speed-ups less certain than their intervals show"
        )
    found = [
        f"{s.stack} ({s.speedup_over_plain.value:.2f}× at {s.mean_acceptance_length.value:.2f})"
        for s in ranked(report.stacks)
        if not plausible(s)
    ]
    if found:
        yield (
            f"Not plausible: {_and(found)}. No draft makes decoding faster by more than its acceptance length, so the "
            "plain runs were disturbed: measure again on an idle machine"
        )


def plausible(figures: Figures) -> bool:
    """Return whether the speed-up of a stack or a group is not :func:`impossible`."""
    return not impossible(figures.speedup_over_plain.value, figures.mean_acceptance_length.value)


def speed_words(thin: bool, sure: bool) -> str:
    """Return how to read the figure of the speed-ups: with thin bars, with intervals."""
    low = " The thin bar below: the prompts whose plain output repeats itself little." if thin else ""
    return f"{'Bars with their 95 % intervals; the' if sure else FEW} dashed line is plain decoding.{low}"


def _and(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])
