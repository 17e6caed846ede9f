"""Messages on stderr, and progress bars drawn with rich."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: A function that reports progress. Its arguments are the number of finished units, the total
#: number of units (0 if unknown), and a text.
Progress = Callable[[int, int, str], None]
#: A function that reports a stage of work of unknown length, given a text like :func:`status`.
Status = Callable[[str], None]


def ignore_progress(done: int, total: int, text: str) -> None:
    """Report nothing."""


def ignore_status(text: str) -> None:
    """Report nothing."""


def status(text: str = "") -> None:
    """Replace the terminal's last line with ``text``; do nothing if stderr is not a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def show_share(done: int, total: int, text: str) -> None:
    """Show the finished share as :func:`status`, as in ``counting 40%``."""
    status(f"{text} {done / total:.0%}")


def print_line(text: str) -> None:
    """Print a line to stderr, below any :func:`status`."""
    status()
    print(text, file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Print a one-line message of hsd-viz to stderr."""
    print_line(f"hsd-viz: {' '.join(text.split())}")


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Yield ``update(done, total, text)``, which draws a progress bar.

    The bar appears in a notebook, or on stderr if it is a terminal.
    """
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
    # A refresh thread would disturb measurements.
    with progress.Progress(
        *columns, console=console, transient=True, auto_refresh=False, disable=hidden
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, text: bar.update(
            # A total of 0 means unknown.
            task,
            completed=done,
            total=total or None,
            description=text,
            refresh=True,
        )
