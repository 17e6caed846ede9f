"""What the exercises are checked against: bundled recordings, the shipped cost curve, small exact models."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.trace import Trace
from hsd_viz.words import did_you_mean

PACKAGE = Path(__file__).resolve().parent.parent


def folder(installed: str, checkout: str) -> Path:
    """Return a folder of data files: in the installed package, or in the checkout. Raises: FileNotFoundError: if
    neither exists.
    """
    for path in (PACKAGE / installed, PACKAGE.parent / checkout):
        if path.is_dir():
            return path
    raise FileNotFoundError(f"{PACKAGE / installed} is missing: reinstall hsd-viz")


@cache
def recordings() -> tuple[Trace, ...]:
    """Return all bundled recordings."""
    return tuple(load_bundled(r.name) for r in bundled())


@cache
def measured(name: str) -> dict[str, Any]:
    """Return a shipped measurement, a report of ``hsd-viz bench`` for example, by the name of its file without .json.
    Raises: ValueError: if there is none of that name.
    """
    reports = {path.stem: path for path in folder("bench/measured", "docs/bench").glob("*.json")}
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
    level, emitted, drafts = max(r.level for r in trace.round_rows), defaultdict(list), defaultdict(list)
    for token in trace.token_rows:
        emitted[token.round].append(token.token_id)
    for draft in trace.draft_rows:
        drafts[draft.round].append(draft)
    for row in trace.round_rows:
        nodes = drafts[row.id]
        chain = [d.parent for d in nodes] == list(range(-1, len(nodes) - 1))
        whole = row.outcome in ("correction", "bonus") and len(emitted[row.id]) == row.accepted + 1
        if row.level == level and nodes and chain and whole:
            draft = [d.token_id for d in nodes]
            yield Round(trace.stack, row.id, draft, emitted[row.id], row.accepted, trace.pieces)


class AcceptanceTest(NamedTuple):
    """One acceptance test of a recorded draft token."""

    name: str
    round: int
    text: str
    u: float
    p: float
    q: float
    accepted: bool


@cache
def acceptance_tests() -> tuple[AcceptanceTest, ...]:
    """Return every acceptance test of a sampled draft token in the recordings, at any level. Runs with block
    verification are left out: its test is another one.
    """
    return tuple(
        AcceptanceTest(trace.stack, d.round, d.text, d.u, d.p, d.q, d.verdict == "accepted")
        for trace in recordings()
        if set(dict(trace.meta.get("rules") or {}).values()) <= {"token"}
        for d in trace.draft_rows
        if d.u is not None and d.p is not None and d.q is not None and d.verdict in ("accepted", "rejected")
    )


def texts() -> Iterator[tuple[Trace, list[int], int]]:
    """Yield each recording, all its token ids, and the length of its prompt."""
    for trace in recordings():
        prompt = list(trace.meta["prompt_ids"])
        yield trace, prompt + trace.token_ids, len(prompt)


def laws(size: int = 3, parts: int = 4) -> list[list[Fraction]]:
    """Return all distributions over ``size`` tokens with probabilities in multiples of 1 / ``parts``."""
    return [[Fraction(n, parts) for n in row] for row in product(range(parts + 1), repeat=size) if sum(row) == parts]
