"""Compare two saved reports: which stacks became faster or slower.

The change of a stack is its new tokens/s over its old ones. Reports that hold each prompt's time
(:attr:`~hsd_viz.bench.report.StackResult.by_prompt`) are compared on the prompts of both, paired: the interval is that
of a bootstrap over prompts. Older reports have an interval for each side, which also covers the differences between
prompts; the two are combined as if independent, which is wider than the truth.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, hypot, log

import numpy as np

from hsd_viz.bench.report import Report, StackResult
from hsd_viz.intervals import UNKNOWN, Estimate, estimate, ratio, resample
from hsd_viz.tables import Table, lines
from hsd_viz.words import check_range

#: The default share by which a stack may become slower.
TOLERANCE = 0.05
#: Settings that change tokens/s; those that a report does not hold are not compared.
_SETTINGS = ("max_new_tokens", "temperature", "top_k", "top_p", "seed", "budget", "target", "databases",
             "device", "dtype", "threads")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """A stack's tokens/s in both reports, and the new over the old. ``verdict``: ``faster``, ``slower`` or ``same``."""

    stack: str
    old: Estimate
    new: Estimate
    change: Estimate
    paired: bool
    verdict: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes of the stacks in both reports, the stacks in one of them, and the settings that differ."""

    tolerance: float
    changes: tuple[Change, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    differences: tuple[str, ...]

    @property
    def slower(self) -> tuple[str, ...]:
        """The stacks that became slower by more than the tolerance."""
        return tuple(c.stack for c in self.changes if c.verdict == "slower")


def compare(old: Report, new: Report, tolerance: float = TOLERANCE) -> Comparison:
    """Compare two reports. Raises: ValueError: if they have no stack in common or the tolerance is out of range."""
    check_range("the tolerance", tolerance, 0.0, 1.0)
    before, after = ({s.stack: s for s in report.stacks} for report in (old, new))
    if not (shared := [name for name in before if name in after]):
        raise ValueError(f"the reports have no stack in common: {', '.join(before)} against {', '.join(after)}")
    facts = [("suite", old.suite.name, new.suite.name), ("prompts", old.suite.prompts, new.suite.prompts)]
    facts += [("processor", old.processor, new.processor)]
    facts += [(n.replace("_", " "), getattr(old.settings, n), getattr(new.settings, n)) for n in _SETTINGS]
    return Comparison(
        tolerance,
        tuple(_change(before[name], after[name], tolerance) for name in shared),
        tuple(name for name in before if name not in after),
        tuple(name for name in after if name not in before),
        tuple(f"{name}: {a} before, {b} now" for name, a, b in facts if a != b),
    )


def _change(old: StackResult, new: StackResult, tolerance: float) -> Change:
    paired = _paired(old.by_prompt or {}, new.by_prompt or {})
    change = paired or _independent(old.tokens_per_second, new.tokens_per_second)
    verdict, value, interval = "same", change.value, change.ends
    # The interval of unpaired reports is mostly that of the prompts: there the value decides alone.
    sure = interval is None or paired is None or not interval[0] <= 1 <= interval[1]
    if value is not None and sure:
        verdict = "slower" if value < 1 - tolerance else "faster" if value > 1 + tolerance else "same"
    return Change(old.stack, old.tokens_per_second, new.tokens_per_second, change, paired is not None, verdict)


def _paired(before: dict[str, tuple[int, float]], after: dict[str, tuple[int, float]]) -> Estimate | None:
    """Return the change over the prompts of both reports; ``None`` if there are none or a report has no times."""
    if not (shared := [name for name in before if name in after]):
        return None
    weights = resample(len(shared))
    sides = (np.array([side[name] for name in shared], float).T for side in (before, after))
    old, new = (ratio(weights @ tokens, weights @ seconds) for tokens, seconds in sides)
    return estimate(ratio(new, old), len(shared))


def _independent(old: Estimate, new: Estimate) -> Estimate:
    """Return new over old with the interval of two independent figures, combined on a logarithmic scale."""
    if not old.value or new.value is None:
        return UNKNOWN
    change = new.value / old.value
    if not (old.low and old.high and new.low and new.high):
        return Estimate(change)
    down = hypot(log(new.value / new.low), log(old.high / old.value))
    up = hypot(log(new.high / new.value), log(old.value / old.low))
    return Estimate(change, change * exp(-down), change * exp(up))


def text_parts(comparison: Comparison) -> Iterator[str | Table]:
    """Yield the lines and the table of a comparison for :mod:`hsd_viz.terminal`."""
    yield from (f"the reports differ in {line}" for line in comparison.differences)
    forms = dict.fromkeys(("tokens/s before", "tokens/s now"), ("{:.1f}", 1.0)) | {"now/before": ("{:.3f}", 1.0)}
    rows = [[c.stack, c.old, c.new, c.change, c.verdict] for c in comparison.changes]
    yield Table("Comparison", [["stack", *forms, "verdict"], *rows], forms=forms)
    yield from lines("compare.jinja", found=comparison, paired=all(c.paired for c in comparison.changes))
