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
from itertools import repeat

import numpy as np

from hsd_viz.decoding.record import Decoding, Level
from hsd_viz.decoding.sampling import Draws
from hsd_viz.decoding.verify import Correction, Detail, Draft, Numbers, Record, Verdict
from hsd_viz.drafting.tree import MIN_TEMPERATURE, TOP, DraftTree, LogitsObserver, Observer
from hsd_viz.trace.tables import TABLES, Columns

__all__ = ["Level", "Log", "Loop", "Verification", "joined", "until_eos"]

#: The most tokens of the prompt that are fed at a time.
PREFILL_CHUNK = 512

#: The levels that draft for a round, bottom first, each with its lookahead (``None`` for a database's).
Drafting = Sequence[tuple[int, int | None]]


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
    """What the loop did, as rows of the tables without the texts of tokens, until taken. ``now`` gives the time
    of the decode; own times of calls never overlap.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self._rows: dict[str, list[tuple]] = {name: [] for name in TABLES}
        # Of each open round its id, its level and its start, the innermost last.
        self._open: list[tuple[int, int, int]] = []
        self._rounds = self._tokens = 0

    def open_round(self, level: int) -> None:
        self._open.append((self._rounds, level, self.now()))
        self._rounds += 1

    def close_round(self, verified: Verification) -> None:
        """End the innermost open round; that of the target emits its tokens."""
        this, level, start = self._open.pop()
        spent, parent = self.now() - start, self._open[-1][0] if self._open else None
        tree, verdict, accepted, outcome = verified.draft.tree, verified.verdict, verified.accepted, verified.outcome
        n, count, depths = len(tree), len(accepted), tree.depths()
        fates = ["unreached" if p is None else "rejected" for p in verdict.p]
        for fate, nodes in (("cut", verdict.accepted), ("accepted", accepted)):
            for node in nodes:
                fates[node] = fate
        null: Iterator[None] = repeat(None)
        places = repeat(this), repeat(level), tree.sources, range(n), tree.parents, depths, tree.tokens, null
        judged = verdict.p, verdict.q, verdict.u, fates
        found = tree.key_lengths, tree.counts, tree.scores, tree.positions, verdict.h or null, tree.recut or null
        self._rows["drafts"] += zip(*places, *judged, *found, strict=False)
        examined = count if outcome == "stopped" else verdict.examined
        counts = n, examined, count, outcome, None if n else tree.why_empty or "no match"
        self._rows["rounds"].append((this, parent, level, *counts, start, spent, verdict.rule))
        if parent is None:
            self._emit(this, verified)

    def _emit(self, this: int, verified: Verification) -> None:
        draft, level, accepted, residual = verified.draft, verified.level, verified.accepted, verified.correction
        depths, sources = draft.tree.depths(), draft.tree.sources
        for k, (token, detail) in enumerate(zip(verified.tokens, verified.details or repeat(None), strict=False)):
            drawn: tuple = (None, None, None)
            if k < len(accepted):
                node = accepted[k]
                origin: tuple = "accepted", sources[node], (*draft.paths[node], level), depths[node]
            else:
                origin = verified.outcome, "target", (level,), 0
                drawn = drawn if residual is None else residual
            row = self._tokens, token, None, None, this, *origin, *(detail or (None, None, None)), *drawn
            self._rows["tokens"].append(row)
            self._tokens += 1

    def call(self, level: int, name: str, kind: str, start: int, fed: int, cached: int = 0, steps: int = 1) -> None:
        """Record a call that began at ``start`` and ends now. It belongs to the innermost open round, -1 before the
        first.
        """
        this = self._open[-1][0] if self._open else -1
        self._rows["calls"].append((this, level, name, kind, steps, fed, cached, start, self.now() - start))

    def take(self) -> dict[str, Columns]:
        """Return and clear the four tables of what was reported so far."""
        taken = {name: table.columns_of(self._rows[name]) for name, table in TABLES.items()}
        for rows in self._rows.values():
            rows.clear()
        return taken


class Loop(Decoding):
    """The loop in Python, for any sessions and drafter."""

    @cached_property
    def log(self) -> Log:
        """What it reports; taken with :meth:`take`."""
        return Log(self.now)

    @cached_property
    def draws(self) -> Draws:
        """The random numbers of the decode."""
        return Draws(self.sampling.seed)

    @cached_property
    def drafting(self) -> Drafting:
        """The levels below the target."""
        return [(i, level.lookahead if level else None) for i, level in enumerate(self.levels[:-1])]

    def prefill(self) -> Iterator[tuple[str, int, int]]:
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

    def rounds(self) -> Iterator[Verification]:
        """Yield the target's verifications until EOS or a limit; ``text`` grows by the tokens of each."""
        done = False
        while not done and (room := self.limit - len(self.text)) > 0:
            verified = self.round(self.top, self.drafting, room)
            self.text += verified.tokens
            done = self.text[-1] in self.eos
            yield verified

    def take(self) -> Callable[[], dict[str, Columns]]:
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
        return joined(parts)

    def verify(self, i: int, draft: Draft) -> Verification:
        """Feed level i its uncached tokens and the draft once: emit the accepted tokens and one of its own."""
        level, tree, base = self.levels[i], draft.tree, len(self.text)
        session, cached = level.session, level.session.length
        pending = self.text[cached:]
        draft.rule = level.rule or self.sampling.rule

        start = self.now()
        verdict = session.verify(pending, draft, self.sampling, self._numbers(i, draft), self._record(i))
        accepted, stopped = until_eos(verdict.accepted, tree.tokens, self.eos)
        session.keep(base, accepted)
        for below in self.levels[:i]:
            if below is not None:
                below.session.truncate(base + len(accepted))
        self.log.call(i, level.name, "verify", start, len(pending) + len(tree), cached)

        tokens = [tree.tokens[node] for node in accepted]
        if stopped:
            outcome = "stopped"
        else:
            tokens.append(verdict.token)
            # A place that was examined and led no further had draft tokens, all of them wrong.
            outcome = "correction" if verdict.examined > len(accepted) else "bonus" if len(tree) else "plain"
        return Verification(i, level.name, draft, verdict, accepted, outcome, tokens)

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
        """What a verification by level i reports: rows below the target, details and observations at the target."""
        if i < self.top:
            return Record(rows=not self.sampling.greedy)
        if isinstance(self.drafter, Observer):
            return Record(self.details, observe=TOP)
        learns = isinstance(self.drafter, LogitsObserver)
        warm = max(self.sampling.temperature, MIN_TEMPERATURE) if learns else None
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
        tree.recut = chain.recut
        return Draft(tree, [(i,)] * len(tree), chain.rows)

    def _look_up(self, room: int) -> Draft:
        """Ask the drafter; nodes beyond the limit are left out (by position, independent of the token)."""
        start = self.now()
        tree = self.drafter.draft(self.text, self.budget).within(room)
        self.log.call(0, self.drafter.name, "lookup", start, len(tree))
        return Draft(tree, [(0,)] * len(tree))

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


def joined(parts: list[Draft]) -> Draft:
    """Return one or more chains, each after the one before, as one."""
    whole, *rest = parts
    for part in rest:
        whole.tree.append(part.tree)
        whole.paths += part.paths
    if rest and whole.rows is not None:
        whole.rows = np.concatenate([part.rows for part in parts])
    return whole


def until_eos(accepted: list[int], tokens: list[int], eos: frozenset[int]) -> tuple[list[int], bool]:
    """Return the accepted nodes up to the first end token, and whether there is one."""
    for k, node in enumerate(accepted):
        if tokens[node] in eos:
            return accepted[: k + 1], True
    return accepted, False
