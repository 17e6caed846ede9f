"""Recording: from what the loop did to events and the rows of a trace, which are made when they are first read.

Between two forward passes, which sweep the weights through the processor's caches, Python takes several times as long
as in a loop of its own. So each round only keeps what its rows consist of. They are made later, many at a time, by the
reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import repeat
from threading import Lock
from typing import Any, NamedTuple, Protocol

from hsd_viz.decoding.log import Log, VerifiedDraft
from hsd_viz.decoding.loop import Loop, Verification
from hsd_viz.decoding.text import TokenText
from hsd_viz.decoding.verdict import Correction, Detail
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace import CallRow, Event, Finished, RoundRow, Stage, Started, Step, TokenRow, Trace
from hsd_viz.trace.rows import LaterStep
from hsd_viz.trace.tables import TABLES, Columns

#: How many of the likeliest tokens are recorded for a row.
TOP = 5


class RoundRecord(NamedTuple):
    """What the rows of one target round are made of.

    ``tree`` and ``paths`` are the draft's, where any of its nodes was ``accepted``; ``details`` and ``correction`` are
    the verdict's, where recorded.
    """

    level: int
    tokens: list[int]
    accepted: list[int]
    outcome: str
    tree: DraftTree | None
    paths: list[tuple[int, ...]] | None
    details: list[Detail] | None
    correction: Correction | None
    drafts: list[VerifiedDraft]
    rounds: list[RoundRow]
    calls: list[CallRow]


class Batch(Protocol):
    """What a compiled loop recorded in one call: tables without the texts of tokens."""

    tokens: list[int]

    def columns(self) -> dict[str, Columns]: ...


class Recorder:
    """Makes the steps of one decode. With ``detailed`` tokens have probabilities, entropies and top-5 lists."""

    def __init__(self, loop: Loop | CompiledLoop, text: TokenText, detailed: bool = True) -> None:
        self._loop = loop
        self._text = text
        self.detailed = detailed
        loop.details = TOP if detailed else 0
        self._named: set[int] = set()
        self._index = 0
        self._waiting: deque[tuple[LaterStep, tuple | Batch]] = deque()
        # Steps may be read in another thread than the one that decodes.
        self._lock = Lock()

    def step(self, happened: Verification | Batch) -> Step:
        """Return the step of a round of the loop, or of a batch of a compiled one."""
        step = LaterStep(self.make_tables)
        if isinstance(happened, Verification):
            tree, paths = None, None
            if happened.accepted:
                tree, paths = happened.draft.tree, happened.draft.paths
            known = happened.level, happened.tokens, happened.accepted, happened.outcome
            record = *known, tree, paths, happened.details, happened.correction, *self._loop.log.take()
            self._waiting.append((step, record))
        else:
            self._waiting.append((step, happened))
        return step

    def make_tables(self) -> None:
        """Make the tables of all steps that have none yet, in order: each names the tokens that are new in it."""
        with self._lock:
            while self._waiting:
                step, happened = self._waiting[0]
                if isinstance(happened, tuple):
                    columns = self._tables(RoundRecord(*happened))
                else:
                    columns = happened.columns()
                    self._add_texts(columns["tokens"], columns["drafts"])
                tokens = columns["tokens"]
                ids = {*tokens["token_id"], *columns["drafts"]["token_id"]}
                for name in ("top", "residual_top", "q_top"):
                    ids.update(token for top in tokens[name] if top for token, _ in top)
                step.fill(columns, self.new_pieces(ids))
                self._waiting.popleft()

    def _tables(self, record: RoundRecord) -> dict[str, Columns]:
        drafts = (row for draft in record.drafts for row in draft.rows(self._piece))
        rows: tuple[Iterable[tuple], ...] = self._token_rows(record), drafts, record.rounds, record.calls
        return {name: table.columns_of(of) for (name, table), of in zip(TABLES.items(), rows, strict=True)}

    def _add_texts(self, tokens: Columns, drafts: Columns) -> None:
        texts = [self._text.piece(token) for token in tokens["token_id"]]
        tokens["text"], tokens["raw"] = [text for text, _ in texts], [raw for _, raw in texts]
        drafts["text"] = [self._text.piece(token)[0] for token in drafts["token_id"]]

    def new_pieces(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the text of each of these tokens that was not returned before."""
        fresh = set(ids).difference(self._named)
        self._named |= fresh
        return self._text.pieces(sorted(fresh))

    def _piece(self, token: int) -> str:
        return self._text.piece(token)[0]

    def _token_rows(self, record: RoundRecord) -> list[TokenRow]:
        """Return the tokens that one verification of the target emitted."""
        count, tree, this = len(record.tokens), record.tree, record.rounds[-1].id
        rows: list[TokenRow] = []
        described = record.details or repeat((None, None, None), count)
        for k, (token, detail) in enumerate(zip(record.tokens, described, strict=True)):
            correction: tuple = (None, None, None)
            if k < len(record.accepted):
                node, kind = record.accepted[k], "accepted"
                source, path, depth = tree.sources[node], (*record.paths[node], record.level), tree.depths()[node]
            else:
                kind, source, path, depth = record.outcome, "target", (record.level,), 0
                correction = record.correction or correction
            piece, raw = self._text.piece(token)
            rows.append(TokenRow(self._index, token, piece, raw, this, kind, source, path, depth, *detail, *correction))
            self._index += 1
        return rows


class CompiledLoop(Protocol):
    """A loop that decodes many rounds in one call: :class:`hsd_viz.native.decode.NativeDecode`."""

    text: list[int]
    eos: frozenset[int]
    limit: int
    details: int
    log: Log

    def prefill(self) -> Iterator[tuple[str, int, int]]: ...

    def rounds(self) -> Iterator[Batch]: ...


def decode(loop: Loop | CompiledLoop, recorder: Recorder, meta: dict[str, Any]) -> Iterator[Event]:
    """Run ``loop`` and yield its events; closing the generator cancels the run.

    ``meta`` is completed in place: ``prompt_ids``, ``prefill_ns``, ``wall_ns``, ``stop_reason`` and ``cancelled``; it
    is a whole trace's meta even when the run is cut short. ``wall_ns`` is the time of the loop and of recording; rows
    are made when they are read, at the latest for the trace.
    """
    prompt, emitted, last = list(loop.text), 0, None
    meta |= {"prompt_ids": prompt, "stop_reason": "cancelled", "cancelled": True}
    meta |= {"prefill_ns": 0, "wall_ns": 0, "detailed": recorder.detailed}
    steps: list[Step] = []
    pieces = recorder.new_pieces(prompt)
    try:
        for name, done, total in loop.prefill():
            yield Stage(f"prefill {name}", done, total)
        meta["prefill_ns"] = meta["wall_ns"] = loop.log.now()
        yield Started(meta, dict(pieces))
        # The time that a consumer spends on an event is not the decode's.
        loop.log.resume_at(meta["prefill_ns"])
        for happened in loop.rounds():
            step, tokens = recorder.step(happened), happened.tokens
            steps.append(step)
            emitted, last = emitted + len(tokens), tokens[-1]
            meta["wall_ns"] = loop.log.now()
            yield step
            loop.log.resume_at(meta["wall_ns"])
    finally:
        if last in loop.eos:
            meta |= {"stop_reason": "eos", "cancelled": False}
        elif len(loop.text) >= loop.limit:
            meta |= {"stop_reason": "length" if emitted >= meta["max_new_tokens"] else "context", "cancelled": False}
    trace = Trace(meta)
    trace.pieces.update(pieces)
    for step in steps:
        trace.append(step)
    yield Finished(trace)
