"""The result of :func:`hsd_viz.predict`: the speed of stacks on other hardware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hsd_viz.measure.predict.assumed_acceptance import Assumption
from hsd_viz.results.estimate import Estimate
from hsd_viz.results.kinds import kind_of
from hsd_viz.results.result import Result
from hsd_viz.results.table import RatioColumn, Table
from hsd_viz.settings.spelling import spelled
from hsd_viz.stack import Stack

#: Prefix of the names of assumptions about formats that a config contradicts.
FORMAT_PREFIX = "weights of "
#: Batch sizes among which a break-even is searched.
BATCHES = tuple(2**k for k in range(11))
#: Maximum number of stacks per batch and context in a table.
SHOWN = 6


@dataclass(frozen=True, slots=True)
class HardwareRow:
    """One stack at one batch and context.

    Attributes:
        stack: the stack as text.
        levels: the parsed stack.
        batch: the number of sequences decoded together.
        context: the number of cached tokens per sequence.
        ms_per_step: the milliseconds of a round.
        tokens_per_second: the tokens per second of the whole batch.
        speedup_over_plain: the speed-up over plain decoding, at most the tokens per forward pass.
        acceptance_length: the tokens per forward pass of the target.
        fits: whether models and KV caches fit into the memory.
    """

    stack: str
    levels: Stack
    batch: int
    context: int
    ms_per_step: float
    tokens_per_second: Estimate
    speedup_over_plain: Estimate
    acceptance_length: float
    fits: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON data, with the stack as text."""
        tokens_per_second = self.tokens_per_second.named("tokens_per_second")
        speedup = self.speedup_over_plain.named("speedup_over_plain")
        return {
            "stack": self.stack,
            "batch": self.batch,
            "context": self.context,
            "ms_per_step": self.ms_per_step,
            **(tokens_per_second | speedup),
            "acceptance_length": self.acceptance_length,
            "fits": self.fits,
        }


@dataclass(frozen=True, slots=True)
class SecondDraft:
    """The best hierarchy of two draft models at a batch and a context.

    Attributes:
        batch: sequences decoded together.
        context: tokens cached for each.
        stack: the hierarchy as text.
        over: the faster of the best single draft and plain decoding.
        gain: the relative gain of the hierarchy; negative: it is slower.
    """

    batch: int
    context: int
    stack: str
    over: str
    gain: float


@dataclass(frozen=True, slots=True)
class PresentLength:
    """The present draft length.

    Attributes:
        tokens: the length.
        loses: the relative loss against the best speed.
    """

    tokens: int
    loses: float


@dataclass(frozen=True, slots=True)
class SingleDraft:
    """The best stack of at most one draft model at a batch and a context.

    Attributes:
        batch: sequences decoded together.
        context: tokens cached for each.
        stack: the stack as text.
        lookahead: the draft tokens per round; 0: no draft.
        present: the present draft length; ``None``: unknown.
    """

    batch: int
    context: int
    stack: str
    lookahead: int
    present: PresentLength | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data, without the present length if it is unknown."""
        data: dict[str, Any] = {
            "batch": self.batch,
            "context": self.context,
            "stack": self.stack,
            "lookahead": self.lookahead,
        }
        if self.present is not None:
            data["present"] = self.present.tokens
            data["loses"] = self.present.loses
        return data


@dataclass(frozen=True, slots=True)
class HardwarePlan(Result):
    """The prediction of stacks on some hardware.

    Attributes:
        gpu: the name of the GPU.
        tp: the number of GPUs.
        models: the names of the models, target first.
        rows: the rows of all stacks, batches and contexts.
        best: the fastest stack that fits, by batch and context.
        break_even_batch: the smallest batch (at the first context) at which a single draft model
            no longer pays, by draft model; ``None``: none that fits.
        break_even_context: the smallest context (at the largest batch) at which a single draft
            model pays, by draft model; ``None``: none that fits.
        most_batch: the largest batch of :data:`BATCHES` that fits at the first context, by draft
            model; 0: none.
        second_draft_gain: the gain of a second draft model, by batch and context.
        lookaheads: the best single draft and the loss of the present draft length, by batch and
            context.
        settings: the settings to paste, by serving engine.
        assumptions: all figures that were not measured.
    """

    gpu: str
    tp: int
    models: tuple[str, ...]
    rows: tuple[HardwareRow, ...]
    best: tuple[HardwareRow, ...]
    break_even_batch: dict[str, int | None]
    break_even_context: dict[str, int | None]
    most_batch: dict[str, int]
    second_draft_gain: tuple[SecondDraft, ...]
    lookaheads: tuple[SingleDraft, ...]
    settings: Mapping[str, str]
    assumptions: tuple[Assumption, ...]

    @property
    def title(self) -> str:
        """The title of a page."""
        return f"Prediction for {self._cards()}"

    def _cards(self) -> str:
        return f"{self.tp} × {self.gpu}" if self.tp > 1 else self.gpu

    @property
    def flags(self) -> Mapping[str, str]:
        """The settings of serving engines."""
        return self.settings

    def to_dict(self) -> dict[str, Any]:
        """Return the prediction as JSON data, in which stacks are texts."""
        data = asdict(self)
        data["rows"] = [row.to_dict() for row in self.rows]
        data["best"] = [row.to_dict() for row in self.best]
        data["lookaheads"] = [single.to_dict() for single in self.lookaheads]
        return data

    # --- words

    def headline(self) -> str:
        """Describe the prediction."""
        drafts = ", ".join(self.models[1:]) or "none"
        return f"{self.models[0]} on {self._cards()}, drafts: {drafts}"

    def lines(self) -> list[str]:
        """Return lines that describe the prediction, and where draft models pay."""
        return [self.headline(), *self.answers()]

    def conditions(self) -> list[str]:
        """Return lines that describe the prediction and its limits."""
        lines = [self.headline()]
        if not any(row.fits for row in self.rows):
            lines.append(
                f"the models do not fit into the memory of {self._cards()}: more GPUs "
                f"({spelled('tp')}) or smaller {spelled('weights')} do"
            )
        for assumption in self.assumptions:
            if assumption.name.startswith(FORMAT_PREFIX):
                lines.append(f"{assumption.name}: {assumption.value}: {assumption.source}")
        return lines

    def answers(self) -> list[str]:
        """Return lines on where a single draft model pays, and where a second one does."""
        lines = [self._answer_of(name) for name in self.break_even_batch]
        paying = [second for second in self.second_draft_gain if second.gain > 0]
        for second in paying:
            lines.append(
                f"{second.stack} is {second.gain:+.1%} over {second.over} at batch "
                f"{second.batch}, context {second.context:,}"
            )
        if self.second_draft_gain and not paying:
            nearest = max(self.second_draft_gain, key=lambda second: second.gain)
            lines.append(
                f"two drafts never beat one here; nearest: {nearest.gain:+.1%} at batch "
                f"{nearest.batch}"
            )
        return lines

    def _answer_of(self, name: str) -> str:
        """Describe the batches and contexts at which a single draft model pays."""
        batch = self.break_even_batch[name]
        context = self.break_even_context[name]
        most = self.most_batch[name]
        largest = max(row.batch for row in self.rows)
        if not most:
            where = "fits at no batch"
        elif batch is None:
            limit = "" if most == BATCHES[-1] else ", the largest that fits into the memory"
            where = f"pays up to batch {most}{limit}"
        elif batch > 1:
            where = f"pays below batch {batch}"
        else:
            where = "pays at no batch"
        at = "at no context" if context is None else f"from context {context:,} on"
        return f"{name} alone {where} at the first context, {at} at batch {largest}"

    # --- tables

    def parts(self) -> list[str | Table]:
        """Return the speeds, where draft models pay, the settings and the assumptions, in order."""
        first = self.lookaheads[0]
        batch_and_context = f"batch {first.batch}, context {first.context:,}"
        return [
            *self.conditions(),
            *self._stacks_tables(),
            "",
            *self.answers(),
            self._drafts_table(),
            "",
            f"settings of serving engines at {batch_and_context}:",
            *(f"  {engine}: {text}" for engine, text in self.settings.items()),
            self._assumptions_table(),
        ]

    def tables(self) -> list[Table]:
        """Return the tables: stacks by batch and context, best single drafts, assumptions."""
        return [*self._stacks_tables(), self._drafts_table(), self._assumptions_table()]

    def _stacks_tables(self) -> list[Table]:
        return [self._stacks_table(best.batch, best.context) for best in self.best]

    def _stacks_table(self, batch: int, context: int) -> Table:
        formats = {
            "tokens/s": ("{:,.0f}", 1.0),
            "speed-up": ("{:.2f}", 1.0),
            "tokens per round": ("{:.2f}", 1.0),
            "ms per round": ("{:.2f}", 1.0),
        }
        rows: list[list[Any]] = [["stack", *formats, "memory"]]
        ranked = [row for row in self.rows if (row.batch, row.context) == (batch, context)]
        kinds = []
        for place, row in enumerate(ranked):
            if place >= SHOWN and row.stack != self.models[0]:
                continue
            kinds.append(kind_of(row.levels).value)
            rows.append(
                [
                    row.stack,
                    row.tokens_per_second,
                    row.speedup_over_plain,
                    row.acceptance_length,
                    row.ms_per_step,
                    "fits" if row.fits else "does not fit",
                ]
            )
        return Table(
            title=f"batch {batch}, context {context:,}",
            rows=rows,
            kinds=tuple(kinds),
            formats=formats,
            chart=RatioColumn("speed-up"),
        )

    def _drafts_table(self) -> Table:
        """Return the best single draft by batch and context."""
        head: list[Any] = ["batch"]
        rows: dict[int, list[Any]] = {}
        for single in self.lookaheads:
            if single.batch == self.lookaheads[0].batch:
                head.append(f"context {single.context:,}")
            best_draft = single.stack.rpartition(" > ")[0] or "off"
            if single.present is not None:
                best_draft += f" ({single.present.tokens} loses {single.present.loses:.0%})"
            rows.setdefault(single.batch, [single.batch]).append(best_draft)
        return Table("best single draft", [head, *rows.values()])

    def _assumptions_table(self) -> Table:
        rows: list[list[Any]] = [["assumption", "value", "kind", "source"]]
        for assumption in self.assumptions:
            rows.append([assumption.name, assumption.value, assumption.kind, assumption.source])
        return Table("", rows)
