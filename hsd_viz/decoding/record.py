"""The record of a decode: what the loop did as columns of the tables of a trace, and the events of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from time import perf_counter_ns
from typing import Any

from hsd_viz.decoding.sampling import Sampling
from hsd_viz.decoding.session import Session
from hsd_viz.decoding.text import TokenText
from hsd_viz.decoding.verify import Correction, Detail, Draft, Verdict
from hsd_viz.drafting.tree import Drafter
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace
from hsd_viz.trace.tables import TABLES, Columns

#: How many of the likeliest tokens are recorded for a row.
TOP = 5


@dataclass(slots=True)
class Level:
    """A model in the stack; it proposes at least ``lookahead`` tokens at a time (``None`` at the target).

    ``rule`` verifies the drafts it gets, where they were sampled from rows (``None``: the sampling's rule).
    """

    name: str
    session: Session
    lookahead: int | None = None
    rule: str | None = None


@dataclass(slots=True)
class Verification:
    """One verification by a level, and the ``tokens`` it emits: the ``accepted`` nodes', which are the verdict's up to
    an end token, then its own, unless the ``outcome`` is ``stopped``.
    """

    level: int
    name: str
    draft: Draft
    verdict: Verdict
    accepted: list[int]
    outcome: str
    tokens: list[int]

    @property
    def details(self) -> list[Detail] | None:
        """The details of the emitted tokens, where they were recorded."""
        return None if self.verdict.details is None else self.verdict.details[: len(self.tokens)]

    @property
    def correction(self) -> Correction | None:
        """What the last token was drawn from, where it is a correction that was sampled and details were recorded."""
        return self.verdict.correction if self.outcome == "correction" else None

    @property
    def proposal(self) -> Draft:
        """The tokens as a draft for the next level: a chain, with the level's full rows."""
        tree = self.draft.tree.path(self.accepted)
        paths = [(*self.draft.paths[node], self.level) for node in self.accepted]
        if self.outcome != "stopped":
            tree.add(self.tokens[-1], len(paths) - 1, self.name)
            paths.append((self.level,))
        rows = self.verdict.rows
        return Draft(tree, paths, None if rows is None else rows[: len(self.tokens)])


class Log:
    """What a loop reports, as columns without the texts of tokens; the consumer of the loop takes them (:meth:`take`).

    Times are nanoseconds after ``zero``, the ``clock`` at the start of the decode: wall time, or another clock for
    measurements on a machine with other work. Own times never overlap.
    """

    def __init__(self, clock: Callable[[], int] = perf_counter_ns) -> None:
        self.clock, self.zero = clock, clock()
        self._columns = {name: table.empty() for name, table in TABLES.items()}
        # Of each open round its id, its level and its start, the innermost last.
        self._open: list[tuple[int, int, int]] = []
        self._rounds = self._tokens = 0

    def now(self) -> int:
        return self.clock() - self.zero

    def resume_at(self, now: int) -> None:
        """Set the time to ``now`` (from :meth:`now`): what passed since then is not the decode's."""
        self.zero = self.clock() - now

    def open_round(self, level: int) -> None:
        self._open.append((self._rounds, level, self.now()))
        self._rounds += 1

    def close_round(self, verified: Verification) -> None:
        """End the innermost open round; that of the target emits its tokens."""
        this, level, start = self._open.pop()
        spent, parent = self.now() - start, self._open[-1][0] if self._open else None
        tree, verdict, accepted, outcome = verified.draft.tree, verified.verdict, verified.accepted, verified.outcome
        n, count = len(tree), len(accepted)
        if n:
            fates = ["unreached" if p is None else "rejected" for p in verdict.p]
            for fate, nodes in (("cut", verdict.accepted), ("accepted", accepted)):
                for node in nodes:
                    fates[node] = fate
            null: list[None] = [None] * n
            recut = null if tree.recut is None else map(list, tree.recut)
            found = tree.key_lengths, tree.counts, tree.scores, tree.positions, verdict.h or null, recut
            places = range(n), tree.parents, tree.depths(), tree.tokens, null
            judged = verdict.p, verdict.q, verdict.u, fates
            self._extend("drafts", [this] * n, [level] * n, tree.sources, *places, *judged, *found)
        examined = count if outcome == "stopped" else verdict.examined
        counts = n, examined, count, outcome, None if n else tree.why_empty or "no match"
        self._add("rounds", this, parent, level, *counts, start, spent, verdict.rule)
        if parent is None:
            self._emit(this, verified)

    def _emit(self, this: int, verified: Verification) -> None:
        draft, level, accepted = verified.draft, verified.level, verified.accepted
        for k, (token, detail) in enumerate(zip(verified.tokens, verified.details or repeat(None), strict=False)):
            own, residual = k == len(accepted), verified.correction
            kind, source, path, depth = verified.outcome, "target", [level], 0
            if not own:
                node = accepted[k]
                path, depth = [*draft.paths[node], level], draft.tree.depths()[node]
                kind, source = "accepted", draft.tree.sources[node]
            p, entropy, top = (None, None, None) if detail is None else detail
            tops = (residual.top, residual.q_top) if own and residual else (None, None)
            whole = residual.total if own and residual else None
            known = self._tokens, token, None, None, this, kind, source, path, depth, p, entropy
            self._add("tokens", *known, *map(_lists, (top, *tops)), whole)
            self._tokens += 1

    def call(self, level: int, name: str, kind: str, start: int, fed: int, cached: int = 0, steps: int = 1) -> None:
        """Record a call that began at ``start`` (from :meth:`now`) and ends now. It belongs to the innermost open
        round, -1 before the first.
        """
        spent, this = self.now() - start, self._open[-1][0] if self._open else -1
        self._add("calls", this, level, name, kind, steps, fed, cached, start, spent)

    def take(self) -> dict[str, Columns]:
        """Return and clear the four tables of what was reported so far."""
        taken, self._columns = self._columns, {name: table.empty() for name, table in TABLES.items()}
        return taken

    def _add(self, table: str, *row: Any) -> None:
        for column, value in zip(self._columns[table].values(), row, strict=True):
            column.append(value)

    def _extend(self, table: str, *columns: Iterable[Any]) -> None:
        for column, values in zip(self._columns[table].values(), columns, strict=True):
            column.extend(values)


def _lists(top: Sequence[tuple[int, float]] | None) -> list[list] | None:
    return None if top is None else list(map(list, top))


class Decoding(ABC):
    """One decode by ``levels``, the target last, with ``drafter``, a database or baseline, below them, if any: by
    :class:`~hsd_viz.decoding.loop.Loop`, or by the compiled loop, which decodes many rounds at a time
    (:class:`hsd_viz.native.decode.NativeDecode`).

    ``eos`` ends the text, as do ``max_new_tokens`` emitted tokens and ``positions`` tokens of text. ``budget`` bounds
    the nodes of a database's draft (``None``: the drafter's own default). ``log`` records rounds and calls. With
    ``details`` > 0 the target describes its rows, with so many of the likeliest tokens.
    """

    def __init__(
        self,
        levels: Sequence[Level],
        drafter: Drafter | None,
        sampling: Sampling,
        prompt: Sequence[int],
        *,
        max_new_tokens: int,
        positions: int | None = None,
        eos: frozenset[int] = frozenset(),
        budget: int | None = None,
        log: Log | None = None,
        details: int = 0,
    ) -> None:
        assert prompt and levels and max_new_tokens > 0
        self.drafter, self.sampling, self.text, self.eos, self.details = drafter, sampling, list(prompt), eos, details
        self.limit = min(len(prompt) + max_new_tokens, positions or len(prompt) + max_new_tokens)
        self.budget = budget if budget is not None or drafter is None else drafter.nodes
        self.log = Log() if log is None else log
        # With a drafter, level 0 is the drafter's and levels[i] stays the model of level i.
        self.levels: list[Level | None] = [*([None] if drafter else []), *levels]
        self.top = len(self.levels) - 1

    @abstractmethod
    def prefill(self) -> Iterator[tuple[str, int, int]]:
        """Feed all of the prompt but its last token to every model; yields (name, tokens done, tokens in all)."""

    @abstractmethod
    def rounds(self) -> Iterator[Any]:
        """Decode to the end; yields what some rounds emitted, which has ``tokens``; ``text`` grows by them."""

    @abstractmethod
    def tables(self, emitted: Any) -> Callable[[], dict[str, Columns]]:
        """Return a function that makes the tables of what :meth:`rounds` has just yielded, without texts."""


def step_of(tables: Callable[[], dict[str, Columns]], text: TokenText) -> Step:
    """Return the step of some rounds, made when it is first read: between two forward passes, which sweep the weights
    through the processor's caches, Python takes several times as long as in a loop of its own.
    """

    def make() -> tuple[dict[str, Columns], dict[int, str]]:
        columns = tables()
        tokens, drafts = columns["tokens"], columns["drafts"]
        pieces = [text.piece(token) for token in tokens["token_id"]]
        tokens["text"], tokens["raw"] = [piece for piece, _ in pieces], [raw for _, raw in pieces]
        drafts["text"] = [text.piece(token)[0] for token in drafts["token_id"]]
        ids = {*tokens["token_id"], *drafts["token_id"]}
        for name in ("top", "residual_top", "q_top"):
            ids.update(token for top in tokens[name] if top for token, _ in top)
        return columns, text.pieces(sorted(ids))

    return Step(make=make)


def decode(loop: Decoding, text: TokenText, meta: dict[str, Any]) -> Iterator[Event]:
    """Run ``loop`` and yield its events; closing the generator cancels the run.

    ``meta`` is completed in place: ``prompt_ids``, ``prefill_ns``, ``wall_ns``, ``stop_reason`` and ``cancelled``; it
    is a whole trace's meta even when the run is cut short. ``wall_ns`` is the time of the loop and of recording; rows
    are made when they are read.
    """
    prompt, emitted, last = list(loop.text), 0, None
    meta |= {"prompt_ids": prompt, "stop_reason": "cancelled", "cancelled": True}
    meta |= {"prefill_ns": 0, "wall_ns": 0, "detailed": loop.details > 0}
    trace, pieces = Trace(meta), text.pieces(prompt)
    trace.pieces.update(pieces)
    try:
        for name, done, total in loop.prefill():
            yield Stage(f"prefill {name}", done, total)
        meta["prefill_ns"] = meta["wall_ns"] = loop.log.now()
        yield Started(meta, pieces)
        # The time that a consumer spends on an event is not the decode's.
        loop.log.resume_at(meta["prefill_ns"])
        for happened in loop.rounds():
            step, tokens = step_of(loop.tables(happened), text), happened.tokens
            trace.append(step)
            emitted, last = emitted + len(tokens), tokens[-1]
            meta["wall_ns"] = loop.log.now()
            yield step
            loop.log.resume_at(meta["wall_ns"])
    finally:
        if last in loop.eos:
            meta |= {"stop_reason": "eos", "cancelled": False}
        elif len(loop.text) >= loop.limit:
            meta |= {"stop_reason": "length" if emitted >= meta["max_new_tokens"] else "context", "cancelled": False}
    yield Finished(trace)
