"""The torch backend, for a device that works on its own: nothing is fetched but one transfer per verification."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from hsd_viz.decoding.backend import TOP, Notes, Number, likeliest
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


def settle_arithmetic(device: torch.device) -> None:
    """Choose, for the whole process, how a CUDA device computes: the same for our forward passes and for others'.

    cuDNN's attention, first choice of torch 2.11 on Hopper, plans again for every length of text, which takes tens of
    milliseconds each. Sums of products stay in float32 between the parts of a split.
    """
    if device.type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


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

    fetches_notes = True

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
        notes: Notes | None = None,
    ) -> tuple[Verdict, Tensor | None]:
        if sampling.greedy:
            best = logits.argmax(-1)
            values = fetch(best if ids is None else torch.cat([best, ids]), notes, logits, best)
            if ids is not None:
                tree.tokens[:] = map(int, values[len(logits) :])
            return walk(tree, [int(v) for v in values[: len(logits)]], None), None
        p = distribution(logits, sampling)
        verdict = _walk_sampled(tree, p, number, logits, notes)
        if not keep_rows:
            return verdict, None
        if tree.is_chain:
            return verdict, p
        return verdict, p.index_select(0, put([0, *(node + 1 for node in verdict.accepted)], p.device, torch.long))

    def verify_chain(
        self,
        tokens: Sequence[int] | Tensor,
        q: Tensor,
        p: Tensor,
        u: Sequence[float],
        r: Sequence[float],
        rule: str = "token",
        logits: Tensor | None = None,
        notes: Notes | None = None,
    ) -> Verdict:
        n, device = len(tokens), p.device
        ids = tokens if isinstance(tokens, Tensor) else put(tokens, device, torch.long)
        p_of, q_of = p[:n].gather(1, ids[:, None])[:, 0], q.gather(1, ids[:, None])[:, 0]
        chance = put([*u, *r], device, torch.float64)
        # ``accepted`` stays on the device and has one dimension: to index with a number there, torch would fetch it
        # first. After the last draft token there is no q: the residual is the row itself, and its token the bonus.
        if rule == "token":
            ok = chance[:n] * q_of.double() < p_of.double()
            accepted, h = ok.long().cumprod(0).sum(0, keepdim=True), ()
            row = p.index_select(0, accepted)
            residual = row - torch.cat([q, torch.zeros_like(q[:1])]).index_select(0, accepted)
        else:
            accepted, w, passes = _judge_block(p_of, q_of, p, q, chance[:n])
            row, h = p.index_select(0, accepted), (passes,)
            residual = w * row - torch.cat([q, torch.zeros_like(q[:1])]).index_select(0, accepted)
        residual = residual.clamp_min(0)
        # p and q can agree to the last bit at a place that was rejected by rounding alone: then p itself is the limit.
        residual = torch.where(residual.sum() > 0, residual, row)
        token = draw(residual, chance.index_select(0, n + accepted))
        values = [p_of.double(), q_of.double(), accepted.double(), token.double(), ids.double(), *h]
        emitted = torch.cat([ids, ids[:1]]).index_copy_(0, accepted, token)
        places = q.index_select(0, accepted.clamp_max(n - 1))
        parts = fetch(torch.cat(values), notes, logits, emitted, residual, places)
        known = [int(v) for v in parts[2 * n + 2 : 3 * n + 2]]
        k, new = int(parts[2 * n]), int(parts[2 * n + 1])
        if h:
            return Verdict.of_block(known, k, new, parts[:n], parts[n : 2 * n], u, parts[3 * n + 2 :], residual[0])
        return Verdict.of_chain(known, k, new, parts[:n], parts[n : 2 * n], u, residual[0])

    def describe(self, logits: Tensor, rows: Sequence[int], tokens: Sequence[int]) -> Sequence[float]:
        every = len(rows) == len(logits)
        chosen = logits if every else logits.index_select(0, put(rows, logits.device, torch.long))
        described = _described(chosen, put(tokens, logits.device, torch.long)).tolist()
        return [number for row in described for number in _finished(row)]

    def likeliest(self, weights: Tensor) -> tuple[Top, float]:
        whole, *pairs = _ranked(weights[None]).tolist()[0]
        return tuple((int(i), p) for i, p in zip(pairs[::2], pairs[1::2], strict=True) if p > 0), whole

    def timer(self) -> CudaTimer | None:
        return CudaTimer() if self._device.type == "cuda" else None

    def synchronize(self) -> None:
        if self._device.type == "cuda":
            # The stream alone: a whole device may not be waited for while another decode captures a graph.
            torch.cuda.current_stream(self._device).synchronize()


def fetch(
    verdict: Tensor,
    notes: Notes | None,
    logits: Tensor | None,
    tokens: Tensor,
    left: Tensor | None = None,
    q: Tensor | None = None,
) -> list[float]:
    """Return the numbers of ``verdict`` ``[k]``, and fill ``notes`` on ``logits`` ``[n, V]`` from the same transfer.

    ``tokens`` ``[n]`` are those that the rows give, ``left`` and ``q`` the weights of :class:`Notes`.
    """
    numbers, shapes = packed(verdict, notes, logits, tokens, left, q)
    return unpacked(numbers.tolist(), shapes, notes)


#: Rows and columns of the parts of a transfer.
Shapes = dict[str, tuple[int, int]]


def packed(
    verdict: Tensor,
    notes: Notes | None,
    logits: Tensor | None,
    tokens: Tensor,
    left: Tensor | None = None,
    q: Tensor | None = None,
) -> tuple[Tensor, Shapes]:
    """Return all that :func:`fetch` transfers, as float64 numbers in a row, and the shapes of its parts."""
    parts = {"verdict": verdict[None]}
    if notes is not None and notes.details:
        parts["described"] = _described(logits, tokens)
        parts |= {name: _ranked(weights) for name, weights in (("left", left), ("q", q)) if weights is not None}
    if notes is not None and notes.top:
        parts["ids"], parts["values"] = likeliest(logits, notes.temperature, notes.top)
    shapes = {name: (part.shape[0], part.shape[1]) for name, part in parts.items()}
    return torch.cat([part.double().flatten() for part in parts.values()]), shapes


def unpacked(numbers: list[float], shapes: Shapes, notes: Notes | None, rows: slice = slice(None)) -> list[float]:
    """Fill ``notes`` from what was transferred, for ``rows`` of the logits; return the numbers of the verdict."""
    found: dict[str, list[list[float]]] = {}
    at = 0
    for name, (count, width) in shapes.items():
        found[name] = [numbers[at + k * width : at + (k + 1) * width] for k in range(count)]
        at += count * width
    if notes is not None and notes.details:
        notes.described = [_finished(row) for row in found["described"][rows]]
        notes.left, notes.q = found.get("left"), found["q"][0] if "q" in found else None
        notes.left = notes.left if notes.left is None or len(notes.left) == 1 else notes.left[rows]
    if notes is not None and notes.top:
        notes.likeliest = [[int(v) for v in row] for row in found["ids"][rows]], found["values"][rows]
    return found["verdict"][0]


def _described(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return what :func:`_finished` needs of each row ``[n, V]``, which gave ``tokens`` ``[n]``; nothing is fetched.

    With scores x and p = softmax(x): log p = x - log Z and log Z = max x - log max p, so the entropy is log Z - sum p
    x. That spares a logarithm for every token of the vocabulary.
    """
    x = logits.float()
    p = torch.softmax(x, dim=-1)
    top = p.topk(min(TOP, p.shape[-1]), dim=-1)
    mine = p.gather(-1, tokens[:, None])
    best = x.gather(-1, top.indices[:, :1])
    # A score of -inf (a forbidden token) has p = 0 and adds nothing.
    mean = (p * x.clamp_min(torch.finfo(x.dtype).min)).sum(-1, keepdim=True)
    return torch.cat([mine, best, mean, _pairs(top.indices, top.values)], dim=-1)


def _finished(row: Sequence[float]) -> list[float]:
    chance, score, average, *ranked = row
    return [chance, max(0.0, score - math.log(ranked[1]) - average), *ranked]


def _ranked(weights: Tensor) -> Tensor:
    """Return for each row of weights ``[n, V]`` their sum, then tokens and shares of the likeliest in turns."""
    total = weights.sum(-1, keepdim=True)
    found = (weights / total).topk(min(TOP, weights.shape[-1]))
    return torch.cat([total, _pairs(found.indices, found.values)], dim=-1)


def _pairs(places: Tensor, values: Tensor) -> Tensor:
    return torch.stack([places.to(values.dtype), values], dim=-1).flatten(-2)


def _judge_block(p_of: Tensor, q_of: Tensor, p: Tensor, q: Tensor, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Judge a chain as :func:`~hsd_viz.decoding.verify.verify_block` does, nothing fetched.

    Returns how many tokens are accepted ``[1]``, the weight of p in the residual there ``[1]``, and h ``[n]``.
    """
    # w_k is the least of the products of the last ratios: in logarithms, the sum less the largest one so far.
    logs = torch.cat([p_of.new_zeros(1, dtype=torch.float64), (p_of.double() / q_of.double()).log().cumsum(0)])
    w = (logs - logs.cummax(0).values).exp()
    s = (w[1:-1, None].to(p.dtype) * p[1:-1] - q[1:]).clamp_min(0).sum(-1, dtype=torch.float64)
    before = torch.where(w[1:-1] >= 1, 1.0, s / (s + 1 - w[1:-1]))
    h = torch.cat([before, w[-1:]])
    place = torch.arange(1, len(h) + 1, device=h.device)
    accepted = torch.where(u < h, place, 0).amax(0, keepdim=True)
    weight = torch.cat([w[:-1], torch.ones_like(w[:1])]).index_select(0, accepted)
    return accepted, weight.to(p.dtype), h


def _walk_sampled(
    tree: DraftTree, p: Tensor, number: Number, logits: Tensor | None = None, notes: Notes | None = None
) -> Verdict:
    """Walk with the verifier's tokens drawn from all rows of ``p`` ``[n + 1, V]`` at once, for one transfer.

    Only one node per depth can be on the walked path, so one number serves every branch.
    """
    depths = [0, *tree.depths()]
    numbers = [number(depth) for depth in range(max(depths) + 1)]
    drawn = draw(p, put([numbers[depth] for depth in depths], p.device, torch.float64))
    if not len(tree):
        return walk(tree, [int(v) for v in fetch(drawn, notes, logits, drawn)], [])
    before = put([[parent + 1 for parent in tree.parents], tree.tokens], p.device, torch.long)
    rows, left = len(tree) + 1, None
    if notes is not None and notes.details:
        # The verifier drew its own token and it was not among the drafted ones: that is p without them.
        left = p.index_put((before[0], before[1]), p.new_zeros(()))
    values = fetch(torch.cat([drawn.double(), p[before[0], before[1]].double()]), notes, logits, drawn, left)
    return walk(tree, [int(v) for v in values[:rows]], values[rows:])
