"""The finished decodes of a bench on disk, so that the same command resumes where it stopped.

A file of JSON lines: the identity of the bench, then one line per decode, omitted question or tuned baseline. It is
replaced atomically, so it is always complete; a write takes a small share of the time between two writes, and happens
between decodes, never during one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

from hsd_viz.bench.output import Output, Tuned
from hsd_viz.disk import write_whole
from hsd_viz.prompts.suites import Suite
from hsd_viz.serialize import from_dict, to_dict

#: Minimum seconds between two writes, and minimum ratio of that time to the time of a write.
PAUSE = 3.0
RATIO = 50
_FORMAT = "hsd-viz bench, unfinished"


class Checkpoint:
    """The progress of a bench. ``path``: its file (``None``: not stored); ``about`` identifies the bench.

    ``done`` maps (row, prompt) to the outputs of its repeats in order, ``left_out`` questions to reasons, ``tuned``
    rows to settings.
    """

    def __init__(
        self, path: Path | None = None, about: dict[str, Any] | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self.path = path
        self.about = about or {}
        self.done: dict[tuple[str, str], list[Output]] = {}
        self.left_out: dict[str, str] = {}
        self.tuned: dict[str, Tuned] = {}
        self._lines: list[str] = []
        self._clock = clock
        self._next = clock() + PAUSE
        self._written = 0

    @classmethod
    def resume(cls, path: Path, about: dict[str, Any]) -> Checkpoint:
        """Read ``path`` if it exists. Raises: ValueError: if it belongs to another bench or is damaged."""
        found = cls(path, about)
        if not path.exists():
            return found
        wanted = json.loads(json.dumps(about))
        try:
            head, *lines = path.read_text(encoding="utf-8").splitlines()
            head = json.loads(head)
            if head["format"] != _FORMAT:
                raise ValueError(head["format"])
            stored = dict(head["about"])
            if "tune_rivals" in (settings := stored.get("settings", {})):  # the name in older files
                settings["tune_baselines"] = settings.pop("tune_rivals")
            if stored == wanted:
                for line in lines:
                    found._read(json.loads(line))
        except OSError as error:
            raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{path} is damaged and cannot be resumed: start again with --restart") from None
        if different := [name for name in {**stored, **wanted} if stored.get(name) != wanted.get(name)]:
            raise ValueError(
                f"{path} holds an unfinished bench of other {' and '.join(different)}: "
                "give the same command to resume it, --restart to start again, or another --json"
            )
        found._lines, found._written = lines, len(lines)
        return found

    def __len__(self) -> int:
        """The number of stored decodes."""
        return sum(map(len, self.done.values()))

    def add(self, row: str, prompt: str, output: Output) -> None:
        """Store a decode."""
        self.done.setdefault((row, prompt), []).append(output)
        self._append({"row": row, "prompt": prompt, "output": to_dict(output)})

    def leave_out(self, prompt: str, why: str) -> None:
        """Store that a question does not fit the context."""
        self.left_out[prompt] = why
        self._append({"left_out": prompt, "why": why})

    def tune(self, row: str, found: Tuned) -> None:
        """Store the settings that were found for a row."""
        self.tuned[row] = found
        self._append({"tuned": row, "found": to_dict(found)})

    def flush(self) -> None:
        """Write the file if anything is new. Raises: ValueError: if it cannot be written."""
        if self.path is None or self._written == len(self._lines):
            return
        started = self._clock()
        head = json.dumps({"format": _FORMAT, "about": self.about})
        try:
            write_whole(self.path, "\n".join([head, *self._lines, ""]))
        except OSError as error:
            raise ValueError(f"cannot write {self.path}: {error.strerror or error}") from None
        self._written = len(self._lines)
        ended = self._clock()
        self._next = ended + max(PAUSE, RATIO * (ended - started))

    def remove(self) -> None:
        """Delete the file: the bench is complete or restarts."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _append(self, line: dict[str, Any]) -> None:
        if self.path is None:
            return
        self._lines.append(json.dumps(line))
        if self._clock() >= self._next:
            self.flush()

    def _read(self, line: dict[str, Any]) -> None:
        if "tuned" in line:
            self.tuned[line["tuned"]] = from_dict(Tuned, line["found"])
        elif "left_out" in line:
            self.left_out[line["left_out"]] = line["why"]
        else:
            self.done.setdefault((line["row"], line["prompt"]), []).append(from_dict(Output, line["output"]))


def beside(report: Path) -> Path:
    """Return the file in which an unfinished bench with this report is stored."""
    return report.with_name(report.name + ".partial")


def fingerprint(suite: Suite) -> dict[str, Any]:
    """Return a short identity of a suite and its texts."""
    texts = json.dumps([[p.id, p.category, p.text, p.turns] for p in suite.prompts])
    return {"name": suite.name, "prompts": len(suite.prompts), "sha256": hashlib.sha256(texts.encode()).hexdigest()}
