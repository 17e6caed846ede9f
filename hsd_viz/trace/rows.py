"""The rows of a trace as named tuples.

Written by ``python -m tools.reference`` from ``tables.toml``.
"""

from __future__ import annotations

from typing import NamedTuple

#: The likeliest tokens of a distribution, [token id, probability], likeliest first.
Top = list[list[float]]


class TokenRow(NamedTuple):
    """One emitted token.

    Attributes:
        index: place in the emitted text, from 0.
        token_id: the token's id.
        text: for display; bytes that form no character are escaped.
        raw: the bytes in hexadecimal where they are not whole UTF-8 characters.
        round: id of the target round that emitted it.
        kind: how it came into the text. One of ``accepted``, ``correction``, ``bonus``, ``plain``.
        source: what first proposed it; ``target`` for the target's own tokens.
        path: levels it passed, from its source's to the target's.
        depth: place in the draft that the target verified, from 1; 0 for the target's own tokens.
        p: the target's probability at temperature 1.
        entropy: entropy of the target's distribution at temperature 1, in nats.
        top: the five likeliest tokens of that distribution.
        residual_top: of a correction: the five likeliest tokens of what it was drawn from.
        q_top: of a correction: the five likeliest tokens of the draft's q.
        residual_sum: of a correction: mass of its distribution before normalization: of max(0, p -
            q), under block verification of max(0, w p - q), in a tree of point masses of p without
            the draft tokens.
    """

    index: int  # type: ignore[assignment]
    token_id: int
    text: str
    raw: str | None
    round: int
    kind: str
    source: str
    path: list[int]
    depth: int
    p: float | None = None
    entropy: float | None = None
    top: Top | None = None
    residual_top: Top | None = None
    q_top: Top | None = None
    residual_sum: float | None = None


class DraftRow(NamedTuple):
    """One token submitted to a verifier; a token that passes several levels has a row in each of
    their rounds.

    Attributes:
        round: id of the verifier's round.
        level: the verifier's level.
        source: what first proposed it.
        node: number of the token in its round, from 0.
        parent: the node before it on its branch; -1: it follows the text.
        depth: place on its branch, from 1.
        token_id: the token's id.
        text: for display.
        p: the verifier's probability, as sampled; ``None`` where the node was not examined.
        q: the drafter's probability, as sampled; 1 for a point mass.
        u: uniform number of the acceptance test; ``None`` for point masses.
        verdict: what the verifier decided. One of ``accepted``, ``rejected``, ``unreached``,
            ``cut``.
        key_length: of a database: tokens matched.
        count: of a database: times seen.
        score: of a database: estimated acceptance.
        position: place in the text it was copied from; 0: the first prompt token.
        h: the threshold of block verification.
        cosine: where the semantic database found it, alone or after another: similarity of the
            target's states before the two copies.
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
    count: int | None = None  # type: ignore[assignment]
    score: float | None = None
    position: int | None = None
    h: float | None = None
    cosine: float | None = None


class RoundRow(NamedTuple):
    """One verification by a level: its draft, what it accepted and what it added.

    Attributes:
        id: number of the round.
        parent: round of the level above that requested the tokens; ``None`` at the target.
        level: the verifier's level.
        drafted: draft tokens (nodes).
        examined: places where draft tokens were compared.
        accepted: accepted draft tokens.
        outcome: the token added; ``stopped``: none, at an end token or the limit. One of
            ``correction``, ``bonus``, ``plain``, ``stopped``.
        why_no_draft: why nothing was drafted. One of ``no match``, ``not worth it``, ``no room``,
            ``off``.
        start_ns: start of drafting, in ns.
        duration_ns: drafting and verification, in ns.
        rule: verification rule: that of a chain sampled from rows, else ``token``. One of
            ``token``, ``block``, ``branch``.
        draft_end: why the draft of a model with a confidence ended: it was as long as the
            lookahead, its own probability fell below the confidence, an end token, or the limit of
            new tokens; ``None`` for other drafts. One of ``length``, ``confidence``, ``eos``,
            ``limit``.
    """

    id: int
    parent: int | None
    level: int
    drafted: int
    examined: int
    accepted: int
    outcome: str
    why_no_draft: str | None = None
    start_ns: int | None = None
    duration_ns: int | None = None
    rule: str = "token"
    draft_end: str | None = None


class CallRow(NamedTuple):
    """One forward pass, launch or look-up. Calls never overlap.

    Attributes:
        round: the round it served; -1 for prefill.
        level: level of the model or drafter.
        name: name of the model or drafter.
        kind: what it did. One of ``prefill``, ``draft``, ``verify``, ``lookup``, ``update``.
        steps: forward passes in one launch.
        fed: tokens fed.
        cached: tokens already in the KV cache.
        start_ns: start, in ns.
        duration_ns: the call's own time, in ns.
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


#: A row of any table.
Row = TokenRow | DraftRow | RoundRow | CallRow
#: The class of the rows of each table.
ROWS: dict[str, type[Row]] = {
    "tokens": TokenRow,
    "drafts": DraftRow,
    "rounds": RoundRow,
    "calls": CallRow,
}
