"""Errors that the user's input causes.

Only these are reported as one line with exit code 2. Any other exception is reported as a fault of
this package.

    UserError
    ├── BadFile
    │   ├── TraceError       hsd_viz.trace
    │   └── DatabaseError    hsd_viz.drafting.index
    ├── MissingPackage
    ├── Unsupported
    ├── PromptError
    │   └── PromptTooLong
    ├── StackError           hsd_viz.stack
    ├── ServerError          hsd_viz.trace
    └── TooManyOutcomes      hsd_viz.measure.audit
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import extract_tb, format_exception

#: Exit code of an interrupted command.
INTERRUPTED = 130
#: The environment variable that, with a value other than "" and 0, shows the traceback of a fault.
DEBUG_VARIABLE = "HSD_VIZ_DEBUG"
#: The environment variable with the file in which a server's kernels report faults.
FAULTS_VARIABLE = "HSD_VIZ_FAULTS"
#: Matches an absolute path of two or more parts.
_PATH = re.compile(r"(?<![\w.~:/])/[^\s'\"`:;,()\[\]/]+(?:/[^\s'\"`:;,()\[\]/]*)+")
#: The next constants are the exceptions to catch when reading content from elsewhere, by kind of
#: content. Only the code that reads the content belongs in the ``try`` block.
#:
#: Exceptions of ``json.loads`` for text that is not JSON or is nested too deeply.
INVALID_JSON = (ValueError, RecursionError)
#: Exceptions of code that reads another program's file, if the file does not have the format.
MALFORMED = (
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    ValueError,
)
#: Exceptions of data that do not have the expected structure.
#:
#: A key is missing or a value has another type. ``ValueError`` is not included: a value out of
#: range has its own message, which must reach the user.
OF_ANOTHER_FORM = (LookupError, TypeError, AttributeError)
#: Exceptions of a compressed file that cannot be read or is truncated.
CUT_SHORT = (OSError, EOFError)
#: Exceptions of memory-mapping a file; an empty file raises ``ValueError``.
UNMAPPED = (OSError, ValueError)


class UserError(ValueError):
    """Input that cannot be used.

    The message is one line that says what is wrong and what is allowed.
    """


class BadFile(UserError):
    """A file that cannot be read, or whose content cannot be used."""


class PromptError(UserError):
    """A prompt that cannot be decoded, or that does not fit the model."""


class PromptTooLong(PromptError):
    """A prompt of ``tokens`` tokens that leaves no room in a context of ``positions`` tokens."""

    def __init__(self, tokens: int, positions: int) -> None:
        super().__init__(
            f"the prompt has {tokens} tokens and the context holds "
            f"{positions}: use a shorter prompt"
        )


class MissingPackage(UserError):
    """An optional package is not installed.

    The message contains the command that installs it.
    """


class Unsupported(UserError):
    """A valid input of a form that this package does not handle.

    The message gives the reason.
    """


@contextmanager
def parsing(name: Path | str) -> Iterator[None]:
    """Convert the exceptions that malformed content causes to :class:`BadFile`.

    Only the code that reads the file belongs in the block: elsewhere the same exceptions are faults
    of this package.

    Raises:
        BadFile: if the block raises such an exception. A UserError passes unchanged.
    """
    try:
        yield
    except UserError:
        raise
    except MALFORMED as error:
        raise BadFile(f"{name} is not valid: {inconsistency(error)}") from error


def inconsistency(error: Exception) -> str:
    """Describe the malformed part of a file, from the exception that it caused."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, KeyError) and error.args:
        return f"{error.args[0]!r:.60} is missing or unknown"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return f"its parts are inconsistent ({first_line(error)[:200]})"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the name of its type if it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def no_panics(what: str, kind: type[UserError] = BadFile) -> Iterator[None]:
    """Convert any exception of a Rust library that reads the user's file or text to ``kind``.

    Rust panics do not derive from ``Exception``, so that other handlers do not catch them.

    Raises:
        kind: if the block raises; the message begins with ``what``. A UserError passes unchanged.
    """
    try:
        yield
    except (UserError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise kind(f"{what}: {first_line(error)[:200]}") from error


def is_debugging() -> bool:
    """Return whether faults are shown with their traceback."""
    return os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")


def fault_message(error: BaseException) -> str:
    """Return a one-line report of a fault of this package."""
    reason = type(error).__name__
    if str(error).strip():
        reason += f": {first_line(error)}"
    place = _place(error)
    return (
        f"this is a fault of hsd-viz, not of your input: {reason}{place}; "
        f"report it to the project with the traceback that {DEBUG_VARIABLE}=1 shows"
    )


def report_fault(error: BaseException) -> None:
    """Write the traceback of a fault to the server's log, or else to the log of this process.

    A served kernel writes to a file, because its output is sent to its visitor.
    """
    text = "".join(format_exception(error))
    if path := os.environ.get(FAULTS_VARIABLE):
        with suppress(OSError), Path(path).open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    else:
        import logging

        logging.getLogger("hsd_viz").error("a request failed\n%s", text)


def visitor_message(error: BaseException, request: str = "") -> str:
    """Return the one-line message of an exception for a visitor, without paths of the server.

    Args:
        error: the exception. The message of a UserError is shown; of others only the type.
        request: the visitor's text, whose paths are kept.
    """
    if isinstance(error, UserError | ModuleNotFoundError):
        message = " ".join(str(error).split()) or type(error).__name__
        # A lone surrogate cannot be encoded.
        message = message.encode("utf-8", "replace").decode("utf-8")
        return without_paths(message, request)[:2000]
    kind = type(error).__name__
    return f"this is a fault of hsd-viz, not of your input ({kind}): the log of its server has it"


def without_paths(text: str, kept: str = "") -> str:
    """Shorten each absolute path of a text to its last part, except for paths in ``kept``."""

    def shortened(match: re.Match[str]) -> str:
        path = match[0]
        return path if path in kept else path.rstrip("/").rpartition("/")[2]

    return _PATH.sub(shortened, text)


def _place(error: BaseException) -> str:
    """Return the innermost source line of this package in the traceback, or "" if there is none."""
    package = Path(__file__).resolve().parent
    for frame in reversed(extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if package in file.parents:
            inside = file.relative_to(package.parent).as_posix()
            return f" ({inside}, line {frame.lineno})"
    return ""
