"""The drafter of a decode, as the level below the models."""

from __future__ import annotations

from collections.abc import Sequence

from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.levels import LevelRound
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.session import StateSource
from hsd_viz.decoding.verdict import RecordOptions
from hsd_viz.drafting.tree import (
    MIN_TEMPERATURE,
    OBSERVED_TOP,
    Drafter,
    DraftTree,
    LogitsObserver,
    Observer,
)
from hsd_viz.errors import Unsupported, UserError
from hsd_viz.settings.spelling import spelled


class DrafterLevel:
    """A database or baseline, with what it learns from the target.

    Args:
        drafter: the drafter.
        budget: the largest number of nodes in a draft; ``None`` means the default of the drafter.
        target: the session of the target, which keeps the states of a layer if the drafter needs
            them.

    Attributes:
        drafter: the drafter.
        name: the name of the level in the trace.
        budget: the largest number of nodes in a draft.

    Raises:
        Unsupported: if the drafter needs the states of a layer, which the runtime of the target
            does not provide.
    """

    def __init__(self, drafter: Drafter, budget: int | None, target: object) -> None:
        self.drafter = drafter
        self.name = drafter.name
        self.budget = drafter.nodes if budget is None else budget
        self._states: StateSource | None = None
        if drafter.state_depth is not None:
            self._states = _watch(target, drafter.state_depth)

    def start(self, text: Sequence[int]) -> None:
        """Begin the decode with the prompt."""
        self.drafter.start(text)

    def look_up(self, text: Sequence[int], room: int) -> Draft:
        """Return a draft after ``text``, without the nodes deeper than ``room``.

        Nodes are removed by position only, never by token, so the result stays lossless.

        Raises:
            UserError: if the drafter does not return a tree.
        """
        proposed = self.drafter.draft(text, self.budget)
        if not isinstance(proposed, DraftTree):
            raise UserError(
                f"the drafter {type(self.drafter).__name__} returned {proposed!r:.60}: "
                "draft() must return a DraftTree"
            )
        tree = proposed.within(room)
        return Draft(tree, [[0]] * len(tree))

    def observe_states(self, places: Sequence[int]) -> None:
        """Pass the target's states in its last forward pass to the drafter, if it needs them.

        ``places`` are the indices of the tokens in the forward pass.
        """
        if self._states is not None:
            self.drafter.observe_states(self._states.states(places))

    def update(self, text: Sequence[int], level_round: LevelRound) -> None:
        """Learn from a round of the target that follows ``text``: from its states, its likeliest
        tokens and the emitted tokens.
        """
        # The positions in the forward pass: pending tokens first, then the accepted nodes.
        pending = level_round.pending
        self.observe_states([*range(pending), *(pending + node for node in level_round.accepted)])
        drafter = self.drafter
        tree = level_round.draft.tree
        observed = level_round.verdict.observed
        if observed is not None:
            if isinstance(drafter, LogitsObserver):
                drafter.observe_probabilities(text, tree, observed.tokens, observed.values)
            elif isinstance(drafter, Observer):
                drafter.observe(text, tree, observed.tokens)
        drafter.extend(level_round.tokens)

    def record_options(self, sampling: Sampling, details: int) -> RecordOptions:
        """Return what the target reports: ``details`` for the trace, and what the drafter learns
        from.
        """
        if isinstance(self.drafter, LogitsObserver):
            return RecordOptions(details, OBSERVED_TOP, max(sampling.temperature, MIN_TEMPERATURE))
        if isinstance(self.drafter, Observer):
            return RecordOptions(details, OBSERVED_TOP)
        return RecordOptions(details)


def _watch(target: object, depth: float) -> StateSource:
    """Make the target's session keep the states of the layer at a relative depth, and return the
    session.

    Raises:
        Unsupported: if its runtime does not provide the states of layers.
    """
    if not isinstance(target, StateSource):
        raise Unsupported(
            "the semantic database compares states of the target, which this runtime does not "
            f"give: use a model that runs natively or with '{spelled('runtime')} eager', or "
            "leave out 'semantic'"
        )
    target.watch(depth)
    return target
