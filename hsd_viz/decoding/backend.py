"""What runs the arithmetic of sampling and verification. A loop has one backend, chosen when it is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from hsd_viz.decoding.log import Timer
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.verify import Verdict
from hsd_viz.drafting.tree import TOP as OBSERVED
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.trace.records import Top

#: How many of the likeliest tokens are recorded for a row.
TOP = 5
#: The uniform number that draws a verifier's token, by its depth in the draft. Asked for in ascending order, each once.
Number = Callable[[int], float]


@dataclass(slots=True)
class Notes:
    """What a round of the target needs of the device beside its verdict, fetched in the verdict's own transfer.

    Requests: ``details`` of each row (see :meth:`Backend.describe`) and what a sampled correction was drawn from;
    ``top`` likeliest tokens of each row for the drafter, with their probabilities at ``temperature`` unless that is
    ``None``. Answers: ``described`` and ``left`` have a row for each row of logits (``left`` of a sampled chain one in
    all: its residual): the sum of the weights, then tokens and shares in turns; ``q`` is the drafter's row there.
    """

    details: bool = False
    top: int = 0
    temperature: float | None = None
    described: list[list[float]] | None = None
    left: list[list[float]] | None = None
    q: list[float] | None = None
    likeliest: tuple[list[list[int]], list[list[float]]] | None = None


def likeliest(logits: Tensor, temperature: float | None, most: int = OBSERVED) -> tuple[Tensor, Tensor]:
    """Return ids and probabilities at ``temperature`` (``None``: scores) of the likeliest tokens of rows ``[n, V]``."""
    scores = logits if temperature is None else (logits.float() / temperature).softmax(-1)
    found = scores.topk(min(most, logits.shape[-1]))
    return found.indices, found.values


class RunningTimer(Timer, Protocol):
    """A timer that was started; :meth:`stop` marks the end of the work launched since."""

    def stop(self) -> None: ...


class Backend(Protocol):
    """Samples from logits and verifies drafts where the logits are stored.

    ``hsd_viz.backends`` implements it: :class:`~hsd_viz.backends.host.HostBackend` (numpy) is the reference, and every
    other backend is tested against it. Logits are ``[n, V]`` with row 0 after the text and row 1 + i after node i of
    the draft. ``fetches_notes``: :class:`Notes` are filled when a verification is given any.
    """

    fetches_notes: bool

    def rows(self, logits: Tensor, sampling: Sampling) -> Tensor:
        """Return the probabilities ``[n, V]`` after temperature, top-k and top-p (temperature > 0)."""

    def draw(self, logits: Tensor, sampling: Sampling, r: float) -> tuple[int, Tensor | None]:
        """Return a token for logits ``[1, V]`` and the row ``[1, V]`` it was drawn from (greedy: arg-max, ``None``)."""

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
        """Verify point-mass drafts; see :func:`~hsd_viz.decoding.verify.walk`.

        ``ids`` are the tokens of a chain that only the device knows so far: they are written into ``tree``. The rows
        returned are the verifier's at the walked places, in order; ``None`` for greedy decoding or without
        ``keep_rows``.
        """

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
        """Verify sampled drafts by a rule of :data:`~hsd_viz.decoding.verify.CHAIN_RULES`; ``notes`` are of
        ``logits``.
        """

    def describe(self, logits: Tensor, rows: Sequence[int], tokens: Sequence[int]) -> Sequence[float]:
        """Describe each of ``rows`` at temperature 1; ``tokens`` has the token that each row gave.

        Per row: probability of its token, entropy in nats, then token id and probability of the :data:`TOP` likeliest
        tokens.
        """

    def likeliest(self, weights: Tensor) -> tuple[Top, float]:
        """Return the likeliest tokens of weights ``[V]`` >= 0 with their probabilities, and the sum of the weights."""

    def timer(self) -> RunningTimer | None:
        """Start a timer of the device's own; ``None`` where work is complete when a call returns."""

    def synchronize(self) -> None:
        """Wait for the device's current stream."""
