"""Which levels draft for the target in each round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hsd_viz.decoding.loop import Draft, Loop, Verification


class Policy(Protocol):
    """Chooses, before each round of the target, which levels draft.

    A choice may depend on the emitted text, on the clock and on anything earlier rounds showed, never on a token that was drafted in
    the current round: this is what keeps an adaptive policy lossless. One policy serves one loop.
    """

    def propose(self, loop: Loop, room: int) -> Draft:
        """Return what the target verifies next, at most ``room`` tokens; levels draft through :meth:`Loop.draft`."""

    def observe(self, loop: Loop, verified: Verification) -> None:
        """Learn from a round of the target that has just ended; ``loop.text`` includes its tokens."""


class FixedStack:
    """The whole stack drafts in every round."""

    def propose(self, loop: Loop, room: int) -> Draft:
        return loop.draft(loop.chain, room)

    def observe(self, loop: Loop, verified: Verification) -> None:
        pass
