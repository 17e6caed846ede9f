"""The command ``hsd-viz``. Exit codes: 0 done, 2 bad usage or input (one line on stderr), 130 interrupted or output closed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from hsd_viz.cli.arguments import drop_stdout
from hsd_viz.cli.parser import build_parser

DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130

#: Which extra brings a module that may be missing.
_EXTRAS = {
    **dict.fromkeys(("torch", "transformers", "tokenizers", "safetensors"), "models"),
    **dict.fromkeys(("voila", "jupyterlab", "jupyter_server", "ipykernel"), "app"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; ``argv`` are the words after ``hsd-viz``."""
    for name in ("stdout", "stderr"):
        # A stream that was closed before the start (``>&-``) is None; what nobody reads may as well go nowhere.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (it stays open for as long as we run)
    if hasattr(sys.stdout, "reconfigure"):
        # Text may hold characters that the terminal's encoding lacks; losing one is better than losing the run.
        sys.stdout.reconfigure(errors="replace")
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        # Called bare it says what there is to call.
        args = build_parser().parse_args(words or ["--help"])
        args.words = words
        return args.run(args)
    except SystemExit as stop:  # argparse: --help, --version, bad usage
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        drop_stdout()
        return INTERRUPTED
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _EXTRAS:
            raise
        return _say(
            f"this command needs {module}, which is not installed: pip install 'hsd-viz[{_EXTRAS[module]}]'", BAD_INPUT
        )
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        return _say(f"cannot read or write{where}: {error.strerror or error}", BAD_INPUT)
    except ValueError as error:
        return _say(str(error), BAD_INPUT)


def _say(sentence: str, code: int) -> int:
    print(f"hsd-viz: {' '.join(sentence.split())}", file=sys.stderr)
    return code
