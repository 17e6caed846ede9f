"""The finished decodes of a bench in a file, from which a stopped bench resumes.

The file has a line of JSON for the bench, then one for each decode: its row, its prompt, its repeat
and what it measured. A line is written when its decode has ended; an unfinished last line, as of a
machine that went down, is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hsd_viz import disk
from hsd_viz.errors import BadFile, UserError
from hsd_viz.measure.bench.output import Output

#: What the first line says of the file.
FORMAT = "hsd-viz bench decodes 1"


class _Bench(msgspec.Struct):
    """The first line. ``facts``: what all decodes of a file have in common."""

    format: str
    facts: dict[str, Any]


class _Decode(msgspec.Struct):
    """A line of a decode."""

    row: str
    prompt: str
    repeat: int
    output: Output


class KeptDecodes:
    """The decodes of a bench that have ended, those of earlier runs of the command included.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        """Read the file, or begin it.

        Args:
            path: the file.
            facts: what must be the same for all decodes: the suite, settings, models and machine.

        Raises:
            BadFile: if the file has something else.
            UserError: if it is of another bench.
        """
        self.path = path
        self._outputs: dict[tuple[str, str, int], Output] = {}
        present = _Bench(FORMAT, msgspec.to_builtins(dict(facts)))
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
        """Return a decode that has ended, else ``None``."""
        return self._outputs.get((row, prompt, repeat))

    def add(self, row: str, prompt: str, repeat: int, output: Output) -> None:
        """Keep a decode that has ended."""
        self._write(_Decode(row, prompt, repeat, output))

    def _write(self, line: _Bench | _Decode) -> None:
        with disk.writing(self.path):
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()

    def _read(self, present: _Bench) -> int:
        """Read the decodes of the file; return the bytes of its whole lines."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        first, *lines = data[:whole].splitlines() or [b""]
        try:
            bench = msgspec.json.decode(first, type=_Bench)
            decodes = [msgspec.json.decode(line, type=_Decode) for line in lines]
        except msgspec.MsgspecError as error:
            raise BadFile(f"{self.path} is not a file of --resume: {error}") from None
        if bench.format != FORMAT:
            raise BadFile(f"{self.path} is not a file of --resume: its format is {bench.format!r}")
        _check_same(self.path, bench.facts, present.facts)
        for decode in decodes:
            self._outputs[decode.row, decode.prompt, decode.repeat] = decode.output
        return whole


def _check_same(path: Path, kept: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    """Raise a UserError with the first fact in which two benches differ."""
    for name in (*present, *kept):
        if kept.get(name) != present.get(name):
            raise UserError(
                f"{path} has decodes of another bench: its {name} is {kept.get(name)!r}, "
                f"not {present.get(name)!r}; choose another file for --resume"
            )
