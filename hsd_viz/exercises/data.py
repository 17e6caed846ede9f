"""What the exercises are checked against: bundled recordings, the shipped cost curve, small exact models."""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from hsd_viz.disk import data_folder
from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.trace import DraftRow, Trace
from hsd_viz.words import did_you_mean


@cache
def recordings() -> tuple[Trace, ...]:
    """Return all bundled recordings."""
    return tuple(load_bundled(r.name) for r in bundled())


@cache
def measured(name: str) -> dict[str, Any]:
    """Return a shipped measurement, a report of ``hsd-viz bench`` for example, by the name of its file without .json.
    Raises: ValueError: if there is none of that name.
    """
    reports = {path.stem: path for path in data_folder("bench/measured", "docs/bench").glob("*.json")}
    if name not in reports:
        raise ValueError(f"there is no measurement '{name}'{did_you_mean(name, reports)}")
    return json.loads(reports[name].read_text(encoding="utf-8"))


def cost_curve(model: str = "target", runtime: str = "native") -> dict[int, float]:
    """Return milliseconds of a forward pass by the number of tokens fed, as measured on one CPU and shipped.

    >>> sorted(cost_curve())[:4]
    [1, 2, 3, 4]
    """
    curves = measured(f"curves-{model}-cpu")["milliseconds"]
    if runtime not in curves:
        raise ValueError(f"no curve of runtime {runtime!r} (use {', '.join(curves)})")
    return {int(k): float(ms) for k, ms in curves[runtime].items() if k.isdigit()}


class Round(NamedTuple):
    """A verification of a chain by the target. ``own[k]`` is the target's token after ``draft[:k]``, where it is known:
    up to the first token that differs. ``pieces`` are the texts of tokens.
    """

    name: str
    id: int
    draft: list[int]
    own: list[int]
    accepted: int
    pieces: dict[int, str]

    def words(self, ids: Iterable[int]) -> str:
        """Return the texts of tokens."""
        return str([self.pieces[i] for i in ids])


@cache
def greedy_rounds() -> tuple[Round, ...]:
    """Return the target's rounds over chains of all recordings with greedy decoding. Rounds cut by the length limit are
    left out: their last tokens were not emitted.
    """
    return tuple(r for trace in recordings() if not trace.meta["sampling"]["temperature"] for r in _rounds(trace))


def _rounds(trace: Trace) -> Iterator[Round]:
    level = max(r.level for r in trace.round_rows)
    for row in (r for r in trace.round_rows if r.level == level and r.outcome in ("correction", "bonus")):
        nodes = [d for d in trace.draft_rows if d.round == row.id]
        emitted = [t.token_id for t in trace.token_rows if t.round == row.id]
        chain = [d.parent for d in nodes] == list(range(-1, len(nodes) - 1))
        if nodes and chain and len(emitted) == row.accepted + 1:
            yield Round(trace.stack, row.id, [d.token_id for d in nodes], emitted, row.accepted, trace.pieces)


@cache
def acceptance_tests() -> tuple[tuple[str, DraftRow], ...]:
    """Return every acceptance test of a sampled draft token in the recordings, at any level, with the stack. Runs with
    block verification are left out: its test is another one.
    """
    return tuple(
        (trace.stack, d)
        for trace in recordings()
        if set(dict(trace.meta.get("rules") or {}).values()) <= {"token"}
        for d in trace.draft_rows
        if None not in (d.u, d.p, d.q) and d.verdict in ("accepted", "rejected")
    )


def texts() -> Iterator[tuple[Trace, list[int], int]]:
    """Yield each recording, all its token ids, and the length of its prompt."""
    for trace in recordings():
        prompt = list(trace.meta["prompt_ids"])
        yield trace, prompt + trace.token_ids, len(prompt)
