"""The result of :func:`hsd_viz.replay`: what drafters would have brought on a log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from hsd_viz.records.settings import settings as engine_settings
from hsd_viz.results.estimate import LEAST, Estimate
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table
from hsd_viz.words import counted

if TYPE_CHECKING:
    import pandas as pd

#: Drafters that serving engines have, by their names there.
SERVED = {"lookup": "lookup", "ngram-cache": "lookup", "suffix": "suffix"}
#: A setting of an engine drafts as many tokens as one round in so many reaches.
USUAL = 20
#: Positions of a table of acceptance.
MOST_POSITIONS = 8
#: Columns of ratios: their titles, and the figures of a row.
FIGURES = {
    "tokens/forward": "mean_acceptance_length",
    "speed-up": "speedup",
    "accepted": "acceptance_rate",
}


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What was read of a log.

    Attributes:
        name: the name of the file.
        requests: requests that were replayed.
        prompt_tokens: tokens of their prompts.
        output_tokens: tokens of their outputs.
        broken: entries that could not be used.
        cut: requests longer than the limit.
        encoded: outputs that were text and were encoded again.
        sampled: requests of a temperature above 0.
        parts: outputs with ``reasoning`` and with ``tool calls``.
        examples: the first broken entries: number and reason.
    """

    name: str
    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    broken: int = 0
    cut: int = 0
    encoded: int = 0
    sampled: int = 0
    parts: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ReplayReport(Result):
    """The result of :func:`~hsd_viz.measure.replay.api.replay`.

    Attributes:
        log: what was read.
        settings: how it was replayed.
        drafters: a row for each, the best first: tokens per forward pass of the target, accepted
            per draft token, and the predicted speed-up, pooled over all requests, with 95 %
            intervals (``_ci``). By position k (from 1): rounds whose draft reached that depth, and
            rounds that accepted k or more.
        refused: why a drafter was not replayed.
        complete: whether the whole log was replayed.
        above: tokens per forward pass of the requests whose verifications are recorded, and with a
            database above their drafter: at least and at most
            (:mod:`hsd_viz.measure.replay.above`).
    """

    log: dict[str, Any]
    settings: dict[str, Any]
    drafters: list[dict[str, Any]]
    refused: dict[str, str]
    complete: bool
    above: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title of a page."""
        return f"Replay of {self.log['name']}"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return asdict(self)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per drafter."""
        import pandas as pd

        return pd.DataFrame(self.drafters).set_index("name")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per drafter."""
        return self.frame

    @property
    def flags(self) -> dict[str, str]:
        """Return the settings of the best drafter that serving engines have; off where it does not
        certainly pay.
        """
        for row in self.drafters:
            method = SERVED.get(row["name"].split(",")[0])
            if method is None:
                continue
            if row["pays"] != "yes":
                return engine_settings("plain", 0)
            return engine_settings(method, _usual_length(row))
        return {}

    # --- words

    def headline(self) -> str:
        """Return the best drafter as a sentence."""
        if not self.drafters:
            return "no drafter was replayed"
        best = self.drafters[0]
        pays = "pays most" if best["pays"] == "yes" else "comes first, and does not certainly pay"
        few = ""
        if self.log["requests"] < LEAST:
            few = f" ({counted(self.log['requests'], 'request')}: too few for an interval)"
        return (
            f"{pays}: {best['name']}, with {best['mean_acceptance_length']:.2f} tokens per "
            f"forward pass, predicted speed-up {best['speedup']:.2f}{few}"
        )

    def lines(self) -> list[str]:
        """Return what was read, the best drafter, and what was wrong or is missing."""
        log = self.log
        lines = [
            f"{log['name']}: {counted(log['requests'], 'request')}, "
            f"{log['prompt_tokens']:,} prompt and {log['output_tokens']:,} output tokens; "
            f"tokenizer {self.settings['tokenizer'] or 'not given'}"
        ]
        if self.drafters:
            lines.append(self.headline())
        lines += self._output_lines()
        lines += self._above_lines()
        if log["broken"]:
            number, why = log["examples"][0]
            broken = counted(log["broken"], "broken record")
            lines.append(f"{broken} skipped; the first is record {number}: {why}")
        if log["cut"]:
            lines.append(f"{counted(log['cut'], 'request')} longer than the limit were cut")
        if not self.complete:
            lines.append("Interrupted: only the requests so far are counted")
        lines += [f"Not replayed: {name}: {why}" for name, why in self.refused.items()]
        return lines

    def _output_lines(self) -> list[str]:
        """Return what the outputs consist of, and whether counts are exact."""
        log = self.log
        lines = []
        for part, outputs in log["parts"].items():
            if part != "text" and outputs:
                lines.append(
                    f"{counted(outputs, 'output')} with {part}, which the engine decoded, too"
                )
        if log["encoded"]:
            lines.append(
                f"{counted(log['encoded'], 'output')} encoded again from text: the server may have "
                "written other tokens, so counts are not exactly those of its decode"
            )
        temperature = self.settings["temperature"]
        if temperature is not None:
            lines.append(f"drafters made for temperature {temperature:g}, as given")
        elif log["sampled"]:
            lines.append(
                f"{counted(log['sampled'], 'request')} sampled: their drafters are made for their "
                "temperature"
            )
        return lines

    def _above_lines(self) -> list[str]:
        """Return what a database above the recorded drafter would bring."""
        figures = self.above
        if not figures:
            return []
        lines = []
        if figures["requests"]:
            lines.append(
                f"What if a database were asked before the recorded drafter: "
                f"{figures['least']:.2f} to {figures['most']:.2f} tokens per forward pass instead "
                f"of {figures['recorded']:.2f} in {counted(figures['requests'], 'request')}; "
                f"the database drafts in {figures['by_database']:.0%} of the rounds"
            )
        if figures["refused"]:
            lines.append(
                f"A database above the recorded drafter is not known for "
                f"{counted(figures['refused'], 'request')}: {figures['why']}"
            )
        return lines

    # --- tables

    def tables(self) -> list[Table]:
        """Return the tables of the report."""
        tables = []
        if self.above.get("requests"):
            tables.append(self._above_table())
        if self.drafters:
            tables.append(self._drafters_table())
            tables += self._positions_tables()
        return tables

    def _above_table(self) -> Table:
        rows: list[list[Any]] = [["setting", "tokens/forward"]]
        names = {
            "recorded": "as recorded",
            "least": "database above, at least",
            "most": "database above, at most",
        }
        for key, name in names.items():
            rows.append([name, _estimate(self.above, key, self.above["requests"])])
        return Table(
            "What if: a database above the recorded drafter",
            rows,
            "by the recorded rounds and the text; inside a recorded round the drafter is accepted "
            "at least for its rest, at most as a whole:",
            forms={"tokens/forward": ("{:.2f}", 1.0)},
        )

    def _drafters_table(self) -> Table:
        rows: list[list[Any]] = [["drafter", *FIGURES, "pays", "drafted/forward"]]
        for row in self.drafters:
            figures = [_estimate(row, name, self.log["requests"]) for name in FIGURES.values()]
            drafted = f"{row['drafted'] / row['rounds']:.1f}"
            rows.append([row["name"], *figures, row["pays"], drafted])
        cost = self.settings["verify_cost"]
        return Table(
            "Tokens per forward pass",
            rows,
            f"predicted speed-up at verification cost '{cost}', drafting not counted:",
            forms=dict.fromkeys(FIGURES, ("{:.2f}", 1.0)),
        )

    def _positions_tables(self) -> Iterator[Table]:
        """Yield acceptance by position; nothing where no drafter drafted."""
        deepest = max(len(row["accepted_by_position"]) for row in self.drafters)
        depth = min(MOST_POSITIONS, deepest)
        if not depth:
            return
        rows = [["accepted at position", *map(str, range(1, depth + 1))]]
        for row in self.drafters:
            cells = _rates_by_position(row)[:depth]
            cells += ["-"] * (depth - len(cells))
            rows.append([row["name"], *cells])
        note = "rounds that accepted k or more, of the rounds that drafted k:"
        yield Table("Acceptance by position", rows, note)


def _estimate(row: Mapping[str, Any], name: str, requests: int) -> Estimate:
    """Return a figure of a row with its interval."""
    low, high = row[f"{name}_ci"] or (None, None)
    return Estimate(row[name], low, high, requests)


def _rates_by_position(row: Mapping[str, Any]) -> list[str]:
    """Return the acceptance of a drafter at position 1, 2, ... as text."""
    rates = []
    for accepted, drafted in zip(
        row["accepted_by_position"], row["drafted_by_position"], strict=True
    ):
        rates.append(f"{accepted / drafted:.2f}")
    return rates


def _usual_length(row: Mapping[str, Any]) -> int:
    """Return the longest draft that one round in :data:`USUAL` reaches."""
    usual = sum(USUAL * drafted >= row["rounds"] for drafted in row["drafted_by_position"])
    return max(1, usual)
