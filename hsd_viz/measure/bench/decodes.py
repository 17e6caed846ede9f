"""A file with the finished decodes of a bench, from which a stopped bench resumes.

The file has one line of JSON for the bench, then one per decode: its row, its prompt, its repeat
and its output. A line is written when its decode has ended. An incomplete last line, as after a
crash of the machine, is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hsd_viz import disk
from hsd_viz.errors import BadFile, UserError
from hsd_viz.measure.bench.output import Output
from hsd_viz.settings.spelling import spelled

#: Format identifier in the first line.
FORMAT = "hsd-viz bench decodes 1"


class _Header(msgspec.Struct):
    """The first line. ``facts`` are common to all decodes of the file."""

    format: str
    facts: dict[str, Any]


class _Decode(msgspec.Struct):
    """The line of a decode."""

    row: str
    prompt: str
    repeat: int
    output: Output


class KeptDecodes:
    """The finished decodes of a bench, including those of earlier runs of the command.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        """Read the file, or create it.

        Args:
            path: the file.
            facts: the facts that must be equal for all decodes: suite, settings, models and
            machine.

        Raises:
            BadFile: if the file has other content.
            UserError: if the file is of another bench.
        """
        self.path = path
        self._outputs: dict[tuple[str, str, int], Output] = {}
        present = _Header(FORMAT, msgspec.to_builtins(dict(facts)))
        with disk.writing(path):
            whole = self._read(present) if path.exists() and path.stat().st_size else 0
            self._file = path.open("r+b" if whole else "wb")
            self._file.truncate(whole)
            self._file.seek(whole)
        if not whole:
            self._write(present)

    def __enter__(self) -> KeptDecodes:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def get(self, row: str, prompt: str, repeat: int) -> Output | None:
        """Return a finished decode; ``None``: it is not in the file."""
        return self._outputs.get((row, prompt, repeat))

    def add(self, row: str, prompt: str, repeat: int, output: Output) -> None:
        """Store a finished decode."""
        self._write(_Decode(row, prompt, repeat, output))

    def _write(self, line: _Header | _Decode) -> None:
        with disk.writing(self.path):
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()

    def _read(self, present: _Header) -> int:
        """Read the decodes of the file; return the size of its complete lines in bytes."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        first, *lines = data[:whole].splitlines() or [b""]
        try:
            header = msgspec.json.decode(first, type=_Header)
            decodes = [msgspec.json.decode(line, type=_Decode) for line in lines]
        except msgspec.MsgspecError as error:
            raise BadFile(f"{self.path} is not a file of {spelled('resume')}: {error}") from None
        if header.format != FORMAT:
            raise BadFile(
                f"{self.path} is not a file of {spelled('resume')}: its format is {header.format!r}"
            )
        _check_same(self.path, header.facts, present.facts)
        for decode in decodes:
            self._outputs[decode.row, decode.prompt, decode.repeat] = decode.output
        return whole


def _check_same(path: Path, kept: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    """Raise a UserError that names the first fact in which two benches differ."""
    for name in (*present, *kept):
        if kept.get(name) != present.get(name):
            raise UserError(
                f"{path} has decodes of another bench: its {name} is {kept.get(name)!r}, "
                f"not {present.get(name)!r}; choose another file for {spelled('resume')}"
            )
