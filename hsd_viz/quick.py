"""Decode and compare in one call, with an engine that the process loads once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Unpack, overload

from hsd_viz.decoding.engine import DecodeCall, Engine, Options
from hsd_viz.errors import UserError
from hsd_viz.names.hints import no_attribute
from hsd_viz.results.kinds import kind_of
from hsd_viz.results.result import Result
from hsd_viz.results.table import NumberFormat, Table, Value
from hsd_viz.stack import Stack
from hsd_viz.terminal import progress_bar
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import Metrics

_CAUTION = "One run per stack: speeds are noisy. hsd-viz bench measures them."
#: The formats of the columns of a comparison.
_FORMATS: dict[str, NumberFormat] = {
    "tokens_per_second": ("{:.1f}", 1.0),
    "times_first": ("{:.2f}", 1.0),
    "mean_acceptance_length": ("{:.2f}", 1.0),
    "acceptance_rate": ("{:.2f}", 1.0),
}
_HEAD = ("stack", "tokens", *_FORMATS, "same_text_as_first")


@cache
def default_engine() -> Engine:
    """Return the engine of :func:`run` and :func:`compare`: the shipped models on the best
    device.
    """
    from hsd_viz.engine.local import load_engine

    return load_engine()


def run(
    prompt: str | Sequence[int],
    stack: str | Stack = "target",
    *,
    engine: Engine | None = None,
    **options: Unpack[Options],
) -> Trace:
    """Decode a prompt with the shipped models, or with ``engine``, and return the trace."""
    return DecodeCall(prompt, stack, options).run(engine or default_engine())


def compare(
    prompt: str | Sequence[int],
    stacks: str | Stack | Sequence[str | Stack] = (),
    *,
    engine: Engine | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Decode a prompt with each stack, and return the runs as a table.

    The first run is the reference of speed and text. :func:`compare_traces` compares runs that were
    decoded before.

    Raises:
        UserError: if there is no prompt or no stack, or a trace in place of one.
    """
    chosen = [stacks] if isinstance(stacks, str | Stack) else list(stacks)
    _check_call(prompt, chosen)
    traces = []
    with progress_bar() as update:
        for place, stack in enumerate(chosen):
            update(place, len(chosen), str(stack))
            call = DecodeCall(prompt, stack, options)
            traces.append(call.run(engine or default_engine()))
    return Comparison(traces)


def compare_traces(*traces: Trace) -> Comparison:
    """Return runs as a table. The first run is the reference of speed and text.

    Raises:
        UserError: if there are none.
    """
    if not traces:
        raise UserError("there is nothing to compare: give traces, of run() or Trace.load()")
    return Comparison(traces)


def _check_call(prompt: Any, stacks: Sequence[Any]) -> None:
    """Check what :func:`compare` is given.

    Raises:
        UserError: if the prompt or the stacks are missing, or if one is in the place of the other.
    """
    # A prompt of token ids has neither texts, nor stacks, nor traces in it.
    parts = [prompt] if isinstance(prompt, str | Stack | Trace) else list(prompt)
    if any(isinstance(part, Trace) for part in (*parts, *stacks)):
        raise UserError("traces are compared without a prompt: compare_traces(trace, other)")
    first = parts[0] if parts else None
    if isinstance(first, str | Stack) and not isinstance(prompt, str):
        call = f"compare('def main(', {[str(first)]})"
        if stacks:
            raise UserError(f"the prompt comes first: write {call}")
        raise UserError(f"the stack '{first}' needs a prompt: {call}")
    if not stacks:
        raise UserError(
            "there is nothing to compare: give a prompt and stacks, as in "
            "compare('def main(', ['target', 'db > target'])"
        )


class Comparison(Result, Sequence[Trace]):
    """Runs to compare: a sequence of their traces, and a table with a row for each.

    Attributes:
        traces: the runs; the first one is the reference of speed and text.
    """

    title = "Comparison"
    noun = "comparison"

    def __init__(self, traces: Iterable[Trace]) -> None:
        self.traces = tuple(traces)

    @overload
    def __getitem__(self, place: int) -> Trace: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Trace, ...]: ...

    def __getitem__(self, place: int | slice) -> Trace | tuple[Trace, ...]:
        return self.traces[place]

    def __len__(self) -> int:
        return len(self.traces)

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.traces)

    def __repr__(self) -> str:
        return self.text()

    def __getattr__(self, name: str) -> Any:
        no_attribute(self, name, "comparison", dir(type(self)))

    def lines(self) -> list[str]:
        """Return how the speeds are to be read."""
        return [_CAUTION]

    def tables(self) -> list[Table]:
        """Return a row per run: stack, tokens, speed, acceptance, and whether its text is the first
        one's.
        """
        metrics = [trace.metrics() for trace in self.traces]
        rows: list[list[Value]] = [list(_HEAD)]
        for trace, figures in zip(self.traces, metrics, strict=True):
            is_same = trace.token_ids == self.traces[0].token_ids
            rows.append([trace.stack, *_figures_of(figures, metrics[0]), is_same])
        kinds = tuple(kind_of(trace.stack).value for trace in self.traces)
        return [Table("Runs", rows, kinds=kinds, formats=_FORMATS, bars=("times_first",))]

    def to_dict(self) -> dict[str, Any]:
        """Return the rows of the table as JSON data."""
        (table,) = self.tables()
        head, *rows = table.rows
        return {"runs": [dict(zip(head, row, strict=True)) for row in rows]}


def _figures_of(metrics: Metrics, first: Metrics) -> list[Value]:
    """Return tokens, speed, speed relative to the first run, and acceptance of a run; ``None``:
    not observed.
    """
    speed = metrics["tokens_per_second"]
    first_speed = first["tokens_per_second"]
    ratio = speed / first_speed if speed and first_speed else None
    return [
        metrics["tokens"],
        speed,
        ratio,
        metrics["mean_acceptance_length"],
        metrics["acceptance_rate"],
    ]
