"""What a file has said so far: settings, speeds of neighbouring lines, the last cumulative
counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hsd_viz.errors import BadFile
from hsd_viz.records.forms import Form
from hsd_viz.records.sample import MOST_COUNT, Sample

#: A number in a line of a log.
NUMBER = r"([\d.]+|nan)"
Notes = TypeVar("Notes")
#: Characters of a damaged number in a message.
MOST_DIGITS = 40


@dataclass(slots=True)
class Context:
    """The state of one file.

    Attributes:
        line: the present line.
        clock: its time as it is written, "" without one.
        versions: the version of an engine that the file names.
        model: the model that the file names.
        method: the drafter that the file names, by its name here.
        draft_model: the model of the drafter that the file names.
        draft_length: the configured number of draft tokens.
        speed: tokens per second of all requests, of the line before.
        running: running requests, of the line before.
        notes: what each reader keeps, by the class of its notes.
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
        """Return speed and running requests of the line before, and forget them."""
        speed = self.speed
        running = self.running
        self.speed = None
        self.running = None
        return speed, running

    def notes_of(self, kind: type[Notes]) -> Notes:
        """Return the notes of a reader: a value of its class, empty at the start of a file."""
        notes = self.notes.get(kind)
        if not isinstance(notes, kind):
            notes = kind()
            self.notes[kind] = notes
        return notes


@dataclass(frozen=True, slots=True)
class LinePattern:
    """A line of a log.

    Attributes:
        form: the form that it belongs to; ``None``: it only changes the context.
        regex: searched in the line.
        read: returns the sample of a match, ``None`` where it only changes the context.
        single: whether a line is one request.
    """

    form: Form | None
    regex: re.Pattern[str]
    read: Callable[[re.Match[str], Context], Sample | None]
    single: bool = False


@dataclass(frozen=True, slots=True)
class SampleCompletion:
    """What a whole file adds to each sample of an engine.

    Attributes:
        engine: the engine.
        complete: returns the samples with what is added.
        form: the form of the samples; ``None``: all forms of the engine.
    """

    engine: str
    complete: Callable[[Sequence[Sample], Context], list[Sample]]
    form: Form | None = None

    def applies_to(self, form: Form) -> bool:
        """Return whether samples of this form are completed."""
        return form.engine == self.engine and self.form in (None, form)


def _no_remarks(_context: Context) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Finisher:
    """What only a whole file shows: records whose end is not marked, or that lines add up to.

    Attributes:
        form: the form of these records.
        read: returns their samples.
        remarks: returns what is to be said of them.
        single: whether each sample is one request.
        counted: whether the samples count as records of the form.
        instead_of: the forms whose records say more: it is left out where the file has one.
    """

    form: Form
    read: Callable[[Context], list[Sample]]
    remarks: Callable[[Context], list[str]] = _no_remarks
    single: bool = False
    counted: bool = True
    instead_of: tuple[Form, ...] = ()


def note_model(match: re.Match[str], context: Context) -> None:
    """Note the served model, which a line names."""
    context.model = match[1]


def note_draft_model(match: re.Match[str], context: Context) -> None:
    """Note the model of the drafter, which a line names."""
    context.draft_model = match[1]


def number(text: str | None) -> float | None:
    """Return a number as it is written, ``None`` for none and for nan.

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
        raise BadFile(f"damaged: {text[:MOST_DIGITS]!r} is not a number") from None
    if not -MOST_COUNT <= value <= MOST_COUNT:
        raise BadFile(f"damaged: the number {text[:MOST_DIGITS]!r} is out of range")
    return value


def numbers(text: str) -> tuple[float, ...]:
    """Return the numbers of a list as it is written: ``0.8, 0.6``.

    Raises:
        BadFile: if one is damaged.
    """
    return tuple(figure(part) for part in text.split(",") if part.strip())
