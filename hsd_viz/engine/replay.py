"""Recorded decodes: the bundled traces, and an engine that replays them at the recorded speed. Imports no torch."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Unpack

from hsd_viz.calibration.basis import Basis, estimated, machine_and_day, temperature_words
from hsd_viz.decoding.engine import Engine, Options, with_defaults
from hsd_viz.serialize import from_dict
from hsd_viz.stack import Stack
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace, TraceError
from hsd_viz.trace.metrics import target_round_of
from hsd_viz.trace.tables import TABLES
from hsd_viz.words import card, check_range, counted, did_you_mean, table

TRACES = Path(__file__).resolve().parent.parent / "traces"
#: The temperature of the recordings that :func:`recorded` reads, of the form and of the examples.
TEMPERATURE = 0.7
#: Recordings with more repetition than this are excluded.
LOOP = 0.75
#: Each folder in it holds recordings of one prompt with several stacks.
SIDE_BY_SIDE = TRACES / "side_by_side"


@dataclass(frozen=True, slots=True)
class Recording:
    """A bundled trace: name, file, title, one-sentence description, stack, and speed-up over plain decoding.
    ``speedup`` is ``None`` for plain decoding itself and where it was not measured.
    """

    name: str
    file: str
    title: str
    blurb: str
    stack: str
    speedup: float | None = None

    @property
    def label(self) -> str:
        """The title with the measured speed-up; a run that loses is named as such."""
        if self.speedup is None:
            return self.title
        return f"{self.title} ({self.speedup:.2f}×{', slower than plain decoding' * (self.speedup < 1)})"


def bundled(folder: Path = TRACES) -> list[Recording]:
    """Return the recordings in a folder, in the order of its ``index.json``; an empty list without an index. Raises
    :class:`~hsd_viz.trace.TraceError` if the index is invalid.
    """
    index = folder / "index.json"
    if not index.is_file():
        return []
    try:
        return [from_dict(Recording, row) for row in json.loads(index.read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TraceError(f"the list of recorded traces {index} is invalid: {type(error).__name__} at {error}") from None


def side_by_side(folder: Path = SIDE_BY_SIDE) -> dict[str, list[Recording]]:
    """Return the recordings of each subfolder of ``folder`` by its name. Raises as :func:`bundled`."""
    folders = sorted(p for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
    return {p.name: found for p in folders if (found := bundled(p))}


def load_bundled(name: str, folder: Path = TRACES) -> Trace:
    """Return the recorded trace of that name (a name of :func:`bundled`, not a path). Raises
    :class:`~hsd_viz.trace.TraceError` for an unknown name.
    """
    recordings = {r.name: r for r in bundled(folder)}
    if name in recordings:
        return Trace.load(folder / Path(recordings[name].file).name)
    known = f"use one of {', '.join(recordings)}" if recordings else "none are installed"
    raise TraceError(f"no recorded trace is named {name!r}: {known}{did_you_mean(name, recordings)}")


def recorded() -> Basis:
    """Estimate a calibration from the bundled recordings of the usual temperature, without highly repetitive ones. They
    are short and few, and some were selected for what they show: enough to show how the law works, not to rank stacks
    on another machine. Raises: ValueError: if no recordings are installed.
    """
    loaded = [load_bundled(r.name) for r in bundled()]
    traces = [
        t for t in loaded if t.meta["sampling"]["temperature"] == TEMPERATURE and t.metrics()["repetition_share"] < LOOP
    ]
    if not traces:
        raise ValueError("no recordings are installed: measure a calibration with 'hsd-viz plan'")
    tokens = sum(len(t) for t in traces)
    repeated = sum(t.metrics()["repetition_share"] * len(t) for t in traces) / tokens
    prompts = counted(len({t.meta.get("prompt") for t in traces}), "prompt")
    words = (
        f"estimated from {len(traces)} short recorded runs of {prompts}, {temperature_words(TEMPERATURE)}, on "
        f"{machine_and_day(traces[0])} ({counted(tokens, 'token')}, {repeated:.0%} repeated)"
    )
    return estimated(traces, words)


def steps(trace: Trace) -> list[Step]:
    """Return the steps of a trace as recorded: one per target round, including the rounds of lower levels."""
    owner = target_round_of(trace.round_rows)
    found = {
        number: {name: table.columns_of(()) for name, table in TABLES.items()}
        for number in dict.fromkeys(owner.values())
    }
    first = next(iter(found), None)  # prefill has no round: it precedes the first
    for name, columns in trace.columns.items():
        places = [owner.get(number, first) for number in columns["id" if name == "rounds" else "round"]]
        for column, values in columns.items():
            for place, value in zip(places, values, strict=True):
                if place is not None:
                    found[place][name][column].append(value)
    made = [(tables, trace.pieces if number == first else {}) for number, tables in found.items()]
    return [Step(partial(tuple, pair)) for pair in made]


class ReplayEngine(Engine):
    """Replay recorded decodes. ``pace`` 1 replays at the recorded speed, 2 twice as fast, 0 without waiting."""

    def __init__(self, folder: Path = TRACES, pace: float = 1.0) -> None:
        check_range("the pace", pace, 0.0)
        self._folder, self._pace = folder, pace

    def _repr_html_(self) -> str:
        """Return the recordings for a notebook."""
        rows = [(r.name, r.stack, r.title) for r in bundled(self._folder)]
        return card("Replay engine", f"pace {self._pace:g}", table(("recording", "stack", "title"), rows))

    def decode(
        self, prompt: str | Sequence[int], stack: str | Stack = "target", **options: Unpack[Options]
    ) -> Iterator[Event]:
        """Replay the whole recording of this prompt with this stack and sampling; the other options have no effect.
        Raises: ValueError: if there is none.
        """
        asked = with_defaults(options)
        wanted = {name: asked[name] for name in ("temperature", "top_k", "top_p", "seed")}  # type: ignore[literal-required]
        for recording in bundled(self._folder):
            if recording.stack != str(stack):
                continue
            trace = load_bundled(recording.name, self._folder)
            same = all(trace.meta.get("sampling", {}).get(k) == v for k, v in wanted.items())
            if trace.meta.get("prompt") == prompt and trace.meta.get("chat", False) == asked["chat"] and same:
                return self.replay(trace)
        raise ValueError(
            "nothing was recorded for this prompt, stack and sampling, and a new decode needs torch: "
            "pip install 'hsd-viz[models]', or choose a recorded trace"
        )

    def run(self, prompt: str | Sequence[int], stack: str | Stack = "target", **options: Unpack[Options]) -> Trace:
        """Replay to the end without waiting and return the trace."""
        return Engine.run(ReplayEngine(self._folder, pace=0), prompt, stack, **options)

    def replay(self, trace: Trace) -> Iterator[Event]:
        """Yield the events of a trace at this engine's pace."""
        yield Stage("replaying a recording")
        yield Started(trace.meta, {i: trace.pieces[i] for i in trace.meta.get("prompt_ids", []) if i in trace.pieces})
        begun, first = time.perf_counter(), None
        for step in steps(trace):
            own = step.round_rows[-1]
            first = own.start_ns if first is None else first
            if self._pace:
                due = (own.start_ns - first + own.duration_ns) / 1e9 / self._pace
                time.sleep(max(0.0, due - (time.perf_counter() - begun)))
            yield step
        yield Finished(trace)
