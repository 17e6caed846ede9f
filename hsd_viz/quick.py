"""Decode and compare in one call, with an engine that the process loads once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Unpack

from hsd_viz.engine import Engine, Options
from hsd_viz.stack import Stack
from hsd_viz.terminal import progress_bar
from hsd_viz.trace import Trace
from hsd_viz.words import line

if TYPE_CHECKING:
    import pandas as pd

    from hsd_viz.views import Versus

_CAUTION = "One run per stack: speeds are noisy. hsd-viz bench measures them."
_DIFFERENT = "The prompts differ, so that neither speeds nor texts can be compared."
_FORM: dict[str, Any] = {"index": False, "na_rep": "–", "float_format": "{:.2f}".format}


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
    """Decode a prompt with the shipped models and return the trace; ``engine`` replaces the default engine."""
    return (engine or default_engine()).run(prompt, stack, **options)


def compare(
    stacks: Iterable[str | Stack | Trace | os.PathLike],
    prompt: str | Sequence[int] | None = None,
    *,
    engine: Engine | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Decode a prompt with each stack, and return the runs as a table; the first is the reference of speed and text.
    Traces and paths of trace files can be given among the stacks. The options are those of :func:`run`. Raises:
    ValueError: if there is nothing to compare, or a stack but no prompt.
    """
    if isinstance(stacks, str | Stack | Trace):
        stacks = [stacks]
    asked = list(stacks)
    if not asked:
        raise ValueError("there is nothing to compare: give a list of stacks, such as ['target', 'db > target']")
    traces = []
    with progress_bar() as update:
        for n, one in enumerate(asked):
            update(n, len(asked), str(one) if isinstance(one, str | Stack) else "")
            if isinstance(one, Trace):
                traces.append(one)
            elif isinstance(one, os.PathLike) or (isinstance(one, str) and one.endswith((".json", ".json.gz"))):
                traces.append(Trace.load(one))
            elif prompt is None:
                raise ValueError(f"the stack '{one}' needs a prompt: compare([...], prompt='def main(')")
            else:
                traces.append((engine or default_engine()).run(prompt, one, **options))
        update(len(asked), len(asked), "")
    return Comparison(traces)


class Comparison(list[Trace]):
    """Runs to compare: a list of traces with a table."""

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per run: stack, tokens, speed, acceptance, and whether its text is the first one's."""
        rows, reference = [], self[0].metrics()["tokens_per_second"] if self else None
        for trace in self:
            m = trace.metrics()
            speed = m["tokens_per_second"]
            rows.append(
                {
                    "stack": trace.stack,
                    "tokens": m["tokens"],
                    "tokens/s": speed,
                    "× first": speed / reference if speed and reference else None,
                    "tokens per target pass": m["mean_acceptance_length"],
                    "acceptance rate": m["acceptance_rate"],
                    "same text as first": trace.token_ids == self[0].token_ids,
                }
            )
        return rows

    @property
    def table(self) -> pd.DataFrame:
        """The rows as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def show(self) -> Versus:
        """Return two or three runs of one prompt side by side, for a notebook."""
        from hsd_viz.views import Versus

        return Versus(list(self))

    def __repr__(self) -> str:
        return f"{self.table.to_string(**_FORM)}\n{self._note()}" if self else "Comparison([])"

    def _repr_html_(self) -> str:
        return f"{self.table.to_html(**_FORM, border=0)}{line(self._note())}" if self else repr(self)

    def _note(self) -> str:
        return _CAUTION if len({trace.prompt for trace in self}) < 2 else _DIFFERENT
