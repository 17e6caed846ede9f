"""Recorded decodes: the traces that come with the package, and an engine that replays them. Needs no torch.

A replay shows what a real run did, at the speed at which it did it; nothing is computed and nothing is made up.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hsd_viz.trace import (
    CallRow,
    DraftRow,
    Event,
    Finished,
    RoundRow,
    Stage,
    Started,
    Step,
    TokenRow,
    Trace,
    TraceError,
)
from hsd_viz.trace.metrics import target_round_of

TRACES = Path(__file__).resolve().parent.parent / "traces"
#: Folders of recordings of one prompt each, to lay side by side.
SIDE_BY_SIDE = TRACES / "side_by_side"


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded trace that comes with the package: its name, its file, a title, a sentence about it, and its stack."""

    name: str
    file: str
    title: str
    blurb: str
    stack: str


def bundled(folder: Path = TRACES) -> list[Recording]:
    """The recordings in a folder, in the order of its ``index.json``; empty where there is no index.

    Raises :class:`~hsd_viz.trace.TraceError` when the index is broken.
    """
    index = folder / "index.json"
    if not index.is_file():
        return []
    try:
        rows = json.loads(index.read_text(encoding="utf-8"))
        return [Recording(*(str(row[key]) for key in Recording.__slots__)) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TraceError(f"the list of recorded traces {index} is broken: {type(error).__name__} at {error}") from None


def side_by_side(folder: Path = SIDE_BY_SIDE) -> dict[str, list[Recording]]:
    """The groups of recordings of one prompt each, by name: a folder in ``folder`` is a group. Raises as :func:`bundled`."""
    folders = sorted(p for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
    return {p.name: found for p in folders if (found := bundled(p))}


def load_bundled(name: str, folder: Path = TRACES) -> Trace:
    """The recorded trace of that name. Names come from :func:`bundled`, never from a path.

    Raises :class:`~hsd_viz.trace.TraceError` for an unknown name.
    """
    for recording in bundled(folder):
        if recording.name == name:
            return Trace.load(folder / Path(recording.file).name)
    known = ", ".join(r.name for r in bundled(folder)) or "none are installed"
    raise TraceError(f"there is no recorded trace {name!r}: {known}")


def steps(trace: Trace) -> list[Step]:
    """The steps of a trace, as they came when it was recorded: one for each target round, those of lower levels inside it."""
    owner = target_round_of(trace.round_rows)
    order = [r.id for r in trace.round_rows if r.parent is None]
    tokens: dict[int, list[TokenRow]] = {r: [] for r in order}
    drafts: dict[int, list[DraftRow]] = {r: [] for r in order}
    rounds: dict[int, list[RoundRow]] = {r: [] for r in order}
    calls: dict[int, list[CallRow]] = {r: [] for r in order}
    for row in trace.token_rows:
        tokens[row.round].append(row)
    for row in trace.draft_rows:
        drafts[owner[row.round]].append(row)
    for row in trace.round_rows:
        rounds[owner[row.id]].append(row)
    for row in trace.call_rows:
        # Prefill belongs to no round; it came before the first.
        at = owner.get(row.round, order[0] if order else None)
        if at is not None:
            calls[at].append(row)
    known = dict(trace.pieces)
    out = []
    for r in order:
        out.append(Step(tokens[r], drafts[r], rounds[r], calls[r], known))
        known = {}
    return out


class ReplayEngine:
    """An engine that decodes only what was recorded. ``pace`` 1 replays at the recorded speed, 2 twice as fast, 0 at once."""

    def __init__(self, folder: Path = TRACES, pace: float = 1.0) -> None:
        if pace < 0:
            raise ValueError(f"the pace {pace:g} is out of range: it is 0 (at once) or a speed above it")
        self._folder, self._pace = folder, pace

    def decode(
        self,
        prompt: str,
        stack: str = "target",
        *,
        max_new_tokens: int | None = None,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        record: bool = True,
        chat: bool = False,
    ) -> Iterator[Event]:
        """Replay the recording of this prompt with this stack and sampling, all of it, whatever ``max_new_tokens`` says.

        Raises ``ValueError`` when there is none: without torch nothing new can be decoded.
        """
        wanted = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
        for recording in bundled(self._folder):
            if recording.stack != stack:
                continue
            trace = load_bundled(recording.name, self._folder)
            same = all(trace.meta.get("sampling", {}).get(k) == v for k, v in wanted.items())
            if trace.meta.get("prompt") == prompt and trace.meta.get("chat", False) == chat and same:
                return self.replay(trace)
        raise ValueError(
            "nothing was recorded for this prompt, stack and sampling, and decoding anew needs torch: "
            "pip install 'hsd-viz[models]', or pick a recorded trace"
        )

    def run(self, prompt: str, stack: str = "target", **options: Any) -> Trace:
        """Replay to the end at once and return the trace."""
        pace, self._pace = self._pace, 0
        try:
            for event in self.decode(prompt, stack, **options):
                if isinstance(event, Finished):
                    return event.trace
        finally:
            self._pace = pace
        raise AssertionError("a replay ends with Finished")

    def replay(self, trace: Trace) -> Iterator[Event]:
        """The events of a trace, at this engine's pace."""
        yield Stage("replaying a recording")
        yield Started(trace.meta, {i: trace.pieces[i] for i in trace.meta.get("prompt_ids", []) if i in trace.pieces})
        begun, first = time.perf_counter(), None
        for step in steps(trace):
            own = step.rounds[-1]
            first = own.start_ns if first is None else first
            if self._pace:
                due = (own.start_ns - first + own.duration_ns) / 1e9 / self._pace
                time.sleep(max(0.0, due - (time.perf_counter() - begun)))
            yield step
        yield Finished(trace)
