"""The metrics of compared runs, each with its difference to the first run and its definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hsd_viz.bench.verdict import impossible
from hsd_viz.stack import StackError, parse
from hsd_viz.trace import Trace
from hsd_viz.views.versus_data import LETTERS, stack_of

#: name, definition, key of the metrics, format of a value, format of a difference
_Row = tuple[str, str, Callable[[dict[str, Any]], float | None], Callable[[float], str], Callable[[float, float], str]]


def _ms(x: float) -> str:
    return f"{1e3 * x:.1f} ms" if x < 1 else f"{x:.2f} s"


def _us(x: float) -> str:
    return f"{1e6 * x:.0f} µs" if x < 1e-3 else _ms(x)


def _signed(x: float, write: Callable[[float], str]) -> str:
    """Format a signed difference; one that rounds to zero is ±0."""
    words = write(abs(x))
    return "±0" if words == write(0) else f"{'+' if x > 0 else '−'}{words}"


def _less(write: Callable[[float], str]) -> Callable[[float, float], str]:
    return lambda x, first: _signed(x - first, write)


def _times(x: float, first: float) -> str:
    return f"{x / first:.2f} × {LETTERS[0]}" if first else ""


def _points(x: float, first: float) -> str:
    return _signed(100 * (x - first), "{:.0f}".format) + " points"


_ROWS: tuple[_Row, ...] = (
    (
        "Speed",
        "Emitted tokens per second of wall time from the end of prefill. The difference is a ratio.",
        lambda m: m["tokens_per_second"],
        lambda x: f"{x:.0f} tokens/s",
        _times,
    ),
    (
        "Target forward passes",
        "Forward passes of the target after prefill. Plain decoding needs one per token.",
        lambda m: m["target_forwards"],
        "{:.0f}".format,
        _less("{:.0f}".format),
    ),
    (
        "Mean acceptance length",
        "Emitted tokens per target forward pass, bonus tokens included. Plain decoding: 1.00.",
        lambda m: m["mean_acceptance_length"],
        "{:.2f}".format,
        _less("{:.2f}".format),
    ),
    (
        "Acceptance rate",
        "Accepted / drafted tokens at the target. Low for wide draft trees, of which only one branch can be accepted.",
        lambda m: m["acceptance_rate"] if m["drafted"] else None,
        "{:.0%}".format,
        _points,
    ),
    (
        "Repetition",
        "Share of emitted tokens that end an 8-gram repeated in the output. Repetition favours drafting.",
        lambda m: m["repetition_share"],
        "{:.0%}".format,
        _points,
    ),
    (
        "Drafting latency",
        "Time per target round spent finding drafts and updating databases, without model forward passes.",
        lambda m: m["draft_seconds_per_round"] or None,
        _us,
        _less(_us),
    ),
    (
        "Prefill",
        "Prefill of all models and databases; excluded from speed and race.",
        lambda m: m["prefill_seconds"],
        _ms,
        _less(_ms),
    ),
    (
        "Decoding",
        "Wall time from the end of prefill to the end of the run: the sum of the times below.",
        lambda m: m["seconds"],
        _ms,
        _less(_ms),
    ),
)


def table(traces: Sequence[Trace]) -> list[dict[str, Any]]:
    """Return rows ``{name, definition, part, cells: [{value, difference}]}``, one cell per run; the first has no
    difference.

    ``part``: the row is a part of the decoding time. The parts of a run sum to it.
    """
    figures = [t.metrics() for t in traces]
    rows = [
        _row(name, definition, [get(m) for m in figures], write, differ)
        for name, definition, get, write, differ in _ROWS
    ]
    return rows + [_row(*named, seconds, _ms, _less(_ms), part=True) for named, seconds in _parts(figures)]


def doubt(traces: Sequence[Trace]) -> str:
    """Return a warning if a speed-up over plain decoding exceeds the acceptance length, else ""."""
    figures = [t.metrics() for t in traces]
    plain = [m["tokens_per_second"] for t, m in zip(traces, figures, strict=True) if _is_plain(stack_of(t))]
    said = []
    for letter, m in zip(LETTERS, figures, strict=False):
        length = m["mean_acceptance_length"]
        over = [m["tokens_per_second"] / p for p in plain if p and m["tokens_per_second"]]
        if over and impossible(max(over), length):
            said.append(
                f"{letter} has {max(over):.2f} times the speed of plain decoding at {length:.2f} tokens per forward "
                "pass"
            )
    if not said:
        return ""
    return f"{'; '.join(said)}: the plain run was disturbed. Decode again on an idle machine."


def _is_plain(stack: str) -> bool:
    try:
        return len(parse(stack).parts) == 1
    except StackError:
        return False


def _row(
    name: str,
    definition: str,
    values: Sequence[float | None],
    write: Callable[[float], str],
    differ: Callable[[float, float], str],
    part: bool = False,
) -> dict[str, Any]:
    first = values[0]
    cells = [
        {
            "value": "–" if x is None else write(x),
            "difference": differ(x, first) if k and x is not None and first is not None else "",
        }
        for k, x in enumerate(values)
    ]
    return {"name": name, "definition": definition, "part": part, "cells": cells}


def _parts(figures: Sequence[dict[str, Any]]) -> list[tuple[tuple[str, str], list[float | None]]]:
    """Return the time of each level's calls, target first, and the rest; ``None`` if a run has no such level."""
    spent: list[dict[str, float]] = []
    order: dict[str, int] = {}
    looks: set[str] = set()
    for m in figures:
        mine: dict[str, float] = {}
        for c in m["calls_by_level"]:
            if c["kind"] == "prefill":
                continue
            mine[c["name"]] = mine.get(c["name"], 0.0) + c["seconds"]
            looks |= {c["name"]} if c["kind"] in ("lookup", "update") else set()
        top = max((c["level"] for c in m["calls_by_level"]), default=0)
        for c in m["calls_by_level"]:
            # Counted from the target down, so that levels align between stacks.
            order[c["name"]] = max(order.get(c["name"], 0), top - c["level"])
        spent.append(mine)
    names = sorted({name for mine in spent for name in mine}, key=lambda name: (name in looks, order[name], name))
    rows = []
    for name in names:
        what = "Look-ups and updates of" if name in looks else "Forward passes of"
        rows.append(((f"in {name}", f"{what} {name} after prefill."), [mine.get(name) for mine in spent]))
    rest = [m["seconds"] - sum(mine.values()) for m, mine in zip(figures, spent, strict=True)]
    rows.append(
        (
            (
                "between calls",
                "Decoding time without a call: sampling, verification, draft trees and bookkeeping.",
            ),
            rest,
        )
    )
    return rows
