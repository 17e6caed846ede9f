"""Tables as plain text, and progress bars by rich."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hsd_viz.tables import Table

#: What reports progress: called with the number of units done, that of all (0: unknown), and a text.
Progress = Callable[[int, int, str], None]


def plain(parts: Iterable[str | Table]) -> str:
    """Return lines and tables as text; a table's first column is left-aligned, the others right-aligned."""
    lines = []
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
            continue
        lines += ["", ": ".join(filter(None, (part.title, part.note.rstrip(":"))))]
        rows = part.cells()
        first, *widths = (
            (max(map(len, column)) for column in zip(*rows, strict=True)) if rows else (0,)
        )
        for name, *cells in rows:
            texts = [
                name.ljust(first),
                *(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)),
            ]
            lines.append("  ".join(texts).rstrip())
    return "\n".join(lines)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Yield ``update(done, total, text)``, which draws a progress bar in a notebook or a terminal (stderr)."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    text = progress.TextColumn("{task.description}", markup=False)
    columns = (
        progress.BarColumn(24),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
        text,
    )
    hidden = not (console.is_terminal or console.is_jupyter)
    # No refresh thread: it would disturb what is being measured.
    with progress.Progress(
        *columns, console=console, transient=True, auto_refresh=False, disable=hidden
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, text: bar.update(
            task, completed=done, total=total, description=text, refresh=True
        )
