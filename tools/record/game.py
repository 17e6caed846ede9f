"""Record the texts of the game: a model's greedy answers to questions of general knowledge.

    python -m tools.record.game [NAME ...]

Each text is decoded plainly, with a drafter that copies, and with a draft model where the engine
has one. The runs of a text alternate, and the fastest of each stack is kept, as in
:mod:`tools.record.traces`. The game, on the page's first screen, verifies what a visitor writes
against the plain run and shows the recorded rounds of the others beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hsd_viz.engine.beside_plain import note_plain
from hsd_viz.engine.local import LocalEngine, load_engine
from hsd_viz.engine.recordings import GAMES
from hsd_viz.terminal import Status, ignore_status
from hsd_viz.trace import Trace
from hsd_viz.views.page_data import ABOUT
from tools.record.recipes import Recipe
from tools.record.traces import fastest, save_recording, write_index


@dataclass(frozen=True, slots=True)
class Player:
    """One of those who play a text.

    Attributes:
        name: The name of its recording.
        title: What the page calls it.
        stack: What decodes.
    """

    name: str
    title: str
    stack: str


#: What the recordings call their target, wherever its file was.
MODEL = "SmolLM2-135M-Instruct"
PLAIN = Player("plain", "Alone", "target")
COPYING = Player("copying", "Copying", "suffix > target")
NANO = Player("nano", "Tiny model", "nano:2 > target")


def record_games(
    engine: LocalEngine,
    out: Path | None = None,
    *,
    names: Sequence[str] = (),
    players: Sequence[Player] = (PLAIN, COPYING, NANO),
    repeats: int = 5,
    model: str = MODEL,
    progress: Status = ignore_status,
) -> list[Path]:
    """Record texts of the game (those of ``names``; empty: all) with every player and return the
    paths.

    Each text has its own folder with an ``index.json``.
    """
    paths = []
    for game in ABOUT["games"]:
        if names and game["name"] not in names:
            continue
        traces = fastest(
            engine,
            [player.stack for player in players],
            repeats,
            game["asked"],
            chat=True,
            max_new_tokens=game["tokens"],
        )
        folder = (out or GAMES) / game["name"]
        index: list[dict] = []
        for player, trace in zip(players, traces, strict=True):
            note_plain(trace, traces[0])
            trace.meta["models"][-1]["model"] = model
            recipe = Recipe(player.name, player.title, game["asked"], player.stack, game["asked"])
            paths.append(save_recording(trace, recipe, folder, index))
        paths.append(write_index(folder, index))
        progress(f"{game['name']}: {_text(traces[0])!r}")
    return paths


def _text(trace: Trace) -> str:
    return "".join(token.text for token in trace.token_rows)


def main() -> None:
    """Record the texts that are named, or all, with the family that is installed."""
    with load_engine(family="smollm2", device="cpu", dtype="int8", threads=1) as engine:
        engine.wait_ready()
        record_games(engine, names=sys.argv[1:], progress=print)


if __name__ == "__main__":
    main()
