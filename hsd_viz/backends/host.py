"""The reference backend: numpy on the CPU.

torch needs some ten microseconds per operation after a forward pass has swept the caches, numpy one or two. And on the
host there is no transfer to economise: rows are made one by one, and only those that a walk reaches.
"""

from __future__ import annotations

import ctypes
import math
from array import array
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from hsd_viz.decoding.backend import TOP, Notes, Number
from hsd_viz.decoding.sampling import distribution, draw
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import CHAIN_RULES, Verdict, walk, walk_sampled
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.records import Top


class HostBackend:
    """:class:`~hsd_viz.decoding.backend.Backend` for logits in CPU memory; notes cost nothing extra there."""

    fetches_notes = False

    def rows(self, logits: Tensor, sampling: Sampling) -> Tensor:
        return torch.from_numpy(distribution(_array(logits), sampling))

    def draw(self, logits: Tensor, sampling: Sampling, r: float) -> tuple[int, Tensor | None]:
        if sampling.greedy:
            return int(_array(logits).argmax()), None
        p = self.rows(logits, sampling)
        return draw(p.numpy()[0], r), p

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
        if ids is not None:
            tree.tokens[:] = ids.tolist()
        if sampling.greedy:
            return walk(tree, _array(logits).argmax(-1).tolist(), None), None
        verdict, rows = walk_sampled(tree, _array(logits), sampling, number)
        return verdict, torch.from_numpy(np.stack(rows)) if keep_rows else None

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
        ids = tokens.tolist() if isinstance(tokens, Tensor) else list(tokens)
        verdict = CHAIN_RULES[rule](ids, _array(q), _array(p), u, r)
        if verdict.residual is not None:
            verdict.residual = torch.from_numpy(verdict.residual)
        return verdict

    def describe(self, logits: Tensor, rows: Sequence[int], tokens: Sequence[int]) -> Sequence[float]:
        # With x = scores less their maximum, w = exp x and Z = sum w: p = w / Z, and the entropy is log Z - sum w x /
        # Z.
        scores = _array(logits)
        x = scores[: len(rows)] if rows[-1] == len(rows) - 1 else scores[rows]
        x = x - x.max(-1, keepdims=True)
        w = np.exp(x)
        totals, means = w.sum(-1).tolist(), np.einsum("ij,ij->i", w, x).tolist()
        out: list[float] = []
        for k, token in enumerate(tokens):
            row, total, mean = w[k], totals[k], means[k]
            if mean != mean:
                # A score of -inf (a forbidden token) has p = 0 and adds nothing.
                mean = float(row @ x[k].clip(np.finfo(x.dtype).min))
            p = float(row[token]) / total
            out += (p, max(0.0, math.log(total) - mean / total))
            for place, weight in _top(row, TOP):
                out += (place, weight / total)
        return out

    def likeliest(self, weights: Tensor) -> tuple[Top, float]:
        p = _array(weights)
        total = p.sum()
        return tuple((token, value) for token, value in _top(p / total, TOP) if value > 0), float(total)

    def timer(self) -> None:
        return None

    def synchronize(self) -> None:
        pass


class NativeBackend(HostBackend):
    """The same for logits of a native model, float32 or float64 ``[n, V]`` in rows without gaps: described in C++."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._describe = library.quick.hsd_describe

    def describe(self, logits: Tensor, rows: Sequence[int], tokens: Sequence[int]) -> array:
        n, vocab = len(rows), logits.shape[1]
        most = min(TOP, vocab)
        numbers = array("d", bytes(8 * n * (2 + 2 * most)))
        self._describe(
            logits.data_ptr(),
            logits.dtype == torch.float64,
            vocab,
            (ctypes.c_int32 * n)(*rows),
            (ctypes.c_int32 * n)(*tokens),
            n,
            most,
            numbers.buffer_info()[0],
        )
        return numbers


def _array(values: Tensor) -> np.ndarray:
    """Return the values of a CPU tensor, shared where numpy has their type, else in float32."""
    return values.numpy() if values.dtype.itemsize > 2 else values.float().numpy()


def _top(weights: np.ndarray, most: int) -> list[tuple[int, float]]:
    """Return the ``most`` largest of ``weights`` ``[V]`` (non-negative) with their places, largest first. Overwrites
    them.

    Finding the largest is so fast (a vocabulary of 4 096 in 0.3 µs) that repeating it is the fastest way for few.
    """
    found = []
    for _ in range(min(most, len(weights))):
        place = int(weights.argmax())
        found.append((place, float(weights[place])))
        weights[place] = -1
    return found
