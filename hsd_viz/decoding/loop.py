"""The decoding loop: levels of any depth, each verifying what the one below hands up.

:meth:`Loop.draft` is Hierarchical Speculative Decoding in one function (Globerson et al. 2025, arXiv 2510.19705, as described
there: a level verifies and keeps until it holds at least its lookahead). What keeps it lossless:

1. on rejection a level samples the residual, not its own row;
2. the row handed up with a token is the level's *full* row where the token was drawn, never the residual,
3. nor the drafter's row;
4. a level may stop after keeping a token, and no token is dropped after it was seen (limits by position are fine: they do
   not look at the token);
5. q is the row after temperature, top-k and top-p: the tensor that was sampled;
6. a draft by arg-max or from a database is a point mass, never its softmax.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from hsd_viz.decoding import host
from hsd_viz.decoding.draws import Draws
from hsd_viz.decoding.log import Log
from hsd_viz.decoding.model import CachedModel
from hsd_viz.decoding.sampling import distribution, sample
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.transfer import put
from hsd_viz.decoding.verify import Verdict, verify_chain, walk, walk_on_device, walk_on_host
from hsd_viz.drafting.tree import COOLEST, TOP, Drafter, DraftTree, LogitsObserver, Observer

PREFILL_CHUNK = 512
_UNKNOWN = -1

#: The levels that draft for a round, bottom first, each with its lookahead (``None`` for a database's).
Chain = Sequence[tuple[int, int | None]]


@dataclass(slots=True)
class Level:
    """A model in the stack; ``lookahead`` tokens or more are handed up at a time (``None`` at the target)."""

    name: str
    model: CachedModel
    lookahead: int | None = None


@dataclass(slots=True)
class Draft:
    """What is handed to a verifier: tokens with where they come from, and the rows they were sampled from.

    ``paths`` are the levels that each token has passed, its source's first. ``rows`` ``[n, V]`` is q; ``None`` means point masses.
    ``ids`` ``[n]`` are the tokens while only the device knows them: the verification brings them over together with its verdict,
    so that a round waits for the device once.
    """

    tree: DraftTree = field(default_factory=DraftTree)
    paths: list[tuple[int, ...]] = field(default_factory=list)
    rows: Tensor | None = None
    ids: Tensor | None = None

    def __len__(self) -> int:
        return len(self.tree)


@dataclass(slots=True)
class Verified:
    """One verification by a level: the ``tokens`` it keeps (the ``accepted`` nodes', then its own), and how it came about.

    ``p`` are its rows at the places where these were drawn; ``None`` when decoding is greedy, and at the target.
    """

    level: int
    name: str
    draft: Draft
    verdict: Verdict
    accepted: list[int]
    outcome: str
    tokens: list[int]
    logits: Tensor
    p: Tensor | None

    @property
    def own(self) -> bool:
        """Whether the level added a token of its own."""
        return self.outcome != "stopped"

    @property
    def rows(self) -> list[int]:
        """The row of ``logits`` that each kept token was drawn from."""
        return [0, *(node + 1 for node in self.accepted)][: len(self.tokens)]

    @property
    def kept(self) -> Draft:
        """What is handed up: a chain, with the level's full rows."""
        tree = self.draft.tree.path(self.accepted)
        paths = [(*self.draft.paths[node], self.level) for node in self.accepted]
        if self.own:
            tree.add(self.tokens[-1], len(paths) - 1, self.name)
            paths.append((self.level,))
        return Draft(tree, paths, self.p)


class Loop:
    """One decode. ``levels`` are the models, bottom first, the target last; ``drafter`` stands beneath them, if any.

    ``eos`` ends the text, as do ``max_new_tokens`` emitted tokens and ``positions`` tokens of text. ``budget`` bounds the
    nodes of a database's draft (``None``: what its drafter was made for).
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
    ) -> None:
        assert prompt and levels and max_new_tokens > 0
        # With a drafter, level 0 is the drafter's and levels[i] stays the model of level i.
        self.levels: list[Level | None] = [*([None] if drafter else []), *levels]
        self.chain: Chain = [(i, level.lookahead if level else None) for i, level in enumerate(self.levels[:-1])]
        self.drafter = drafter
        self.sampling, self.greedy = sampling, sampling.greedy
        self.text = list(prompt)
        self.limit = min(len(prompt) + max_new_tokens, positions or len(prompt) + max_new_tokens)
        self.eos = eos
        self.budget = budget if budget is not None or drafter is None else drafter.nodes
        self._observed, self._harvested = isinstance(drafter, Observer), isinstance(drafter, LogitsObserver)
        self.draws = Draws(sampling.seed)
        self.log = Log()
        # What is handed up where nothing is drafted; nobody adds to it.
        self._off, self._no_room = Draft(DraftTree(why_empty="off")), Draft(DraftTree(why_empty="no room"))

    # --- the algorithm ---------------------------------------------------------------------------------------------

    def rounds(self) -> Iterator[Verified]:
        """Yield one verification of the target after the other until EOS or a limit; ``text`` grows by what each keeps."""
        top = len(self.levels) - 1
        while (room := self.limit - len(self.text)) > 0:
            self.log.open_round(top)
            draft = self.propose(room - 1)
            verified = self.verify(top, draft)
            tokens = verified.tokens
            if self.drafter is not None:
                start = self.log.now()
                if self._observed:
                    self.drafter.observe(self.text, draft.tree, _likeliest(verified.logits).indices.tolist())
                elif self._harvested:
                    warm = max(self.sampling.temperature, COOLEST)
                    likely = _likeliest((verified.logits.float() / warm).softmax(-1))
                    self.drafter.observe_probabilities(self.text, draft.tree, likely.indices.tolist(), likely.values.tolist())
                self.drafter.extend(tokens)
                self.log.call(0, self.drafter.name, "update", start, fed=len(tokens))
            self.text += tokens
            self.log.close_round(verified.draft.tree, verified.verdict, verified.accepted, verified.outcome)
            yield verified
            if tokens[-1] in self.eos:
                return

    def propose(self, room: int) -> Draft:
        """What the target verifies next. Whoever decides may look at all that is past, never at a token before it is kept."""
        return self.draft(self.chain, room)

    def draft(self, chain: Chain, room: int) -> Draft:
        """call(i), level i the last of ``chain``: at most ``room`` tokens that follow ``text``, distributed as level i's own (a
        database's: point masses)."""
        if not chain or room <= 0:
            return self._no_room if chain else self._off
        *below, (i, lookahead) = chain
        if self.levels[i] is None:
            return self._look_up(room)
        if not below:
            return self._sample(i, min(lookahead, room))
        kept, base = Draft(), len(self.text)
        while len(kept) < min(lookahead, room) and not self._ended(kept):
            self.log.open_round(i)
            verified = self.verify(i, self.draft(below, room - len(kept) - 1))
            self.text += verified.tokens
            kept = _joined(kept, verified.kept)
            self.log.close_round(verified.draft.tree, verified.verdict, verified.accepted, verified.outcome)
        del self.text[base:]
        return kept

    def verify(self, i: int, draft: Draft) -> Verified:
        """One forward of level i over its uncached tokens and the draft; keep the accepted tokens and add one of its own."""
        level, tree, base = self.levels[i], draft.tree, len(self.text)
        model, cached = level.model, level.model.length
        pending = self.text[cached:]
        chain = tree.is_chain
        parents = None if chain else [*range(-1, len(pending) - 1), *(len(pending) + parent for parent in tree.parents)]

        start = self.log.now()
        if draft.ids is None:
            logits = model.forward(pending + tree.tokens, len(tree) + 1, parents)
        else:
            logits = model.forward(pending, len(tree) + 1, tail=draft.ids)
        verdict, p = self._judge(i, draft, logits)
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
        rows = p[: len(tokens)] if p is not None and i < len(self.levels) - 1 else None
        return Verified(i, level.name, draft, verdict, accepted, outcome, tokens, logits, rows)

    def _judge(self, i: int, draft: Draft, logits: Tensor) -> tuple[Verdict, Tensor | None]:
        """Apply the rule that fits the draft. Returns the verdict and the level's rows p, those of the walked places first.

        There are no rows when decoding is greedy, nor where nobody is to see them. Afterwards the draft's tokens are known,
        whoever drew them.
        """
        tree, base, target = draft.tree, len(self.text), i == len(self.levels) - 1
        if self.greedy:
            model = self.levels[i].model
            if draft.ids is None:
                if hasattr(model, "walk"):  # it did so while the logits were at hand
                    return model.walk(), None
                return walk(tree, (host.array(logits) if logits.is_cpu else logits).argmax(-1).tolist(), None), None
            values = torch.cat([logits.argmax(-1), draft.ids]).tolist()
            tree.tokens[:] = values[len(logits) :]
            return walk(tree, values[: len(logits)], None), None
        if logits.is_cpu and draft.rows is None:
            number = (lambda k: self.draws.at(base + k)) if target else (lambda k: self.draws.fresh(1)[0])
            verdict, walked = walk_on_host(tree, host.array(logits), self.sampling, number)
            return verdict, None if target else torch.from_numpy(np.stack(walked))
        p = distribution(logits, self.sampling)
        ahead = range(max(tree.depths(), default=0) + 1)
        r = [self.draws.at(base + d) for d in ahead] if target else self.draws.fresh(len(ahead))
        if draft.rows is not None:
            unknown = draft.ids is not None
            verdict = verify_chain(draft.ids if unknown else tree.tokens, draft.rows, p, self.draws.fresh(len(tree)), r)
            tree.tokens[:] = verdict.tokens
            return verdict, p
        verdict = walk_on_device(tree, p, r)
        if target or tree.is_chain:
            return verdict, p
        return verdict, p.index_select(0, put([0, *(node + 1 for node in verdict.accepted)], p.device, torch.long))

    # --- the bottom ------------------------------------------------------------------------------------------------

    def _sample(self, i: int, n: int) -> Draft:
        """Level i, the lowest that takes part, decodes ``n`` tokens by itself, fewer at EOS."""
        level = self.levels[i]
        if hasattr(level.model, "sample"):
            return self._launch(i, n)
        out, rows, base = Draft(), [], len(self.text)
        while len(out) < n and not self._ended(out):
            pending, cached = self.text[level.model.length :], level.model.length
            start = self.log.now()
            logits = level.model.forward(pending, 1)
            token, row = sample(logits, self.sampling, 0.0 if self.greedy else self.draws.fresh(1)[0])
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
        """The same by a model that does it in one go. It may run past EOS: tokens behind one are drafts that can never be kept."""
        level = self.levels[i]
        pending, cached = self.text[level.model.length :], level.model.length
        chances = [] if self.greedy else self.draws.fresh(n)
        start, timer = self.log.now(), _timer(level.model)
        ids, rows = level.model.sample(pending, n, self.sampling, chances, self.eos)
        if timer is not None:
            timer.stop()
        steps, known = len(ids), isinstance(ids, list)
        self.log.call(i, level.name, "draft", start, len(pending) + steps - 1, cached, steps, timer)
        tree = DraftTree.chain(ids if known else [_UNKNOWN] * steps, level.name)
        return Draft(tree, [(i,)] * steps, rows, None if known else ids)

    def _ended(self, draft: Draft) -> bool:
        """Whether the draft ends the text. An end token in the prompt ends nothing."""
        return len(draft) > 0 and draft.tree.tokens[-1] in self.eos

    def _look_up(self, room: int) -> Draft:
        """Ask the databases; what would reach past the limit is left out (by place, whatever the token)."""
        start = self.log.now()
        tree = self.drafter.draft(self.text, self.budget).within(room)
        self.log.call(0, self.drafter.name, "lookup", start, fed=len(tree))
        return Draft(tree, [(0,)] * len(tree))

    # --- start and record ------------------------------------------------------------------------------------------

    def prefill(self) -> Iterator[tuple[str, int, int]]:
        """Feed all of the prompt but its last token to every model; yields (name, tokens done, tokens in all)."""
        prompt = self.text[:-1]
        for i, level in enumerate(self.levels):
            if level is None:
                start = self.log.now()
                self.drafter.start(self.text)
                self.log.call(i, self.drafter.name, "prefill", start, fed=len(self.text))
                continue
            for begin in range(0, len(prompt), PREFILL_CHUNK):
                chunk = prompt[begin : begin + PREFILL_CHUNK]
                start = self.log.now()
                logits = level.model.forward(chunk, 1)
                if logits.is_cuda:
                    # The stream alone: a whole device may not be waited for while some other decode captures a graph.
                    torch.cuda.current_stream(logits.device).synchronize()
                self.log.call(i, level.name, "prefill", start, fed=len(chunk), cached=begin)
                yield level.name, begin + len(chunk), len(prompt)


def _timer(model: CachedModel):
    """A running timer of the device's own, where a launch is not over when it returns."""
    return model.timer() if hasattr(model, "timer") else None


def _likeliest(rows: Tensor) -> torch.return_types.topk:
    """The :data:`TOP` largest of each row, with their places."""
    return rows.topk(min(TOP, rows.shape[-1]))


def _joined(kept: Draft, part: Draft) -> Draft:
    """``part`` (a chain) behind ``kept`` (a chain)."""
    if not len(kept):
        return part
    kept.tree.append(part.tree)
    kept.paths += part.paths
    if part.rows is not None:
        kept.rows = torch.cat([kept.rows, part.rows])
    return kept


def _until_eos(accepted: list[int], tokens: list[int], eos: frozenset[int]) -> tuple[list[int], bool]:
    for k, node in enumerate(accepted):
        if tokens[node] in eos:
            return accepted[: k + 1], True
    return accepted, False
