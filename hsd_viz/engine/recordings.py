"""The bundled recordings: traces of decodes that are shipped with the package.

Importing this module does not load torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from hsd_viz.names.hints import did_you_mean
from hsd_viz.trace import Trace, TraceError

TRACES = Path(__file__).resolve().parent.parent / "traces"
#: The temperature of most recordings, and the default of the form and the examples.
TEMPERATURE = 0.7
#: The folder of comparisons. Each subfolder contains recordings of a prompt with several stacks.
SIDE_BY_SIDE = TRACES / "side_by_side"
#: The folder of answers of SmolLM2. The page opens with the first of them.
ANSWERS = TRACES / "answers"
#: The folder of the page's game, with a subfolder per text.
GAMES = TRACES / "game"


@dataclass(frozen=True, slots=True)
class Recording:
    """A bundled trace.

    Attributes:
        name: the name for :func:`load_bundled`.
        file: the name of the trace file.
        title: the title shown in lists.
        blurb: a short description.
        stack: the stack that was decoded.
        speedup: the measured speed-up over plain decoding; ``None`` for plain decoding itself, and
            if it was not measured.
    """

    name: str
    file: str
    title: str
    blurb: str
    stack: str
    speedup: float | None = None

    @property
    def label(self) -> str:
        """The title with the measured speed-up, which says whether the run was slower."""
        if self.speedup is None:
            return self.title
        return (
            f"{self.title} "
            f"({self.speedup:.2f}×{', slower than plain decoding' * (self.speedup < 1)})"
        )


def bundled(folder: Path = TRACES) -> list[Recording]:
    """Return the recordings in a folder, in the order of its ``index.json``.

    The list is empty if there is no index.

    Raises:
        TraceError: if the index is invalid.
    """
    index = folder / "index.json"
    if not index.is_file():
        return []
    try:
        return msgspec.json.decode(index.read_bytes(), type=list[Recording])
    except (OSError, RecursionError, msgspec.DecodeError) as error:
        raise TraceError(
            f"the list of recorded traces {index} is invalid: {type(error).__name__} at {error}"
        ) from None


def side_by_side(folder: Path = SIDE_BY_SIDE) -> dict[str, list[Recording]]:
    """Return the recordings of each subfolder of ``folder``, by the name of the subfolder.

    Raises:
        TraceError: if an index is invalid.
    """
    return {
        index.parent.name: bundled(index.parent) for index in sorted(folder.glob("*/index.json"))
    }


def load_bundled(name: str, folder: Path = TRACES) -> Trace:
    """Return the bundled trace of a name, one of those that :func:`bundled` lists.

    Raises:
        TraceError: if the name is unknown.
    """
    recordings = {r.name: r for r in bundled(folder)}
    if name in recordings:
        return Trace.load(folder / Path(recordings[name].file).name)
    known = f"use one of {', '.join(recordings)}" if recordings else "none are installed"
    raise TraceError(
        f"no recorded trace is named {name!r}: {known}{did_you_mean(name, recordings)}"
    )
