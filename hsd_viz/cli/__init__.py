"""The command ``hsd-viz``.

Exit codes: 0 done, 1 slower (bench --compare), 2 bad usage or input (one line on stderr), 130 interrupted or output
closed.
Nothing heavy is imported before a command runs.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from hsd_viz.cli import audit, bench, course, databases, decode, ladder, logs, plan, predict, serve, traces
from hsd_viz.cli.arguments import drop_stdout, say
from hsd_viz.stack import LargerDraftWarning
from hsd_viz.version import __version__
from hsd_viz.words import did_you_mean

DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130

#: Missing module -> the extra that provides it.
_EXTRAS = {
    **dict.fromkeys(("torch", "transformers", "tokenizers", "safetensors"), "models"),
    **dict.fromkeys(("voila", "jupyterlab", "jupyter_server", "ipykernel"), "app"),
    **dict.fromkeys(("ray", "fastapi", "pydantic", "prometheus_client", "segno"), "cluster"),
}
_EPILOG = """\
examples:
  hsd-viz decode --stack "db > target" --prompt "def main(" --temperature 0.7
  hsd-viz bench --stack "db > target" --stack "nano:4 > target" --limit 12 --temperature 0.7
  hsd-viz dashboard

A stack is read left to right; '>' means "drafts for" and the last part is the target:
  target                           plain decoding
  db > target                      database drafting: context, model, statistics
  nano:4 > target                  a draft model that proposes at least 4 tokens (lookahead 1-64, default 4)
  nano:4 > small:8 > target        a hierarchy of draft models
  db > nano:6 > small:8 > target   databases below a hierarchy

Exit codes: 0 done, 1 slower (bench --compare), 2 bad usage or input, 130 interrupted or output closed (as by `| head -1`).

`hsd-viz COMMAND --help` describes a command.
"""


class Parser(argparse.ArgumentParser):
    """An argument parser with one-line errors, and suggestions for misspelled words."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        options: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
        super().__init__(*args, **options | kwargs)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            hint = did_you_mean(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            hint = did_you_mean(str(value), choices)
            raise argparse.ArgumentError(action, f"invalid choice: {value!r} (use {', '.join(choices)}){hint}")

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {' '.join(message.split())} (see {self.prog} --help)\n")


def build_parser() -> Parser:
    """Return the parser of ``hsd-viz``; parsed arguments carry the command's function as ``run``."""
    parser = Parser(prog="hsd-viz", description="See, measure and learn speculative decoding.", epilog=_EPILOG)
    text = "print the version and exit"
    parser.add_argument("--version", action="version", version=f"hsd-viz {__version__}", help=text)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for module in (decode, bench, plan, predict, logs, audit, serve, traces, databases, ladder, course):
        module.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; ``argv`` defaults to the arguments of the process."""
    for name in ("stdout", "stderr"):
        # A stream closed before the start (``>&-``) is None.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open for the whole run)
    if hasattr(sys.stdout, "reconfigure"):
        # Text may contain characters outside the terminal's encoding; replacing them is better than failing.
        sys.stdout.reconfigure(errors="replace")
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        args = build_parser().parse_args(words or ["--help"])
        args.words = words
        with warnings.catch_warnings():
            _say_warnings()
            return args.run(args)
    except SystemExit as stop:  # argparse: --help, --version, bad usage
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        drop_stdout()
        return INTERRUPTED
    except (ModuleNotFoundError, OSError, ValueError) as error:
        say(_explain(error))
        return BAD_INPUT


def _say_warnings() -> None:
    """Print this package's warnings as one line; others as Python does."""
    other = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **options: Any) -> None:
        if issubclass(category, LargerDraftWarning):
            say(str(message))
        else:
            other(message, category, *where, **options)

    warnings.showwarning = show


def _explain(error: ModuleNotFoundError | OSError | ValueError) -> str:
    """Return the one-line message for an error. Raises it again if a module is missing that no extra provides."""
    if isinstance(error, ModuleNotFoundError):
        module = (error.name or "").partition(".")[0]
        if module not in _EXTRAS:
            raise error
        return f"this command needs {module}, which is not installed: pip install 'hsd-viz[{_EXTRAS[module]}]'"
    if isinstance(error, OSError):
        where = f" {error.filename}" if error.filename else ""
        return f"cannot read or write{where}: {error.strerror or error}"
    return str(error)
