"""The torch backend, for a device that works on its own: nothing is fetched but one transfer per verification."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from hsd_viz.decoding.backend import TOP, Number
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import Verdict, walk
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.records import Top


def put(values: Sequence, device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """Return a list (of lists) as a tensor on ``device``, without waiting for the copy or for work queued before it.

    An ordinary ``torch.tensor(values, device="cuda")`` waits for all pending work, because its source may vanish.
    Page-locked memory is kept by torch's allocator until the copy is over.
    """
    if device.type != "cuda":
        return torch.tensor(values, dtype=dtype, device=device)
    return torch.tensor(values, dtype=dtype, pin_memory=True).to(device, non_blocking=True)


def fill(target: Tensor, values: Sequence) -> None:
    """Overwrite ``target`` with a list of its length, in the device's own order of work, without waiting."""
    on_gpu = target.device.type == "cuda"
    target.copy_(torch.tensor(values, dtype=target.dtype, pin_memory=on_gpu), non_blocking=on_gpu)


class CudaTimer:
    """Time that a CUDA device spends between construction and :meth:`stop`, on the current stream."""

    def __init__(self) -> None:
        self._start, self._end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self._start.record()

    def stop(self) -> None:
        self._end.record()

    def ns(self) -> int:
        """Return the nanoseconds between the two marks; waits until the device has reached the second one."""
        self._end.synchronize()
        return round(self._start.elapsed_time(self._end) * 1e6)


def distribution(logits: Tensor, sampling: Sampling) -> Tensor:
    """Compute :func:`hsd_viz.decoding.sampling.distribution` in torch; nothing is fetched."""
    scores = logits if logits.dtype == torch.float64 else logits.float()
    scores = (scores - scores.amax(dim=-1, keepdim=True)) / max(sampling.temperature, torch.finfo(scores.dtype).tiny)
    if 0 < sampling.top_k < scores.shape[-1]:
        border = scores.topk(sampling.top_k, dim=-1).values[..., -1:]
        scores = scores.masked_fill(scores < border, -torch.inf)
    p = torch.softmax(scores, dim=-1)
    if sampling.top_p < 1:
        ordered = p.sort(dim=-1, descending=True).values
        before = ordered.cumsum(dim=-1) - ordered
        border = ordered.masked_fill(before >= sampling.top_p, torch.inf).amin(dim=-1, keepdim=True)
        p = p.masked_fill(p < border, 0.0)
        p = p / p.sum(dim=-1, keepdim=True)
    return p


def draw(p: Tensor, r: Tensor) -> Tensor:
    """Draw one token per row of ``p`` ``[n, V]`` for ``r`` ``[n]`` in [0, 1): ids ``[n]``; nothing is fetched."""
    edges = p.double().cumsum(dim=-1)
    marks = r.to(edges)[:, None] * edges[:, -1:]
    return torch.searchsorted(edges, marks, right=True)[:, 0]


class TorchBackend:
    """:class:`~hsd_viz.decoding.backend.Backend` for logits on ``device``."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def rows(self, logits: Tensor, sampling: Sampling) -> Tensor:
        return distribution(logits, sampling)

    def draw(self, logits: Tensor, sampling: Sampling, r: float) -> tuple[int, Tensor | None]:
        if sampling.greedy:
            return int(logits.argmax(-1)), None
        p = distribution(logits, sampling)
        return int(draw(p, put([r], p.device, torch.float64))), p

    def verify_tree(
        self,
        tree: DraftTree,
        logits: Tensor,
        sampling: Sampling,
        number: Number,
        ids: Tensor | None = None,
        keep_rows: bool = True,
    ) -> tuple[Verdict, Tensor | None]:
        if sampling.greedy:
            best = logits.argmax(-1)
            values = (best if ids is None else torch.cat([best, ids])).tolist()
            if ids is not None:
                tree.tokens[:] = values[len(logits) :]
            return walk(tree, values[: len(logits)], None), None
        p = distribution(logits, sampling)
        verdict = _walk_sampled(tree, p, number)
        if not keep_rows:
            return verdict, None
        if tree.is_chain:
            return verdict, p
        return verdict, p.index_select(0, put([0, *(node + 1 for node in verdict.accepted)], p.device, torch.long))

    def verify_chain(
        self, tokens: Sequence[int] | Tensor, q: Tensor, p: Tensor, u: Sequence[float], r: Sequence[float]
    ) -> Verdict:
        n, device = len(tokens), p.device
        ids = tokens if isinstance(tokens, Tensor) else put(tokens, device, torch.long)
        p_of, q_of = p[:n].gather(1, ids[:, None])[:, 0], q.gather(1, ids[:, None])[:, 0]
        chance = put([*u, *r], device, torch.float64)
        ok = chance[:n] * q_of.double() < p_of.double()
        # ``accepted`` stays on the device and has one dimension: to index with a number there, torch would fetch it
        # first.
        accepted = ok.long().cumprod(0).sum(0, keepdim=True)
        row = p.index_select(0, accepted)
        # After the last draft token there is no q: the residual is the row itself, and its token the bonus.
        residual = row - torch.cat([q, torch.zeros_like(q[:1])]).index_select(0, accepted)
        residual = residual.clamp_min(0)
        # p and q can agree to the last bit at a place that was rejected by rounding alone: then p itself is the limit.
        residual = torch.where(residual.sum() > 0, residual, row)
        token = draw(residual, chance.index_select(0, n + accepted))
        parts = torch.cat([p_of.double(), q_of.double(), accepted.double(), token.double(), ids.double()]).tolist()
        known = [int(v) for v in parts[2 * n + 2 :]]
        k, new = int(parts[2 * n]), int(parts[2 * n + 1])
        return Verdict.of_chain(known, k, new, parts[:n], parts[n : 2 * n], u, residual[0])

    def describe(self, logits: Tensor, rows: Sequence[int], tokens: Sequence[int]) -> Sequence[float]:
        # With scores x and p = softmax(x): log p = x - log Z and log Z = max x - log max p, so the entropy is log Z -
        # sum p x. That spares a logarithm for every token of the vocabulary.
        every = len(rows) == len(logits)
        x = (logits if every else logits.index_select(0, put(rows, logits.device, torch.long))).float()
        p = torch.softmax(x, dim=-1)
        top = p.topk(min(TOP, p.shape[-1]), dim=-1)
        mine = p.gather(-1, put(tokens, p.device, torch.long)[:, None])
        best = x.gather(-1, top.indices[:, :1])
        # A score of -inf (a forbidden token) has p = 0 and adds nothing.
        mean = (p * x.clamp_min(torch.finfo(x.dtype).min)).sum(-1, keepdim=True)
        # Place and probability in turns.
        pairs = torch.stack([top.indices.to(p.dtype), top.values], dim=-1).flatten(-2)
        out: list[float] = []
        for chance, score, average, *ranked in torch.cat([mine, best, mean, pairs], dim=-1).tolist():
            out += (chance, max(0.0, score - math.log(ranked[1]) - average), *ranked)
        return out

    def likeliest(self, weights: Tensor) -> tuple[Top, float]:
        total = weights.sum(-1, keepdim=True)
        found = (weights / total).topk(min(TOP, weights.shape[-1]))
        *values, whole = torch.cat([found.values, total]).tolist()
        return tuple((int(i), p) for i, p in zip(found.indices.tolist(), values, strict=True) if p > 0), whole

    def timer(self) -> CudaTimer | None:
        return CudaTimer() if self._device.type == "cuda" else None

    def synchronize(self) -> None:
        if self._device.type == "cuda":
            # The stream alone: a whole device may not be waited for while another decode captures a graph.
            torch.cuda.current_stream(self._device).synchronize()


def _walk_sampled(tree: DraftTree, p: Tensor, number: Number) -> Verdict:
    """Walk with the verifier's tokens drawn from all rows of ``p`` ``[n + 1, V]`` at once, for one transfer.

    Only one node per depth can be on the walked path, so one number serves every branch.
    """
    depths = [0, *tree.depths()]
    numbers = [number(depth) for depth in range(max(depths) + 1)]
    drawn = draw(p, put([numbers[depth] for depth in depths], p.device, torch.float64))
    if not len(tree):
        return walk(tree, drawn.tolist(), [])
    before = put([[parent + 1 for parent in tree.parents], tree.tokens], p.device, torch.long)
    values = torch.cat([drawn.double(), p[before[0], before[1]].double()]).tolist()
    rows = len(tree) + 1
    return walk(tree, [int(v) for v in values[:rows]], values[rows:])
