"""How much of a recorded text can be copied from its last tokens, without any model."""

from __future__ import annotations

from collections.abc import Sequence

from hsd_viz.drafting import make_drafter
from hsd_viz.drafting.tree import Drafter, DraftTree
from hsd_viz.measure.replay.text_replay import Text, replay_text
from hsd_viz.stack import DATABASE, DraftSource
from hsd_viz.trace import Trace

_COPYING = DraftSource(DATABASE, ("context",))


class _RecentCopier(Drafter):
    """Copying that sees only the last tokens of the text.

    Attributes:
        memory: how many tokens it sees.
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        seen = text[-self.memory :]
        copying = make_drafter(_COPYING, costs=None)
        copying.start(seen)
        return copying.draft(seen, budget)


def copied_within(trace: Trace, memory: int, budget: int = 4) -> float:
    """Return the tokens per pass of the target with which a recorded text is written if copying
    sees only the last ``memory`` tokens, and drafts up to ``budget`` tokens.
    """
    text = Text("", tuple(trace.meta["prompt_ids"]), tuple(trace.token_ids))
    replayed = replay_text(_RecentCopier(memory), text, budget)
    return replayed.tokens / replayed.rounds
