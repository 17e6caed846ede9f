"""The decoding loop: a hierarchy of any depth, each level verifying drafts of the level below.

:meth:`Loop.draft` is Hierarchical Speculative Decoding in one function (Globerson et al. 2025,
arXiv 2510.19705): a level verifies drafts until it has accepted at least its lookahead. Six rules
keep it lossless:

1. After a rejection a level samples the residual, not its own row.
2. The row proposed with a token is the level's *full* row at the token's position, never the
   residual.
3. That row is never the row of the drafter below.
4. A level may stop after it accepted a token, but it never drops a token whose value it has used.
   Limits by position are allowed, because they do not depend on the token. Stopping by confidence
   follows this rule: whether position t + 1 is drafted depends on the tokens up to t, which stay
   in the draft.
5. q is the row after temperature, top-k, top-p and min-p: the row that was sampled.
6. A draft by arg-max or from a database is a point mass, never its softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hsd_viz.decoding.base_loop import PREFILL_CHUNK, BaseLoop, LoopInputs
from hsd_viz.decoding.draft import Draft, join_chains
from hsd_viz.decoding.drafter_level import DrafterLevel
from hsd_viz.decoding.hooks import LoopHooks
from hsd_viz.decoding.levels import LevelRound
from hsd_viz.decoding.log import Log
from hsd_viz.decoding.sampling import Draws, UniformNumbers
from hsd_viz.decoding.verdict import RecordOptions
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.tables import Columns


class Loop(BaseLoop):
    """A decode in Python, for any sessions.

    Attributes:
        draws: the source of random numbers.
        log: the rows of the trace that were recorded since the last :meth:`take`.
        record: what a verification by the target reports beside its decision; levels below the
            target report only the decision.
        hooks: the hooks of the runtime of the sessions.
    """

    def __init__(self, inputs: LoopInputs) -> None:
        super().__init__(inputs)
        self.draws = Draws(self.sampling.seed)
        self.log = Log(self.now)
        self.record = RecordOptions(self.details)
        if self.drafter is not None:
            self.record = self.drafter.record_options(self.sampling, self.details)
        self.hooks = LoopHooks()

    def now(self) -> int:
        ready = self.hooks.result_time
        return self.elapsed() if ready is None else ready

    def prefill(self) -> Iterator[tuple[str, int, int]]:
        prompt = self.text[:-1]
        if self.drafter is not None:
            start = self.now()
            self.drafter.start(self.text)
            self.log.call(0, self.drafter.name, "prefill", start, len(self.text))
        for i, level in enumerate(self.levels.models, self.levels.first_model):
            for begin in range(0, len(prompt), PREFILL_CHUNK):
                chunk = prompt[begin : begin + PREFILL_CHUNK]
                start = self.now()
                level.session.feed(chunk)
                if self.drafter is not None and i == self.levels.top:
                    self.drafter.observe_states(range(len(chunk)))
                place = self.levels.written_index(i)
                self.log.call(place, level.name, "prefill", start, len(chunk), begin)
                yield level.name, begin + len(chunk), len(prompt)
        self.hooks.after_prefill()

    def rounds(self) -> Iterator[LevelRound]:
        """Decode until EOS or a limit, yielding the target's verification after each round."""
        done = False
        while not done and len(self.text) < self.limit:
            if len(self.text) >= self.levels.reach:
                self.levels.leave_full(len(self.text))
                self.hooks.after_leaving_levels()
            level_round = self.round(self.levels.top, self.levels.reach - len(self.text))
            self.text += level_round.tokens
            done = self.text[-1] in self.eos
            yield level_round

    def take(self) -> Callable[[], dict[str, Columns]]:
        taken = self.log.take()
        return lambda: taken

    def round(self, i: int, room: int) -> LevelRound:
        """Run a round of a level: verify one draft of the level below.

        Args:
            i: the level.
            room: the largest number of tokens to emit.
        """
        self.hooks.before_round(i)
        self.log.open_round(self.levels.written_index(i))
        level_round = self.verify(i, self.draft(i - 1, room - 1))
        if self.drafter is not None and i == self.levels.top:
            start = self.now()
            self.drafter.update(self.text, level_round)
            self.log.call(0, self.drafter.name, "update", start, len(level_round.tokens))
        self.log.close_round(level_round)
        self.hooks.after_round(i)
        return level_round

    def draft(self, i: int, room: int) -> Draft:
        """Return a draft by a level that continues ``text``.

        The tokens are distributed as the level's own; those of a database are point masses.

        Args:
            i: the level; -1 means that there is no level below the target.
            room: the largest number of tokens.
        """
        if i >= 0:
            self.hooks.before_draft(i)
        if i < 0 or room <= 0:
            return Draft(DraftTree(why_empty="no room" if self.levels.has_drafts else "off"))
        if i == 0 and self.drafter is not None:
            return self.look_up(self.drafter, room)
        level = self.levels[i]
        assert level.lookahead is not None
        wanted = min(level.lookahead, room)
        if i == 0:
            return self.sample(i, wanted)
        confidence = level.confidence
        parts: list[Draft] = []
        base = len(self.text)
        reach = 1.0
        # While this level collects tokens, those that it already holds are at the end of the text.
        # At least one token is wanted, so the loop runs at least once.
        try:
            while (held := len(self.text) - base) < wanted and reach >= confidence:
                if held and self.text[-1] in self.eos:
                    break
                level_round = self.round(i, room - held)
                self.text += level_round.tokens
                parts.append(level_round.proposal)
                if confidence:
                    reach *= level_round.chance
            last = self.text[-1]
        finally:
            del self.text[base:]
        draft = join_chains(parts)
        draft.end = self._end_of_draft(i, last, len(draft), wanted)
        return draft

    def verify(self, i: int, draft: Draft) -> LevelRound:
        """Verify a draft in one forward pass, which also feeds the level its uncached tokens.

        The level emits the accepted tokens and one token of its own.
        """
        level = self.levels[i]
        tree = draft.tree
        base = len(self.text)
        session = level.verifier
        cached = session.length
        pending = self.text[cached:]
        record = self.record if i == self.levels.top else RecordOptions()
        if level.confidence and self.sampling.greedy:
            # Greedy decoding has no rows, so the probabilities of tokens come from the details.
            record = RecordOptions(details=1)

        start = self.now()
        numbers = self.numbers_to_verify(i, draft)
        verdict = session.verify(pending, draft, self.sampling, numbers, record)
        end = self._end_among(tree.tokens[node] for node in verdict.accepted)
        accepted = verdict.accepted[:end]
        session.keep(base, accepted)
        for below in self.levels.below(i):
            below.session.truncate(base + len(accepted))
        place = self.levels.written_index(i)
        self.log.call(place, level.name, "verify", start, len(pending) + len(tree), cached)

        tokens = [tree.tokens[node] for node in accepted]
        outcome = "stopped"
        if end is None:
            tokens.append(verdict.token)
            if verdict.examined > len(accepted):
                # The last examined position had draft tokens, and all of them were rejected.
                outcome = "correction"
            else:
                outcome = "bonus" if len(tree) else "plain"
        return LevelRound(
            level=place,
            name=level.name,
            draft=draft,
            verdict=verdict,
            accepted=accepted,
            outcome=outcome,
            tokens=tokens,
            pending=len(pending),
        )

    def sample(self, i: int, n: int) -> Draft:
        """Draft ``n`` tokens with level ``i``, the lowest; fewer if it drafts EOS.

        An EOS token in the prompt does not end the draft.
        """
        level = self.levels[i]
        cached = level.session.length
        pending = self.text[cached:]
        numbers = self.numbers_to_draft(n)
        start = self.now()
        chain = level.session.sample(pending, n, self.sampling, numbers, self.eos, level.confidence)
        place = self.levels.written_index(i)
        fed = len(pending) + chain.forwards - 1
        self.log.call(place, level.name, "draft", start, fed, cached, chain.forwards)
        tree = DraftTree.chain(chain.tokens, level.name)
        end = self._end_of_draft(i, chain.tokens[-1], len(tree), n) if len(tree) else None
        return Draft(tree, [[place]] * len(tree), chain.rows, end)

    def look_up(self, drafter: DrafterLevel, room: int) -> Draft:
        """Return a draft of at most ``room`` tokens deep by the drafter."""
        start = self.now()
        draft = drafter.look_up(self.text, room)
        self.log.call(0, drafter.name, "lookup", start, len(draft))
        return draft

    def numbers_to_verify(self, i: int, draft: Draft) -> UniformNumbers | None:
        """Return the uniform numbers for a verification by level ``i``; ``None`` if it needs none
        or the runtime draws them.

        The numbers for the target's own tokens are keyed by position in the text; all other
        numbers are used only once.
        """
        if self.sampling.greedy or not self.hooks.draws_numbers:
            return None
        u: list[float] = []
        if draft.rows is not None:
            u = self.draws.fresh(len(draft))
            longest = len(draft)
        else:
            longest = max(draft.tree.depths(), default=0)
        places = 1 + longest
        if i < self.levels.top:
            return UniformNumbers(self.draws.fresh(places), u)
        base = len(self.text)
        r = [self.draws.at(base + k) for k in range(places)]
        return UniformNumbers(r, u)

    def numbers_to_draft(self, n: int) -> UniformNumbers | None:
        """Return the uniform numbers for ``n`` draft tokens, each used only once; ``None`` if they
        need none or the runtime draws them.
        """
        if self.sampling.greedy or not self.hooks.draws_numbers:
            return None
        return UniformNumbers(self.draws.fresh(n))

    # --- internals --------------------------------------------------------------------------------

    def _end_of_draft(self, i: int, last: int, n: int, wanted: int) -> str | None:
        """Return why a draft ended; ``None`` for a level without a confidence.

        Args:
            i: the level.
            last: the last token of the draft.
            n: the number of tokens in the draft.
            wanted: the number of tokens that were requested.
        """
        level = self.levels[i]
        if not level.confidence:
            return None
        if last in self.eos:
            return "eos"
        if n < wanted:
            return "confidence"
        assert level.lookahead is not None
        return "length" if n >= level.lookahead else "limit"

    def _end_among(self, tokens: Iterable[int]) -> int | None:
        """Return the number of tokens up to and including the first end token; ``None`` without
        one.
        """
        for count, token in enumerate(tokens, start=1):
            if token in self.eos:
                return count
        return None
