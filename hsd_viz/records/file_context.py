"""The state of a file while it is read: settings, speeds of neighbouring lines, and the last
cumulative counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hsd_viz.errors import BadFile
from hsd_viz.records.forms import Form
from hsd_viz.records.sample import MAX_COUNT, Sample

#: Pattern of a number in a line of a log.
NUMBER = r"([\d.]+|nan)"
Notes = TypeVar("Notes")
#: Maximum length of a damaged number in a message, in characters.
MAX_DIGITS = 40


@dataclass(slots=True)
class Context:
    """The state of one file.

    Attributes:
        line: the number of the present line.
        clock: the time of the line, as written; "": none.
        versions: the versions of engines that the file states.
        model: the served model that the file names.
        method: the drafter that the file names, by its name in this package.
        draft_model: the model of the drafter that the file names.
        draft_length: the configured number of draft tokens.
        speed: the tokens per second of all requests, from the previous line.
        running: the number of running requests, from the previous line.
        notes: the notes of readers, by the class of the notes.
    """

    line: int = 0
    clock: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    model: str = ""
    method: str | None = None
    draft_model: str = ""
    draft_length: int | None = None
    speed: float | None = None
    running: float | None = None
    notes: dict[type, object] = field(default_factory=dict)

    def take_speed(self) -> tuple[float | None, float | None]:
        """Return and clear the speed and the running requests of the previous line."""
        speed = self.speed
        running = self.running
        self.speed = None
        self.running = None
        return speed, running

    def notes_of(self, kind: type[Notes]) -> Notes:
        """Return the notes of a reader, an instance of ``kind`` that is empty at the start."""
        notes = self.notes.get(kind)
        if not isinstance(notes, kind):
            notes = kind()
            self.notes[kind] = notes
        return notes


@dataclass(frozen=True, slots=True)
class LinePattern:
    """A pattern of log lines.

    Attributes:
        form: the form of the lines; ``None``: they only change the context.
        regex: the regular expression to search in a line.
        read: the function that returns the sample of a match; ``None``: it only changes the
            context.
        single: whether a line is one request.
    """

    form: Form | None
    regex: re.Pattern[str]
    read: Callable[[re.Match[str], Context], Sample | None]
    single: bool = False


@dataclass(frozen=True, slots=True)
class StatisticsObject:
    """A JSON object of statistics that are not of one request.

    Attributes:
        form: the form that it belongs to.
        mark: the field by which it is recognized.
        read: returns its sample, ``None`` where it has no counts.
    """

    form: Form
    mark: str
    read: Callable[[Mapping[str, Any]], Sample | None]


@dataclass(frozen=True, slots=True)
class SampleCompletion:
    """A completion of an engine's samples by facts of the whole file.

    Attributes:
        engine: the name of the engine.
        complete: the function that returns the completed samples.
        form: the form of the samples; ``None``: all forms of the engine.
    """

    engine: str
    complete: Callable[[Sequence[Sample], Context], list[Sample]]
    form: Form | None = None

    def applies_to(self, form: Form) -> bool:
        """Return whether the completion applies to samples of a form."""
        return form.engine == self.engine and self.form in (None, form)


def _no_remarks(_context: Context) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Finisher:
    """A reader of records that are complete only at the end of the file: their end is not marked,
    or several lines form them.

    Attributes:
        form: the form of these records.
        read: the function that returns their samples.
        remarks: the function that returns remarks on them.
        single: whether each sample is one request.
        counted: whether the samples count as records of the form.
        instead_of: more detailed forms; if the file has one of them, this reader is skipped.
    """

    form: Form
    read: Callable[[Context], list[Sample]]
    remarks: Callable[[Context], list[str]] = _no_remarks
    single: bool = False
    counted: bool = True
    instead_of: tuple[Form, ...] = ()


def note_model(match: re.Match[str], context: Context) -> None:
    """Store the served model that a line names."""
    context.model = match[1]


def note_draft_model(match: re.Match[str], context: Context) -> None:
    """Store the model of the drafter that a line names."""
    context.draft_model = match[1]


def number(text: str | None) -> float | None:
    """Parse a number; ``None`` for a missing one and for nan.

    Raises:
        BadFile: if it is damaged.
    """
    if text is None or text.strip().lower() in ("", "nan", "none", "null", "-"):
        return None
    return figure(text.replace(",", ""))


def figure(text: str) -> float:
    """Return a number that must be there.

    Raises:
        BadFile: if it is damaged.
    """
    try:
        value = float(text)
    except ValueError:
        raise BadFile(f"damaged: {text[:MAX_DIGITS]!r} is not a number") from None
    if not -MAX_COUNT <= value <= MAX_COUNT:
        raise BadFile(f"damaged: the number {text[:MAX_DIGITS]!r} is out of range")
    return value


def numbers(text: str) -> tuple[float, ...]:
    """Parse a list of numbers such as ``0.8, 0.6``.

    Raises:
        BadFile: if a number is damaged.
    """
    return tuple(figure(part) for part in text.split(",") if part.strip())
