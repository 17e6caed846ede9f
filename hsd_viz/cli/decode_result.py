"""The output of ``hsd-viz decode``, as lines and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hsd_viz.results.result import Result
from hsd_viz.text import counted
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import Metrics
from hsd_viz.trace.tables import observed


class DecodeResult(Result):
    """The result of a decode in the terminal, whose text was printed during the decode.

    Attributes:
        trace: the trace of the decode.
        stopped: the reason for which it stopped early; ``None``: it did not.
        saved: the path of the saved trace; ``None``: not saved.
    """

    title = "A decode"
    noun = "decode"

    def __init__(self, trace: Trace, stopped: str | None, saved: Path | None) -> None:
        self.trace = trace
        self.stopped = stopped
        self.saved = saved
        self.complete = stopped is None

    def lines(self) -> list[str]:
        """Return lines on the speed, the acceptance and the sources."""
        figures = self.trace.metrics()
        meta = self.trace.meta
        length = _figure("{:.2f}", figures["mean_acceptance_length"])
        rate = _figure("{:.0%}", figures["acceptance_rate"])
        lines = [
            self._speed(figures),
            f"  {figures['target_forwards']} target forward passes, {length} tokens per pass; "
            f"drafted {figures['drafted']}, accepted {figures['accepted']} ({rate})",
            f"  by source: {self._sources(figures)}",
        ]
        if meta.get("runtime_note"):
            lines.append(f"  {meta['runtime_note']}")
        return lines

    def _speed(self, figures: Metrics) -> str:
        meta = self.trace.meta
        speed = _figure("{:.1f}", figures["tokens_per_second"])
        end = "" if meta["cancelled"] else f", stopped by {meta['stop_reason']}"
        return (
            f"{meta['stack_resolved']}: {figures['tokens']} tokens in {figures['seconds']:.2f} s "
            f"({speed} tokens/s, {meta['runtime']}){end}"
        )

    def _sources(self, figures: Metrics) -> str:
        emitted = observed(figures["emitted_by_source"])
        names = sorted(emitted, key=lambda name: emitted[name], reverse=True)
        return ", ".join(f"{name} {emitted[name]}" for name in names) or "none"

    def ending(self, json: Path | None) -> str:
        """Describe what stopped the decode, and which results are kept."""
        tokens = counted(len(self.trace), "token")
        if self.saved is not None:
            return f"{self.stopped}; saved {tokens} to {self.saved}"
        return f"{self.stopped} after {tokens}"

    def to_dict(self) -> dict[str, Any]:
        """Return the object that ``--json`` writes."""
        return summary(self.trace)


def _figure(form: str, value: float | None) -> str:
    """Format a figure; "-" if it is undefined."""
    return "-" if value is None else form.format(value)


def summary(trace: Trace) -> dict[str, Any]:
    """Return the object that ``--json`` writes."""
    figures: dict[str, Any] = dict(trace.metrics())
    calls = figures.pop("calls_by_level")
    return {
        "text": trace.text,
        "token_ids": trace.token_ids,
        "stop_reason": trace.meta["stop_reason"],
        "stack": trace.meta["stack"],
        "stack_resolved": trace.meta["stack_resolved"],
        "target": trace.meta["models"][-1]["model"],
        "metrics": figures,
        "calls_by_level": calls,
    }
