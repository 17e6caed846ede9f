"""The sentences of the report of a bench: its conditions, its answer, and reasons to doubt it."""

from __future__ import annotations

from collections.abc import Sequence

from hsd_viz.machine import MachineFacts
from hsd_viz.measure.bench.block import Figures, PromptFigures, StackFigures
from hsd_viz.measure.bench.report import BenchReport, ReportSettings
from hsd_viz.prompts.templates import TEMPLATES
from hsd_viz.results.drafter_names import stack_name
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.kinds import StackKind, kind_of
from hsd_viz.stack import AUTO
from hsd_viz.text import counted


def low_repetition(block: PromptFigures) -> Figures | None:
    """Return the figures over the prompts with little repetition; ``None`` if these are all prompts
    or none.
    """
    low = block.low_repetition
    if low is None or low.outputs == block.whole.outputs:
        return None
    return low


# --- conditions ---------------------------------------------------------------------------------


def introduction(report: BenchReport) -> list[str]:
    """Return sentences on the suite, the settings and the machine, and on limits of the figures."""
    settings = report.settings
    lines = [
        f"{report.suite.name}: {counted(report.suite.prompts, 'prompt')}, "
        f"{_settings_text(settings)}; {report.processor}, "
        f"{counted(settings.threads, 'thread')}, {settings.dtype}{_load_text(report.machine)}"
    ]
    states = {stack.state for stack in report.stacks}
    if "warm" in states:
        lines.append(
            "warm rows keep one memory through the suite, so the order of the prompts is part of "
            "what was measured; each repeat starts with an empty one, so no prompt is decoded with "
            "a memory of its own output"
        )
    elif "cold" in states:
        lines.append(
            "drafters that learn from decode to decode started each one cold, with an empty memory"
        )
    if any(stack.stack.startswith(AUTO) for stack in report.stacks):
        lines.append(
            "auto is the fastest stack by the latency law for this machine, measured before its "
            "first decode"
        )
    if not report.complete:
        lines.append("cut short: only the prompts that every stack had finished count")
    template = TEMPLATES.get(settings.template or "")
    if template:
        lines.append(f"template {settings.template}: {template}")
    if settings.left_out:
        names = ", ".join(settings.left_out)
        lines.append(
            f"left out, as a turn does not fit the context: {names} "
            f"({len(settings.left_out)} in all)"
        )
    return lines


def _settings_text(settings: ReportSettings) -> str:
    """Describe the tokens, the sampling, the budget and the repeats."""
    parts = [counted(settings.max_new_tokens, "new token")]
    if settings.temperature:
        parts.append(f"temperature {settings.temperature:g}, {settings.rule} verification")
    else:
        parts.append("greedy")
    if settings.budget is not None:
        parts.append(
            f"at most {settings.budget} draft tokens of a database or baseline at a time, cost "
            "stopping off"
        )
    repeats = settings.repeats
    parts.append(f"median of {repeats}" if repeats > 1 else "one pass")
    return ", ".join(parts)


def _load_text(machine: MachineFacts) -> str:
    if machine.load_average is None or machine.cores is None:
        return ""
    return f", load average {machine.load_average:.1f} on {counted(machine.cores, 'core')}"


# --- the answer ---------------------------------------------------------------------------------


def answer(report: BenchReport) -> list[tuple[str, bool]]:
    """Return the answer as parts (text, whether it is emphasized); [] if only plain decoding was
    measured.
    """
    measured = [stack for stack in report.ranked if _drafts(stack)]
    if not measured:
        return []
    plausible = [stack for stack in measured if stack.whole.is_possible]
    if not plausible:
        words = "No speed-up: every one measured is impossible, so the timings were disturbed."
        return [(words, False)]
    best = plausible[0]
    before = "Fastest: "
    if _value(best) <= 1:
        before = "Nothing measured is faster than plain decoding; the fastest that drafts: "
    after = (
        f", {_times(best.whole.speedup)} plain decoding{_repetition_text(best)}."
        f"{_certainty_text(best, plausible[1:])}"
    )
    return [(before, False), (best.stack, True), (after, False)]


def _methods(report: BenchReport) -> list[StackFigures]:
    """Return the stacks that draft and have a possible speed-up, fastest first."""
    return [stack for stack in report.ranked if _drafts(stack) and stack.whole.is_possible]


def tally(report: BenchReport) -> str:
    """Describe how many methods are faster than plain decoding; "" for fewer than two methods."""
    methods = _methods(report)
    if len(methods) < 2:
        return ""
    faster = [stack for stack in methods if _value(stack) > 1]
    intervals = [stack.whole.speedup.interval for stack in faster]
    clear = sum(interval is not None and interval[0] > 1 for interval in intervals)
    clearly = ""
    if clear < len(faster):
        clearly = f", {clear or 'none'} of them clearly"
    verb = "beats" if len(faster) == 1 else "beat"
    return f"{len(faster)} of {len(methods)} methods {verb} plain decoding here{clearly}"


def loss(report: BenchReport) -> str:
    """Explain why methods lose, with the example of the losing one that has the most tokens per
    target forward pass; "" if none is slower than plain decoding.
    """
    slower = [stack for stack in _methods(report) if _value(stack) < 1]
    if not slower:
        return ""
    most = max(slower, key=_length)
    length = _length(most)
    cost = length / _value(most)
    words = stack_name(most.stack)
    return (
        "Why not more: checking a draft can cost more than it brings. "
        f"{words[0].upper()}{words[1:]} ({most.stack}) has {length:.2f} tokens per pass, "
        f"but such a pass takes as long as {cost:.1f} plain ones."
    )


def _length(stack: StackFigures) -> float:
    """Return the tokens per target forward pass of a stack."""
    return stack.whole.mean_acceptance_length.value or 0.0


def _drafts(stack: StackFigures) -> bool:
    """Return whether a stack drafts and has a speed-up."""
    is_measured = stack.whole.speedup_over_plain.value is not None
    return is_measured and kind_of(stack.stack) is not StackKind.PLAIN


def _value(stack: StackFigures) -> float:
    """Return the value of a stack's speed-up."""
    value = stack.whole.speedup_over_plain.value
    assert value is not None
    return value


def _times(figure: Estimate) -> str:
    """Format a speed-up with its interval."""
    return figure.as_text("{:.2f}", unit="×")


def _repetition_text(best: StackFigures) -> str:
    """Describe the speed-up over the prompts whose plain output has little repetition."""
    low = low_repetition(best)
    if low is None:
        return ""
    figure = low.speedup
    if figure.value is None:
        return ""
    prompts = counted(low.outputs, "prompt")
    words = f"; on the {prompts} whose plain output repeats itself little, {_times(figure)}"
    if figure.interval and figure.interval[0] <= 1 < figure.value:
        words += ", which may be no gain at all"
    return words


def _certainty_text(best: StackFigures, others: Sequence[StackFigures]) -> str:
    """Describe the certainty of the answer: the other stacks within its interval."""
    interval = best.whole.speedup.interval
    prompts = counted(best.whole.outputs, "prompt")
    if interval is None:
        return f" {prompts} cannot show how far the figure holds for others."
    least, _ = interval
    within = []
    for stack in others:
        if _value(stack) >= least:
            within.append(f"{stack.stack} ({_value(stack):.2f}×)")
    if least <= 1 <= _value(best):
        within.append("plain decoding")
    if not within:
        return ""
    names = _joined(within)
    return f" Within that interval, too: {names}; {prompts} do not settle which is faster."


# --- doubts -------------------------------------------------------------------------------------


def warnings(report: BenchReport) -> list[str]:
    """Return reasons to doubt the timings: a busy machine, and impossible speed-ups."""
    lines = []
    machine = report.machine
    load = machine.load_average
    if load is not None and machine.cores is not None and load > machine.cores:
        lines.append(
            f"The machine had more to do than its {counted(machine.cores, 'core')} (load average "
            f"{load:.1f} at the end): tokens/s may be too low, and speed-ups less certain than "
            "their intervals show"
        )
    wrong = []
    for stack in report.ranked:
        if not stack.whole.is_possible:
            length = stack.whole.mean_acceptance_length.value
            wrong.append(f"{stack.stack} ({_value(stack):.2f}× at {length:.2f})")
    if wrong:
        lines.append(
            f"Not plausible: {_joined(wrong)}. No draft makes decoding faster by more than its "
            "acceptance length, so the plain runs were disturbed: measure again on an idle machine"
        )
    return lines


def _joined(names: Sequence[str]) -> str:
    """Join names to a list within a sentence.

    >>> _joined(["a"]), _joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
