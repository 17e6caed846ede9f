"""The inputs of the law: costs and acceptance for given models, machine and kind of text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from math import inf
from typing import Any, TypeVar

import msgspec

from hsd_viz.conversion import OF_ANOTHER_TYPE
from hsd_viz.drafting.costs import cost_at
from hsd_viz.errors import UserError
from hsd_viz.results.positions import reaching

T = TypeVar("T")
#: The fields of a calibration that have a value per pair of names.
_BY_PAIRS = ("edges", "tiers", "over", "after", "stops")


@dataclass(frozen=True, slots=True)
class LevelCost:
    """The costs of a model in ms.

    :func:`~hsd_viz.drafting.costs.cost_at` continues a curve beyond its last entry.

    Attributes:
        forward: ``forward[m - 1]`` is c(m), the cost of a verification that feeds m tokens: the
            draft, and the tokens of the text that are not in the level's cache yet.
        draft: the same curve for forward passes by which the model drafts alone; ``None`` means as
            ``forward``. If the lowest model drafts in a single launch, it is the time per token.
        overhead: the cost added to each verification: Python, waiting for the device, recording.
        draft_overhead: the fixed cost of a launch that drafts.
    """

    forward: tuple[float, ...]
    draft: tuple[float, ...] | None = None
    overhead: float = 0.0
    draft_overhead: float = 0.0

    def __post_init__(self) -> None:
        values = (*self.forward, *(self.draft or ()), self.overhead, self.draft_overhead)
        if not self.forward or self.draft == () or not all(0 <= v < inf for v in values):
            raise UserError(
                "a cost curve needs an entry for one token, and costs "
                "must be finite and not negative"
            )

    def verifying(self, fed: int) -> float:
        """Return the cost of a verification that feeds ``fed`` tokens, without the overhead."""
        return cost_at(self.forward, fed - 1)

    def drafting(self, fed: int) -> float:
        """Return the cost of a forward pass over ``fed`` tokens when the model drafts alone."""
        return cost_at(self.draft or self.forward, fed - 1)

    def alone(self, tokens: int) -> float:
        """Return the cost of drafting ``tokens`` tokens, a forward pass each, in a launch."""
        return tokens * self.drafting(1) + self.draft_overhead

    def scaled(self, factor: float) -> LevelCost:
        """Return the costs multiplied by ``factor``."""
        draft = None if self.draft is None else tuple(factor * c for c in self.draft)
        return LevelCost(
            tuple(factor * c for c in self.forward),
            draft,
            factor * self.overhead,
            factor * self.draft_overhead,
        )


@dataclass(frozen=True, slots=True)
class LookupCost:
    """The costs of a database in ms.

    Attributes:
        lookup: the cost of a look-up.
        update: the cost per target round of adding the emitted tokens.
    """

    lookup: float = 0.0
    update: float = 0.0


@dataclass(frozen=True, slots=True)
class Edge:
    """The acceptance of a model's tokens by the model above it.

    ``Edge(tail=a)`` is independent acceptance, S(k) = a^k (Leviathan et al. 2023).

    Attributes:
        survival: the measured survival curve: ``survival[k - 1]`` is S(k), the probability that the
            first k tokens of a draft are all accepted.
        tail: the conditional acceptance of each token beyond the curve.
    """

    survival: tuple[float, ...] = ()
    tail: float = 0.0

    def __post_init__(self) -> None:
        falls = all(earlier >= later for earlier, later in pairwise((1.0, *self.survival, 0.0)))
        if not 0 <= self.tail <= 1 or not falls:
            raise UserError(
                "an acceptance curve must not rise and must stay from 1 to 0, its tail from 0 to 1"
            )

    def curve(self, n: int) -> tuple[float, ...]:
        """Return S(0), ..., S(n)."""
        curve = [1.0, *self.survival[:n]]
        measured = curve[-1]
        for further in range(1, n - len(curve) + 2):
            curve.append(measured * self.tail**further)
        return tuple(curve)

    def stops(self, n: int) -> tuple[float, ...]:
        """Return the probability that exactly k of ``n`` draft tokens are accepted, for k = 0, ...,
        n.
        """
        return tuple(a - b for a, b in pairwise((*self.curve(n), 0.0)))

    def shifted(self, difference: float) -> Edge:
        """Return the edge with ``difference`` added to each conditional acceptance S(k) / S(k - 1),
        limited to [0, 1].
        """
        survives = 1.0
        survival = []
        for earlier, later in pairwise((1.0, *self.survival)):
            survives *= min(1.0, max(0.0, (later / earlier if earlier else self.tail) + difference))
            survival.append(survives)
        return Edge(tuple(survival), min(1.0, max(0.0, self.tail + difference)))


@dataclass(frozen=True, slots=True)
class Tier:
    """The acceptance of a database's drafts by a verifier.

    The drafts are point masses of random length, chains or trees.

    Attributes:
        outcomes: tuples of (draft tokens, accepted tokens, probability), where a miss is (0, 0,
            probability). The probabilities sum to 1.
    """

    outcomes: tuple[tuple[int, int, float], ...]

    def __post_init__(self) -> None:
        total = 0.0
        possible = True
        for drafted, accepted, chance in self.outcomes:
            total += chance
            possible = possible and 0 <= accepted <= drafted and chance >= 0
        if abs(total - 1) > 1e-9 or not possible:
            raise UserError(
                "outcomes need probabilities that sum to 1, and no more "
                "accepted tokens than drafted ones"
            )

    @property
    def tokens(self) -> float:
        """The expected number of tokens that a round gains, including the verifier's own."""
        return 1.0 + sum(a * chance for _, a, chance in self.outcomes)

    def drafted(self) -> tuple[float, ...]:
        """Return the probability of m draft tokens, for m = 0, 1, ..."""
        longest = max(drafted for drafted, _, _ in self.outcomes)
        chances = [0.0] * (1 + longest)
        for drafted, _, chance in self.outcomes:
            chances[drafted] += chance
        return tuple(chances)

    def reached(self) -> tuple[float, ...]:
        """Return the probability that at least k tokens are accepted, for k = 0, 1, ..."""
        chances = [(accepted, chance) for _, accepted, chance in self.outcomes]
        longest, _ = max(chances)
        return tuple(reaching(chances, range(longest + 1)))


@dataclass(frozen=True, slots=True)
class UnsureStop:
    """The acceptance by a verifier of a model's drafts that stop by confidence.

    Attributes:
        confidence: the joint probability, by the model's own rows, below which a draft stops.
        lookahead: the lookahead of the measured drafts.
        outcomes: tuples of (draft tokens, accepted tokens, probability). The probabilities sum to
            1.
    """

    confidence: float
    lookahead: int
    outcomes: tuple[tuple[int, int, float], ...]

    def __post_init__(self) -> None:
        Tier(self.outcomes)  # checks the outcomes
        if any(drafted > self.lookahead for drafted, _, _ in self.outcomes):
            raise UserError("a draft that stops when it is unsure has at most its lookahead")


@dataclass(frozen=True, slots=True)
class OverDatabase:
    """The acceptance of the tokens of a model over a database, by the model above it.

    Attributes:
        taken: the acceptance of a token that the model accepted from the database's draft.
        own: the acceptance of the model's own token.
    """

    taken: float
    own: float

    def __post_init__(self) -> None:
        if not (0 <= self.taken <= 1 and 0 <= self.own <= 1):
            raise UserError("acceptance rates must be from 0 to 1")


@dataclass(frozen=True, slots=True)
class Calibration:
    """The measured costs and acceptance, by name.

    The selector ignores pairs that were not measured; the law raises ``UserError`` for them.

    Attributes:
        models: the names of the models as in stacks, smallest first, the target last.
        costs: the costs of each model.
        edges: the acceptance of draft models, by (draft model, verifier).
        tiers: the acceptance of databases, by (database as in a stack, verifier).
        lookups: the costs of databases, by default 0.
        over: the acceptance of models over a database, by (model over its database, verifier), as
            in ``("db > small", "target")``; by default that of ``edges``.
        after: the cost of a verification directly above a model or database, relative to the
            verifier's curve; by default 1. The larger the model below is, the less of the
            verifier's weights remains in the processor's caches.
        stops: the acceptance of drafts that stop by confidence, by (draft model, verifier), with an
            entry per confidence.
    """

    models: tuple[str, ...]
    costs: Mapping[str, LevelCost]
    edges: Mapping[tuple[str, str], Edge]
    tiers: Mapping[tuple[str, str], Tier] = field(default_factory=dict)
    lookups: Mapping[str, LookupCost] = field(default_factory=dict)
    over: Mapping[tuple[str, str], OverDatabase] = field(default_factory=dict)
    after: Mapping[tuple[str, str], float] = field(default_factory=dict)
    stops: Mapping[tuple[str, str], tuple[UnsureStop, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        missing = [m for m in self.models if m not in self.costs]
        if not self.models or missing:
            raise UserError(
                f"the cost of {', '.join(missing) or 'every model'} is unknown: calibrate it first"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as JSON data, with values per pair as [lower, upper, value]."""
        data = asdict(self)
        for name in _BY_PAIRS:
            data[name] = [[*pair, value] for pair, value in data[name].items()]
        return data | {"tiers": [[*pair, tier["outcomes"]] for *pair, tier in data["tiers"]]}

    @classmethod
    def from_dict(cls, data: Any) -> Calibration:
        """Return the calibration of JSON data from :meth:`to_dict`.

        Raises:
            UserError: if the data have another form.
        """
        if not isinstance(data, Mapping):
            raise UserError("not a calibration: it is not an object")
        tables: dict[str, dict[tuple[str, str], Any]] = {"tiers": {}}
        try:
            for name in _BY_PAIRS:
                if name in data:
                    rows = msgspec.convert(data[name], list[tuple[str, str, Any]])
                    tables[name] = {(draft, by): value for draft, by, value in rows}
            for pair, outcomes in tables["tiers"].items():
                tables["tiers"][pair] = {"outcomes": outcomes}
            return msgspec.convert({**data, **tables}, cls)
        except OF_ANOTHER_TYPE as error:
            raise UserError(f"not a calibration: {error}") from None

    @property
    def target(self) -> str:
        return self.models[-1]

    @property
    def databases(self) -> tuple[str, ...]:
        """The databases with measured acceptance, in order of first occurrence."""
        return tuple(dict.fromkeys(name for name, _ in self.tiers))

    def cost(self, model: str, below: str | None = None) -> LevelCost:
        """Return the costs of a model whose verifications directly follow calls of ``below``."""
        if model not in self.costs:
            raise UserError(
                f"the cost of '{model}' is unknown: calibrated are {', '.join(self.models)}"
            )
        return self.costs[model].scaled(self.after.get((below or "", model), 1.0))

    def edge(self, draft: str, verifier: str) -> Edge:
        return _value_of_pair(self.edges, draft, verifier)

    def tier(self, database: str, verifier: str) -> Tier:
        return _value_of_pair(self.tiers, database, verifier)

    def stop(self, draft: str, verifier: str, confidence: float) -> UnsureStop:
        """Return the acceptance of drafts that stop below ``confidence``.

        Raises:
            UserError: if it was not measured.
        """
        measured = self.stops.get((draft, verifier), ())
        for stop in measured:
            if stop.confidence == confidence:
                return stop
        confidences = ", ".join(f"{stop.confidence:g}" for stop in measured)
        raise UserError(
            f"the length of drafts of '{draft}' for '{verifier}' "
            f"with the confidence {confidence:g} "
            f"is unknown: measured are {confidences or 'none'}"
        )

    def lookup(self, database: str) -> LookupCost:
        return self.lookups.get(database, LookupCost())

    def restricted(
        self, models: Collection[str] | None = None, databases: Collection[str] | None = None
    ) -> Calibration:
        """Return the calibration restricted to the target and to some draft models and databases.

        ``None`` keeps all.
        """
        names = tuple(m for m in self.models if models is None or m in models or m == self.target)
        allowed = self.databases if databases is None else databases
        tiers = {}
        for (database, verifier), tier in self.tiers.items():
            if database in allowed and verifier in names:
                tiers[database, verifier] = tier
        return replace(
            self,
            models=names,
            edges=_among(self.edges, names),
            tiers=tiers,
            stops=_among(self.stops, names),
        )


def _among(pairs: Mapping[tuple[str, str], T], models: Collection[str]) -> dict[tuple[str, str], T]:
    """Return the values of pairs whose names are both among ``models``."""
    return {pair: value for pair, value in pairs.items() if set(pair) <= set(models)}


def _value_of_pair(pairs: Mapping[tuple[str, str], Any], draft: str, verifier: str) -> Any:
    if (draft, verifier) in pairs:
        return pairs[draft, verifier]
    raise UserError(
        f"the acceptance of '{draft}' by '{verifier}' is unknown: measure '{draft} > {verifier}'"
    )
