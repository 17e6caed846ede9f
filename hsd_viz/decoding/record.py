"""Recording: from what the loop did to events and the rows of a trace, which are made when they are first read.

Between two forward passes, which sweep the weights through the processor's caches, Python takes several times as long
as in a loop of its own. So each round only keeps what its rows consist of. They are made later, many at a time, by the
reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from threading import Lock
from typing import Any, NamedTuple

from hsd_viz.decoding.backend import TOP
from hsd_viz.decoding.log import VerifiedDraft
from hsd_viz.decoding.loop import Loop, Verification
from hsd_viz.decoding.text import TokenText
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace import CallRow, Event, Finished, RoundRow, Stage, Started, Step, TokenRow, Trace
from hsd_viz.trace.records import Top


class RoundRecord(NamedTuple):
    """What the rows of one target round are made of.

    ``tree`` and ``paths`` are the draft's, where any of its nodes was ``accepted``; ``details`` are
    :meth:`~hsd_viz.decoding.backend.Backend.describe`'s, where recorded; ``correction`` is :func:`_correction`'s.
    """

    level: int
    tokens: list[int]
    accepted: list[int]
    outcome: str
    tree: DraftTree | None
    paths: list[tuple[int, ...]] | None
    details: Sequence[float] | None
    correction: tuple[Top | None, Top | None, float | None]
    drafts: list[VerifiedDraft]
    rounds: list[RoundRow]
    calls: list[CallRow]


class RecordedStep(Step):
    """A step whose rows are made when one of them is first read."""

    __slots__ = ("record", "recorder")

    def __getattr__(self, name: str):
        if name not in Step.__slots__:
            raise AttributeError(f"a step has no {name}")
        self.recorder.make_rows()
        return object.__getattribute__(self, name)


# A step is frozen for all others.
_new = object.__new__
_set_record, _set_recorder = RecordedStep.record.__set__, RecordedStep.recorder.__set__  # type: ignore[attr-defined]


class Recorder:
    """Makes the steps of one decode. With ``detailed`` tokens have probabilities, entropies and top-5 lists."""

    def __init__(self, loop: Loop, text: TokenText, detailed: bool = True) -> None:
        self._loop = loop
        self._text = text
        self.detailed = detailed
        loop.details = TOP if detailed else 0
        self._named: set[int] = set()
        self._index = 0
        self._waiting: deque[RecordedStep] = deque()
        # Steps may be read in another thread than the one that decodes.
        self._lock = Lock()

    def step(self, verified: Verification) -> Step:
        """Return the step of the round ``verified``. Its logits are read now, before they are overwritten."""
        loop, details, correction, tree, paths = self._loop, None, (None, None, None), None, None
        if self.detailed:
            forward, notes = verified.forward, verified.forward.notes
            details = forward.details
            if notes is not None and notes.described is not None:
                details = [number for row in verified.rows for number in notes.described[row]]
            elif details is None:
                details = loop.backend.describe(forward.logits, verified.rows, verified.tokens)
            elif verified.outcome == "stopped":  # the walk may have continued past the end token
                details = details[: len(details) // (len(verified.verdict.accepted) + 1) * len(verified.tokens)]
            if verified.outcome == "correction" and not loop.greedy:
                correction = _correction(loop, verified)  # type: ignore[assignment]
        if verified.accepted:
            tree, paths = verified.draft.tree, verified.draft.paths
        step = _new(RecordedStep)
        happened = verified.level, verified.tokens, verified.accepted, verified.outcome
        _set_record(step, (*happened, tree, paths, details, correction, *loop.log.take()))
        _set_recorder(step, self)
        self._waiting.append(step)
        return step

    def make_rows(self) -> None:
        """Make the rows of all steps that have none yet, in order: each names the tokens that no earlier step named."""
        with self._lock:
            while self._waiting:
                step = self._waiting[0]
                record = RoundRecord(*step.record)
                tokens = self._token_rows(record)
                drafts = [row for draft in record.drafts for row in draft.rows(self._piece)]
                ids = {token for draft in record.drafts for token in draft.tree.tokens}
                ids.update(record.tokens)
                for row in tokens:
                    for top in (row.top, row.residual_top, row.q_top):
                        if top:
                            ids.update([token for token, _ in top])
                Step.__init__(step, tokens, drafts, record.rounds, record.calls, self.new_pieces(ids))
                self._waiting.popleft()
                _set_record(step, None)

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
        described = _details(record.details, count) if record.details else repeat((None, None, None), count)
        for k, (token, detail) in enumerate(zip(record.tokens, described, strict=True)):
            correction: tuple = (None, None, None)
            if k < len(record.accepted):
                node, kind = record.accepted[k], "accepted"
                source, path, depth = tree.sources[node], (*record.paths[node], record.level), tree.depths()[node]
            else:
                kind, source, path, depth = record.outcome, "target", (record.level,), 0
                correction = record.correction
            piece, raw = self._text.piece(token)
            rows.append(TokenRow(self._index, token, piece, raw, this, kind, source, path, depth, *detail, *correction))
            self._index += 1
        return rows


def decode(loop: Loop, recorder: Recorder, meta: dict[str, Any]) -> Iterator[Event]:
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
        for verified in loop.rounds():
            step = recorder.step(verified)
            steps.append(step)
            emitted, last = emitted + len(verified.tokens), verified.tokens[-1]
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


def _details(numbers: Sequence[float], rows: int) -> list[tuple[float, float, Top]]:
    """Split what a backend described: per row probability of the token, entropy in nats, likeliest tokens."""
    width, out = len(numbers) // rows, []
    for at in range(0, len(numbers), width):
        p, entropy, *pairs = numbers[at : at + width]
        out.append((p, entropy, tuple(zip(map(int, pairs[::2]), pairs[1::2], strict=True))))
    return out


def _correction(loop: Loop, verified: Verification) -> tuple[Top, Top | None, float]:
    """Return the likeliest tokens of the row a correction was drawn from, those of q there, and the row's sum."""
    draft, row, backend, forward = verified.draft, verified.verdict.row, loop.backend, verified.forward
    notes = forward.notes
    if notes is not None and notes.left is not None:
        q = _top(notes.q)[0] if draft.rows is not None and notes.q is not None else None
        top, total = _top(notes.left[0 if draft.rows is not None else row])
        return top, q, total
    if forward.left is not None:
        top, total = _top(forward.left)
        return top, None if forward.q is None else _top(forward.q)[0], total
    if draft.rows is not None:
        residual, left = backend.likeliest(verified.verdict.residual)
        return residual, backend.likeliest(draft.rows[row])[0], left
    left = backend.rows(forward.logits[row : row + 1], loop.sampling)[0]
    # The target drew its own token and it was not among the drafted ones: that is p without them.
    left[[t for t, parent in zip(draft.tree.tokens, draft.tree.parents, strict=True) if parent == row - 1]] = 0
    residual, whole = backend.likeliest(left)
    return residual, None, whole


def _top(ranked: Sequence[float]) -> tuple[Top, float]:
    """Return the likeliest tokens, and the sum of the weights, of numbers as in ``ForwardResult.left``."""
    total, *pairs = ranked
    return tuple((int(token), p) for token, p in zip(pairs[::2], pairs[1::2], strict=True) if p > 0), total
