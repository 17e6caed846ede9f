"""The rows and events of a decode. Pure data: no torch, no pandas.

Times are integer nanoseconds from the start of the decode. A *level* is a stage of the stack, 0 at the bottom. A
*source* is what first proposed a token: a database (``context``, ``model``, ``statistics``), a baseline (``lookup``,
...), a draft model by its name, or ``target`` for the target model's own tokens.

Rows are named tuples: a round creates about fifteen, and a frozen dataclass takes six times as long to create.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

KINDS = ("accepted", "correction", "bonus", "plain")
VERDICTS = ("accepted", "rejected", "unreached", "cut")
OUTCOMES = ("correction", "bonus", "plain", "stopped")
NO_DRAFT = ("no match", "not worth it", "no room", "off")
CALL_KINDS = ("prefill", "draft", "verify", "lookup", "update")
RULES = ("token", "block")
#: The verification rule of chains that were sampled from rows, unless another one is requested: the faster one
#: (docs/bench/rules-cpu.json).
DEFAULT_RULE = "block"
STOP_REASONS = ("eos", "length", "context", "cancelled")

#: The most probable tokens of a distribution: ((token id, probability), ...), most probable first.
Top = tuple[tuple[int, float], ...]


class TokenRow(NamedTuple):
    """One emitted token.

    ``kind`` is one of :data:`KINDS`. ``path`` lists the levels the token passed, from its source's to the target's.
    ``depth`` is its 1-based depth in the draft that the target verified, 0 for the target's own tokens. ``p`` and
    ``entropy`` (nats) are the target's at temperature 1 and ``top`` its five most probable tokens, also with greedy
    decoding; ``None`` where details were not recorded. A correction has ``residual_top`` and ``q_top``: the five most
    probable tokens of the distribution it was drawn from and of the draft's q; ``residual_sum`` is the mass of that
    distribution before normalization: of max(0, p - q), under block verification of max(0, w p - q), or in a tree of
    point-mass drafts, of p without the drafted tokens. ``text`` is for display; where the token's bytes are not whole
    UTF-8 characters, ``raw`` holds them in hexadecimal and ``text`` escapes them.
    """

    index: int  # type: ignore[assignment]  # hides tuple.index
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

    @property
    def bytes(self) -> bytes:
        """The token as it is in the text."""
        return self.text.encode() if self.raw is None else bytes.fromhex(self.raw)


class DraftRow(NamedTuple):
    """One token submitted to a verifier. A token that passes several levels has a row in each of their rounds.

    ``round`` and ``level`` are the verifier's. ``node`` numbers the tokens of the round from 0, ``parent`` is the node
    before it on its branch (-1: it follows the text), ``depth`` counts from 1. ``p`` and ``q`` are the verifier's and
    the drafter's probability of the token after temperature, top-k and top-p (``q`` is 1 for a point mass; ``p`` is
    ``None`` where the node was not examined); ``u`` is the uniform number of the acceptance test, ``None`` for
    point-mass drafts. ``verdict`` is one of :data:`VERDICTS`. ``key_length``, ``count`` and ``score`` are the
    database's: tokens matched, times seen, estimated acceptance. ``position`` is the place in the text (0 = first
    prompt token) it was copied from, if any. ``recut`` are the texts of the drafter's own tokens that this one was cut
    from, in the round after the draft; ``None`` where the drafter has the verifier's tokenizer.

    Under the rule ``token`` a token is accepted if the one before it was and u * q < p; it is rejected otherwise, and
    the tokens after it are ``unreached``. Under the rule ``block`` places are tried from the last to the first: u < h
    at one accepts the draft up to there, regardless of u and h before it, which are ``None``. All tokens after
    that place are ``rejected``; none is unreached.
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
    count: int | None = None  # type: ignore[assignment]  # hides tuple.count
    score: float | None = None
    position: int | None = None
    h: float | None = None
    recut: tuple[str, ...] | None = None


class RoundRow(NamedTuple):
    """One verification by a level: its draft, what it accepted and what it added.

    ``parent`` is the round of the level above that requested these tokens, ``None`` at the target. ``drafted`` counts
    nodes, ``examined`` the positions where the verifier compared draft tokens (in a tree: positions on the accepted
    path that had children), ``accepted`` the accepted tokens. ``outcome`` is one of :data:`OUTCOMES`; ``stopped`` means
    that no token was added because EOS or the length limit came first. ``why_no_draft`` is set where nothing was
    drafted. ``start_ns`` and ``duration_ns`` span drafting and verification; in a trace imported from another engine
    they are ``None`` where it does not report them.

    ``rule`` is one of :data:`RULES`: ``block`` for a chain judged as a whole (Sun et al. 2024), else ``token``. Under
    both, ``examined`` counts the accepted tokens and the first that was not accepted, so that accepted / examined
    estimates the same for both: the acceptance of a token whose predecessors were accepted.
    """

    id: int
    parent: int | None
    level: int
    drafted: int
    examined: int
    accepted: int
    outcome: str
    why_no_draft: str | None
    start_ns: int | None
    duration_ns: int | None
    rule: str = "token"


class CallRow(NamedTuple):
    """One forward pass, launch or look-up. Calls never overlap: ``duration_ns`` is the call's own time. ``round`` is
    the round it served (-1 for prefill), ``level`` and ``name`` identify the model or drafter, ``steps`` counts forward
    passes in one launch, ``fed`` tokens fed, ``cached`` tokens already in the KV cache.
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
    """Progress before the first token: the current step (``loading nano``, ``prefill``) and the part done, if known."""

    text: str
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The decode begins. ``meta`` is the trace's meta so far, ``pieces`` the text of the prompt's tokens by id."""

    meta: dict
    pieces: dict[int, str]


@dataclass(frozen=True, slots=True)
class Step:
    """The rows of one target round: its own is last in ``rounds``, those of the levels below come before it. ``pieces``
    gives the text of every token id in these rows that no earlier event contained.
    """

    tokens: list[TokenRow]
    drafts: list[DraftRow]
    rounds: list[RoundRow]
    calls: list[CallRow]
    pieces: dict[int, str]


@dataclass(frozen=True, slots=True)
class Finished:
    """The decode is over; ``trace`` (a :class:`hsd_viz.trace.Trace`) is the complete recording."""

    trace: object


Event = Stage | Started | Step | Finished


class Rows:
    """The data of a recorded decode: ``meta`` and four lists of rows, in the order of events. ``pieces`` maps each
    token id that occurs to its text.
    """

    def __init__(self, meta: dict[str, Any]) -> None:
        self.meta = meta
        self.pieces: dict[int, str] = {}
        self.token_rows: list[TokenRow] = []
        self.draft_rows: list[DraftRow] = []
        self.round_rows: list[RoundRow] = []
        self.call_rows: list[CallRow] = []

    def append(self, step: Step) -> None:
        """Add the rows of one target round."""
        self.token_rows += step.tokens
        self.draft_rows += step.drafts
        self.round_rows += step.rounds
        self.call_rows += step.calls
        self.pieces.update(step.pieces)

    def rows(self, table: str) -> list:
        """Return the rows of ``tokens``, ``drafts``, ``rounds`` or ``calls``."""
        return getattr(self, f"{table.removesuffix('s')}_rows")

    @property
    def token_ids(self) -> list[int]:
        """The emitted token ids."""
        return [t.token_id for t in self.token_rows]
