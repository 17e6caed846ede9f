"""Functions as the commands of a package of the recipe, as in ``python -m training COMMAND``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hsd_viz.cli import Parser
from hsd_viz.cli.functions_as_commands import add_commands
from hsd_viz.errors import INTERRUPTED

#: A function that returns the lines to print.
Command = Callable[..., Sequence[Any]]


def run_commands(
    module: str,
    description: str,
    commands: Mapping[str, Command],
    argv: Sequence[str] | None = None,
) -> int:
    """Run one command, print what it returns line by line, and return the exit code.

    Args:
        module: the package, as in ``python -m MODULE``.
        description: the description in the help.
        commands: the functions by name.
        argv: the words of the command line; ``None``: those of this process.
    """
    prog = f"python -m {module}"
    parser = Parser(prog=prog, description=description)
    add_commands(parser, "commands", commands)
    args = parser.parse_args(argv)
    return print_lines(prog, lambda: args.run(args))


def print_lines(prog: str, command: Callable[[], Sequence[Any]]) -> int:
    """Print what a command returns line by line, or its error, and return the exit code.

    Args:
        prog: the name of the program, which begins the line of an error.
        command: the command; an ``OSError`` or ``ValueError`` of it becomes one line.
    """
    try:
        lines = command()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except (OSError, ValueError) as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    print(*lines, sep="\n")
    return 0
