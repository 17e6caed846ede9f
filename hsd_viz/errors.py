"""Errors of the user: input that cannot be used.

Only these become one line and exit code 2. Any other exception is a fault of this package and is
reported as one.

    UserError
    ├── BadFile
    │   ├── TraceError       hsd_viz.trace
    │   └── DatabaseError    hsd_viz.drafting.index
    ├── MissingPackage
    ├── Unsupported
    ├── StackError           hsd_viz.stack
    ├── PromptTooLong        hsd_viz.decoding
    ├── ServerError          hsd_viz.trace
    └── TooManyOutcomes      hsd_viz.audit
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb

#: Set to a value other than "" and 0, this environment variable shows the traceback of a fault.
DEBUG_VARIABLE = "HSD_VIZ_DEBUG"
#: What code that reads a file of another program raises if the file does not have the form.
_MALFORMED = (
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    ValueError,
)


class UserError(ValueError):
    """Input that cannot be used. The message is one line: what was wrong, and what is allowed."""


class BadFile(UserError):
    """A file whose content cannot be used, or that cannot be read."""


class MissingPackage(UserError):
    """An optional package is not installed; the message contains the command that installs it."""


class Unsupported(UserError):
    """A valid input of a form that this package does not handle; the message gives the reason."""


@contextmanager
def parsing(name: Path | str) -> Iterator[None]:
    """Report what the content of a file causes while it is read as a fault of the file.

    Only the code that reads the file belongs in this block: elsewhere the same exceptions are
    faults of this package.

    Raises:
        BadFile: if the block raises what malformed content causes. A UserError passes.
    """
    try:
        yield
    except UserError:
        raise
    except _MALFORMED:
        raise BadFile(f"{name} is not valid: its parts are inconsistent") from None


def is_debugging() -> bool:
    """Return whether faults are shown with their traceback."""
    return os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")


def fault_message(error: BaseException) -> str:
    """Return the one-line report of an exception that is a fault of this package."""
    lines = str(error).strip().splitlines()
    reason = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return (
        f"this is a fault of hsd-viz, not of your input: {reason}{_place(error)}; "
        f"report it to the project with the traceback that {DEBUG_VARIABLE}=1 shows"
    )


def _place(error: BaseException) -> str:
    """Return the innermost line of this package that an exception passed, "" if there is none."""
    package = Path(__file__).resolve().parent
    for frame in reversed(extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if package in file.parents:
            return f" ({file.relative_to(package.parent).as_posix()}, line {frame.lineno})"
    return ""
