"""A Hugging Face model whose forward passes are captured once and replayed: one launch instead of hundreds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection

import torch

from hsd_viz.backends.cuda_graphs.buffers import Layout
from hsd_viz.backends.cuda_graphs.forward import Forward, ModuleForward, rules_of
from hsd_viz.backends.cuda_graphs.fused import chosen, ops_with
from hsd_viz.backends.cuda_graphs.lean import LeanForward
from hsd_viz.backends.cuda_graphs.session import GraphSession
from hsd_viz.backends.cuda_graphs.slot import Capturable, Capturer, CudaCapturer, Replays, Slot
from hsd_viz.backends.llama import unsupported
from hsd_viz.decoding.model import CachedModel, HFModel
from hsd_viz.decoding.suitable import allowed_error, row_error
from hsd_viz.words import first_line

#: Slots kept for the next decodes; more decodes at once make more, which are given back.
_SPARE = 2


class GraphModel:
    """The weights of ``model`` over static buffers, its work replayed as CUDA graphs.

    Small models on a GPU spend their time on launches: a step is hundreds of them, a graph is one. Every width of a
    forward pass and every length of a draft has its graph per bucket of text length (512, 768, 1024, ...), captured
    when it is first needed (:meth:`GraphSession.warm` captures ahead). Llama and its relatives run through
    :class:`~hsd_viz.backends.cuda_graphs.lean.LeanForward` (``lean=False``: as they are), with the Triton kernels named
    in ``kernels`` (default: all, on a GPU with Triton), everything else through its own module.

    Rows over static buffers are compared with the module's own at the start. Where a model cannot be run this way, or
    gives other rows, sessions are those of ``model`` itself and ``reason`` says why; ``reason`` also keeps the first
    failed capture, whose work is then done each time. ``path`` says which forward runs, and why not a faster one.
    Without a GPU everything is the same but the capture. ``strict`` is the width of every forward pass in strict mode
    (:mod:`~hsd_viz.backends.cuda_graphs.strict`), 0 for none.

    Safe for several threads, one session each, as long as they use one CUDA stream (torch's default).
    """

    def __init__(
        self,
        model: HFModel,
        *,
        lean: bool = True,
        kernels: Collection[str] | None = None,
        strict: int = 0,
        capturer: Capturer | None = None,
    ) -> None:
        self.eager = model
        self.name = model.name
        self.module = model.module
        self.layers = model.layers
        self.vocab_size = model.vocab_size
        self.positions = model.positions
        self.device = model.device
        self.dtype = model.dtype
        self.strict = strict
        if capturer is None and self.device.type == "cuda":
            capturer = CudaCapturer(self.device)
        self._replays = Replays(capturer)
        self._free: list[Slot] = []
        # A collection of garbage within the lock may close sessions, which takes it again.
        self._lock = threading.RLock()
        self.rules = rules_of(model.module.config.get_text_config(decoder=True))
        self.forward: Forward | None = None
        #: Why the lean forward is not used, ``None`` where it is.
        self.not_lean = unsupported(model.module) if lean else "it was not requested"
        self.kernels = frozenset() if strict or self.not_lean else chosen(kernels, self.device, self.dtype)
        self.not_fused: str | None = None
        self._reason = self._find()

    def _find(self) -> str | None:
        """Choose the fastest forward whose rows are the module's; return why there is none."""
        if self.not_lean is None and self.kernels:
            self.not_fused = self._try(lambda: LeanForward(self.eager, ops_with(self.kernels)))
            if self.not_fused is None:
                return None
            self.kernels = frozenset()
        if self.not_lean is None:
            self.not_lean = self._try(lambda: LeanForward(self.eager, strict=bool(self.strict)))
            if self.not_lean is None:
                return None
        if self.strict:
            return f"strict mode needs the lean forward: {self.not_lean}"
        return self._try(lambda: ModuleForward(self.eager))

    @property
    def path(self) -> str:
        """Which forward runs, and why not a faster one."""
        if self._reason is not None:
            return f"eager ({self._reason})"
        if self.not_lean is not None:
            return f"the module's own forward over static buffers ({self.not_lean})"
        if self.strict:
            return f"lean, strict at width {self.strict}"
        fused = f"lean, Triton: {', '.join(sorted(self.kernels)) or 'none'}"
        return fused if self.not_fused is None else f"{fused} ({self.not_fused})"

    @property
    def runtime(self) -> str:
        """``cuda-graphs``, ``cuda-graphs, strict``, or ``eager``: nothing to capture with, or the model cannot run this
        way.
        """
        if self._reason is not None or self._replays.capturer is None:
            return "eager"
        return "cuda-graphs, strict" if self.strict else "cuda-graphs"

    @property
    def reason(self) -> str | None:
        """Why this model, or some of its work, does not run as graphs."""
        return self._reason or self._replays.reason

    @property
    def captures(self) -> int:
        """How many graphs were captured so far."""
        return self._replays.captures

    @property
    def parameters(self) -> int:
        """Number of parameters, shared ones counted once."""
        return self.eager.parameters

    @torch.inference_mode()
    def session(self, room: int = 0) -> CachedModel:
        """Open an empty sequence; it takes over the buffers and graphs of one that was closed.

        ``room`` tokens of text fit without growing, which would drop all graphs; strict mode attends to all of it.
        """
        if self._reason is not None:
            return self.eager.session()
        with self._lock:
            slot = self._free.pop() if self._free else None
        if slot is None:
            slot = self._slot(self._replays)
        else:
            slot.cache.clear()
        return GraphSession(slot, self.release, room)

    def release(self, slot: Slot) -> None:
        """Take back the slot of a session that is over."""
        with self._lock:
            if not slot.dropped and len(self._free) < _SPARE:
                self._free.append(slot)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _slot(self, replays: Replays) -> Slot:
        try:
            return Slot(
                self.name, self.forward, self.rules, self.positions, self._layout, self.device, replays, self.strict
            )
        except torch.OutOfMemoryError:
            raise torch.OutOfMemoryError(
                f"{self.device} has too little free memory for the keys and values of {self.name}"
            ) from None

    def _try(self, make: Callable[[], Forward]) -> str | None:
        """Probe that forward over static buffers; return ``None`` where its rows are the module's, else the reason."""
        try:
            devices = {parameter.device for parameter in self.module.parameters()}
            if len(devices) > 1:
                return f"its weights are on {len(devices)} devices"
            self.forward = make()
            self._probe()
        except torch.OutOfMemoryError:
            raise
        # A module that fails with our buffers still runs with its own cache.
        except Exception as error:
            return first_line(error)
        return None

    @torch.inference_mode()
    def _probe(self) -> None:
        """Compare chains and a tree, rolled back, with one pass of the module. Raises ``ValueError``."""
        self._layout = Layout.of(self.module, self.layers)
        stride = max(1, self.vocab_size // 16)
        text = [(1 + stride * k) % self.vocab_size for k in range(12)]
        slot = self._slot(Replays(None))
        session = GraphSession(slot, self.release)
        with Capturable():
            session.forward(text[:5], 1)
            first = session.forward([text[5], text[11], text[6], text[0], text[7]], 5, parents=[-1, 0, 0, 1, 2])
            session.keep(5, [5, 7, 9])
            session.forward([text[1], text[2]], 2)
            session.truncate(8)
            second = session.forward(text[8:], 4)
        slot.drop()
        rows = torch.cat([first[[0, 2, 4]], second])
        exact = self.module(input_ids=torch.tensor([text], device=self.device), use_cache=False).logits[
            0, 5:, : self.vocab_size
        ]
        error = row_error(rows, exact)
        if not error <= allowed_error(self.dtype):
            raise ValueError(
                f"its rows over static buffers differ from its own by {error:.2g} of their size, more than rounding "
                "explains"
            )
