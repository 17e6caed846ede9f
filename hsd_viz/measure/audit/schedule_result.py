"""The result of an audit of rules that end or shorten drafts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from hsd_viz.measure.audit.small_models import DRAFT, TARGET
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """One rule, audited.

    Attributes:
        rule: its name, or a stack of the project's own loop.
        looks_at: what decides whether a token is proposed.
        safe: whether the text has the target's law.
        expected: whether it is known to have.
        why: the reason, as a sentence.
        distance: the total variation distance to the target's law: a fraction, or the largest error
            of a stack.
        prefix: the tokens before the first wrong one.
        token: the token whose probability there is most wrong.
        found: that probability.
        wanted: the target's.
    """

    rule: str
    looks_at: str
    safe: bool
    expected: bool
    why: str
    distance: str
    prefix: tuple[int, ...] = ()
    token: int | None = None
    found: str | None = None
    wanted: str | None = None

    @property
    def bias(self) -> str:
        """The bias as text."""
        if self.token is None or self.found is None or self.wanted is None:
            return ""
        difference = Fraction(self.found) - Fraction(self.wanted)
        sign = "+" if difference > 0 else "−"
        where = f"after {list(self.prefix)}" if self.prefix else "first token"
        return (
            f"{where}: {self.token} has {self.found}, not {self.wanted} ({sign}{abs(difference)})"
        )


@dataclass(frozen=True, slots=True)
class ScheduleAudit(Result):
    """The audit of rules that end or shorten drafts.

    Attributes:
        rows: the rules and the project's own stacks.
    """

    rows: tuple[ScheduleRow, ...]
    title = "Rules that stop drafts"
    noun = "audit"

    @property
    def exit_code(self) -> int:
        """1 if a rule has another verdict than the one it is known to have."""
        return 0 if self.as_expected else 1

    @property
    def as_expected(self) -> bool:
        """Whether every rule has the verdict that it is known to have."""
        return all(row.safe == row.expected for row in self.rows)

    def lines(self) -> list[str]:
        """Return what the audit found."""
        safe = sum(row.safe for row in self.rows)
        lines = [
            f"{safe} of {len(self.rows)} rules leave the target's law as it is; "
            f"{len(self.rows) - safe} change it.",
            "A rule is safe if whether a token is proposed depends on earlier tokens alone.",
        ]
        for row in self.rows:
            if row.safe != row.expected:
                lines.append(f"Unexpected: '{row.rule}' is {'safe' if row.safe else 'not safe'}.")
        return lines

    def tables(self) -> list[Table]:
        """Return the rules with their verdicts."""
        rows = [["rule", "a token is proposed by", "verdict", "distance", "bias"]]
        for row in self.rows:
            verdict = "safe" if row.safe else "not safe"
            rows.append([row.rule, row.looks_at, verdict, row.distance, row.bias])
        return [Table("Rules", rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON data; probabilities are fractions in text."""
        return {
            "target": [list(map(str, row)) for row in TARGET],
            "draft": [list(map(str, row)) for row in DRAFT],
            "rules": [asdict(row) | {"bias": row.bias} for row in self.rows],
            "as_expected": self.as_expected,
        }
