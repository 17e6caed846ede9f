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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hsd_viz.decoding.backend import Backend, Notes, Number
from hsd_viz.decoding.log import Log
from hsd_viz.decoding.model import CachedModel, ForwardResult
from hsd_viz.decoding.sampling import Draws
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import Verdict
from hsd_viz.drafting.tree import MIN_TEMPERATURE, TOP, Drafter, DraftTree, LogitsObserver, Observer

PREFILL_CHUNK = 512
#: The longest time of a call that decodes several rounds, so that a decode can be followed and cancelled, and the most
#: rounds.
CALL_NS, MOST_ROUNDS = 40_000_000, 32
_UNKNOWN = -1

#: The levels that draft for a round, bottom first, each with its lookahead (``None`` for a database's).
Drafting = Sequence[tuple[int, int | None]]


@dataclass(slots=True)
class Level:
    """A model in the stack; it proposes at least ``lookahead`` tokens at a time (``None`` at the target).

    ``rule`` verifies the drafts it gets, where they were sampled from rows (``None``: the sampling's rule).
    """

    name: str
    model: CachedModel
    lookahead: int | None = None
    rule: str | None = None


@dataclass(slots=True)
class Draft:
    """Tokens proposed to a verifier, with where they come from and the rows they were sampled from.

    ``paths`` are the levels that each token has passed, its source's first. ``rows`` ``[n, V]`` is q; ``None`` means
    point masses. ``ids`` ``[n]`` are the tokens while only the device knows them: the verification transfers them
    together with its verdict, so that a round waits for the device once.
    """

    tree: DraftTree = field(default_factory=DraftTree)
    paths: list[tuple[int, ...]] = field(default_factory=list)
    rows: Tensor | None = None
    ids: Tensor | None = None

    def __len__(self) -> int:
        return len(self.tree)


@dataclass(slots=True)
class Verification:
    """One verification by a level, and the ``tokens`` it emits: the ``accepted`` nodes', then its own.

    ``accepted`` are the verdict's nodes up to an end token. ``p`` are the level's rows where the tokens were drawn;
    ``None`` for greedy decoding and at the target. ``details`` and ``left`` are those of the
    :class:`~hsd_viz.decoding.model.ForwardResult`. A round of several in one call has no logits.
    """

    level: int
    name: str
    draft: Draft
    verdict: Verdict
    accepted: list[int]
    outcome: str
    tokens: list[int]
    logits: Tensor | None
    p: Tensor | None
    details: Sequence[float] | None = None
    left: Sequence[float] | None = None
    notes: Notes | None = None

    @property
    def rows(self) -> list[int]:
        """The row of ``logits`` that each emitted token was drawn from."""
        return [0, *(node + 1 for node in self.accepted)][: len(self.tokens)]

    @property
    def proposal(self) -> Draft:
        """The tokens as a draft for the next level: a chain, with the level's full rows."""
        tree = self.draft.tree.path(self.accepted)
        paths = [(*self.draft.paths[node], self.level) for node in self.accepted]
        if self.outcome != "stopped":
            tree.add(self.tokens[-1], len(paths) - 1, self.name)
            paths.append((self.level,))
        return Draft(tree, paths, self.p)


class Loop:
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
        self.in_one_call = not self.drafting and levels[-1].model.can_verify and (self.greedy or sampling.top_p == 1)
        self._run = 1
        #: What the device is to fetch with the verdict that is being found.
        self._wanted: Notes | None = None
        self._observes, self._observes_logits = isinstance(drafter, Observer), isinstance(drafter, LogitsObserver)
        # The proposals of rounds without a draft; never modified.
        self._off, self._no_room = Draft(DraftTree(why_empty="off")), Draft(DraftTree(why_empty="no room"))

    # --- the algorithm ---------------------------------------------------------------------------------------------

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
        proposal, base = Draft(), len(self.text)
        while len(proposal) < min(lookahead, room) and not self._ended(proposal):
            self.log.open_round(i)
            verified = self.verify(i, self.draft(below, room - len(proposal) - 1))
            self.text += verified.tokens
            proposal = _joined(proposal, verified.proposal)
            self._close_round(verified)
        del self.text[base:]
        return proposal

    def verify(self, i: int, draft: Draft) -> Verification:
        """Feed level i its uncached tokens and the draft once: emit the accepted tokens and one of its own."""
        level, tree, base = self.levels[i], draft.tree, len(self.text)
        model, cached = level.model, level.model.length
        pending = self.text[cached:]
        chain = tree.is_chain
        parents = None if chain else [*range(-1, len(pending) - 1), *(len(pending) + parent for parent in tree.parents)]

        start = self.log.now()
        forward = self._forward(i, draft, pending, parents)
        self._wanted = notes = self._notes() if i == len(self.levels) - 1 and forward.verdict is None else None
        verdict, p = self._judge(i, draft, forward)
        accepted, stopped = _until_eos(verdict.accepted, tree.tokens, self.eos)
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
        return Verification(
            i,
            level.name,
            draft,
            verdict,
            accepted,
            outcome,
            tokens,
            forward.logits,
            rows,
            forward.details,
            forward.left,
            notes,
        )

    def _close_round(self, verified: Verification) -> None:
        self.log.close_round(verified.draft.tree, verified.verdict, verified.accepted, verified.outcome)

    def _forward(self, i: int, draft: Draft, pending: list[int], parents: list[int] | None) -> ForwardResult:
        """Feed ``pending`` and the draft to level i; the verdict comes with the logits where the model can find it."""
        model, tokens, rows = self.levels[i].model, draft.tree.tokens, len(draft) + 1
        if draft.ids is not None:
            return ForwardResult(model.forward(pending, rows, tail=draft.ids))
        target = i == len(self.levels) - 1
        # The rows of the levels below are the next level's q, so the backend makes those.
        if model.can_verify and (self.greedy or (target and draft.rows is None and self.sampling.top_p == 1)):
            number, depth = self._numbers(i), rows if parents is None else max(draft.tree.depths()) + 1
            chances = [] if self.greedy else [number(k) for k in range(depth)]
            details = self.details if target else 0
            fed = pending + tokens
            return model.forward_verified(fed, rows, parents, self.sampling, chances, details)  # type: ignore[attr-defined]
        return ForwardResult(model.forward(pending + tokens, rows, parents))

    def _notes(self) -> Notes | None:
        """What a device is to fetch with a verdict of the target; ``None`` where nothing is, or fetching is free."""
        top = TOP if self._observes or self._observes_logits else 0
        if not self.backend.fetches_notes or not (self.details or top):
            return None
        warm = None if self._observes else max(self.sampling.temperature, MIN_TEMPERATURE)
        return Notes(bool(self.details), top, warm)

    def _judge(self, i: int, draft: Draft, forward: ForwardResult) -> tuple[Verdict, Tensor | None]:
        """Apply the rule that fits the draft. Returns the verdict and the level's rows p, the walked places' first,
        where needed.

        Afterwards the draft's tokens are known on the host.
        """
        if forward.verdict is not None:
            return forward.verdict, None
        tree, number, target = draft.tree, self._numbers(i), i == len(self.levels) - 1
        if draft.rows is None:
            return self.backend.verify_tree(
                tree, forward.logits, self.sampling, number, draft.ids, not target, self._wanted
            )
        p = self.backend.rows(forward.logits, self.sampling)
        r = [number(k) for k in range(len(tree) + 1)]
        drafted = tree.tokens if draft.ids is None else draft.ids
        rule = self.levels[i].rule or self.sampling.rule
        verdict = self.backend.verify_chain(
            drafted, draft.rows, p, self.draws.fresh(len(tree)), r, rule, forward.logits, self._wanted
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
            yield Verification(top, level.name, self._off, verdict, [], "plain", [token], None, None, details)

    # --- the bottom ------------------------------------------------------------------------------------------------

    def _sample(self, i: int, n: int) -> Draft:
        """Level i, the lowest that takes part, decodes ``n`` tokens by itself, fewer at EOS."""
        level = self.levels[i]
        if level.model.can_sample:
            return self._launch(i, n)
        out, rows, base = Draft(), [], len(self.text)
        while len(out) < n and not self._ended(out):
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

    def _ended(self, draft: Draft) -> bool:
        """Whether the draft ends the text. An end token in the prompt ends nothing."""
        return len(draft) > 0 and draft.tree.tokens[-1] in self.eos

    def _look_up(self, room: int) -> Draft:
        """Ask the drafter; nodes beyond the limit are left out (by position, independent of the token)."""
        start = self.log.now()
        tree = self.drafter.draft(self.text, self.budget).within(room)
        self.log.call(0, self.drafter.name, "lookup", start, fed=len(tree))
        return Draft(tree, [(0,)] * len(tree))

    def _update_drafter(self, verified: Verification) -> None:
        """Pass the round's tokens to the drafter and, if it learns from them, the target's likeliest tokens."""
        start, logits, tree = self.log.now(), verified.logits, verified.draft.tree
        most = min(TOP, logits.shape[-1])
        if verified.notes is not None and verified.notes.likeliest is not None:
            ids, values = verified.notes.likeliest
            if self._observes:
                self.drafter.observe(self.text, tree, ids)  # type: ignore[union-attr]
            else:
                self.drafter.observe_probabilities(self.text, tree, ids, values)  # type: ignore[union-attr]
        elif self._observes:
            self.drafter.observe(self.text, tree, logits.topk(most).indices.tolist())  # type: ignore[union-attr]
        elif self._observes_logits:
            likely = (logits.float() / max(self.sampling.temperature, MIN_TEMPERATURE)).softmax(-1).topk(most)
            top = likely.indices.tolist(), likely.values.tolist()
            self.drafter.observe_probabilities(self.text, tree, *top)  # type: ignore[union-attr]
        self.drafter.extend(verified.tokens)
        self.log.call(0, self.drafter.name, "update", start, fed=len(verified.tokens))

    # --- start -----------------------------------------------------------------------------------------------------

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


def _joined(proposal: Draft, part: Draft) -> Draft:
    """``part`` (a chain) after ``proposal`` (a chain)."""
    if not len(proposal):
        return part
    proposal.tree.append(part.tree)
    proposal.paths += part.paths
    if part.rows is not None:
        proposal.rows = torch.cat([proposal.rows, part.rows])
    return proposal


def _until_eos(accepted: list[int], tokens: list[int], eos: frozenset[int]) -> tuple[list[int], bool]:
    for k, node in enumerate(accepted):
        if tokens[node] in eos:
            return accepted[: k + 1], True
    return accepted, False
