"""Recorded decodes: the bundled traces. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from hsd_viz.errors import MALFORMED
from hsd_viz.names.hints import did_you_mean
from hsd_viz.trace import Trace, TraceError

TRACES = Path(__file__).resolve().parent.parent / "traces"
#: The temperature of most recordings, of the form and of the examples.
TEMPERATURE = 0.7
#: Each folder in it holds recordings of one prompt with several stacks.
SIDE_BY_SIDE = TRACES / "side_by_side"
#: Answers of SmolLM2, the first of which the page opens with.
ANSWERS = TRACES / "answers"
#: The texts of the page's game: a folder each.
GAMES = TRACES / "game"


@dataclass(frozen=True, slots=True)
class Recording:
    """A bundled trace.

    Attributes:
        name: its name.
        file: its file.
        title: its title.
        blurb: its description.
        stack: what it was decoded with.
        speedup: over plain decoding; ``None`` for plain decoding itself, and where it was not
            measured.
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
        return (
            f"{self.title} "
            f"({self.speedup:.2f}×{', slower than plain decoding' * (self.speedup < 1)})"
        )


def bundled(folder: Path = TRACES) -> list[Recording]:
    """Return the recordings in a folder, in the order of its ``index.json``; an empty list without
    an index.

    Raises:
        TraceError: if the index is invalid.
    """
    index = folder / "index.json"
    if not index.is_file():
        return []
    try:
        return msgspec.json.decode(index.read_bytes(), type=list[Recording])
    except (OSError, *MALFORMED) as error:
        raise TraceError(
            f"the list of recorded traces {index} is invalid: {type(error).__name__} at {error}"
        ) from None


def side_by_side(folder: Path = SIDE_BY_SIDE) -> dict[str, list[Recording]]:
    """Return the recordings of each subfolder of ``folder`` by its name.

    Raises:
        TraceError: if an index is invalid.
    """
    return {
        index.parent.name: bundled(index.parent) for index in sorted(folder.glob("*/index.json"))
    }


def load_bundled(name: str, folder: Path = TRACES) -> Trace:
    """Return the recorded trace of that name (a name of :func:`bundled`, not a path). Raises
    :class:`~hsd_viz.trace.TraceError` for an unknown name.
    """
    recordings = {r.name: r for r in bundled(folder)}
    if name in recordings:
        return Trace.load(folder / Path(recordings[name].file).name)
    known = f"use one of {', '.join(recordings)}" if recordings else "none are installed"
    raise TraceError(
        f"no recorded trace is named {name!r}: {known}{did_you_mean(name, recordings)}"
    )
