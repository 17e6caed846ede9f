"""One-call decoding and comparison, with an engine that is loaded once per process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Unpack, overload

from hsd_viz.decoding.engine import Engine, trace_of_events
from hsd_viz.decoding.keywords import DecodingKeywords
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.errors import UserError
from hsd_viz.names.hints import no_attribute
from hsd_viz.results.kinds import kind_of
from hsd_viz.results.result import Result
from hsd_viz.results.table import NumberFormat, RatioColumn, Table, Value
from hsd_viz.stack import Stack
from hsd_viz.terminal import progress_bar
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import Metrics

_CAUTION = "One run per stack: speeds are noisy. hsd-viz bench measures them."
#: The number formats of a comparison's columns.
_FORMATS: dict[str, NumberFormat] = {
    "tokens_per_second": ("{:.1f}", 1.0),
    "times_first": ("{:.2f}", 1.0),
    "mean_acceptance_length": ("{:.2f}", 1.0),
    "acceptance_rate": ("{:.2f}", 1.0),
}
_HEAD = ("stack", "tokens", *_FORMATS, "same_text_as_first")


@cache
def default_engine() -> Engine:
    """Return the default engine of :func:`run` and :func:`compare`.

    It runs the shipped models on the best device.
    """
    from hsd_viz.engine.local import load_engine

    return load_engine()


def run(
    prompt: str | Sequence[int],
    stack: str | Stack = "target",
    *,
    engine: Engine | None = None,
    **options: Unpack[DecodingKeywords],
) -> Trace:
    """Decode a prompt with the shipped models, or with ``engine``, and return the trace."""
    decoding = DecodingOptions.of(options)
    return trace_of_events((engine or default_engine()).events(prompt, stack, decoding))


def compare(
    prompt: str | Sequence[int],
    stacks: str | Stack | Sequence[str | Stack] = (),
    *,
    engine: Engine | None = None,
    **options: Unpack[DecodingKeywords],
) -> Comparison:
    """Decode a prompt with each stack, and return the comparison of the runs.

    The first run is the reference for speed and text. Use :func:`compare_traces` to compare
    existing traces.

    Raises:
        UserError: if the prompt or the stacks are missing, or if a trace is given as one of them.
    """
    chosen = [stacks] if isinstance(stacks, str | Stack) else list(stacks)
    _check_call(prompt, chosen)
    decoding = DecodingOptions.of(options)
    decoder = engine or default_engine()
    traces = []
    with progress_bar() as update:
        for place, stack in enumerate(chosen):
            update(place, len(chosen), str(stack))
            traces.append(trace_of_events(decoder.events(prompt, stack, decoding)))
    return Comparison(traces)


def compare_traces(*traces: Trace) -> Comparison:
    """Return the comparison of traces. The first is the reference for speed and text.

    Raises:
        UserError: if no trace is given.
    """
    if not traces:
        raise UserError("there is nothing to compare: give traces, of run() or Trace.load()")
    return Comparison(traces)


def _check_call(prompt: Any, stacks: Sequence[Any]) -> None:
    """Check the arguments of :func:`compare`.

    Raises:
        UserError: if the prompt or the stacks are missing, or if they are swapped.
    """
    # A prompt of token ids contains no texts, stacks or traces.
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
    """A comparison of runs: a sequence of traces, shown as a table with one row per trace.

    Attributes:
        traces: traces of the runs; the first is the reference for speed and text.
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
        return self.to_text()

    def __getattr__(self, name: str) -> Any:
        no_attribute(self, name, "comparison", dir(type(self)))

    def lines(self) -> list[str]:
        """Return the notes on how to read the speeds."""
        return [_CAUTION]

    def tables(self) -> list[Table]:
        """Return the table of the runs.

        A row has the stack, tokens, speed, acceptance, and whether the text equals that of the
        first run.
        """
        metrics = [trace.metrics() for trace in self.traces]
        rows: list[list[Value]] = [list(_HEAD)]
        for trace, figures in zip(self.traces, metrics, strict=True):
            is_same = trace.token_ids == self.traces[0].token_ids
            rows.append([trace.stack, *_figures_of(figures, metrics[0]), is_same])
        kinds = tuple(kind_of(trace.stack).value for trace in self.traces)
        chart = RatioColumn("times_first", reference="the first run")
        return [Table("Runs", rows, kinds=kinds, formats=_FORMATS, chart=chart)]

    def to_dict(self) -> dict[str, Any]:
        """Return the rows of the table as JSON data."""
        (table,) = self.tables()
        head, *rows = table.rows
        return {"runs": [dict(zip(head, row, strict=True)) for row in rows]}


def _figures_of(metrics: Metrics, first: Metrics) -> list[Value]:
    """Return the tokens, speed, speed relative to the first run, and acceptance of a run.

    A value that was not observed is ``None``.
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
