"""The decoding loop: levels of any depth, each verifying what the level below proposes; and its
record.

:meth:`Loop.draft` is Hierarchical Speculative Decoding in one function (Globerson et al. 2025,
arXiv 2510.19705, as described there: a level verifies and accepts until it has at least its
lookahead). What keeps it lossless:

1. on rejection a level samples the residual, not its own row;
2. the row proposed with a token is the level's *full* row where the token was drawn, never the
   residual,
3. nor the drafter's row;
4. a level may stop after accepting a token, and no token is dropped after it was seen (limits by
   position are fine: they do not look at the token). Stopping by confidence follows it: whether
   place t + 1 is drafted depends on the tokens up to t, which stay in the draft;
5. q is the row after temperature, top-k, top-p and min-p: the row that was sampled;
6. a draft by arg-max or from a database is a point mass, never its softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

from hsd_viz.decoding.sampling import Draws, Sampling
from hsd_viz.decoding.session import Session
from hsd_viz.decoding.text import TokenText
from hsd_viz.decoding.verify import Draft, Numbers, RecordOptions, Verdict
from hsd_viz.drafting.tree import MIN_TEMPERATURE, TOP, Drafter, DraftTree, LogitsObserver, Observer
from hsd_viz.errors import UserError
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace
from hsd_viz.trace.tables import CallRow, Columns, RoundRow, Row, TokenRow
from hsd_viz.trace.trace import empty_tables

#: The most tokens of the prompt that are fed at a time: ``PREFILL_CHUNK`` of ``src/loop.hpp``.
PREFILL_CHUNK = 512

#: The round of calls before the first one.
BEFORE_ROUNDS = -1
#: How many of the likeliest tokens are recorded for a row.
LIKELIEST = 5


@dataclass(slots=True)
class Level:
    """A model in the stack.

    Attributes:
        name: its name in the record.
        session: the model reading the text.
        lookahead: it proposes at least so many tokens at a time; ``None`` at the target.
        confidence: it proposes no further token once the probability of those that it holds, by its
            own rows, is below this number. A row is the one that its token was sampled from, with
            greedy decoding the one at temperature 1.
        positions: the tokens of text that a draft model can read; ``None``: any number.
    """

    name: str
    session: Session
    lookahead: int | None = None
    confidence: float = 0.0
    positions: int | None = None


@dataclass(slots=True)
class Verification:
    """One verification by a level, and the ``tokens`` it emits: those of ``accepted``, the
    verdict's nodes up to an end token, then its own, unless the ``outcome`` is ``stopped``.
    ``pending`` tokens of the text were fed before the draft.
    """

    level: int
    name: str
    draft: Draft
    verdict: Verdict
    accepted: list[int]
    outcome: str
    tokens: list[int]
    pending: int

    @property
    def chance(self) -> float:
        """The probability of its tokens by the level's own rows; with greedy decoding by those at
        temperature 1.
        """
        verdict = self.verdict
        product = 1.0
        for place, token in enumerate(self.tokens):
            if verdict.rows is not None:
                product *= float(verdict.rows[place][token])
            else:
                product *= verdict.details[place][0]
        return product

    @property
    def proposal(self) -> Draft:
        """The tokens as a draft for the next level: a chain, with the level's full rows."""
        tree = self.draft.tree.path(self.accepted)
        paths = [[*self.draft.paths[node], self.level] for node in self.accepted]
        if self.outcome != "stopped":
            tree.add(self.tokens[-1], len(paths) - 1, self.name)
            paths.append([self.level])
        rows = self.verdict.rows
        return Draft(tree, paths, None if rows is None else rows[: len(self.tokens)])


class Log:
    """What the loop did, as columns of the tables without the texts of tokens, until taken. ``now``
    gives the time of the decode; own times of calls never overlap.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self._tables = empty_tables()
        # Of each open round its id, its level and its start, the innermost last.
        self._open: list[tuple[int, int, int]] = []
        self._rounds = self._tokens = 0

    def open_round(self, level: int) -> None:
        self._open.append((self._rounds, level, self.now()))
        self._rounds += 1

    def close_round(self, verified: Verification) -> None:
        """End the innermost open round; that of the target emits its tokens."""
        number, level, start = self._open.pop()
        duration = self.now() - start
        parent = self._open[-1][0] if self._open else None
        self._record_drafts(number, level, verified)
        self._record_round(number, parent, level, verified, start, duration)
        if parent is None:
            self._record_tokens(number, verified)

    def _record_drafts(self, number: int, level: int, verified: Verification) -> None:
        """Record a row for each node of the draft."""
        tree = verified.draft.tree
        verdict = verified.verdict
        if not len(tree):
            return
        self._extend(
            "drafts",
            {
                "round": [number] * len(tree),
                "level": [level] * len(tree),
                "source": tree.sources,
                "node": range(len(tree)),
                "parent": tree.parents,
                "depth": tree.depths(),
                "token_id": tree.tokens,
                "text": None,  # added where the tokenizer is
                "p": verdict.p,
                "q": verdict.q,
                "u": verdict.u,
                "verdict": self._verdicts(verified),
                "key_length": tree.key_lengths,
                "count": tree.counts,
                "score": tree.scores,
                "position": tree.positions,
                "h": verdict.h,
                "cosine": tree.cosines,
            },
            len(tree),
        )

    @staticmethod
    def _verdicts(verified: Verification) -> list[str]:
        """Return the verdict of each node."""
        verdicts = ["unreached" if p is None else "rejected" for p in verified.verdict.p]
        # A node that was accepted is cut where an end token or the limit came before it.
        for node in verified.verdict.accepted:
            verdicts[node] = "cut"
        for node in verified.accepted:
            verdicts[node] = "accepted"
        return verdicts

    def _record_round(
        self,
        number: int,
        parent: int | None,
        level: int,
        verified: Verification,
        start: int,
        duration: int,
    ) -> None:
        tree = verified.draft.tree
        accepted = len(verified.accepted)
        is_stopped = verified.outcome == "stopped"
        why_no_draft = None
        if not len(tree):
            why_no_draft = tree.why_empty or "no match"
        row = RoundRow(
            id=number,
            parent=parent,
            level=level,
            drafted=len(tree),
            examined=accepted if is_stopped else verified.verdict.examined,
            accepted=accepted,
            outcome=verified.outcome,
            why_no_draft=why_no_draft,
            start_ns=start,
            duration_ns=duration,
            rule=verified.verdict.rule,
            draft_end=verified.draft.end,
        )
        self._add("rounds", row)

    def _record_tokens(self, number: int, verified: Verification) -> None:
        """Record the tokens that a round of the target emits."""
        verdict = verified.verdict
        for place, token in enumerate(verified.tokens):
            p, entropy, top = verdict.details[place] if verdict.details else (None, None, None)
            row = TokenRow(
                index=self._tokens,
                token_id=token,
                text=None,  # added where the tokenizer is
                raw=None,
                round=number,
                kind=verified.outcome,
                source="target",
                path=[verified.level],
                depth=0,
                p=p,
                entropy=entropy,
                top=top,
            )
            if place < len(verified.accepted):
                row = self._accepted(row, verified, verified.accepted[place])
            elif verdict.correction:
                residual_top, q_top, residual_sum = verdict.correction
                row = row._replace(
                    residual_top=residual_top, q_top=q_top, residual_sum=residual_sum
                )
            self._add("tokens", row)
            self._tokens += 1

    @staticmethod
    def _accepted(row: Row, verified: Verification, node: int) -> Row:
        """Return the row of a token that was drafted: it has its source, and the levels it
        passed.
        """
        tree = verified.draft.tree
        return row._replace(
            kind="accepted",
            source=tree.sources[node],
            path=[*verified.draft.paths[node], verified.level],
            depth=tree.depths()[node],
        )

    def call(
        self,
        level: int,
        name: str,
        kind: str,
        start: int,
        fed: int,
        cached: int = 0,
        steps: int = 1,
    ) -> None:
        """Record a call from ``start`` to now; it belongs to the innermost open round, if any."""
        row = CallRow(
            round=self._open[-1][0] if self._open else BEFORE_ROUNDS,
            level=level,
            name=name,
            kind=kind,
            steps=steps,
            fed=fed,
            cached=cached,
            start_ns=start,
            duration_ns=self.now() - start,
        )
        self._add("calls", row)

    def _add(self, table: str, row: Row) -> None:
        for column, value in zip(self._tables[table].values(), row, strict=True):
            column.append(value)

    def _extend(self, table: str, columns: dict[str, Any], rows: int) -> None:
        """Append values by column; ``None`` stands for a column without values."""
        for name, column in self._tables[table].items():
            values = columns[name]
            column += [None] * rows if values is None else values

    def take(self) -> dict[str, Columns]:
        """Return and clear the four tables of what was reported so far."""
        taken = self._tables
        self._tables = empty_tables()
        return taken


class Loop:
    """One decode by ``levels``, the target last, with ``drafter``, a database or baseline, below
    them, if any, for any sessions; the compiled loop is
    :class:`hsd_viz.native.decode.NativeDecode`.

    ``eos`` ends the text, as do ``max_new_tokens`` emitted tokens and ``positions`` tokens of text.
    ``budget`` bounds the nodes of a database's draft (``None``: the drafter's own default). With
    ``details`` > 0 the target describes its rows, with so many of the likeliest tokens. Times are
    nanoseconds from the start of the decode.

    Once the text fills the context of a draft model, decoding continues without that model: the
    level below it then drafts for the level above. Which models take part depends on the length of
    the text only.
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
    ) -> None:
        assert prompt and levels and max_new_tokens > 0
        self.drafter = drafter
        self.sampling = sampling
        self.text = list(prompt)
        self.eos = eos
        self.details = details
        self.limit = min(len(prompt) + max_new_tokens, positions or len(prompt) + max_new_tokens)
        self.budget = budget if budget is not None or drafter is None else drafter.nodes
        self._zero = perf_counter_ns()
        self.written = list(levels)
        # With a drafter, level 0 is the drafter's.
        self.levels: list[Level | None] = [*([None] if drafter else []), *levels]
        #: The levels that are left, by their place in the stack, as the record has it.
        self.places = list(range(len(self.levels)))
        self._leave_full_levels()
        self._watches_states = drafter is not None and drafter.state_depth is not None
        if self._watches_states:
            levels[-1].session.watch(drafter.state_depth)
        self.draws = Draws(sampling.seed)
        self.log = Log(self.now)
        # What a verification by the target reports; those below only decide.
        warm = (
            max(sampling.temperature, MIN_TEMPERATURE)
            if isinstance(drafter, LogitsObserver)
            else None
        )
        learns = warm is not None or isinstance(drafter, Observer)
        self.record = RecordOptions(details, observe=TOP if learns else 0, temperature=warm)

    def now(self) -> int:
        return perf_counter_ns() - self._zero

    def resume_at(self, now: int) -> None:
        """Set the time to ``now`` (from :meth:`now`): what passed since then is not the
        decode's.
        """
        self._zero = perf_counter_ns() - now

    def prefill(self) -> Iterator[tuple[str, int, int]]:
        """Feed all of the prompt but its last token to every model; yields (name, tokens done,
        tokens in all).
        """
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
                if self._watches_states and i == self.top:
                    self.drafter.observe_states(level.session.states(range(len(chunk))))
                self.log.call(self.places[i], level.name, "prefill", start, len(chunk), begin)
                yield level.name, begin + len(chunk), len(prompt)

    def rounds(self) -> Iterator[Any]:
        """Decode to EOS or a limit; yields after some rounds, here the target's verification after
        each.
        """
        done = False
        while not done and len(self.text) < self.limit:
            if len(self.text) >= self.reach:
                self._leave_full_levels()
            verified = self.round(self.top, self.reach - len(self.text))
            self.text += verified.tokens
            done = self.text[-1] in self.eos
            yield verified

    def take(self) -> Callable[[], dict[str, Columns]]:
        """Return what makes the tables of the rounds since the last call, without the texts of
        tokens.
        """
        taken = self.log.take()
        return lambda: taken

    def round(self, i: int, room: int) -> Verification:
        """One round of level i: a draft by the level below, verified; it emits at most ``room``
        tokens.
        """
        self.log.open_round(self.places[i])
        verified = self.verify(i, self.draft(i - 1, room - 1))
        if i == self.top and self.drafter is not None:
            self._update_drafter(verified)
        self.log.close_round(verified)
        return verified

    def draft(self, i: int, room: int) -> Draft:
        """call(i): up to ``room`` tokens after ``text``, distributed as level i's own (a
        database's: point masses).
        """
        if i < 0 or room <= 0:
            has_drafts = self.places[self.top] > 0
            return Draft(DraftTree(why_empty="no room" if has_drafts else "off"))
        if self.levels[i] is None:
            return self._look_up(room)
        wanted = min(self.levels[i].lookahead, room)
        if i == 0:
            return self._sample(i, wanted)
        confidence = self.levels[i].confidence
        parts = []
        base = len(self.text)
        text = self.text
        reach = 1.0
        while (held := len(text) - base) < wanted and reach >= confidence:
            if held and text[-1] in self.eos:
                break
            verified = self.round(i, room - held)
            text += verified.tokens
            parts.append(verified.proposal)
            if confidence:
                reach *= verified.chance
        last = text[-1]
        del text[base:]
        whole, *rest = parts
        for part in rest:
            whole.tree.append(part.tree)
            whole.paths += part.paths
        if rest and whole.rows is not None:
            whole.rows = np.concatenate([part.rows for part in parts])
        whole.end = self._end_of_draft(i, last, len(whole), wanted)
        return whole

    def _end_of_draft(self, i: int, last: int, n: int, wanted: int) -> str | None:
        """Return why the draft of level i, of ``n`` tokens of the ``wanted`` and with this last
        token, ended; ``None`` if the level has no confidence.
        """
        level = self.levels[i]
        if not level.confidence:
            return None
        if last in self.eos:
            return "eos"
        if n < wanted:
            return "confidence"
        return "length" if n >= level.lookahead else "limit"

    def verify(self, i: int, draft: Draft) -> Verification:
        """Feed level i its uncached tokens and the draft once: emit the accepted tokens and one of
        its own.
        """
        level = self.levels[i]
        tree = draft.tree
        base = len(self.text)
        session = level.session
        cached = level.session.length
        pending = self.text[cached:]
        record = self.record if i == self.top else RecordOptions()
        if level.confidence and self.sampling.greedy:
            # There are no rows: the details have the probabilities of the tokens.
            record = RecordOptions(details=1)

        start = self.now()
        verdict = session.verify(pending, draft, self.sampling, self._numbers(i, draft), record)
        end = next(
            (k for k, node in enumerate(verdict.accepted, 1) if tree.tokens[node] in self.eos), None
        )
        accepted = verdict.accepted[:end]
        session.keep(base, accepted)
        for below in self.levels[:i]:
            if below is not None:
                below.session.truncate(base + len(accepted))
        place = self.places[i]
        self.log.call(place, level.name, "verify", start, len(pending) + len(tree), cached)

        tokens = [tree.tokens[node] for node in accepted]
        outcome = "stopped"
        if end is None:
            tokens.append(verdict.token)
            # A place that was examined and led no further had draft tokens, all of them wrong.
            outcome = (
                "correction"
                if verdict.examined > len(accepted)
                else "bonus"
                if len(tree)
                else "plain"
            )
        return Verification(
            level=place,
            name=level.name,
            draft=draft,
            verdict=verdict,
            accepted=accepted,
            outcome=outcome,
            tokens=tokens,
            pending=len(pending),
        )

    # --- inside -----------------------------------------------------------------------------------

    def _leave_full_levels(self) -> None:
        """Remove the draft models whose context the text fills, and set ``reach``: the length of
        text up to which all others can draft.
        """
        length = len(self.text)
        contexts = [self.limit]
        for i in reversed(range(len(self.levels) - 1)):
            level = self.levels[i]
            if level is None or level.positions is None:
                continue
            if level.positions > length:
                contexts.append(level.positions)
            else:
                del self.levels[i]
                del self.places[i]
        self.top = len(self.levels) - 1
        self.reach = min(contexts)

    def _numbers(self, i: int, draft: Draft) -> Numbers | None:
        """The uniform numbers of a verification. Those of level i's own tokens are the target's by
        position in the text; all others never repeat.
        """
        if self.sampling.greedy:
            return None
        chain = draft.rows is not None
        u = self.draws.fresh(len(draft)) if chain else []
        places = 1 + (len(draft) if chain else max(draft.tree.depths(), default=0))
        base = len(self.text)
        r = (
            [self.draws.at(base + k) for k in range(places)]
            if i == self.top
            else self.draws.fresh(places)
        )
        return Numbers(r, u)

    def _draft_numbers(self, n: int) -> Numbers | None:
        """The uniform numbers of ``n`` drafted tokens, which never repeat."""
        if self.sampling.greedy:
            return None
        return Numbers(self.draws.fresh(n))

    def _sample(self, i: int, n: int) -> Draft:
        """Level i, the lowest, decodes ``n`` tokens by itself, fewer at EOS (one in the prompt ends
        nothing).
        """
        level = self.levels[i]
        cached = self.levels[i].session.length
        pending = self.text[cached:]
        numbers = self._draft_numbers(n)
        start = self.now()
        chain = level.session.sample(pending, n, self.sampling, numbers, self.eos, level.confidence)
        place = self.places[i]
        fed = len(pending) + chain.forwards - 1
        self.log.call(place, level.name, "draft", start, fed, cached, chain.forwards)
        tree = DraftTree.chain(chain.tokens, level.name)
        end = self._end_of_draft(i, chain.tokens[-1], len(tree), n) if len(tree) else None
        return Draft(tree, [[place]] * len(tree), chain.rows, end)

    def _look_up(self, room: int) -> Draft:
        """Ask the drafter; nodes beyond the limit are left out (by position, independent of the
        token).
        """
        start = self.now()
        proposed = self.drafter.draft(self.text, self.budget)
        if not isinstance(proposed, DraftTree):
            raise UserError(
                f"the drafter {type(self.drafter).__name__} returned {proposed!r:.60}: "
                "draft() must return a DraftTree"
            )
        tree = proposed.within(room)
        self.log.call(0, self.drafter.name, "lookup", start, len(tree))
        return Draft(tree, [[0]] * len(tree))

    def _update_drafter(self, verified: Verification) -> None:
        """Pass the round's tokens to the drafter and, if it learns from them, the target's
        likeliest tokens.
        """
        start = self.now()
        drafter = self.drafter
        tree = verified.draft.tree
        if self._watches_states:
            # The tokens before the draft that had not been fed, then the accepted nodes.
            pending = verified.pending
            places = [*range(pending), *(pending + node for node in verified.accepted)]
            drafter.observe_states(self.levels[self.top].session.states(places))
        if (observed := verified.verdict.observed) is not None:
            if isinstance(drafter, Observer):
                drafter.observe(self.text, tree, observed[0])
            elif isinstance(drafter, LogitsObserver):
                drafter.observe_probabilities(self.text, tree, *observed)
        drafter.extend(verified.tokens)
        self.log.call(0, drafter.name, "update", start, len(verified.tokens))


# --- a decode as events ---------------------------------------------------------------------------


def step_of(tables: Callable[[], dict[str, Columns]], text: TokenText) -> Step:
    """Return the step of some rounds, made when it is first read: between two forward passes, which
    sweep the caches, Python takes several times as long.
    """

    def make() -> tuple[dict[str, Columns], dict[int, str]]:
        columns = tables()
        tokens = columns["tokens"]
        drafts = columns["drafts"]
        pieces = [text.piece(token) for token in tokens["token_id"]]
        tokens["text"] = [piece for piece, _ in pieces]
        tokens["raw"] = [raw for _, raw in pieces]
        drafts["text"] = [text.piece(token)[0] for token in drafts["token_id"]]
        ids = {*tokens["token_id"], *drafts["token_id"]}
        for name in ("top", "residual_top", "q_top"):
            ids.update(token for top in tokens[name] if top for token, _ in top)
        return columns, text.pieces(sorted(ids))

    return Step(make)


def decode(loop: Loop, text: TokenText, meta: dict[str, Any]) -> Iterator[Event]:
    """Run ``loop`` and yield its events; closing the generator cancels the run.

    ``meta`` is completed in place, and is a whole trace's even when the run is cut short.
    ``wall_ns`` is the time of the loop and of recording; rows are made when they are read.
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
            meta |= {
                "stop_reason": "length" if emitted >= meta["max_new_tokens"] else "context",
                "cancelled": False,
            }
    yield Finished(trace)
