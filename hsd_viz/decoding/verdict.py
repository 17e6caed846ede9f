"""What a verification is given and what it finds. Pure data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.tables import Top

#: Probabilities ``[n, V]`` after temperature, top-k and top-p: a numpy array, or an array of the session's runtime that
#: ``len``, slices, ``numpy.asarray`` and ``numpy.concatenate`` accept.
Rows = Any


class Numbers(NamedTuple):
    """Uniform numbers in [0, 1): ``r[k]`` draws the token after k tokens of the draft; ``u[k]`` decides whether token k
    of a sampled chain is accepted (empty for point masses).
    """

    r: Sequence[float]
    u: Sequence[float] = ()


class Record(NamedTuple):
    """What a verification reports beside its decision.

    ``details``: how many of the likeliest tokens to list for each emitted token, and for a correction; 0: no details.
    ``rows``: whether the rows at the emitted tokens' places are needed. ``observe``: how many of the likeliest tokens
    of *every* row a drafter learns from, with their probabilities at ``temperature`` (``None``: only their order
    matters).
    """

    details: int = 0
    rows: bool = False
    observe: int = 0
    temperature: float | None = None


class Detail(NamedTuple):
    """A verifier's row at temperature 1: the probability of the token, the entropy in nats, the likeliest tokens."""

    p: float
    entropy: float
    top: Top


class Correction(NamedTuple):
    """What a sampled correction was drawn from.

    ``top`` are the likeliest tokens of the residual, normalised, and ``total`` is its sum before: of (p - q)+, under
    block verification of (w p - q)+, in a tree of point masses of p without the drafted tokens. ``q_top`` has the
    likeliest tokens of q there; ``None`` for point masses.
    """

    top: Top
    q_top: Top | None
    total: float


class SampledChain(NamedTuple):
    """Tokens that a session decoded by itself and the rows ``[n, V]`` they were drawn from: ``None`` for point masses
    (greedy decoding, SLEM). ``forwards`` counts the forward passes; ``recut`` as in
    :class:`~hsd_viz.drafting.tree.DraftTree`.
    """

    tokens: list[int]
    rows: Rows | None
    forwards: int
    recut: list[tuple[str, ...]] | None = None


@dataclass(slots=True)
class Draft:
    """Tokens proposed to a verifier: a chain sampled from ``rows`` ``[n, V]`` (q), or a tree of point masses (``rows``
    is ``None``).

    ``paths`` are the levels that each token has passed, its source's first. ``rule`` of
    :data:`~hsd_viz.decoding.verify.RULES` verifies a sampled chain.
    """

    tree: DraftTree = field(default_factory=DraftTree)
    paths: list[tuple[int, ...]] = field(default_factory=list)
    rows: Rows | None = None
    rule: str = "token"

    def __len__(self) -> int:
        return len(self.tree)


@dataclass(slots=True)
class Verdict:
    """The result of one verification: the ``accepted`` nodes in order, then the verifier's own ``token``, drawn from
    ``row`` (0: after the text, 1 + i: after node i).

    ``examined`` counts the places that had draft tokens to compare with. Per node: ``p`` and ``q``, the verifier's and
    the drafter's probability of its token after the sampling transforms (``p`` is ``None`` where not examined; for
    greedy decoding 1 for the arg-max, else 0), ``u`` (``None`` where not compared, and for point masses) and ``h``, the
    chance that ``u`` was compared with by a rule that judges the chain as a whole (else ``h`` is ``None``).

    The other fields are reported as asked for by :class:`Record`, with one entry for each accepted node and one for
    ``token``: ``rows`` ``[k + 1, V]`` (``None`` for greedy decoding) and ``details``. ``correction`` is reported with
    details where sampling drew a correction. ``observed`` has the likeliest tokens of every row, and their
    probabilities.
    """

    accepted: list[int]
    token: int
    row: int
    examined: int
    p: list[float | None]
    q: list[float | None]
    u: list[float | None]
    h: list[float | None] | None = None
    rows: Rows | None = None
    details: list[Detail] | None = None
    correction: Correction | None = None
    observed: tuple[list[list[int]], list[list[float]]] | None = None
    rule: str = "token"
