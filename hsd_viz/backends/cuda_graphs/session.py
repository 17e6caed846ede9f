"""One sequence over static buffers: which work is done over them, and what it is fed."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from hsd_viz.backends.cuda_graphs.accept import chances_by_row, verdict_of, verify_fed
from hsd_viz.backends.cuda_graphs.buffers import bucket_of
from hsd_viz.backends.cuda_graphs.forward import WIDTHS, Ahead, WideFeed, run, width_of
from hsd_viz.backends.cuda_graphs.slot import Slot
from hsd_viz.backends.cuda_graphs.strict import lineages, run_strict
from hsd_viz.backends.device import distribution, draw, fill, put, unpacked
from hsd_viz.decoding.backend import Notes
from hsd_viz.decoding.model import ForwardResult, SampledDraft
from hsd_viz.decoding.settings import Sampling

#: Tokens fed in the first forward of a launch: the last one of the text, and a draft token before it that was never
#: fed.
_PENDING = 2
#: A number of draft tokens wanted this often gets a graph of its own; until then a longer one serves.
_OFTEN = 3


class GraphSession:
    """A :class:`~hsd_viz.decoding.model.Launcher` over static buffers, which verifies point-mass drafts in its forward
    pass. Nothing but :meth:`forward_verified` waits for the device.
    """

    def __init__(self, slot: Slot, release: Callable[[Slot], None], room: int = 0) -> None:
        self._slot = slot
        self._room = room
        # A launch of a whole draft has steps of width 1.
        self.can_sample = self.can_verify = not slot.strict
        # Whether the keys of an accepted path are in place already.
        self._compact = False
        self.length = 0
        self.device = slot.device
        # The next decode takes the buffers over as soon as this session is garbage.
        self.close = weakref.finalize(self, release, slot)

    @torch.inference_mode()
    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None, tail: Tensor | None = None
    ) -> Tensor:
        n = len(tokens) + (0 if tail is None else len(tail))
        self._compact = False
        if self._slot.strict:
            return self._forward_strict(tokens, rows, parents, tail)
        width = width_of(n)
        with self._memory(self.length + width) as slot:
            bucket = bucket_of(self.length + width)
            if width > WIDTHS[-1]:
                feed = WideFeed(tokens, tail, self.length, parents, self.device)
                logits = run(slot.forward, slot.rules, slot.cache, feed, bucket, rows)
            else:
                slot.feed(width).fill(tokens, tail, self.length, parents)
                logits = self._replay(slot, width, bucket)[n - rows : n]
        self.length += n
        return logits

    def _replay(self, slot: Slot, width: int, bucket: int) -> Tensor:
        feed = slot.feed(width)
        work = lambda: (run(slot.forward, slot.rules, slot.cache, feed, bucket, width),)
        return slot.run(("forward", width, bucket), work)[0]

    @torch.inference_mode()
    def forward_verified(
        self,
        tokens: Sequence[int],
        rows: int,
        parents: Sequence[int] | None,
        sampling: Sampling,
        chances: Sequence[float],
        details: int = 0,
        drafted: SampledDraft | None = None,
        keep_rows: bool = False,
        tail: Tensor | None = None,
        notes: Notes | None = None,
    ) -> ForwardResult:
        """See :class:`~hsd_viz.decoding.model.Verifier`; sampled chains, and rows to keep, are the backend's."""
        n = len(tokens) + (0 if tail is None else len(tail))
        width, slot = width_of(n), self._slot
        if drafted is not None or (keep_rows and not sampling.greedy) or slot.strict or width > WIDTHS[-1]:
            return ForwardResult(self.forward(tokens, rows, parents, tail), notes=notes)
        with self._memory(self.length + width):
            bucket = bucket_of(self.length + width)
            slot.feed(width).fill(tokens, tail, self.length, parents, rows)
            if not sampling.greedy:
                fill(slot.chances(width), chances_by_row(chances, rows, n, parents, width))
            key = _verify_key(width, bucket, sampling, notes, parents is not None, keep_rows)
            logits = self._verify(slot, key, sampling, notes)
        numbers, shapes = slot.received(key)
        verdict = unpacked(numbers, shapes, notes, slice(n - rows, n))
        self.length += n
        self._compact = parents is not None
        scores = logits[0][n - rows : n] if logits else None
        return ForwardResult(scores, verdict_of(verdict, width, n, rows, parents), notes=notes)

    def _verify(self, slot: Slot, key: tuple, sampling: Sampling, notes: Notes | None) -> tuple[Tensor, ...]:
        """Run, verify and transfer in one launch; the logits are returned where a target's round has no notes."""
        _, width, bucket, _, _, tree, below = key
        feed, chances = slot.feed(width), slot.chances(width)

        def work() -> tuple[Tensor, ...]:
            logits = run(slot.forward, slot.rules, slot.cache, feed, bucket, width)
            slot.transfer(key, *verify_fed(logits, feed, slot.cache, sampling, chances, notes, tree))
            return () if below or notes is not None else (logits,)

        return slot.run(key, work)

    def _forward_strict(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None, tail: Tensor | None
    ) -> Tensor:
        """Feed any number of tokens at the one width of strict mode, which attends to all of the room reserved."""
        n = len(tokens) + (0 if tail is None else len(tail))
        width = self._slot.strict
        self._room = max(self._room, self.length + n)
        ids = put(list(tokens), self.device, torch.long)
        ids = ids if tail is None else torch.cat([ids, tail])
        found, lines = [], lineages(n, parents)
        with self._memory(self._room + width) as slot:
            bucket = bucket_of(self._room + width)
            feed = slot.strict_feed(bucket)
            work = lambda: (run_strict(slot.forward, slot.rules, slot.cache, feed),)
            for begin in range(0, n, width):
                end = min(begin + width, n)
                feed.fill(ids[begin:end], self.length, begin, lines[begin:end])
                found.append(slot.run(("strict", width, bucket), work)[0][: end - begin])
        self.length += n
        return torch.cat(found)[n - rows :]

    @torch.inference_mode()
    def warm(
        self,
        begin: int,
        end: int,
        most: int,
        drafts: Sequence[int],
        sampling: Sampling,
        verified: Sequence[tuple[bool, bool, Notes | None]] = (),
    ) -> None:
        """Capture all that decoding a text from ``begin`` to ``end`` tokens replays, before any of it is timed.

        ``most`` is the widest forward pass, ``drafts`` the lengths of drafts sampled with ``sampling``, ``verified``
        which point masses are verified: whether as trees, whether below the target, and the notes. The session is to be
        empty; what it writes is never attended to.
        """
        if self._slot.strict:
            self._forward_strict([0], 1, None, None)
            self.length = 0
            return
        if not self._slot.captures:
            return
        with self._memory(end + width_of(most)) as slot:
            last, done = slot.cache.capacity, set(slot.captured())
            widths = [w for w in WIDTHS if w <= width_of(most)]
            # What is verified in its own graphs is fed by others in the prefill alone.
            fed = [w for w in WIDTHS if w == width_of(begin - 1)] if verified else widths
            for bucket in sorted({bucket_of(n) for n in range(begin, end + width_of(most) + 1) if n <= last}):
                for width in (w for w in fed if ("forward", w, bucket) not in done):
                    slot.feed(width).fill([0], None, 0, None)
                    self._replay(slot, width, bucket)
                for tree, below, notes in verified:
                    for width in widths:
                        key = _verify_key(width, bucket, sampling, notes, tree, below)
                        if key not in done:
                            slot.feed(width).fill([0], None, 0, None)
                            self._verify(slot, key, sampling, notes)
                for n in (n for n in drafts if ("draft", n, bucket, _settings(sampling)) not in done):
                    slot.feed(_PENDING).fill([0], None, 0, None)
                    self._launch(slot, bucket, n, sampling)

    @torch.inference_mode()
    def sample(
        self, tokens: Sequence[int], n: int, sampling: Sampling, chances: Sequence[float], eos: frozenset[int]
    ) -> tuple[Tensor, Tensor | None]:
        if len(tokens) > _PENDING:
            self.forward(tokens[:-1], 1)
            tokens = tokens[-1:]
        with self._memory(self.length + _PENDING + n) as slot:
            bucket = bucket_of(self.length + _PENDING + n)
            settings = _settings(sampling)
            asked = slot.asked(("draft", n, bucket, settings))
            # The last drafts of a text are shorter than all before: a longer graph serves, what it adds is ignored.
            longer = [
                key[1] for key in slot.captured() if key[0] == "draft" and key[1] > n and key[2:] == (bucket, settings)
            ]
            fitting = [m for m in longer if self.length + _PENDING + m <= bucket]
            steps = min(fitting) if fitting and asked < _OFTEN else n
            slot.feed(_PENDING).fill(tokens, None, self.length, None)
            if settings is not None:
                fill(slot.chances(steps)[: len(chances)], list(chances))
            ids, *drawn = self._launch(slot, bucket, steps, sampling)
        self.length += len(tokens) + n - 1
        return ids[:n], drawn[0][:n] if drawn else None

    def truncate(self, length: int) -> None:
        self.length = min(self.length, length)

    @torch.inference_mode()
    def keep(self, base: int, places: Sequence[int]) -> None:
        if not self._compact and any(place != base + k for k, place in enumerate(places)):
            cache = self._slot.cache
            cache.move(put(list(places), self.device, torch.long), cache.index[base : base + len(places)])
        self.length = base + len(places)

    def _launch(self, slot: Slot, bucket: int, n: int, sampling: Sampling) -> tuple[Tensor, ...]:
        chances = slot.chances(n)
        return slot.run(
            ("draft", n, bucket, _settings(sampling)), lambda: self._draft(slot, bucket, n, sampling, chances)
        )

    def _draft(self, slot: Slot, bucket: int, n: int, sampling: Sampling, chances: Tensor) -> tuple[Tensor, ...]:
        """Draft in one launch: feed what is pending, then draw ``n`` tokens and feed all but the last."""
        feed = slot.feed(_PENDING)
        logits = run(slot.forward, slot.rules, slot.cache, feed, bucket, _PENDING).index_select(0, feed.last)
        begin = feed.length + feed.last + 1
        ahead = Ahead.of(slot.rules, slot.cache, begin, n - 1, bucket, slot.positions)
        ids, rows = [], []
        for k in range(n):
            if sampling.greedy:
                ids.append(logits.argmax(-1))
            else:
                rows.append(distribution(logits, sampling))
                ids.append(draw(rows[-1], chances[k : k + 1]))
            if k < n - 1:
                logits = ahead.run(slot.forward, slot.cache, k, ids[-1])
        return (torch.cat(ids), torch.cat(rows)) if rows else (torch.cat(ids),)

    @contextmanager
    def _memory(self, length: int) -> Iterator[Slot]:
        """Yield the slot with room for ``length`` places; where memory runs out, all of it is released."""
        slot = self._slot
        try:
            slot.reserve(max(length, self._room + WIDTHS[-1]))
            yield slot
        except torch.OutOfMemoryError:
            slot.drop()
            raise torch.OutOfMemoryError(
                f"{slot.name} ran out of memory on {self.device} at {length} tokens of text: "
                "use a smaller model, a shorter prompt or fewer tokens"
            ) from None


def _verify_key(width: int, bucket: int, sampling: Sampling, notes: Notes | None, tree: bool, below: bool) -> tuple:
    wanted = None if notes is None else (notes.details, notes.top, notes.temperature)
    return "verify", width, bucket, _settings(sampling), wanted, tree, below


def _settings(sampling: Sampling) -> tuple | None:
    return None if sampling.greedy else (sampling.temperature, sampling.top_k, sampling.top_p)
