"""The state of a decode, its prefill, and its lowest level: a model that samples by itself, or a drafter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from hsd_viz.decoding.backend import Backend, likeliest
from hsd_viz.decoding.drafts import Draft, Level, Verification
from hsd_viz.decoding.log import Log
from hsd_viz.decoding.sampling import Draws
from hsd_viz.decoding.settings import Sampling
from hsd_viz.drafting.tree import MIN_TEMPERATURE, Drafter, DraftTree, LogitsObserver, Observer

PREFILL_CHUNK = 512
_UNKNOWN = -1

#: The levels that draft for a round, bottom first, each with its lookahead (``None`` for a database's).
Drafting = Sequence[tuple[int, int | None]]


class LoopState:
    """One decode by ``levels``, the target last, with ``drafter``, a database or baseline, below them, if any.

    ``eos`` ends the text, as do ``max_new_tokens`` emitted tokens and ``positions`` tokens of text. ``budget`` bounds
    the nodes of a database's draft (``None``: the drafter's own default). ``backend`` does the arithmetic of sampling
    and verification. ``log`` records rounds and calls. With ``details`` > 0, the target describes so many of the
    likeliest tokens of each walked row in its forward pass, where it can.
    """

    def __init__(
        self,
        levels: Sequence[Level],
        drafter: Drafter | None,
        sampling: Sampling,
        prompt: Sequence[int],
        *,
        backend: Backend,
        max_new_tokens: int,
        positions: int | None = None,
        eos: frozenset[int] = frozenset(),
        budget: int | None = None,
        log: Log | None = None,
    ) -> None:
        assert prompt and levels and max_new_tokens > 0
        # With a drafter, level 0 is the drafter's and levels[i] stays the model of level i.
        self.levels: list[Level | None] = [*([None] if drafter else []), *levels]
        self.drafting: Drafting = [(i, level.lookahead if level else None) for i, level in enumerate(self.levels[:-1])]
        self.drafter = drafter
        self.backend = backend
        self.sampling, self.greedy = sampling, sampling.greedy
        self.text = list(prompt)
        self.limit = min(len(prompt) + max_new_tokens, positions or len(prompt) + max_new_tokens)
        self.eos = eos
        self.budget = budget if budget is not None or drafter is None else drafter.nodes
        self.draws = Draws(sampling.seed)
        self.log = log if log is not None else Log()
        self.details = 0
        #: Whether several plain rounds may be one call of the target.
        several = getattr(levels[-1].model, "can_decode", False)
        self.in_one_call = not self.drafting and several and (self.greedy or sampling.top_p == 1)
        self._run = 1
        self._observes, self._observes_logits = isinstance(drafter, Observer), isinstance(drafter, LogitsObserver)
        #: The temperature of the probabilities that the drafter learns from; ``None`` where it learns from tokens.
        self._warm = None if self._observes else max(sampling.temperature, MIN_TEMPERATURE)
        # The proposals of rounds without a draft; never modified.
        self._off, self._no_room = Draft(DraftTree(why_empty="off")), Draft(DraftTree(why_empty="no room"))

    def prefill(self) -> Iterator[tuple[str, int, int]]:
        """Feed all of the prompt but its last token to every model; yields (name, tokens done, tokens in all)."""
        prompt = self.text[:-1]
        for i, level in enumerate(self.levels):
            if level is None:
                start = self.log.now()
                self.drafter.start(self.text)
                self.log.call(i, self.drafter.name, "prefill", start, fed=len(self.text))
                continue
            if getattr(level.model, "borrows", False):  # what the target reads, it has read
                continue
            for begin in range(0, len(prompt), PREFILL_CHUNK):
                chunk = prompt[begin : begin + PREFILL_CHUNK]
                start = self.log.now()
                level.model.forward(chunk, 1)
                self.backend.synchronize()
                self.log.call(i, level.name, "prefill", start, fed=len(chunk), cached=begin)
                yield level.name, begin + len(chunk), len(prompt)

    def _sample(self, i: int, n: int) -> Draft:
        """Level i, the lowest that takes part, decodes ``n`` tokens by itself, fewer at EOS (one in the prompt ends
        nothing).
        """
        level = self.levels[i]
        if level.model.can_sample:
            return self._launch(i, n)
        out, rows, base = Draft(), [], len(self.text)
        while len(out) < n and not (len(out) and self.text[-1] in self.eos):
            pending, cached = self.text[level.model.length :], level.model.length
            start = self.log.now()
            logits = level.model.forward(pending, 1)
            token, row = self.backend.draw(logits, self.sampling, 0.0 if self.greedy else self.draws.fresh(1)[0])
            if row is not None:
                rows.append(row)
            self.log.call(i, level.name, "draft", start, fed=len(pending), cached=cached)
            out.tree.add(token, len(out) - 1, level.name)
            out.paths.append((i,))
            self.text.append(token)
        del self.text[base:]
        out.rows = torch.cat(rows) if rows else None
        return out

    def _launch(self, i: int, n: int) -> Draft:
        """The same by a model that samples in one call, perhaps past EOS: such tokens are never accepted."""
        level = self.levels[i]
        pending, cached = self.text[level.model.length :], level.model.length
        chances = [] if self.greedy else self.draws.fresh(n)
        start, timer = self.log.now(), self.backend.timer()
        ids, rows = level.model.sample(pending, n, self.sampling, chances, self.eos)  # type: ignore[attr-defined]
        if timer is not None:
            timer.stop()
        drafted, known = len(ids), isinstance(ids, list)
        steps = getattr(level.model, "forwards", drafted)
        self.log.call(i, level.name, "draft", start, len(pending) + steps - 1, cached, steps, timer)
        tree = DraftTree.chain(ids if known else [_UNKNOWN] * drafted, level.name)
        tree.recut = getattr(level.model, "recut", None)
        return Draft(tree, [(i,)] * drafted, rows, None if known else ids)

    def _look_up(self, room: int) -> Draft:
        """Ask the drafter; nodes beyond the limit are left out (by position, independent of the token)."""
        start = self.log.now()
        tree = self.drafter.draft(self.text, self.budget).within(room)
        self.log.call(0, self.drafter.name, "lookup", start, fed=len(tree))
        return Draft(tree, [(0,)] * len(tree))

    def _update_drafter(self, verified: Verification) -> None:
        """Pass the round's tokens to the drafter and, if it learns from them, the target's likeliest tokens."""
        start, drafter, tree = self.log.now(), self.drafter, verified.draft.tree
        if self._observes or self._observes_logits:
            notes = verified.forward.notes
            found = likeliest(verified.forward.logits, self._warm) if notes is None else notes.likeliest
            ids, values = (part if isinstance(part, list) else part.tolist() for part in found)
            if self._observes:
                drafter.observe(self.text, tree, ids)  # type: ignore[union-attr]
            else:
                drafter.observe_probabilities(self.text, tree, ids, values)  # type: ignore[union-attr]
        drafter.extend(verified.tokens)
        self.log.call(0, drafter.name, "update", start, fed=len(verified.tokens))
