"""The result of :func:`hsd_viz.replay`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hsd_viz.measure.replay.facts import LogFacts
from hsd_viz.measure.replay.figures import (
    AboveFigures,
    DrafterFigures,
    Pays,
    ReplaySettings,
    TokensAbove,
)
from hsd_viz.records.engine_settings import settings_to_paste, usual_length
from hsd_viz.results.estimate import MIN_UNITS
from hsd_viz.results.result import Result
from hsd_viz.results.table import MAX_POSITIONS, Table, Value, rates_as_text
from hsd_viz.text import counted

if TYPE_CHECKING:
    import pandas as pd

#: Methods of serving engines, by the drafter that they correspond to.
SERVED = {"lookup": "lookup", "ngram-cache": "lookup", "suffix": "suffix"}


@dataclass(frozen=True, slots=True)
class ReplayReport(Result):
    """The result of :func:`~hsd_viz.measure.replay.api.replay`.

    Attributes:
        log: the counts of the log's entries.
        settings: the settings of the replay.
        drafters: the figures of the drafters, best first; ratios have 95 % intervals.
        refused: the reasons why drafters were not replayed, by name.
        complete: whether the whole log was replayed.
        above: the figures of a database above the recorded drafter; ``None``: no verifications are
            recorded.
    """

    log: LogFacts
    settings: ReplaySettings
    drafters: tuple[DrafterFigures, ...]
    refused: dict[str, str]
    complete: bool
    above: AboveFigures | None = None

    @property
    def title(self) -> str:
        """The title of a page."""
        return f"Replay of {self.log.name}"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "log": asdict(self.log),
            "settings": asdict(self.settings),
            "drafters": [drafter.to_dict() for drafter in self.drafters],
            "refused": self.refused,
            "complete": self.complete,
            "above": {} if self.above is None else self.above.to_dict(),
        }

    @property
    def frame(self) -> pd.DataFrame:
        """Return a data frame with a row per drafter."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["drafters"]).set_index("name")

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with a row per drafter."""
        return self.frame

    @property
    def flags(self) -> dict[str, str]:
        """Return the settings of engines for the best drafter that they support; off unless it
        certainly pays.
        """
        for drafter in self.drafters:
            method = method_of(drafter)
            if method is None:
                continue
            if drafter.pays is not Pays.YES:
                return settings_to_paste("plain", 0)
            length = usual_length(drafter.drafted_by_position, drafter.rounds)
            return settings_to_paste(method, length)
        return {}

    # --- words

    def headline(self) -> str:
        """Describe the best drafter in a sentence."""
        if not self.drafters:
            return "no drafter was replayed"
        best = self.drafters[0]
        pays = "pays most" if best.pays is Pays.YES else "comes first, and does not certainly pay"
        few = ""
        if self.log.requests < MIN_UNITS:
            few = f" ({counted(self.log.requests, 'request')}: too few for an interval)"
        return (
            f"{pays}: {best.name}, with {best.mean_acceptance_length.value:.2f} tokens per "
            f"forward pass, predicted speed-up {best.speedup.value:.2f}{few}"
        )

    def lines(self) -> list[str]:
        """Return lines on what was read, on the best drafter, and on problems."""
        best = [self.headline()] if self.drafters else []
        return [self._log_line(), *best, *self._remarks()]

    def record_lines(self) -> list[str]:
        """Return lines on what was read, and on problems."""
        return [self._log_line(), *self._remarks()]

    def _log_line(self) -> str:
        """Describe what was read."""
        log = self.log
        return (
            f"{log.name}: {counted(log.requests, 'request')}, "
            f"{log.prompt_tokens:,} prompt and {log.output_tokens:,} output tokens; "
            f"tokenizer {self.settings.tokenizer or 'not given'}"
        )

    def _remarks(self) -> list[str]:
        """Return lines on the conditions of the figures, and on problems."""
        log = self.log
        lines = [*self._output_lines(), *self._above_lines()]
        if log.broken:
            number, why = log.examples[0]
            broken = counted(log.broken, "broken record")
            lines.append(f"{broken} skipped; the first is record {number}: {why}")
        if log.cut:
            lines.append(f"{counted(log.cut, 'request')} longer than the limit were cut")
        if not self.complete:
            lines.append("Interrupted: only the requests so far are counted")
        for name, why in self.refused.items():
            lines.append(f"Not replayed: {name}: {why}")
        return lines

    def _output_lines(self) -> list[str]:
        """Return lines on the parts of the outputs, and on whether counts are exact."""
        log = self.log
        lines = []
        for part, outputs in log.parts.items():
            if part != "text" and outputs:
                lines.append(
                    f"{counted(outputs, 'output')} with {part}, which the engine decoded, too"
                )
        if log.encoded:
            lines.append(
                f"{counted(log.encoded, 'output')} encoded again from text: the server may have "
                "written other tokens, so counts are not exactly those of its decode"
            )
        temperature = self.settings.temperature
        if temperature is not None:
            lines.append(f"drafters made for temperature {temperature:g}, as given")
        elif log.sampled:
            lines.append(
                f"{counted(log.sampled, 'request')} sampled: their drafters are made for their "
                "temperature"
            )
        return lines

    def _above_lines(self) -> list[str]:
        """Return lines on a database above the recorded drafter."""
        if self.above is None:
            return []
        lines = []
        tokens = self.above.tokens
        if tokens is not None:
            lines.append(
                f"What if a database were asked before the recorded drafter: "
                f"{tokens.least.value:.2f} to {tokens.most.value:.2f} tokens per forward pass "
                f"instead of {tokens.recorded.value:.2f} in "
                f"{counted(self.above.requests, 'request')}; "
                f"the database drafts in {tokens.by_database:.0%} of the rounds"
            )
        if self.above.refused:
            lines.append(
                f"A database above the recorded drafter is not known for "
                f"{counted(self.above.refused, 'request')}: {self.above.why}"
            )
        return lines

    # --- tables

    def tables(self) -> list[Table]:
        """Return the tables of the report."""
        tables = []
        if self.above is not None and self.above.tokens is not None:
            tables.append(_above_table(self.above.tokens))
        if self.drafters:
            tables.append(self._drafters_table())
            tables += self._positions_tables()
        return tables

    def _drafters_table(self) -> Table:
        rows: list[list[Value]] = [
            ["drafter", "tokens/forward", "speed-up", "accepted", "pays", "drafted/forward"]
        ]
        for drafter in self.drafters:
            rows.append(
                [
                    drafter.name,
                    drafter.mean_acceptance_length,
                    drafter.speedup,
                    drafter.acceptance_rate,
                    drafter.pays.value,
                    f"{drafter.drafted / drafter.rounds:.1f}",
                ]
            )
        cost = self.settings.verify_cost
        return Table(
            "Tokens per forward pass",
            rows,
            f"predicted speed-up at verification cost '{cost}', drafting not counted:",
            formats=dict.fromkeys(("tokens/forward", "speed-up", "accepted"), ("{:.2f}", 1.0)),
        )

    def _positions_tables(self) -> Iterator[Table]:
        """Yield the acceptance by position; nothing if no drafter drafted."""
        deepest = max(len(drafter.accepted_by_position) for drafter in self.drafters)
        depth = min(MAX_POSITIONS, deepest)
        if not depth:
            return
        rows = [["accepted at position", *map(str, range(1, depth + 1))]]
        for drafter in self.drafters:
            rows.append([drafter.name, *rates_as_text(drafter.rates_by_position(), depth)])
        note = "rounds that accepted k or more, of the rounds that drafted k:"
        yield Table("Acceptance by position", rows, note)


def _above_table(tokens: TokensAbove) -> Table:
    """Return the tokens per forward pass with a database above the recorded drafter."""
    rows: list[list[Value]] = [
        ["setting", "tokens/forward"],
        ["as recorded", tokens.recorded],
        ["database above, at least", tokens.least],
        ["database above, at most", tokens.most],
    ]
    return Table(
        "What if: a database above the recorded drafter",
        rows,
        "by the recorded rounds and the text; inside a recorded round the drafter is accepted "
        "at least for its rest, at most as a whole:",
        formats={"tokens/forward": ("{:.2f}", 1.0)},
    )


def method_of(drafter: DrafterFigures) -> str | None:
    """Return the method of serving engines that corresponds to a drafter; ``None``: none does."""
    return SERVED.get(drafter.name.split(",")[0])
