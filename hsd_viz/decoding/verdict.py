"""Verdicts on drafts, with what a verification reports beside its decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from hsd_viz.decoding.draft import Rows
from hsd_viz.trace.rows import Top


class RecordOptions(NamedTuple):
    """What a verification reports beside its decision.

    Attributes:
        details: the number of likeliest tokens to report for each emitted token and for a
            correction; 0 reports none.
        observe: the number of likeliest tokens to report for *every* row, from which a drafter
            learns; 0 reports none.
        temperature: the temperature of the probabilities for ``observe``; ``None`` if only the
            order of the tokens matters.
    """

    details: int = 0
    observe: int = 0
    temperature: float | None = None


class Correction(NamedTuple):
    """The residual distribution from which a correction was sampled.

    Attributes:
        residual_top: its likeliest tokens with their normalized probabilities.
        q_top: the likeliest tokens of the drafter's row; ``None`` for point masses.
        residual_sum: the sum of its weights before normalization.
    """

    residual_top: Top
    q_top: Top | None
    residual_sum: float


class LikeliestByRow(NamedTuple):
    """The likeliest tokens of every row of a verification.

    Attributes:
        tokens: the tokens of each row, the likeliest first.
        values: the probabilities of these tokens, or their logits if only the order matters.
    """

    tokens: list[list[int]]
    values: list[list[float]]


@dataclass(slots=True)
class Verdict:
    """The result of one verification.

    ``p``, ``q``, ``u`` and ``h`` have an entry for each node; ``rows`` and ``details`` have one for
    each accepted node and one for ``token``.

    Attributes:
        accepted: the accepted nodes in order.
        token: the verifier's own token after the accepted nodes.
        row: the index of the row that ``token`` was drawn from: 0 after the text, 1 + i after
            node i.
        examined: the number of examined positions that had draft tokens.
        p: the verifier's probability of each draft token after the sampling transforms; ``None`` if
            the token was not examined. For greedy decoding it is 1 for the arg-max, else 0.
        q: the drafter's probability of each draft token.
        u: the uniform number that decided about each token; ``None`` if it was not compared, and
            for point masses.
        h: the probability that ``u`` was compared with, for a rule that judges the chain as a
            whole; ``None`` if it was compared with p / q.
        rule: the name of the rule that decided.
        rows: the rows ``[k + 1, V]``; ``None`` for greedy decoding.
        details: for each row at temperature 1, the probability of the emitted token, the entropy
            in nats, and the likeliest tokens.
        correction: the residual distribution of a sampled correction, if details are reported.
        observed: the likeliest tokens of every row, if they are reported.
    """

    accepted: list[int]
    token: int
    row: int
    examined: int
    p: list[float | None]
    q: list[float | None]
    u: list[float | None]
    h: list[float | None] | None = None
    rule: str = "token"
    rows: Rows | None = None
    details: list[tuple[float, float, Top]] | None = None
    correction: Correction | None = None
    observed: LikeliestByRow | None = None
