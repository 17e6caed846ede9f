"""Errors of the user: input that cannot be used.

Only these become one line and exit code 2. Any other exception is a fault of this package and is
reported as one.

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

#: Exit code of a command that was interrupted.
INTERRUPTED = 130
#: Set to a value other than "" and 0, this environment variable shows the traceback of a fault.
DEBUG_VARIABLE = "HSD_VIZ_DEBUG"
#: The file in which the kernels of a server report faults.
FAULTS_VARIABLE = "HSD_VIZ_FAULTS"
#: An absolute path of two or more parts.
_PATH = re.compile(r"(?<![\w.~:/])/[^\s'\"`:;,()\[\]/]+(?:/[^\s'\"`:;,()\[\]/]*)+")
#: What follows names what is caught where content of others is read. Each is a kind of content,
#: and only the code that reads it belongs in such a block.
#:
#: What ``json.loads`` raises: text that is not JSON, or that is nested too deeply.
INVALID_JSON = (ValueError, RecursionError)
#: What code that reads a file of another program raises if the file does not have the form.
MALFORMED = (
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    ValueError,
)
#: What data raise that are of another form than the expected one.
#:
#: A key is missing, or a value is of another type. A value out of range (``ValueError``) has a
#: message of its own, which must pass.
OF_ANOTHER_FORM = (LookupError, TypeError, AttributeError)
#: What a compressed file raises that cannot be read, or that ends too early.
CUT_SHORT = (OSError, EOFError)
#: What the memory map of a file raises. An empty file cannot be mapped: ``ValueError``.
UNMAPPED = (OSError, ValueError)


class UserError(ValueError):
    """Input that cannot be used.

    The message is one line: what was wrong, and what is allowed.
    """


class BadFile(UserError):
    """A file whose content cannot be used, or that cannot be read."""


class PromptError(UserError):
    """A prompt that cannot be decoded, or that does not fit the model."""


class PromptTooLong(PromptError):
    """A prompt of ``tokens`` tokens that fills a context of ``positions``: no token could be
    emitted.
    """

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
    except MALFORMED as error:
        raise BadFile(f"{name} is not valid: {inconsistency(error)}") from error


def inconsistency(error: Exception) -> str:
    """Return which part of a file is not as expected, from the exception that it caused."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, KeyError) and error.args:
        return f"{error.args[0]!r:.60} is missing or unknown"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return f"its parts are inconsistent ({first_line(error)[:200]})"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, the name of its type where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def no_panics(what: str, kind: type[UserError] = BadFile) -> Iterator[None]:
    """Report any fault of a library in Rust that works on a file or text of the user as one of it.

    Its panics are not children of ``Exception``, so that no other handler catches them.

    Raises:
        kind: if the block raises; the message begins with ``what``. A UserError passes.
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
    """Return the one-line report of an exception that is a fault of this package."""
    reason = type(error).__name__
    if str(error).strip():
        reason += f": {first_line(error)}"
    place = _place(error)
    return (
        f"this is a fault of hsd-viz, not of your input: {reason}{place}; "
        f"report it to the project with the traceback that {DEBUG_VARIABLE}=1 shows"
    )


def report_fault(error: BaseException) -> None:
    """Write the traceback of a fault to the log of the server, or of this process if it has none.

    The output of a served kernel is sent to its visitor, so that a kernel writes to a file.
    """
    text = "".join(format_exception(error))
    if path := os.environ.get(FAULTS_VARIABLE):
        with suppress(OSError), Path(path).open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    else:
        import logging

        logging.getLogger("hsd_viz").error("a request failed\n%s", text)


def visitor_message(error: BaseException, request: str = "") -> str:
    """Return what a visitor of a server reads of an exception: one line without its paths.

    Args:
        error: the message of a UserError is for the visitor. Of any other only the type is shown.
        request: text of the visitor, whose own paths stay.
    """
    if isinstance(error, UserError | ModuleNotFoundError):
        message = " ".join(str(error).split()) or type(error).__name__
        # Half a character cannot be sent.
        message = message.encode("utf-8", "replace").decode("utf-8")
        return without_paths(message, request)[:2000]
    kind = type(error).__name__
    return f"this is a fault of hsd-viz, not of your input ({kind}): the log of its server has it"


def without_paths(text: str, kept: str = "") -> str:
    """Return a text with the last part of each absolute path, except for paths in ``kept``."""

    def shortened(match: re.Match[str]) -> str:
        path = match[0]
        return path if path in kept else path.rstrip("/").rpartition("/")[2]

    return _PATH.sub(shortened, text)


def _place(error: BaseException) -> str:
    """Return the innermost line of this package that an exception passed, "" if there is none."""
    package = Path(__file__).resolve().parent
    for frame in reversed(extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if package in file.parents:
            inside = file.relative_to(package.parent).as_posix()
            return f" ({inside}, line {frame.lineno})"
    return ""
