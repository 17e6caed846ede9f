"""Compare two or three runs of one prompt: aligned texts, a race with recorded times, and metrics."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import traitlets

from hsd_viz.engine import Engine
from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled, side_by_side
from hsd_viz.stack import parse
from hsd_viz.trace import Event, Finished, Stage, Trace
from hsd_viz.views import presets
from hsd_viz.views.doors import Given, View, trace_of
from hsd_viz.views.linked import page_palette
from hsd_viz.views.readout import sampling_words
from hsd_viz.views.versus_data import (
    LETTERS,
    MOST,
    agreement,
    count_refusal,
    facts,
    machine_note,
    refusal,
    run_of,
    stack_of,
)
from hsd_viz.views.versus_draws import draws
from hsd_viz.views.versus_table import doubt, table

_WORDS = dict(presets.STACKS)
#: Stacks to compare, by name: plain, the two published methods, and this project's.
SIDES = {
    "plain": "target",
    "published": "hd > target",
    "databases": "db > target",
    "hierarchy": "nano:4 > small:8 > target",
    "both": "db > nano:4 > small:8 > target",
}
#: Initial selection.
OPENING = ("plain", "databases", "both")
#: Untimed tokens decoded first with each stack.
WARM_UP = 8


def side(name: str) -> str:
    """Return the stack named in :data:`SIDES`; any other text is returned as a stack."""
    return SIDES.get(name.strip(), name)


def words(stack: str) -> str:
    """Return a preset stack's description, or ""."""
    return _WORDS.get(stack, "")


def decode_each(
    engine: Engine, prompt: str | Sequence[int], stacks: Sequence[str], *, warm_up: int = WARM_UP, **options: Any
) -> Iterator[tuple[int, Event]]:
    """Decode one prompt with two or three stacks in turn; yield (index of the stack, event).

    ``stacks`` are stacks or names of :data:`SIDES`, ``options`` those of :meth:`hsd_viz.engine.base.Engine.decode`, the
    same for all. ``warm_up`` tokens are decoded and discarded before each run (0: none), to exclude one-time costs. All
    stacks are checked before the first event; closing the iterator cancels. Raises: ValueError: for another number of
    stacks.
    """
    if not 2 <= len(stacks) <= MOST:
        raise ValueError(count_refusal(len(stacks)))
    chosen = [side(stack) for stack in stacks]
    for stack in chosen:
        parse(stack)
    runs = [engine.decode(prompt, stack, **options) for stack in chosen]
    return _each(engine, prompt, chosen, runs, warm_up, options)


def _each(
    engine: Engine,
    prompt: str | Sequence[int],
    stacks: list[str],
    runs: list[Iterator[Event]],
    warm_up: int,
    options: dict[str, Any],
) -> Iterator[tuple[int, Event]]:
    with ExitStack() as ends:
        for run in runs:
            ends.enter_context(closing(run))  # type: ignore[type-var]
        for k, run in enumerate(runs):
            if warm_up:
                yield k, Stage(f"warming up {stacks[k]}")
                first = engine.decode(prompt, stacks[k], **{**options, "max_new_tokens": warm_up})
                with closing(first):  # type: ignore[type-var]
                    for event in first:
                        if isinstance(event, Stage):
                            yield k, event
            for event in run:
                yield k, event


def traces_of(engine: Engine, prompt: str | Sequence[int], stacks: Sequence[str], **options: Any) -> Iterator[Trace]:
    """Yield the traces of :func:`decode_each`, each when finished."""
    for _, event in decode_each(engine, prompt, stacks, **options):
        if isinstance(event, Finished):
            yield event.trace


class Versus(View):
    """Two or three runs of one prompt and seed, side by side.

    Every output position is a column with a row per run: its token, coloured by source and marked by verdict, and its
    round as a bracket with the target forward passes so far. Above: a race with recorded times; below: the round under
    the cursor, metrics with differences to the first run, and distributions.

    ``Versus(traces)`` shows runs; ``Versus()`` opens bundled recordings and offers the others; ``Versus.of(engine,
    prompt, stacks)`` decodes. ``refusal`` has the reason if runs cannot be compared. ``pinned`` is the pinned output
    position from 0 (-1: none), ``time`` the time of the race shown first, in milliseconds (-1: its end).
    """

    view = traitlets.Unicode("versus").tag(sync=True)

    data = traitlets.Dict().tag(sync=True)
    refusal = traitlets.Unicode("").tag(sync=True)
    choices = traitlets.List(traitlets.Dict()).tag(sync=True)
    group = traitlets.Unicode("").tag(sync=True)
    chosen = traitlets.List(traitlets.Unicode()).tag(sync=True)
    pinned = traitlets.Int(-1).tag(sync=True)
    time = traitlets.Float(-1.0).tag(sync=True)
    palette = traitlets.Dict().tag(sync=True)
    #: The group of the runs in the browser (:mod:`hsd_viz.views.linked`).
    link = traitlets.Unicode().tag(sync=True)

    def __init__(self, traces: Sequence[Given] | None = None, folder: Path = SIDE_BY_SIDE, **options: Any) -> None:
        super().__init__(palette=page_palette(), link=uuid.uuid4().hex, **options)
        self._folder = folder
        if traces is not None:
            self.show(traces)
        else:
            self._offer()

    @classmethod
    def of(cls, engine: Engine, prompt: str | Sequence[int], stacks: Sequence[str] = OPENING, **options: Any) -> Versus:
        """Decode ``prompt`` with each of ``stacks`` and compare the runs; see :func:`decode_each`."""
        return cls(list(traces_of(engine, prompt, stacks, **options)))

    def show(self, traces: Sequence[Given]) -> None:
        """Show these runs in order, or the reason why they cannot be compared; deselect all recordings."""
        self.chosen, self.group = [], ""
        self._put([trace_of(trace) for trace in traces])

    def _put(self, traces: Sequence[Trace]) -> None:
        why = refusal(traces)
        with self.hold_sync():
            self.pinned = -1
            self.refusal = why or ""
            self.data = {} if why else page_data(traces)

    # --- recordings ------------------------------------------------------------------------------------------------

    def _offer(self) -> None:
        """Offer the folder's recordings, one group per prompt."""
        found, opening = [], ""
        for group, recordings in side_by_side(self._folder).items():
            sampling = load_bundled(recordings[0].name, self._folder / group).meta.get("sampling") or {}
            runs = [{"name": r.name, "title": r.title, "blurb": r.blurb, "stack": r.stack} for r in recordings]
            found.append({"group": group, "title": sampling_words(sampling), "runs": runs})
            if sampling.get("temperature") == presets.TEMPERATURE:
                opening = opening or group
        if not found:
            self.refusal = "No recordings are installed: pass two or three traces."
            return
        self.choices = found
        self.observe(lambda change: self._open(change["name"]), ["group", "chosen"])
        self.group = opening or found[0]["group"]

    def _open(self, changed: str) -> None:
        """Show the selected recordings in menu order; a newly opened group selects its defaults."""
        # Names from the browser are looked up in the offer and never become paths.
        runs = [run["name"] for g in self.choices if g["group"] == self.group for run in g["runs"]]
        if not self.chosen:
            if changed == "group":
                # This triggers the observer again.
                self.chosen = [name for name in OPENING if name in runs] or runs[:2]
            return
        names = [name for name in runs if name in self.chosen]
        if not 2 <= len(names) <= MOST:
            self.refusal = count_refusal(len(names))
            return
        self._put([load_bundled(name, self._folder / self.group) for name in names])


def page_data(traces: Sequence[Trace]) -> dict[str, Any]:
    """Return the page's data of comparable runs."""
    titles = [words(str(t.meta.get("stack", ""))) or words(stack_of(t)) for t in traces]
    return {
        "prompt": str(traces[0].meta.get("prompt", "")),
        "facts": facts(traces[0]),
        "caution": machine_note(traces),
        "runs": [run_of(t, letter, title) for t, letter, title in zip(traces, LETTERS, titles, strict=False)],
        "agreement": agreement(traces),
        "table": table(traces),
        "doubt": doubt(traces),
        "draws": draws(traces),
    }
