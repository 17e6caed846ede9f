"""What a loop reports to the runtime of its sessions, which may work ahead of the loop."""

from __future__ import annotations


class LoopHooks:
    """The points of :class:`~hsd_viz.decoding.loop.Loop` at which a runtime may act. Here nothing
    happens; a runtime overrides what it needs (:mod:`hsd_viz.torch_models.decode`).

    Attributes:
        draws_numbers: whether the loop draws the uniform numbers of drafts and verifications, and
            passes them to the sessions; else the runtime has its own.
        result_time: when the result that the loop is at was ready, in ns; ``None``: now.
    """

    draws_numbers: bool = True
    result_time: int | None = None

    def after_prefill(self) -> None:
        """The prompt has been fed."""
        return None

    def after_leaving_levels(self) -> None:
        """Draft models whose context the text fills take no part any more."""
        return None

    def before_round(self, i: int) -> None:
        """A round of level ``i`` begins."""
        return None

    def after_round(self, i: int) -> None:
        """A round of level ``i`` has ended and is recorded."""
        return None

    def before_draft(self, i: int) -> None:
        """Level ``i`` is asked for a draft after the present text."""
        return None
