"""Decode and compare in one call or one cell, with an engine that the process loads once.

``%load_ext hsd_viz`` adds the cell magic ``%%decode``.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, Unpack
from typing import Annotated as A

from hsd_viz.cli.arguments import SamplingOptions
from hsd_viz.engine import Engine, Options
from hsd_viz.stack import Stack
from hsd_viz.terminal import progress_bar, table_lines
from hsd_viz.trace import Trace
from hsd_viz.words import card, line, number, table

if TYPE_CHECKING:
    import pandas as pd

    from hsd_viz.views import Versus

_CAUTION = "One run per stack: speeds are noisy. hsd-viz bench measures them."
_DIFFERENT = "The prompts differ, so that neither speeds nor texts can be compared."
_YES = {True: "yes", False: "no"}
_FORMS = {"tokens/s": ".0f", "× first": ".2f", "tokens per target pass": ".2f", "acceptance rate": ".0%"}


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

    def _text(self) -> tuple[list[list[str]], str]:
        """Return the cells of the table, the head first, and the note below it."""
        write = lambda name, value: _YES[value] if isinstance(value, bool) else number(value, _FORMS.get(name, ""))
        rows = [[write(name, value) for name, value in row.items()] for row in self.rows()]
        return [list(self.rows()[0]), *rows], _CAUTION if len({t.prompt for t in self}) < 2 else _DIFFERENT

    def __repr__(self) -> str:
        if not self:
            return "Comparison([])"
        cells, note = self._text()
        return "\n".join([*table_lines(cells), note])

    def _repr_html_(self) -> str:
        (head, *cells), note = self._text() if self else ([()], "")
        return card("Comparison", f"{len(self)} runs", table(head, cells), line(note))


_EPILOG = """\
The cell is the prompt, without line breaks at its end. The run is shown, and stored as the variable `trace`.

example:
  %%decode db > nano:4 > target --temperature 0.7
  def main(
"""


def _read_line(
    stack: A[tuple[str, ...], "STACK", "the stack, such as db > nano:4 > target"] = (),
    *,
    name: A[str, "NAME", "the variable of the trace"] = "trace",
    chat: A[bool, "format the cell as a user turn by the chat template"] = False,
    sampling: SamplingOptions,
) -> tuple[str, str, dict[str, Any]]:
    """Return the variable, the stack and the options of a decode. Raises: ValueError: if one is not valid."""
    if not name.isidentifier():
        raise ValueError(f"{name!r} is not the name of a variable")
    options = {"max_new_tokens": sampling.max_new_tokens, "chat": chat, **asdict(sampling.sampling())}
    return name, " ".join(stack) or "target", options


def load_ipython_extension(shell: Any) -> None:
    """Register the cell magic ``%%decode`` in an IPython shell."""
    from IPython.core.error import UsageError
    from IPython.display import display

    from hsd_viz.cli.options import Parser, add_options, call

    class MagicParser(Parser):
        def error(self, message: str) -> NoReturn:
            raise ValueError(f"{message} (see %%decode --help)")

    parser = MagicParser(prog="%%decode", description="Continue the text of the cell and show how.", epilog=_EPILOG)
    add_options(parser, _read_line)

    def decode(line: str, cell: str) -> None:
        try:
            name, stack, options = call(_read_line, parser.parse_args(shlex.split(line)))
            trace = run(cell.rstrip("\r\n"), stack, **options)
        except ValueError as error:
            raise UsageError(str(error)) from None
        except SystemExit:  # --help has printed
            return
        shell.user_ns[name] = trace
        display(trace.show())

    decode.__doc__ = parser.format_help()
    shell.register_magic_function(decode, "cell", "decode")
