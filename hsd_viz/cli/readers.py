"""Parses the words of the command line to values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from hsd_viz.disk import STDOUT, check_writable
from hsd_viz.errors import UserError
from hsd_viz.settings.argument_types import FileToWrite, Output, Tokens, TraceToWrite
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import Range, check_range

#: Value of the suffix k of a number.
_K = 1024


def reader_of(kind: Any, setting: Setting, option: CliOption) -> Callable[[str], Any]:
    """Return the function that parses a value of a setting."""
    limits = shown_range(setting, option)
    if limits is not None:
        return partial(_read_limited, kind, limits)
    return _READERS.get(kind, kind)


def shown_range(setting: Setting, option: CliOption) -> Range | None:
    """Return the range that is checked while parsing; ``None`` if there is none or it has no upper
    end.
    """
    limits = setting.range
    if limits is None or limits.high is None or not option.shows_range:
        return None
    return limits


def in_k(value: int | tuple[int, ...]) -> str:
    """Format whole numbers with the suffix k."""
    numbers = value if isinstance(value, tuple) else (value,)
    return ",".join(f"{number // _K}k" for number in numbers)


def _read_limited(kind: type, limits: Range, text: str) -> Any:
    value: Any = text
    with suppress(ValueError):
        value = kind(text)
    high = None if limits.high is None else kind(limits.high)
    check_range("the value", value, kind(limits.low), high)
    return value


def _read_number(text: str) -> float:
    """Parse a number such as 8, 2k or 0.5."""
    if text.endswith("k"):
        return int(text[:-1]) * _K
    value = float(text)
    return int(value) if text.strip("+- ").isdecimal() else value


def _read_whole_number(text: str) -> int:
    """Parse a whole number; k is 1024."""
    with suppress(ValueError):
        value = _read_number(text.lower())
        if isinstance(value, int):
            return value
    raise UserError(f"{text!r} is not readable: use a whole number, as in 2048 or 8k")


def _read_numbers(text: str) -> tuple[float, ...]:
    """Parse numbers separated by commas; k after a whole number is 1024."""
    try:
        return tuple(map(_read_number, text.lower().split(",")))
    except ValueError:
        raise UserError(f"{text!r} is not readable: use numbers, as in 1,8,32 or 2k,32k") from None


def _read_names(text: str) -> tuple[str, ...]:
    """Parse names separated by commas."""
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _read_path(text: str) -> Path:
    if not text:  # an empty path would be the current folder
        raise UserError("the file name is empty")
    return Path(text)


def _read_file_to_write(text: str) -> Path:
    path = _read_path(text)
    if path == STDOUT:
        raise UserError("- is not possible here: name a file")
    check_writable(path)
    return path


def _read_output(text: str) -> Path:
    return STDOUT if text == str(STDOUT) else _read_file_to_write(text)


def _read_trace_to_write(text: str) -> Path:
    from hsd_viz.trace.file import checked_name

    path = _read_file_to_write(text)
    checked_name(path)
    return path


#: Functions that parse values of types which do not parse text themselves.
_READERS: dict[Any, Callable[[str], Any]] = {
    Path: _read_path,
    FileToWrite: _read_file_to_write,
    Output: _read_output,
    TraceToWrite: _read_trace_to_write,
    Tokens: _read_whole_number,
    Sequence[float]: _read_numbers,
    # The users of these numbers check that they are whole.
    Sequence[int]: _read_numbers,
    Sequence[Tokens]: _read_numbers,
    Sequence[str]: _read_names,
}
