"""What Python sends to the page: rows, steps and snapshots of a run, its events, and the state of a run.

Rows are named tuples and travel as JSON lists in the order of their fields, the other types as objects. ``python -m
tools.contract`` writes their TypeScript types, ``js/lib/contract.ts``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

#: The most probable tokens of a distribution: (token id, probability), most probable first.
Top = list[tuple[int, float]]
Kind = Literal["accepted", "correction", "bonus", "plain"]
Verdict = Literal["accepted", "rejected", "unreached", "cut"]
Outcome = Literal["correction", "bonus", "plain", "stopped"]


class Token(NamedTuple):
    """An emitted token (:class:`hsd_viz.trace.TokenRow`)."""

    id: int
    text: str
    raw: str | None
    round: int
    kind: Kind
    source: str
    path: list[int]
    depth: int
    p: float | None
    entropy: float | None
    top: Top | None
    residual: Top | None
    q: Top | None
    left: float | None


class Draft(NamedTuple):
    """A draft token (:class:`hsd_viz.trace.DraftRow`)."""

    round: int
    level: int
    source: str
    node: int
    parent: int
    depth: int
    id: int
    text: str
    p: float | None
    q: float | None
    u: float | None
    verdict: Verdict
    key: int | None
    count: int | None  # type: ignore[assignment]  # hides tuple.count
    score: float | None
    position: int | None
    h: float | None
    recut: list[str] | None


class Round(NamedTuple):
    """A verification (:class:`hsd_viz.trace.RoundRow`)."""

    id: int
    parent: int | None
    level: int
    drafted: int
    examined: int
    accepted: int
    outcome: Outcome
    why: str | None
    ns: int
    start: int
    rule: str


class Call(NamedTuple):
    """A forward pass, launch or look-up (:class:`hsd_viz.trace.CallRow`)."""

    round: int
    level: int
    name: str
    kind: str
    steps: int
    fed: int
    cached: int
    start: int
    ns: int


@dataclass(frozen=True, slots=True)
class Meta:
    """The stack, the sampling settings, and the times of prefill and of the decode (``None`` until known)."""

    stack: str
    sampling: dict[str, float | None]
    prefill_ns: int | None
    wall_ns: int | None


@dataclass(frozen=True, slots=True)
class Step:
    """The rows of one or more target rounds; ``pieces`` are token texts by id."""

    tokens: list[Token]
    drafts: list[Draft]
    rounds: list[Round]
    calls: list[Call]
    pieces: dict[str, str]


@dataclass(frozen=True, slots=True)
class Snapshot(Step):
    """A whole run, finished or not: ``run`` identifies it, ``seq`` counts its steps so far."""

    run: str
    seq: int
    prompt: str
    prompt_ids: list[int]
    levels: list[str]
    meta: Meta


@dataclass(frozen=True, slots=True)
class Append:
    """The message with steps ``first`` to ``seq`` of a live run."""

    kind: Literal["append"]
    run: str
    first: int
    seq: int
    steps: list[Step]


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a target round: its draft is proposed, a draft token gets its verdict, or the round's own token is
    drawn. ``token`` indexes the text's token at that position, ``shown`` counts the tokens emitted after the event.
    """

    kind: Literal["draft", "verdict", "token"]
    round: int
    token: int
    shown: int
    draft: Draft | None


@dataclass(frozen=True, slots=True)
class Hue:
    """A family of sources: label and colours on a light and a dark page."""

    label: str
    light: str
    dark: str


@dataclass(frozen=True, slots=True)
class PaletteData:
    """Colours by source family, and the names of baselines and databases."""

    hues: dict[str, Hue]
    baselines: list[str]
    databases: list[str]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a run comes from."""

    kind: Literal["recording", "replay", "live", "finished"]
    badge: str
    stack: str
    facts: list[str]
    note: str


@dataclass(frozen=True, slots=True)
class Tile:
    """A metric of a run; ``about`` defines it."""

    label: str
    value: str
    unit: str
    note: str
    about: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The current stage of a run and the part done, if known."""

    text: str
    done: int | None
    total: int | None
