"""What serves a round of the target, and all that is known of what that takes and brings: learnt on-line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, combinations
from math import exp, log
from typing import NamedTuple

from hsd_viz.adaptive.online import (
    Acceptance,
    Curve,
    DatabaseDraftStats,
    Pace,
    RobustMinimum,
    prior_acceptance,
    prior_cost,
)
from hsd_viz.latency.calibration import Calibration

#: Rounds' worth of time that may be spent on options that look worse, to learn about them, where acceptance was never measured.
GRANT = 5.0
#: So many rounds are learnt from one and all.
ATTENTIVE = 32
#: Rounds that lambda remembers: some of the text at hand, whose own latency is what a token of it is worth; many over all texts, from
#: which each text starts with a lambda worth ``START`` rounds.
MEMORY, LONG_MEMORY, START = 24, 400, 6
#: What a round served by the database counts for in lambda. Were rounds drawn like lots, it would be 1. But texts have places that were
#: seen before and places that were not, and in these there is nothing to hurry to: what counts is what it takes to get past them.
FOUND = 1.0
#: What a look-up is worth is an average that gives each new one such a share; a text begins with what is worth ``FRESH`` look-ups.
WORTH_SHARE, FRESH = 0.1, 2.0
#: Nodes that were expected: how many a prior of one accepted node for each is worth, and how many are remembered.
PRIOR_KEPT, KEPT_MEMORY = 20.0, 200.0
#: Acceptance where nothing is known.
PRIOR_ACCEPTANCE = 0.6
#: A database's drafts beneath a model where nothing is known: nodes, and nodes accepted.
PRIOR_TIER = (4.0, 0.8)
_SHARE = 0.05


class Option(NamedTuple):
    """What serves a round: ``nodes`` of the database's tree, or ``models`` (number, lookahead), smallest first, over the database
    when ``looked_up``; neither is a plain step. ``cost`` in ms and ``gain`` in tokens are expectations."""

    nodes: int = 0
    models: tuple[tuple[int, int], ...] = ()
    looked_up: bool = False
    cost: float = 0.0
    gain: float = 1.0

    @property
    def kind(self) -> tuple[tuple[int, ...], bool]:
        """The models that take part, and whether over the database; with none, whether the database serves."""
        return tuple(model for model, _ in self.models), self.looked_up


#: Kinds of rounds without a model.
PLAIN, FROM_DATABASE = ((), False), ((), True)


class Family:
    """Draft models that work together, over the database or not; ``looks`` are their lookaheads.

    ``cost`` and ``gain`` are as they were when the family was last looked at, in the round ``looked``; it last served in the round
    ``taken``.
    """

    __slots__ = ("cost", "gain", "kind", "looked", "looked_up", "looks", "members", "taken", "turns")

    def __init__(self, members: tuple[int, ...], looked_up: bool) -> None:
        self.kind = self.members, self.looked_up = members, looked_up
        self.looks = (4,) * len(members)
        self.cost, self.gain = float("inf"), 1.0
        self.taken = self.looked = self.turns = 0


class Estimates:
    """All that is known of some models, smallest first, the target last, and of a database beneath them: learnt on-line.

    ``parameters`` stand for the models' costs where ``calibration`` (over ``names``, the database's being ``bottom``) says nothing.
    With ``learn_costs`` False the calibration's costs stay as they are, so that choices depend on the text alone. One object may
    serve run after run, and runs side by side: it changes how fast they are, and nothing else.
    """

    def __init__(
        self,
        names: Sequence[str],
        parameters: Sequence[float],
        *,
        bottom: str | None = None,
        calibration: Calibration | None = None,
        learn_costs: bool = True,
    ) -> None:
        assert len(names) == len(parameters) > 0
        known = calibration.costs if calibration else {}
        if not learn_costs and not all(name in known for name in names):
            raise ValueError(
                "costs that are not to be learnt have to be known: the calibration lacks some of the models"
            )
        whole = all(name in known for name in names)
        self.names = tuple(names)
        self.learn_costs = learn_costs
        self.costs = [Curve(known[n] if whole else prior_cost(p)) for n, p in zip(names, parameters, strict=True)]
        self.pace = Pace(whole)
        self.edges: dict[tuple[int, int], Acceptance] = {
            (i, j): prior_acceptance(calibration, names[i], names[j], PRIOR_ACCEPTANCE)
            for i, j in combinations(range(len(names)), 2)
        }
        self.bottom = bottom
        #: Nodes accepted for each one expected, of the database's drafts that were taken: what is taken tends to be what was
        #: overrated.
        self.kept = 1.0
        self._kept = (0.0, 0.0)
        lookup = calibration.lookup(bottom).lookup if calibration and bottom else 0.0
        self.lookup = lookup
        self._lookup = RobustMinimum(log(max(lookup, 1e-9)), lookup > 0)
        self._looked = (0.0, 0.0)
        #: The database's drafts beneath each model.
        self.tiers = [self._tier(calibration, n) for n in names]
        self.families = [
            Family(members, looked_up)
            for looked_up in ((False, True) if bottom else (False,))
            for n in (1, 2)
            for members in combinations(range(len(names) - 1), n)
        ]
        #: Fading sums of expected cost and tokens of what was taken, in this text and in all; all cost, and what of it went into learning.
        self.spent = self.gained = 0.0
        self._long = (0.0, 0.0)
        self.total = self.explored = 0.0
        self.grant = 0.0 if calibration and calibration.edges else GRANT
        #: What a look-up is worth, ms per round.
        self.worth = float("inf")
        #: Rounds, and choices; of what was measured less is to be learnt at first.
        self.rounds, self.choices = ATTENTIVE if calibration and calibration.edges else 0, 0

    def _tier(self, calibration: Calibration | None, name: str) -> DatabaseDraftStats:
        tier = calibration.tiers.get((self.bottom or "", name)) if calibration else None
        return (
            DatabaseDraftStats(*PRIOR_TIER)
            if tier is None
            else DatabaseDraftStats(sum(m * p for m, _, p in tier.outcomes), tier.tokens - 1)
        )

    @property
    def plain(self) -> float:
        """ms of a plain step."""
        top = self.costs[-1]
        return self.pace.of(PLAIN) * (top.overhead + top.table[1])

    def begin(self) -> None:
        """A new text."""
        self.worth = max(self.worth, FRESH * self.lookup)
        spent, gained = self._long
        if gained:
            self.start(spent / gained)
        for edge in self.edges.values():
            edge.first.begin()
            edge.later.begin()

    def start(self, latency: float) -> None:
        """Lambda for a text of which nothing is known yet."""
        tokens = max(1.0, self.plain / latency)
        self.spent, self.gained = START * tokens * latency, START * tokens

    def drafting(self, most: int) -> list[float]:
        """What a database's draft of 0, 1, ..., ``most`` nodes costs the target, in ms: to look it up and to verify it; never falling."""
        top, pace = self.costs[-1], self.pace.of(FROM_DATABASE)
        ms, nodes = self._looked
        node = ms / nodes if nodes else 0.0
        return list(accumulate((pace * (top.overhead + top.at(1 + m)) + node * m for m in range(most + 1)), max))

    # --- what a round showed ---------------------------------------------------------------------------------------

    def see_round(self, option: Option, ms: float) -> None:
        """A round that ``option`` served took so long, its look-up before the choice left out. Options without a price tell nothing."""
        if self.learn_costs and option.cost > 0:
            self.pace.see(option.kind, ms / option.cost)

    def see_lookup(self, nodes: int, ms: float) -> None:
        """A look-up that found so many nodes. Finding nothing takes about as long as three nodes."""
        if self.learn_costs:
            self._lookup.see(log(max(ms, 1e-9)))
            self.lookup = exp(self._lookup.value)
            self._looked = self._looked[0] * (1 - _SHARE) + self.lookup, self._looked[1] * (1 - _SHARE) + nodes + 3

    def see_chain(self, draft: int, verifier: int, examined: int, accepted: int) -> None:
        """A verification of a model's tokens."""
        self.edges[draft, verifier].see(examined, accepted)

    def see_tree(self, verifier: int, drafted: int, accepted: int) -> None:
        """A verification of a database's draft, which may have been empty."""
        self.tiers[verifier].see(drafted, accepted)

    def see_direct(self, expected: float, accepted: int) -> None:
        """Nodes of a database's draft that were expected to come true by their scores, and that did, whoever served."""
        fade = 1 - expected / KEPT_MEMORY if expected < KEPT_MEMORY else 0.0
        hits, total = self._kept
        self._kept = hits, total = hits * fade + accepted, total * fade + expected
        self.kept = (PRIOR_KEPT + hits) / (PRIOR_KEPT + total)

    def look_worth(self, ms: float) -> None:
        """By how much a look-up made the best option better."""
        self.worth = (
            max(0.0, ms) if self.worth == float("inf") else self.worth + (max(0.0, ms) - self.worth) * WORTH_SHARE
        )

    def took(self, cost: float, tokens: float, found: bool = False) -> None:
        """An option was taken that was expected to cost so many ms and give so many tokens; ``found``: by the database."""
        weight = FOUND if found else 1.0
        fade = 1 - weight / MEMORY
        self.spent, self.gained = self.spent * fade + weight * cost, self.gained * fade + weight * tokens
        fade = 1 - weight / LONG_MEMORY
        self._long = self._long[0] * fade + weight * cost, self._long[1] * fade + weight * tokens
        self.total += cost

    def went_on(self, option: Option, rounds: int) -> None:
        """An option that was taken served so many more rounds."""
        weight = rounds * (FOUND if option.nodes else 1.0)
        fade = max(0.0, 1 - weight / MEMORY)
        self.spent, self.gained = self.spent * fade + weight * option.cost, self.gained * fade + weight * option.gain
        fade = max(0.0, 1 - weight / LONG_MEMORY)
        self._long = self._long[0] * fade + weight * option.cost, self._long[1] * fade + weight * option.gain
        self.total += rounds * option.cost
        self.rounds += rounds
