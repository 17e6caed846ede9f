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

from collections.abc import Iterator

from torch import Tensor

from hsd_viz.decoding.backend import Notes, Number
from hsd_viz.decoding.drafts import Draft, Level, Verification, joined, until_eos
from hsd_viz.decoding.model import ForwardResult, SampledDraft
from hsd_viz.decoding.state import Drafting, LoopState
from hsd_viz.decoding.verify import Verdict
from hsd_viz.drafting.tree import TOP

#: The longest time of a call that decodes several rounds, so that a decode can be followed and cancelled, and the most
#: rounds.
CALL_NS, MOST_ROUNDS = 40_000_000, 32

__all__ = ["Draft", "Level", "Loop", "Verification"]


class Loop(LoopState):
    """The levels of a decode, each verifying what the one below proposes; for the arguments see
    :class:`~hsd_viz.decoding.state.LoopState`.
    """

    def rounds(self) -> Iterator[Verification]:
        """Yield the target's verifications until EOS or a limit; ``text`` grows by the tokens of each."""
        top, done = len(self.levels) - 1, len(self.text)
        while (room := self.limit - len(self.text)) > 0:
            if self.in_one_call:
                yield from self._plain_rounds(top, room)
            if len(self.text) == done:
                self.log.open_round(top)
                verified = self.verify(top, self.draft(self.drafting, room - 1))
                if self.drafter is not None:
                    self._update_drafter(verified)
                self.text += verified.tokens
                self._close_round(verified)
                yield verified
            if self.text[-1] in self.eos:
                return
            done = len(self.text)

    def draft(self, levels: Drafting, room: int) -> Draft:
        """call(i), level i the last of ``levels``: at most ``room`` tokens that follow ``text``, distributed as level
        i's own (a database's: point masses).
        """
        if not levels or room <= 0:
            return self._no_room if levels else self._off
        *below, (i, lookahead) = levels
        if self.levels[i] is None:
            return self._look_up(room)
        if not below:
            return self._sample(i, min(lookahead, room))
        parts, base, text = [], len(self.text), self.text
        while (held := len(text) - base) < min(lookahead, room) and not (held and text[-1] in self.eos):
            self.log.open_round(i)
            verified = self.verify(i, self.draft(below, room - held - 1))
            text += verified.tokens
            parts.append(verified.proposal)
            self._close_round(verified)
        del text[base:]
        return joined(parts)

    def verify(self, i: int, draft: Draft) -> Verification:
        """Feed level i its uncached tokens and the draft once: emit the accepted tokens and one of its own."""
        level, tree, base = self.levels[i], draft.tree, len(self.text)
        model, cached = level.model, level.model.length
        pending = self.text[cached:]
        chain = tree.is_chain
        parents = None if chain else [*range(-1, len(pending) - 1), *(len(pending) + parent for parent in tree.parents)]

        start = self.log.now()
        forward = self._forward(i, draft, pending, parents)
        verdict, p = self._judge(i, draft, forward)
        accepted, stopped = until_eos(verdict.accepted, tree.tokens, self.eos)
        if chain:
            model.truncate(base + len(accepted))
        else:
            model.keep(base, [base + node for node in accepted])
        for below in self.levels[:i]:
            if below is not None:
                below.model.truncate(base + len(accepted))
        self.log.call(i, level.name, "verify", start, len(pending) + len(tree), cached)

        tokens = [tree.tokens[node] for node in accepted]
        if stopped:
            outcome = "stopped"
        else:
            tokens.append(verdict.token)
            # A place that was examined and led no further had draft tokens, all of them wrong.
            outcome = "correction" if verdict.examined > len(accepted) else "bonus" if len(tree) else "plain"
        rows = None if p is None or i == len(self.levels) - 1 else p[: len(tokens)]
        return Verification(i, level.name, draft, verdict, accepted, outcome, tokens, rows, forward)

    def _close_round(self, verified: Verification) -> None:
        self.log.close_round(verified.draft.tree, verified.verdict, verified.accepted, verified.outcome)

    def _forward(self, i: int, draft: Draft, pending: list[int], parents: list[int] | None) -> ForwardResult:
        """Feed ``pending`` and the draft to level i; the verdict comes with the logits where the model can find it."""
        model, tokens, rows = self.levels[i].model, draft.tree.tokens, len(draft) + 1
        target, tail, chances, drafted = i == len(self.levels) - 1, draft.ids, [], None
        fed, notes = pending if tail is not None else pending + tokens, self.notes() if target else None
        if not model.can_verify or not (self.greedy or self.sampling.top_p == 1):
            if tail is not None:
                return ForwardResult(model.forward(fed, rows, tail=tail), notes=notes)
            return ForwardResult(model.forward(fed, rows, parents), notes=notes)
        mark = self.draws.used
        if not self.greedy:
            number, depth = self._numbers(i), rows if parents is None else max(draft.tree.depths()) + 1
            chances = [number(k) for k in range(depth)]
            if draft.rows is not None:
                rule = self.levels[i].rule or self.sampling.rule
                drafted = SampledDraft(draft.rows, self.draws.fresh(len(draft)), rule)
        details = self.details if target else 0
        how = details, drafted, not target, tail, notes
        found = model.forward_verified(fed, rows, parents, self.sampling, chances, *how)  # type: ignore[attr-defined]
        # Numbers that were not used, or whose round is still open, are used again.
        if found.verdict is None:
            self.draws.used = mark
        elif drafted is None and not target and not self.greedy:
            self.draws.used = mark + len(found.verdict.accepted) + 1
        return found

    def notes(self) -> Notes | None:
        """What a device is to fetch with a verdict of the target; ``None`` where nothing is, or fetching is free."""
        top = TOP if self._observes or self._observes_logits else 0
        if not self.backend.fetches_notes or not (self.details or top):
            return None
        return Notes(bool(self.details), top, self._warm)

    def _judge(self, i: int, draft: Draft, forward: ForwardResult) -> tuple[Verdict, Tensor | None]:
        """Apply the rule that fits the draft. Returns the verdict and the level's rows p, the walked places' first,
        where needed.

        Afterwards the draft's tokens are known on the host.
        """
        if forward.verdict is not None:
            if draft.ids is not None:
                draft.tree.tokens[:] = forward.verdict.tokens
            return forward.verdict, forward.p
        tree, number, target = draft.tree, self._numbers(i), i == len(self.levels) - 1
        if draft.rows is None:
            return self.backend.verify_tree(
                tree, forward.logits, self.sampling, number, draft.ids, not target, forward.notes
            )
        p = self.backend.rows(forward.logits, self.sampling)
        r = [number(k) for k in range(len(tree) + 1)]
        drafted = tree.tokens if draft.ids is None else draft.ids
        rule = self.levels[i].rule or self.sampling.rule
        verdict = self.backend.verify_chain(
            drafted, draft.rows, p, self.draws.fresh(len(tree)), r, rule, forward.logits, forward.notes
        )
        tree.tokens[:] = verdict.tokens
        return verdict, p

    def _numbers(self, i: int) -> Number:
        """The uniform numbers of level i's own tokens: the target's by output position, all others never repeat."""
        if i == len(self.levels) - 1:
            base = len(self.text)
            return lambda k: self.draws.at(base + k)
        return lambda k: self.draws.fresh(1)[0]

    def _plain_rounds(self, top: int, room: int) -> Iterator[Verification]:
        """Plain decoding, several rounds in one call of the model; none where it leaves the next token open."""
        level, n = self.levels[top], min(self._run, room)
        pending, cached, number = self.text[level.model.length :], level.model.length, self._numbers(top)
        start, chances = self.log.now(), [] if self.greedy else [number(k) for k in range(n)]
        run = level.model.decode(pending, n, self.sampling, chances, self.eos, self.details)  # type: ignore[attr-defined]
        spent, (first, *ends) = self.log.now() - start, run.times
        if not run.tokens:
            return
        # The log may have another clock than the model.
        scale, width = spent / max(1, ends[-1] - first), len(run.details or ()) // len(run.tokens)
        self._run = int(max(1, min(MOST_ROUNDS, CALL_NS * len(run.tokens) / max(1, spent))))
        fed, begin = len(pending), start
        for k, token in enumerate(run.tokens):
            end = start + round((ends[k] - first) * scale)
            self.log.plain_round(top, level.name, begin, end, fed, cached)
            cached, fed, begin = cached + fed, 1, end
            self.text.append(token)
            details = run.details[k * width : (k + 1) * width] if run.details else None
            verdict = Verdict([], token, 0, 0, [], [], [])
            forward = ForwardResult(None, verdict, details)
            yield Verification(top, level.name, self._off, verdict, [], "plain", [token], None, forward)
