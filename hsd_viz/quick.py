"""Decode and compare in one call, with an engine that the process loads once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Unpack

from hsd_viz.engine import Engine, Options
from hsd_viz.errors import UserError
from hsd_viz.stack import Stack
from hsd_viz.terminal import progress_bar
from hsd_viz.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

_CAUTION = "One run per stack: speeds are noisy. hsd-viz bench measures them."


@cache
def default_engine() -> Engine:
    """Return the engine of :func:`run` and :func:`compare`: the shipped models on the best device."""
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
    return (engine or default_engine()).run(prompt, stack, **options)


def compare(
    stacks: Iterable[str | Stack | Trace],
    prompt: str | Sequence[int] | None = None,
    *,
    engine: Engine | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Decode a prompt with each stack, and return the runs as a table; the first is the reference of speed and text.
    Traces may be among the stacks. Raises: ValueError: if there is nothing to compare, or a stack but no prompt.
    """
    asked = [stacks] if isinstance(stacks, str | Stack) else list(stacks)
    if not asked:
        raise UserError(
            "there is nothing to compare: give a list of stacks, such as ['target', 'db > target']"
        )
    traces = Comparison()
    with progress_bar() as update:
        for n, one in enumerate(asked):
            update(n, len(asked), "" if isinstance(one, Trace) else str(one))
            if not isinstance(one, Trace):
                if prompt is None:
                    raise UserError(
                        f"the stack '{one}' needs a prompt: compare(['{one}'], prompt='def main(')"
                    )
                one = run(prompt, one, engine=engine, **options)
            traces.append(one)
    return traces


class Comparison(list[Trace]):
    """Runs to compare: a list of traces with a table."""

    @property
    def table(self) -> pd.DataFrame:
        """A row per run: stack, tokens, speed, acceptance, and whether its text is the first one's."""
        import pandas as pd

        kept = ["tokens", "tokens_per_second", "mean_acceptance_length", "acceptance_rate"]
        table = pd.DataFrame([trace.metrics() for trace in self])[kept].astype(float)
        table.insert(0, "stack", [trace.stack for trace in self])
        table.insert(
            3, "times_first", table["tokens_per_second"] / table["tokens_per_second"].iloc[0]
        )
        return table.assign(
            same_text_as_first=[trace.token_ids == self[0].token_ids for trace in self]
        )

    def __repr__(self) -> str:
        return f"{self.table.to_string(index=False, na_rep='–')}\n{_CAUTION}"

    def _repr_html_(self) -> str:
        return f"{self.table.to_html(index=False, na_rep='–')}<p>{_CAUTION}</p>"
