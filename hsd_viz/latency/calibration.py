"""The inputs of the law: costs and acceptance on one machine, for one ladder and one kind of text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from hsd_viz.latency.acceptance import Edge, Tier
from hsd_viz.latency.costs import LevelCost, LookupCost


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measured figures by name. ``models`` are names as in stacks, smallest first, the target last.

    ``costs`` has every model; ``edges`` the pairs (draft model, verifier) whose acceptance is known, ``tiers`` the
    pairs (database as in a stack, verifier), ``lookups`` the costs of the databases (default: 0). The selector ignores
    unknown pairs; the law raises ``ValueError`` for them.
    """

    models: tuple[str, ...]
    costs: Mapping[str, LevelCost]
    edges: Mapping[tuple[str, str], Edge]
    tiers: Mapping[tuple[str, str], Tier] = field(default_factory=dict)
    lookups: Mapping[str, LookupCost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        missing = [m for m in self.models if m not in self.costs]
        if not self.models or missing:
            raise ValueError(f"the cost of {', '.join(missing) or 'every model'} is unknown: calibrate it first")

    @property
    def target(self) -> str:
        return self.models[-1]

    @property
    def bottoms(self) -> tuple[str, ...]:
        """The databases with known acceptance, in order of first mention."""
        return tuple(dict.fromkeys(name for name, _ in self.tiers))

    def cost(self, model: str) -> LevelCost:
        if model not in self.costs:
            raise ValueError(f"the cost of '{model}' is unknown: calibrated are {', '.join(self.models)}")
        return self.costs[model]

    def edge(self, draft: str, verifier: str) -> Edge:
        return self._known(self.edges, draft, verifier)

    def tier(self, bottom: str, verifier: str) -> Tier:
        return self._known(self.tiers, bottom, verifier)

    def _known(self, pairs: Mapping[tuple[str, str], Any], draft: str, verifier: str) -> Any:
        if (draft, verifier) not in pairs:
            raise ValueError(
                f"the acceptance of '{draft}' by '{verifier}' is unknown: measure the stack '{draft} > {verifier}'"
            )
        return pairs[draft, verifier]

    def lookup(self, bottom: str) -> LookupCost:
        return self.lookups.get(bottom, LookupCost())

    def restricted(self, models: Collection[str], bottoms: Collection[str]) -> Calibration:
        """Return the calibration of some draft models and databases, and of the target."""
        kept = tuple(m for m in self.models if m in models or m == self.target)
        return replace(
            self,
            models=kept,
            edges={pair: edge for pair, edge in self.edges.items() if set(pair) <= set(kept)},
            tiers={(b, v): tier for (b, v), tier in self.tiers.items() if b in bottoms and v in kept},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "models": list(self.models),
            "costs": {m: asdict(c) for m, c in self.costs.items()},
            "edges": [[*pair, asdict(edge)] for pair, edge in self.edges.items()],
            "tiers": [[*pair, [list(o) for o in tier.outcomes]] for pair, tier in self.tiers.items()],
            "lookups": {b: asdict(c) for b, c in self.lookups.items()},
        }

    @classmethod
    def from_dict(cls, data: Any) -> Calibration:
        """Return the calibration of :meth:`to_dict`.

        Raises:
            ValueError: if the data have another form.
        """
        try:
            return cls(
                models=tuple(data["models"]),
                costs={m: _level_cost(c) for m, c in data["costs"].items()},
                edges={(d, v): Edge(tuple(e["survival"]), e["tail"]) for d, v, e in data["edges"]},
                tiers={(b, v): Tier(tuple((int(m), int(a), float(p)) for m, a, p in o)) for b, v, o in data["tiers"]},
                lookups={b: LookupCost(c["lookup"], c["update"]) for b, c in data["lookups"].items()},
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a calibration: unexpected form of its parts ({type(error).__name__})") from None


def _level_cost(data: Any) -> LevelCost:
    draft = None if data["draft"] is None else tuple(data["draft"])
    return LevelCost(tuple(data["forward"]), draft, data["overhead"], data["draft_overhead"])
