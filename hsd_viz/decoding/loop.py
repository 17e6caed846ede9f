"""The decoding loop: levels of any depth, each verifying what the level below proposes.

:meth:`Loop.draft` is Hierarchical Speculative Decoding in one function (Globerson et al. 2025, arXiv 2510.19705, as
described there: a level verifies and accepts until it has at least its lookahead). What keeps it lossless:

1. on rejection a level samples the residual, not its own row;
2. the row proposed with a token is the level's *full* row where the token was drawn, never the residual,
3. nor the drafter's row;
4. a level may stop after accepting a token, and no token is dropped after it was seen (limits by position are fine:
   they do not look at the token);
5. q is the row after temperature, top-k and top-p: the row that was sampled;
6. a draft by arg-max or from a database is a point mass, never its softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter_ns
from typing import Any

import numpy as np

from hsd_viz.decoding.log import Log, Verification
from hsd_viz.decoding.sampling import Draws, Sampling
from hsd_viz.decoding.session import Session
from hsd_viz.decoding.text import TokenText
from hsd_viz.decoding.verify import Draft, Numbers, Record
from hsd_viz.drafting.tree import MIN_TEMPERATURE, TOP, Drafter, DraftTree, LogitsObserver, Observer
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace
from hsd_viz.trace.tables import Columns

#: The most tokens of the prompt that are fed at a time: ``PREFILL_CHUNK`` of ``src/loop.hpp``.
PREFILL_CHUNK = 512

#: How many of the likeliest tokens are recorded for a row.
LIKELIEST = 5

#: The levels that draft for a round, bottom first, each with its lookahead (``None`` for a database's).
Drafting = Sequence[tuple[int, int | None]]


@dataclass(slots=True)
class Level:
    """A model in the stack; it proposes at least ``lookahead`` tokens at a time (``None`` at the target)."""

    name: str
    session: Session
    lookahead: int | None = None


class Loop:
    """One decode by ``levels``, the target last, with ``drafter``, a database or baseline, below them, if any.

    This is the loop in Python, for any sessions and drafter; the compiled one, which decodes many rounds at a time, is
    :class:`hsd_viz.native.decode.NativeDecode`. ``eos`` ends the text, as do ``max_new_tokens`` emitted tokens and
    ``positions`` tokens of text. ``budget`` bounds the nodes of a database's draft (``None``: the drafter's own
    default). With ``details`` > 0 the target describes its rows, with so many of the likeliest tokens. Times are
    nanoseconds from the start of the decode. Native forward passes have up to ``threads`` threads.
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
        details: int = 0,
        threads: int = 1,
    ) -> None:
        assert prompt and levels and max_new_tokens > 0
        self.drafter, self.sampling, self.text, self.eos, self.details = drafter, sampling, list(prompt), eos, details
        self.limit = min(len(prompt) + max_new_tokens, positions or len(prompt) + max_new_tokens)
        self.budget = budget if budget is not None or drafter is None else drafter.nodes
        self.threads, self._zero = threads, perf_counter_ns()
        # With a drafter, level 0 is the drafter's and levels[i] stays the model of level i.
        self.levels: list[Level | None] = [*([None] if drafter else []), *levels]
        self.top = len(self.levels) - 1
        self.draws = Draws(sampling.seed)

    @cached_property
    def log(self) -> Log:
        """The rows of the rounds."""
        return Log(self.now)

    def now(self) -> int:
        return perf_counter_ns() - self._zero

    def resume_at(self, now: int) -> None:
        """Set the time to ``now`` (from :meth:`now`): what passed since then is not the decode's."""
        self._zero = perf_counter_ns() - now

    def prefill(self) -> Iterator[tuple[str, int, int]]:
        """Feed all of the prompt but its last token to every model; yields (name, tokens done, tokens in all)."""
        prompt = self.text[:-1]
        for i, level in enumerate(self.levels):
            if level is None:
                start = self.now()
                self.drafter.start(self.text)
                self.log.call(i, self.drafter.name, "prefill", start, len(self.text))
                continue
            for begin in range(0, len(prompt), PREFILL_CHUNK):
                chunk = prompt[begin : begin + PREFILL_CHUNK]
                start = self.now()
                level.session.feed(chunk)
                self.log.call(i, level.name, "prefill", start, len(chunk), begin)
                yield level.name, begin + len(chunk), len(prompt)

    def rounds(self) -> Iterator[Any]:
        """Decode to EOS or a limit; yields after some rounds, by whose tokens ``text`` has grown: here the target's
        verification after each.
        """
        below = [(i, level.lookahead if level else None) for i, level in enumerate(self.levels[:-1])]
        done = False
        while not done and (room := self.limit - len(self.text)) > 0:
            verified = self.round(self.top, below, room)
            self.text += verified.tokens
            done = self.text[-1] in self.eos
            yield verified

    def take(self) -> Callable[[], dict[str, Columns]]:
        """Return what makes the tables of the rounds since the last call, without the texts of tokens."""
        taken = self.log.take()
        return lambda: taken

    def round(self, i: int, below: Drafting, room: int) -> Verification:
        """One round of level i: a draft by the levels ``below``, verified; it emits at most ``room`` tokens."""
        self.log.open_round(i)
        verified = self.verify(i, self.draft(below, room - 1))
        if i == self.top and self.drafter is not None:
            self._update_drafter(verified)
        self.log.close_round(verified)
        return verified

    def draft(self, levels: Drafting, room: int) -> Draft:
        """call(i), level i the last of ``levels``: at most ``room`` tokens that follow ``text``, distributed as level
        i's own (a database's: point masses).
        """
        if not levels or room <= 0:
            return Draft(DraftTree(why_empty="no room" if levels else "off"))
        *below, (i, lookahead) = levels
        if self.levels[i] is None:
            return self._look_up(room)
        if not below:
            return self._sample(i, min(lookahead, room))
        parts, base, text = [], len(self.text), self.text
        while (held := len(text) - base) < min(lookahead, room) and not (held and text[-1] in self.eos):
            verified = self.round(i, below, room - held)
            text += verified.tokens
            parts.append(verified.proposal)
        del text[base:]
        whole, *rest = parts
        for part in rest:
            whole.tree.append(part.tree)
            whole.paths += part.paths
        if rest and whole.rows is not None:
            whole.rows = np.concatenate([part.rows for part in parts])
        return whole

    def verify(self, i: int, draft: Draft) -> Verification:
        """Feed level i its uncached tokens and the draft once: emit the accepted tokens and one of its own."""
        level, tree, base = self.levels[i], draft.tree, len(self.text)
        session, cached = level.session, level.session.length
        pending = self.text[cached:]

        start = self.now()
        verdict = session.verify(pending, draft, self.sampling, self._numbers(i, draft), self._record(i))
        end = next((k for k, node in enumerate(verdict.accepted, 1) if tree.tokens[node] in self.eos), None)
        accepted = verdict.accepted[:end]
        session.keep(base, accepted)
        for below in self.levels[:i]:
            if below is not None:
                below.session.truncate(base + len(accepted))
        self.log.call(i, level.name, "verify", start, len(pending) + len(tree), cached)

        tokens = [tree.tokens[node] for node in accepted]
        if end is not None:
            return Verification(i, level.name, draft, verdict, accepted, "stopped", tokens)
        # A place that was examined and led no further had draft tokens, all of them wrong.
        outcome = "correction" if verdict.examined > len(accepted) else "bonus" if len(tree) else "plain"
        return Verification(i, level.name, draft, verdict, accepted, outcome, [*tokens, verdict.token])

    # --- inside ----------------------------------------------------------------------------------------------------

    def _numbers(self, i: int, draft: Draft) -> Numbers | None:
        """The uniform numbers of a verification. Those of level i's own tokens are the target's by position in the
        text; all others never repeat.
        """
        if self.sampling.greedy:
            return None
        chain = draft.rows is not None
        u = self.draws.fresh(len(draft)) if chain else []
        places = 1 + (len(draft) if chain else max(draft.tree.depths(), default=0))
        base = len(self.text)
        r = [self.draws.at(base + k) for k in range(places)] if i == self.top else self.draws.fresh(places)
        return Numbers(r, u)

    def _record(self, i: int) -> Record:
        """What a verification by level i reports: details and observations at the target."""
        if i < self.top:
            return Record()
        warm = max(self.sampling.temperature, MIN_TEMPERATURE) if isinstance(self.drafter, LogitsObserver) else None
        learns = warm is not None or isinstance(self.drafter, Observer)
        return Record(self.details, observe=TOP if learns else 0, temperature=warm)

    def _sample(self, i: int, n: int) -> Draft:
        """Level i, the lowest, decodes ``n`` tokens by itself, fewer at EOS (one in the prompt ends nothing)."""
        level, cached = self.levels[i], self.levels[i].session.length
        pending = self.text[cached:]
        numbers = None if self.sampling.greedy else Numbers(self.draws.fresh(n))
        start = self.now()
        chain = level.session.sample(pending, n, self.sampling, numbers, self.eos)
        self.log.call(i, level.name, "draft", start, len(pending) + chain.forwards - 1, cached, chain.forwards)
        tree = DraftTree.chain(chain.tokens, level.name)
        return Draft(tree, [[i]] * len(tree), chain.rows)

    def _look_up(self, room: int) -> Draft:
        """Ask the drafter; nodes beyond the limit are left out (by position, independent of the token)."""
        start = self.now()
        tree = self.drafter.draft(self.text, self.budget).within(room)
        self.log.call(0, self.drafter.name, "lookup", start, len(tree))
        return Draft(tree, [[0]] * len(tree))

    def _update_drafter(self, verified: Verification) -> None:
        """Pass the round's tokens to the drafter and, if it learns from them, the target's likeliest tokens."""
        start, drafter, tree = self.now(), self.drafter, verified.draft.tree
        if verified.verdict.observed is not None:
            tokens, probabilities = verified.verdict.observed
            if isinstance(drafter, Observer):
                drafter.observe(self.text, tree, tokens)
            elif isinstance(drafter, LogitsObserver):
                drafter.observe_probabilities(self.text, tree, tokens, probabilities)
        drafter.extend(verified.tokens)
        self.log.call(0, drafter.name, "update", start, len(verified.tokens))


# --- a decode as events -----------------------------------------------------------------------------------------------


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

    return Step(make)


def decode(loop: Loop, text: TokenText, meta: dict[str, Any]) -> Iterator[Event]:
    """Run ``loop`` and yield its events; closing the generator cancels the run.

    ``meta`` is completed in place: ``prompt_ids``, ``prefill_ns``, ``wall_ns``, ``stop_reason`` and ``cancelled``; it
    is a whole trace's meta even when the run is cut short. ``wall_ns`` is the time of the loop and of recording; rows
    are made when they are read.
    """
    prompt = list(loop.text)
    meta |= {"prompt_ids": prompt, "stop_reason": "cancelled", "cancelled": True}
    meta |= {"prefill_ns": 0, "wall_ns": 0, "detailed": loop.details > 0}
    pieces = text.pieces(prompt)
    trace = Trace(meta, pieces)
    try:
        for name, done, total in loop.prefill():
            yield Stage(f"prefill {name}", done, total)
        meta["prefill_ns"] = meta["wall_ns"] = loop.now()
        yield Started(meta, pieces)
        # The time that a consumer spends on an event is not the decode's.
        loop.resume_at(meta["prefill_ns"])
        for _ in loop.rounds():
            step = step_of(loop.take(), text)
            trace.append(step)
            meta["wall_ns"] = loop.now()
            yield step
            loop.resume_at(meta["wall_ns"])
    finally:
        emitted = len(loop.text) - len(prompt)
        if emitted and loop.text[-1] in loop.eos:
            meta |= {"stop_reason": "eos", "cancelled": False}
        elif len(loop.text) >= loop.limit:
            meta |= {"stop_reason": "length" if emitted >= meta["max_new_tokens"] else "context", "cancelled": False}
    yield Finished(trace)
