"""``%load_ext hsd_viz`` and its cell magic ``%%decode``."""

import argparse
import shlex
from dataclasses import asdict
from typing import Any, NoReturn

from hsd_viz.cli import Parser, arguments
from hsd_viz.cli.arguments import option
from hsd_viz.quick import run

_EPILOG = """\
The cell is the prompt, without line breaks at its end. The run is shown, and stored as the variable `trace`.

example:
  %%decode db > nano:4 > target --temperature 0.7
  def main(
"""


class _Parser(Parser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see %%decode --help)")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the words after ``%%decode``."""
    found = _Parser(prog="%%decode", description="Continue the text of the cell and show how.", epilog=_EPILOG)
    option(found, "stack STACK", "the stack, such as db > nano:4 > target", nargs="*")
    option(found, "--name NAME", "the variable of the trace (default trace)", default="trace")
    option(found, "--chat", "format the cell as a user turn by the chat template", action="store_true")
    arguments.add_sampling(found)
    return found


def load_ipython_extension(shell: Any) -> None:
    """Register the cell magic ``%%decode`` in an IPython shell."""
    from IPython.core.error import UsageError
    from IPython.display import display

    def decode(line: str, cell: str) -> None:
        try:
            args = parser().parse_args(shlex.split(line))
            if not args.name.isidentifier():
                raise ValueError(f"{args.name!r} is not the name of a variable")
            options = {"max_new_tokens": args.max_new_tokens, "chat": args.chat, **asdict(arguments.sampling(args))}
            trace = run(cell.rstrip("\r\n"), " ".join(args.stack) or "target", **options)
        except ValueError as error:
            raise UsageError(str(error)) from None
        except SystemExit:  # --help has printed
            return
        shell.user_ns[args.name] = trace
        display(trace.show())

    decode.__doc__ = parser().format_help()
    shell.register_magic_function(decode, "cell", "decode")
