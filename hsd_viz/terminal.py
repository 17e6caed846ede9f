"""Tables and progress in a terminal, by rich; plain text where the output is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from hsd_viz.tables import Table

#: Cells, the head first.
Rows = Sequence[Sequence[str]]
#: Wider than any table: plain text is not wrapped.
_WIDEST = 100_000


def table(rows: Rows) -> RichTable:
    """Return rows of cells as a rich table: the first column left-aligned, the others right-aligned."""
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for k, cell in enumerate(rows[0]):
        drawn.add_column(Text(cell), justify="right" if k else "left", no_wrap=True)
    for row in rows[1:]:
        # Text, so that brackets are not read as markup.
        drawn.add_row(*map(Text, row))
    return drawn


def plain(parts: Iterable[str | Table | Rows]) -> str:
    """Return lines and tables as plain text, as wide as they need to be."""
    from rich.console import Console

    file = StringIO()
    _print(Console(file=file, width=_WIDEST, color_system=None), parts, _WIDEST)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def show(parts: Iterable[str | Table | Rows]) -> None:
    """Print lines and tables; on a terminal too narrow for a table, intervals are below their figures."""
    if not sys.stdout.isatty():
        print(plain(parts))
        return
    from rich.console import Console

    _print(Console(width=_WIDEST), parts, Console().width)


def _print(console: Console, parts: Iterable[str | Table | Rows], width: int) -> None:
    from hsd_viz.tables import Table

    for part in parts:
        if isinstance(part, str):
            console.out(part, highlight=False)
            continue
        if isinstance(part, Table):
            console.out("\n" + ": ".join(filter(None, (part.title, part.note.rstrip(":")))), highlight=False)
            part = part.cells()
            if not part:
                continue
        drawn = table(part)
        if console.measure(drawn).maximum > width:
            (name, *head), *rows = part
            narrow = [[cell.replace(" [", "\n[") for cell in row] for row in rows]
            drawn = table([[name, *(cell.replace(" ", "\n") for cell in head)], *narrow])
        console.print(drawn)


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` decodes are finished; the next one is ``stack`` on ``prompt`` (empty during warm-up).
    ``note`` names the work before the first measured decode: compiling, trying settings.
    """

    done: int
    total: int
    stack: str
    prompt: str
    note: str = ""


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Yield ``update(done, total, text)``, which draws a progress bar in a notebook or a terminal (stderr)."""
    from rich.console import Console

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield lambda done, total, text: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    text = TextColumn("{task.description}", markup=False)
    columns = (BarColumn(24), MofNCompleteColumn(), TimeRemainingColumn(), text)
    # No refresh thread: it would disturb what is being measured.
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, text: bar.update(task, completed=done, total=total, description=text, refresh=True)
