"""Capture and replay without a GPU: a tape of the operations, played over the very tensors that they were recorded with.

What a CUDA graph does to Python this does too: every number, every branch and every address is that of the capture. And as graphs
that share a pool may, playing one tape overwrites all that the others computed on the way, their outputs included.
"""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from hsd_viz.backends.cuda_graphs.slot import Capturable


class _Recorder(TorchDispatchMode):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        with self:
            whole = func.decompose(*args, **kwargs)
        if whole is not NotImplemented:
            return whole
        out = func(*args, **kwargs)
        self.steps.append((func, args, kwargs, out))
        return out


def _tensors(tree):
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


class Tape:
    def __init__(self, work, others):
        self.steps, self._others, self.played = [], others, 0
        with Capturable():
            work()
        with _Recorder(self.steps):
            self.outputs = work()
        foreign = {t.untyped_storage().data_ptr() for step in self.steps for t in _tensors((step[1], step[2]))}
        self._passing = []
        for _, args, kwargs, out in self.steps:
            came = {t.untyped_storage().data_ptr() for t in _tensors((args, kwargs))}
            self._passing += [t for t in _tensors(out) if t.untyped_storage().data_ptr() not in came]
        assert foreign

    def replay(self):
        for other in self._others:
            if other is not self:
                other.spoil()
        for func, args, kwargs, out in self.steps:
            for old, new in zip(_tensors(out), _tensors(func(*args, **kwargs)), strict=True):
                if old.data_ptr() != new.data_ptr():
                    old.copy_(new)
        self.played += 1

    def spoil(self):
        for tensor in self._passing:
            tensor.fill_(torch.nan if tensor.is_floating_point() else 0)


class TapeCapturer:
    def __init__(self):
        self.tapes = []

    def capture(self, work):
        tape = Tape(work, self.tapes)
        self.tapes.append(tape)
        return tape

    @property
    def played(self):
        return sum(tape.played for tape in self.tapes)
