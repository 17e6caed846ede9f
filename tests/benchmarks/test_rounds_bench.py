"""The benchmark of the host's work per round: what takes the place of graphs runs once per step,
and is not counted.
"""

from __future__ import annotations

import json
import time

from benchmarks import rounds
from hsd_viz.torch_models.steps import Board


class Slow(rounds.Nothing):
    """A graph that takes 20 ms of processor time."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def __call__(self, board: Board, step: object) -> None:
        self.steps += 1
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        self.seconds += 0.02


def test_a_round_is_five_drafted_tokens_and_a_verification_whose_graphs_are_not_counted():
    graph = Slow()
    own = Board.run
    figures = rounds.host_alone(3, graph)
    assert graph.steps == 3 * (rounds.LOOKAHEAD + 1)
    assert 0 < figures["ms"] < 60, "half of the time of the graphs of a round"
    assert Board.run is own


def test_a_sweep_counts_its_own_time():
    sweep = rounds.Sweep(8 << 20)
    sweep(None, None)
    assert sweep.seconds > 0


def test_the_figures_of_the_host_alone_are_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(rounds, "host_alone", lambda count, graph: {"rounds": count, "ms": 1.0})
    path = tmp_path / "rounds.json"
    assert rounds.main(["--alone", "--json", str(path)]) == 0
    written = json.loads(path.read_text())
    assert written["host alone, caches swept"] == {"rounds": 200, "ms": 1.0}
    assert "machine" in written
    assert "host alone" in capsys.readouterr().out
