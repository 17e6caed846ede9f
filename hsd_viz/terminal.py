"""Tables as plain text, and progress bars by rich."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hsd_viz.tables import Table

#: Cells, the head first.
Rows = Sequence[Sequence[str]]


def plain(parts: Iterable[str | Table | Rows]) -> str:
    """Return lines and tables as text; a table's first column is left-aligned, the others right-aligned."""
    lines = []
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
            continue
        if not isinstance(part, Sequence):
            lines += ["", ": ".join(filter(None, (part.title, part.note.rstrip(":"))))]
            part = part.cells()
        if not part:
            continue
        first, *widths = (max(map(len, column)) for column in zip(*part, strict=True))
        for name, *cells in part:
            texts = [name.ljust(first), *(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))]
            lines.append("  ".join(texts).rstrip())
    return "\n".join(lines)


def show(parts: Iterable[str | Table | Rows]) -> None:
    """Print lines and tables."""
    print(plain(parts))


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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    text = TextColumn("{task.description}", markup=False)
    columns = (BarColumn(24), MofNCompleteColumn(), TimeRemainingColumn(), text)
    hidden = not (console.is_terminal or console.is_jupyter)
    # No refresh thread: it would disturb what is being measured.
    with Progress(*columns, console=console, transient=True, auto_refresh=False, disable=hidden) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, text: bar.update(task, completed=done, total=total, description=text, refresh=True)
