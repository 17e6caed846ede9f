"""The finished decodes of a bench, in a journal, so that the same command resumes where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hsd_viz.bench.output import Output
from hsd_viz.disk import Journal
from hsd_viz.prompts.suites import Suite
from hsd_viz.serialize import from_dict, to_dict


class Checkpoint:
    """The progress of a bench. ``done`` maps (row, prompt) to the outputs of its repeats in order, ``left_out``
    questions that do not fit the context to reasons. Raises: ValueError: as :class:`~hsd_viz.disk.Journal`.
    """

    def __init__(self, path: Path | None = None, about: Mapping[str, Any] | None = None) -> None:
        self.journal = Journal(path, about)
        self.done: dict[tuple[str, str], list[Output]] = {}
        self.left_out: dict[str, str] = {}
        try:
            for entry in self.journal.entries:
                if "left_out" in entry:
                    self.left_out[entry["left_out"]] = entry["why"]
                else:
                    output = from_dict(Output, entry["output"])
                    self.done.setdefault((entry["row"], entry["prompt"]), []).append(output)
        except (KeyError, TypeError):
            raise ValueError(f"{path} is damaged and cannot be resumed: start again with --restart") from None

    def __len__(self) -> int:
        """The number of stored decodes."""
        return sum(map(len, self.done.values()))

    def add(self, row: str, prompt: str, output: Output) -> None:
        """Store a decode."""
        self.done.setdefault((row, prompt), []).append(output)
        self.journal.add({"row": row, "prompt": prompt, "output": to_dict(output)})

    def leave_out(self, prompt: str, why: str) -> None:
        """Store that a question does not fit the context."""
        self.left_out[prompt] = why
        self.journal.add({"left_out": prompt, "why": why})

    def remove(self) -> None:
        """Delete the file: the bench is complete or restarts."""
        self.journal.remove()


def fingerprint(suite: Suite) -> dict[str, Any]:
    """Return a short identity of a suite and its texts."""
    texts = json.dumps([[p.id, p.category, p.text, p.turns] for p in suite.prompts])
    return {"name": suite.name, "prompts": len(suite.prompts), "sha256": hashlib.sha256(texts.encode()).hexdigest()}
