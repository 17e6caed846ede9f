"""What happened in a decode, as rows. Pure data: no torch, no pandas.

Times are integer nanoseconds from the start of the decode. A *level* is a stage of the stack, 0 at the bottom; a *source* is
who first proposed a token: a database (``context``, ``model``, ``statistics``), a rival (``lookup``, ...), a draft model by its
name, or ``target`` for the target model's own tokens.

Rows are named tuples: a round makes some fifteen of them, and a frozen dataclass takes six times as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

KINDS = ("accepted", "correction", "bonus", "plain")
VERDICTS = ("accepted", "rejected", "unreached", "cut")
OUTCOMES = ("correction", "bonus", "plain", "stopped")
NO_DRAFT = ("no match", "not worth it", "no room", "off")
CALL_KINDS = ("prefill", "draft", "verify", "lookup", "update")
STOP_REASONS = ("eos", "length", "context", "cancelled")

#: A few likeliest tokens of a distribution: ((token id, probability), ...), likeliest first.
Top = tuple[tuple[int, float], ...]


class TokenRow(NamedTuple):
    """One emitted token.

    ``kind`` is one of :data:`KINDS`. ``path`` lists the levels the token passed, its source's first and the target's last.
    ``depth`` is its 1-based place in the draft that the target verified, 0 for the target's own tokens. ``p`` and ``entropy``
    (nats) are the target's at temperature 1, ``top`` its five likeliest tokens there, also when decoding is greedy; ``None``
    where details were not recorded. For a correction ``residual_top`` and ``q_top`` are the five likeliest of the
    distribution it was drawn from and of the draft's q at that place, and ``residual_sum`` what that distribution summed to before
    it was scaled to 1: of max(0, p - q), or, where a walk drew it, of p without the drafted tokens. ``text`` is for reading;
    where the token's bytes are not whole UTF-8 characters, ``raw`` holds them in hexadecimal and ``text`` escapes them.
    """

    index: int
    token_id: int
    text: str
    raw: str | None
    round: int
    kind: str
    source: str
    path: tuple[int, ...]
    depth: int
    p: float | None = None
    entropy: float | None = None
    top: Top | None = None
    residual_top: Top | None = None
    q_top: Top | None = None
    residual_sum: float | None = None


class DraftRow(NamedTuple):
    """One token put before a verifier. A token that climbs a stack has a row in each round it stood in.

    ``round`` and ``level`` are the verifier's. ``node`` numbers the tokens of the round from 0, ``parent`` is the node drafted
    just before it on its branch (-1: it follows the text), ``depth`` counts from 1. ``p`` and ``q`` are the verifier's and the
    drafter's probability of the token after temperature, top-k and top-p (``q`` is 1 for a point mass; ``p`` is ``None``
    where the node was not reached); ``u`` the uniform number it was accepted or rejected by, ``None`` for point-mass drafts.
    ``key_length``, ``count`` and ``score`` are the database's: tokens matched, times seen, estimated acceptance.
    ``position`` is the place in the text (0 = first prompt token) it was copied from, where there is one.
    """

    round: int
    level: int
    source: str
    node: int
    parent: int
    depth: int
    token_id: int
    text: str
    p: float | None
    q: float | None
    u: float | None
    verdict: str
    key_length: int | None = None
    count: int | None = None
    score: float | None = None
    position: int | None = None


class RoundRow(NamedTuple):
    """One verification by a level: its draft, what it accepted and what it added.

    ``parent`` is the round of the level above that asked for these tokens, ``None`` at the target. ``drafted`` counts nodes,
    ``examined`` the places where the verifier chose between draft tokens (for a chain: tokens it looked at; in a tree: places
    on the walked path that had children), ``accepted`` those kept. ``outcome`` is one of :data:`OUTCOMES`; ``stopped`` means
    no token was added because EOS or the length limit came first. ``why_no_draft`` is set where nothing was drafted.
    ``start_ns`` and ``duration_ns`` span drafting and verification together.
    """

    id: int
    parent: int | None
    level: int
    drafted: int
    examined: int
    accepted: int
    outcome: str
    why_no_draft: str | None
    start_ns: int
    duration_ns: int


class CallRow(NamedTuple):
    """One forward, launch or look-up. Calls never overlap: ``duration_ns`` is the call's own time.

    ``round`` is the round it served (-1 for prefill), ``level`` and ``name`` who ran, ``steps`` forwards in one launch,
    ``fed`` tokens fed, ``cached`` tokens whose keys and values were already there.
    """

    round: int
    level: int
    name: str
    kind: str
    steps: int
    fed: int
    cached: int
    start_ns: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Stage:
    """Progress before tokens come: what is being done (``loading nano``, ``prefill``), and how far where that is known."""

    text: str
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The decode begins. ``meta`` is the trace's meta as far as it is known; ``pieces`` the text of the prompt's tokens."""

    meta: dict
    pieces: dict[int, str]


@dataclass(frozen=True, slots=True)
class Step:
    """All that one target round did: its own row last in ``rounds``, those of the levels below before it.

    ``pieces`` gives the text of every token id in these rows that no earlier event named.
    """

    tokens: list[TokenRow]
    drafts: list[DraftRow]
    rounds: list[RoundRow]
    calls: list[CallRow]
    pieces: dict[int, str]


@dataclass(frozen=True, slots=True)
class Finished:
    """The decode is over; ``trace`` holds all of it (a :class:`hsd_viz.trace.Trace`)."""

    trace: object


Event = Stage | Started | Step | Finished
