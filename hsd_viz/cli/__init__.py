"""The command ``hsd-viz``: the file of a command has its name, and a function per action
(:mod:`hsd_viz.cli.functions_as_commands`).

Exit codes: 0 success, 1 not lossless (audit) or a fault of this package, 2 invalid usage or input
(one line on stderr), 130 interrupted or output closed. Heavy modules are imported only when a
command runs.
"""

import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

from hsd_viz.cli import (
    audit,
    bench,
    classroom,
    course,
    dashboard,
    databases,
    decode,
    doctor,
    export,
    import_,
    ladder,
    mcp,
    models,
    overview,
    plan,
    predict,
    replay,
    serve,
    site,
)
from hsd_viz.cli.failures import user_message
from hsd_viz.cli.functions_as_commands import add_commands, notes
from hsd_viz.cli.parser import BAD_INPUT, Parser
from hsd_viz.cli.shared import drop_stdout
from hsd_viz.errors import INTERRUPTED, fault_message, is_debugging
from hsd_viz.settings.spelling import as_option, spelling
from hsd_viz.terminal import say
from hsd_viz.version import __version__

FAULT = 1
#: Commands, each with its function, or with its summary and its actions.
COMMANDS: dict[str, Any] = {
    "decode": decode.decode,
    "bench": bench.bench,
    "plan": plan.plan,
    "predict": predict.predict,
    "replay": replay.replay,
    "import": import_.import_,
    "doctor": doctor.doctor,
    "audit": (
        "Test whether a decoder is lossless.",
        {
            "stack": audit.audit_stacks,
            "function": audit.audit_functions,
            "schedule": audit.audit_schedule,
            "endpoint": audit.audit_endpoint,
        },
    ),
    "dashboard": dashboard.dashboard,
    "serve": serve.serve,
    "classroom": classroom.classroom,
    "mcp": mcp.mcp,
    "site": (
        "Build a static site of recorded runs, races, lessons and reports.",
        {"build": site.build_site},
    ),
    "export": export.export,
    "databases": (
        "Inspect and build draft databases.",
        {"inspect": databases.inspect, "build": databases.build},
    ),
    "models": (
        "The families of models: list, info, install.",
        {"list": models.list_models, "info": models.info, "install": models.install},
    ),
    "ladder": ("The shipped models: info, train.", {"info": ladder.info, "train": ladder.train}),
    "course": (
        "Copy the lessons as notebooks.",
        {
            "copy": course.copy_course,
            "build": course.build_course,
            "book": course.book,
            "slides": course.slides,
        },
    ),
}


def build_parser(words: Sequence[str] | None = None) -> Parser:
    """Return the parser of ``hsd-viz``; parsed arguments carry the command as ``run(args)``.

    Args:
        words: the words to parse; only commands among them get their options (default: all).
    """
    parser = Parser(
        "hsd-viz",
        description="See, measure and learn speculative decoding.",
        epilog=notes("hsd-viz"),
    )
    version = f"hsd-viz {__version__}"
    parser.add_argument("--open", action="store_true", help=overview.OPEN_HELP)
    parser.add_argument(
        "--version", action="version", version=version, help="print the version and exit"
    )
    add_commands(parser, "commands", COMMANDS, words)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; ``argv`` defaults to the arguments of the process."""
    _open_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with spelling(as_option):
            return _run(words)
    except SystemExit as stop:  # argparse: --help, --version, bad usage
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        drop_stdout()
        return INTERRUPTED
    except Exception as error:
        message = user_message(error, words)
        if message is None:
            return _report_fault(error)
        say(message)
        return BAD_INPUT


def _open_streams() -> None:
    """Replace closed standard streams, and make streams replace characters they cannot encode."""
    for name in ("stdout", "stderr"):
        # A stream that was closed before the start (``>&-``) is None.
        if getattr(sys, name) is None:
            # The file stays open until the process ends.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure"):
        # Replacing characters outside the terminal's encoding is better than failing.
        sys.stdout.reconfigure(errors="replace")


def _run(words: list[str]) -> int:
    if not words:
        print(overview.OVERVIEW)
        return 0
    if words == ["--open"]:
        from hsd_viz.cli.explorer import open_explorer

        return open_explorer()
    parser = build_parser(words)
    args = parser.parse_args(words)
    if args.open:
        parser.error("--open is used without a command")
    args.command_line = shlex.join(["hsd-viz", *words])
    with warnings.catch_warnings():
        # Show warnings on one line, without those of libraries about their future versions.
        warnings.simplefilter("ignore", FutureWarning)
        warnings.showwarning = _show_warning
        return args.run(args) or 0


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(str(message))


def _report_fault(error: Exception) -> int:
    if is_debugging():
        traceback.print_exception(error)
    say(fault_message(error))
    return FAULT
