"""What a loop reports to the runtime of its sessions, which may work ahead of the loop."""

from __future__ import annotations


class LoopHooks:
    """The points of :class:`~hsd_viz.decoding.loop.Loop` at which a runtime may act: it overrides
    those that it needs (:mod:`hsd_viz.torch_models.decode`). Here they do nothing.

    Attributes:
        draws_numbers: whether the loop draws the uniform numbers of drafts and verifications, and
            passes them to the sessions; else the runtime has its own.
        result_time: when the result that the loop is at was ready, in ns; ``None``: now.
    """

    draws_numbers: bool = True
    result_time: int | None = None

    def after_prefill(self) -> None:
        """Prepare the rounds: every session has been fed the prompt, but for its last token."""

    def after_leaving_levels(self) -> None:
        """Discard work ahead by draft models that left because the text fills their context."""

    def before_round(self, i: int) -> None:
        """Begin the work of a round of level ``i``, before the level below drafts for it."""

    def after_round(self, i: int) -> None:
        """End the work of a round of level ``i``, which has been recorded."""

    def before_draft(self, i: int) -> None:
        """Prepare a draft of level ``i`` after the present text."""
