"""The finished decodes of a bench on disk, so that the same command resumes where it stopped.

A journal of JSON lines: the identity of the bench, then one line per decode, omitted question or tuned baseline. A line
is appended between decodes, never during one; a last line that a crash has cut off is dropped when the file is read.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from hsd_viz.bench.output import Output, Tuned
from hsd_viz.disk import write_whole, writing
from hsd_viz.prompts.suites import Suite
from hsd_viz.serialize import from_dict, to_dict

_FORMAT = "hsd-viz bench, unfinished"


class Checkpoint:
    """The progress of a bench. ``path``: its file (``None``: not stored); ``about`` identifies the bench. ``done`` maps
    (row, prompt) to the outputs of its repeats in order, ``left_out`` questions to reasons, ``tuned`` rows to
    settings.
    """

    def __init__(self, path: Path | None = None, about: dict[str, Any] | None = None) -> None:
        self.path = path
        self.about = about or {}
        self.done: dict[tuple[str, str], list[Output]] = {}
        self.left_out: dict[str, str] = {}
        self.tuned: dict[str, Tuned] = {}

    @classmethod
    def resume(cls, path: Path, about: dict[str, Any]) -> Checkpoint:
        """Read ``path`` if it exists. Raises: ValueError: if it belongs to another bench or is damaged."""
        found = cls(path, about)
        if not path.exists():
            return found
        wanted = json.loads(json.dumps(about))
        try:
            text = path.read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1]
            head, *lines = map(json.loads, whole.splitlines())
            if head["format"] != _FORMAT:
                raise ValueError(head["format"])
            stored = dict(head["about"])
            if "tune_rivals" in (settings := stored.get("settings", {})):  # the name in older files
                settings["tune_baselines"] = settings.pop("tune_rivals")
            if stored == wanted:
                for line in lines:
                    found._read(line)
                if whole != text:
                    write_whole(path, whole)
        except OSError as error:
            raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{path} is damaged and cannot be resumed: start again with --restart") from None
        if different := [name for name in {**stored, **wanted} if stored.get(name) != wanted.get(name)]:
            raise ValueError(
                f"{path} holds an unfinished bench of other {' and '.join(different)}: "
                "give the same command to resume it, --restart to start again, or another --json"
            )
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

    def remove(self) -> None:
        """Delete the file: the bench is complete or restarts."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _append(self, line: dict[str, Any]) -> None:
        """Append a line to the file. Raises: ValueError: if it cannot be written."""
        if self.path is None:
            return
        lines = [line] if self.path.exists() else [{"format": _FORMAT, "about": self.about}, line]
        with writing(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{json.dumps(line)}\n" for line in lines))

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
