"""Decodes that a bench has finished, kept on disk: the same command goes on where it was stopped.

A file of JSON lines: what the bench is about, then one line per decode, question left out or rival tuned. It is written to a
temporary name and renamed, so it is whole whenever it is there; a write takes a small share of the time between two writes, and
happens between decodes, never in one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from hsd_viz.bench.output import Answer, Output
from hsd_viz.bench.transformers_settings import Tuned
from hsd_viz.disk import write_whole
from hsd_viz.prompts.suites import Suite

#: Seconds between two writes at least, and the least ratio of that time to what a write takes.
PAUSE = 3.0
RATIO = 50
_FORMAT = "hsd-viz bench, unfinished"


class Checkpoint:
    """What a bench has done so far. ``path`` is where it is kept (``None``: nowhere); ``about`` says which bench it is.

    ``done`` maps (row, prompt) to the outputs of its repeats in order, ``left_out`` questions to reasons, ``tuned`` rows to settings.
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
        """What ``path`` holds; empty where there is no such file. Raises ``ValueError`` where it is of another bench or damaged."""
        found = cls(path, about)
        if not path.exists():
            return found
        try:
            head, *lines = path.read_text(encoding="utf-8").splitlines()
            kept = json.loads(head)
            if kept["format"] != _FORMAT:
                raise ValueError(kept["format"])
            theirs = dict(kept["about"])
            if theirs == json.loads(json.dumps(about)):
                for line in lines:
                    found._take(json.loads(line))
        except OSError as error:
            raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{path} is damaged, nothing can be resumed from it: start anew with --restart") from None
        if different := [
            name for name in {**theirs, **about} if theirs.get(name) != json.loads(json.dumps(about.get(name)))
        ]:
            raise ValueError(
                f"{path} keeps an unfinished bench of other {' and '.join(different)}: "
                "give the same command to go on with it, --restart to start anew, or another --json"
            )
        found._lines, found._written = lines, len(lines)
        return found

    def __len__(self) -> int:
        """Decodes that are kept."""
        return sum(map(len, self.done.values()))

    def add(self, row: str, prompt: str, output: Output) -> None:
        """A decode is over."""
        self.done.setdefault((row, prompt), []).append(output)
        self._keep({"row": row, "prompt": prompt, "output": dataclasses.asdict(output)})

    def leave_out(self, prompt: str, why: str) -> None:
        """A question does not fit."""
        self.left_out[prompt] = why
        self._keep({"left_out": prompt, "why": why})

    def tune(self, row: str, found: Tuned) -> None:
        """The settings of a rival's row are known."""
        self.tuned[row] = found
        self._keep({"tuned": row, "found": dataclasses.asdict(found)})

    def flush(self) -> None:
        """Write what was not written yet."""
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
        """The bench is complete or starts anew."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _keep(self, line: dict[str, Any]) -> None:
        if self.path is None:
            return
        self._lines.append(json.dumps(line))
        if self._clock() >= self._next:
            self.flush()

    def _take(self, line: dict[str, Any]) -> None:
        if "tuned" in line:
            found = line["found"]
            tried = tuple((settings, speed) for settings, speed in found["tried"])
            self.tuned[line["tuned"]] = Tuned(found["settings"], tried, tuple(found["prompts"]))
        elif "left_out" in line:
            self.left_out[line["left_out"]] = line["why"]
        else:
            self.done.setdefault((line["row"], line["prompt"]), []).append(_output(line["output"]))


def beside(report: Path) -> Path:
    """Where the unfinished bench of a report is kept."""
    return report.with_name(report.name + ".partial")


def fingerprint(suite: Suite) -> dict[str, Any]:
    """A suite in few words that no other suite shares."""
    texts = json.dumps([[p.id, p.category, p.text, p.turns] for p in suite.prompts])
    return {"name": suite.name, "prompts": len(suite.prompts), "sha256": hashlib.sha256(texts.encode()).hexdigest()}


def _output(data: dict[str, Any]) -> Output:
    lists: Sequence[str] = ("token_ids", "emitted")
    turns = tuple(Answer(t["text"], _output(t["output"])) for t in data["turns"])
    times = data["draft_seconds"]
    return Output(
        **{
            **data,
            **{name: tuple(data[name]) for name in lists},
            "turns": turns,
            "draft_seconds": None if times is None else tuple(times),
        }
    )
