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
    """The audit of one rule.

    Attributes:
        rule: the name of the rule, or a stack of the project's own loop.
        looks_at: the facts on which the decision to propose a token depends.
        safe: whether the text has the target's distribution.
        expected: whether the rule is known to be safe.
        why: the reason, as a sentence.
        distance: the total variation distance to the target's distribution, as a fraction; for a
            stack, the largest error.
        prefix: the tokens before the first wrong one.
        token: the token whose probability after the prefix is most wrong.
        found: the probability of this token.
        wanted: the target's probability of this token.
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
        """1 if the verdict on a rule is not the known one."""
        return 0 if self.as_expected else 1

    @property
    def as_expected(self) -> bool:
        """Whether every rule has its known verdict."""
        return all(row.safe == row.expected for row in self.rows)

    def lines(self) -> list[str]:
        """Return lines on the findings."""
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
        """Return the table of rules with their verdicts."""
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
