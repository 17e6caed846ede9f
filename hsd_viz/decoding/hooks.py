"""Hooks by which a loop notifies the runtime of its sessions, which may run ahead of the loop."""

from __future__ import annotations


class LoopHooks:
    """Hooks of :class:`~hsd_viz.decoding.loop.Loop` for a runtime.

    The methods do nothing here. A runtime overrides those that it needs, as
    :mod:`hsd_viz.torch_models.device_loop` does.

    Attributes:
        draws_numbers: whether the loop draws the uniform numbers of drafts and verifications and
            passes them to the sessions; if not, the runtime draws them.
        result_time: the time in ns at which the result that the loop is processing was ready;
            ``None`` means the present time.
    """

    draws_numbers: bool = True
    result_time: int | None = None

    def after_prefill(self) -> None:
        """Prepare the rounds, after the prompt except its last token was fed to each session."""

    def after_leaving_levels(self) -> None:
        """Discard the work done ahead by draft models whose context is full."""

    def before_round(self, i: int) -> None:
        """Start a round of level ``i``, before the level below it drafts."""

    def after_round(self, i: int) -> None:
        """Finish a round of level ``i``, after it was recorded."""

    def before_draft(self, i: int) -> None:
        """Prepare a draft by level ``i`` that continues the current text."""
