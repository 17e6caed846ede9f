"""An optional part of a drafter: it may look at what the target would have said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from .tree import Drafter, DraftTree

#: Likeliest tokens that an observer is given for each verified row.
TOP = 8
#: Greedy decoding takes the likeliest token for certain, but another time the row will be a little different: its shares are looked at
#: as if sampled at this temperature.
COOLEST = 0.5


@runtime_checkable
class Observer(Drafter, Protocol):
    """A drafter that learns from the target's rows, those of rejected nodes too: Token Recycling, and Hierarchy Drafting's window."""

    def observe(self, text: Sequence[int], tree: DraftTree, top: Sequence[Sequence[int]]) -> None:
        """The target has verified ``tree`` after ``text``: to be called after each of its verifications, before :meth:`extend`.

        ``top`` has ``1 + len(tree)`` rows of the :data:`TOP` likeliest token ids each, likeliest first (fewer where the vocabulary
        is smaller): row 0 after the last token of ``text``, row 1 + i after node i. ``tree`` is the one that was verified, which
        may be another than :meth:`draft` gave: cut to the room there was, or handed up by a model in the middle of the stack.
        """


@runtime_checkable
class LogitsObserver(Drafter, Protocol):
    """A drafter that keeps what the target held likely, and how likely."""

    def harvest(
        self, text: Sequence[int], tree: DraftTree, top: Sequence[Sequence[int]], chances: Sequence[Sequence[float]]
    ) -> None:
        """As :meth:`Observer.observe`; ``chances`` are the probabilities of the tokens in ``top``, before top-k and top-p, at the
        temperature of the sampling, or :data:`COOLEST` where that is less.
        """
