"""The command-line frame of the experiments: arguments, prompts, engine, interleaving, atomic JSON
and resuming.

A module defines `parser` options with :func:`arguments`, and passes its work to :func:`command`,
which turns bad input into a one-line error (exit code 2) and Ctrl-C into exit code 130.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hsd_viz.disk import check_writable, write_whole
from hsd_viz.errors import INTERRUPTED, UserError
from hsd_viz.machine import describe
from hsd_viz.prompts.suites import Suite, load_suite
from hsd_viz.terminal import print_line

if TYPE_CHECKING:
    from hsd_viz.engine.local import LocalEngine


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(message)


def arguments(module: str, doc: str | None, **defaults: int | str) -> argparse.ArgumentParser:
    """Return a parser for ``python -m benchmarks.MODULE`` with ``--json`` and the options given by
    their defaults.

    An integer default makes an option for an integer from 1, ``suite`` one for a suite of prompts.
    """
    parser = _Parser(f"python -m benchmarks.{module}", description=(doc or "").partition("\n\n")[0])
    for name, default in defaults.items():
        kind = positive if isinstance(default, int) else str
        option = f"--{name.replace('_', '-')}"
        about = _HELP.get(name, name.replace("_", " "))
        parser.add_argument(
            option,
            type=kind,
            default=default,
            metavar="N" if kind is positive else "NAME",
            help=f"{about} (default {default})",
        )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    return parser


_HELP = {
    "suite": "suite of prompts",
    "family": "family of models",
    "prompts": "prompts, from all categories in turn",
    "tokens": "new tokens per prompt",
    "repeats": "passes over the prompts",
    "threads": "CPU threads",
}


def positive(text: str) -> int:
    """Parse an integer from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is out of range: expected an integer from 1")
    return int(text)


def numbers(text: str, kind: Callable[[str], Any], option: str) -> tuple:
    """Parse comma-separated numbers, sorted and without duplicates."""
    try:
        return tuple(sorted({kind(part) for part in text.split(",")}))
    except ValueError:
        message = (
            f"{option} '{text}' is not readable: expected comma-separated numbers, such as 0,12,48"
        )
        raise UserError(message) from None


def command(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    work: Callable[[argparse.Namespace], int | None],
) -> int:
    """Parse ``argv``, run ``work`` and return the exit code: 0, 2 for bad input, 130 when
    interrupted.
    """
    try:
        options = parser.parse_args(argv)
        if (path := getattr(options, "json", None)) is not None:
            check_writable(path)
        return work(options) or 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except (UserError, OSError) as error:
        print_line(f"{parser.prog.removeprefix('python -m ')}: {error}")
        return 2


def prompts_of(name: str, limit: int | None = None, chat: bool = False) -> Suite:
    """Load a suite of plain texts (with ``chat``: of any), limited to ``limit`` prompts from all
    categories in turn.
    """
    suite = load_suite(name).limited(limit) if limit else load_suite(name)
    if not chat and any(p.turns for p in suite.prompts):
        raise UserError(
            f"the suite {suite.name} contains questions to chat models: use one with plain texts"
        )
    return suite


def cpu_engine(target: str = "target", family: str = "code") -> LocalEngine:
    """Load the models of a family on one CPU thread, the native runtime compiled."""
    import hsd_viz

    engine = hsd_viz.load_engine(target=target, family=family, device="cpu", threads=1)
    engine.wait_ready(print_line)
    return engine


def interleave(
    items: Iterable[Any], variants: Sequence[Any], repeats: int = 1
) -> Iterator[tuple[Any, Any]]:
    """Yield every item with every variant, variants innermost, so that background load affects
    all variants equally.
    """
    chosen = list(items)
    for _ in range(repeats):
        yield from product(chosen, variants)


def write(path: Path | None, report: dict[str, Any], rows: str | None = None) -> None:
    """Write a report and its command atomically, if there is a path. Each entry of the list
    ``rows`` takes a line.
    """
    if path is None:
        return
    # A path of this machine says nothing elsewhere.
    words = []
    for word in sys.argv[1:]:
        if word != "--resume":
            words.append("PATH" if Path(word).is_absolute() else word)
    report = {
        **report,
        "command": shlex.join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *words]),
    }
    text = json.dumps({**report, rows: []} if rows else report, indent=1)
    if rows:
        lines = ",\n".join(f"  {json.dumps(row)}" for row in report[rows])
        text = text.replace(f'"{rows}": []', f'"{rows}": [\n{lines}\n ]')
    write_whole(path, text + "\n")


def resumed(
    path: Path, kind: str, settings: dict[str, Any], free: Sequence[str] = ()
) -> dict[str, Any] | None:
    """Return the report at ``path`` of an interrupted run, or None if there is none.

    Raises:
        UserError: if it is not a report of format ``kind``, was measured on another machine, or
        its settings differ in anything but ``free``.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        stored = {**data["settings"], **{name: settings[name] for name in free}}
        same = (
            data["format"] == kind
            and stored == settings
            and data["machine"]["cpu"] == describe()["cpu"]
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(
            f"{path} is not a report of this benchmark: omit --resume to overwrite it"
        ) from None
    if not same:
        raise UserError(
            f"{path} was measured with other settings or on another machine: "
            "omit --resume to overwrite it"
        )
    return data
