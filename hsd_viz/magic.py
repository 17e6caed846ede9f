"""``%load_ext hsd_viz`` and its cell magic ``%%decode``."""

import shlex
from dataclasses import asdict
from typing import Annotated as A
from typing import Any, NoReturn

from hsd_viz.cli.arguments import SamplingOptions
from hsd_viz.cli.options import Parser, add_options, call
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


def _read(
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

    parser = _Parser(prog="%%decode", description="Continue the text of the cell and show how.", epilog=_EPILOG)
    add_options(parser, _read)

    def decode(line: str, cell: str) -> None:
        try:
            name, stack, options = call(_read, parser.parse_args(shlex.split(line)))
            trace = run(cell.rstrip("\r\n"), stack, **options)
        except ValueError as error:
            raise UsageError(str(error)) from None
        except SystemExit:  # --help has printed
            return
        shell.user_ns[name] = trace
        display(trace.show())

    decode.__doc__ = parser.format_help()
    shell.register_magic_function(decode, "cell", "decode")
