"""Decode and compare in one call, with an engine that the process loads once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Unpack

from hsd_viz.decoding.engine import DecodeCall, Engine, Options
from hsd_viz.errors import UserError
from hsd_viz.stack import Stack
from hsd_viz.terminal import progress_bar
from hsd_viz.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


_CAUTION = "One run per stack: speeds are noisy. hsd-viz bench measures them."


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
    prompt: str | Sequence[int] | Iterable[Trace],
    stacks: str | Stack | Iterable[str | Stack | Trace] = (),
    *,
    engine: Engine | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Decode a prompt with each stack, and return the runs as a table.

    The first run is the reference of speed and text. Traces may be among the stacks, or given
    alone: ``compare([trace, other])``.

    Raises:
        UserError: if there is nothing to compare, or a stack but no prompt.
    """
    chosen: list[Any] = [stacks] if isinstance(stacks, str | Stack) else list(stacks)
    text: Any = prompt
    if not isinstance(text, str):
        text = list(text)
        _check_order(text, chosen)
        if not chosen:  # traces alone, or nothing
            chosen = text
    if not chosen or isinstance(chosen[0], int):
        raise UserError(
            "there is nothing to compare: give a prompt and stacks, as in "
            "compare('def main(', ['target', 'db > target'])"
        )
    traces = Comparison()
    with progress_bar() as update:
        for place, stack in enumerate(chosen):
            if isinstance(stack, Trace):
                update(place, len(chosen), "")
                traces.append(stack)
            else:
                update(place, len(chosen), str(stack))
                call = DecodeCall(text, stack, options)
                traces.append(call.run(engine or default_engine()))
    return traces


def _check_order(prompt: list[Any], chosen: list[Any]) -> None:
    """Check that a list in place of the prompt is one of token ids or traces."""
    for part in prompt:
        if not isinstance(part, str | Stack):
            continue
        example = f"compare('def main(', {[str(part)]})"
        if chosen:
            raise UserError(f"the prompt comes first: write {example}")
        raise UserError(f"the stack '{part}' needs a prompt: {example}")


class Comparison(list[Trace]):
    """Runs to compare: a list of traces with a table."""

    @property
    def table(self) -> pd.DataFrame:
        """A row per run: stack, tokens, speed, acceptance, and whether its text is the first
        one's.
        """
        import pandas as pd

        kept = ["tokens", "tokens_per_second", "mean_acceptance_length", "acceptance_rate"]
        metrics = [trace.metrics() for trace in self]
        table = pd.DataFrame(metrics, columns=kept).astype(float)
        table.insert(0, "stack", [trace.stack for trace in self])
        speeds = table["tokens_per_second"]
        table.insert(3, "times_first", speeds / speeds.iloc[0] if self else speeds)
        return table.assign(
            same_text_as_first=[trace.token_ids == self[0].token_ids for trace in self]
        )

    def __repr__(self) -> str:
        return f"{self.table.to_string(index=False, na_rep='–')}\n{_CAUTION}"

    def _repr_html_(self) -> str:
        return f"{self.table.to_html(index=False, na_rep='–')}<p>{_CAUTION}</p>"
