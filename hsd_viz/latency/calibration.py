"""All that the law needs to know of one machine, one ladder and one kind of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hsd_viz.latency.acceptance import Edge, Tier
from hsd_viz.latency.costs import LevelCost, LookupCost


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measured figures by name. ``models`` are names as in stacks, smallest first, the target last.

    ``costs`` has every model; ``edges`` the pairs (draft model, verifier) whose acceptance is known, ``tiers`` the pairs
    (database as in a stack, verifier), ``lookups`` what the databases cost (left out: nothing). Pairs that are not there are
    not considered by the selector and refused by the law.
    """

    models: tuple[str, ...]
    costs: Mapping[str, LevelCost]
    edges: Mapping[tuple[str, str], Edge]
    tiers: Mapping[tuple[str, str], Tier] = field(default_factory=dict)
    lookups: Mapping[str, LookupCost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        missing = [m for m in self.models if m not in self.costs]
        if not self.models or missing:
            raise ValueError(f"no cost is known of {', '.join(missing) or 'any model'}: calibrate it first")

    @property
    def target(self) -> str:
        return self.models[-1]

    @property
    def bottoms(self) -> tuple[str, ...]:
        """The databases of which something is known, in order of first mention."""
        return tuple(dict.fromkeys(name for name, _ in self.tiers))

    def cost(self, model: str) -> LevelCost:
        if model not in self.costs:
            raise ValueError(f"no cost is known of '{model}': calibrated are {', '.join(self.models)}")
        return self.costs[model]

    def edge(self, draft: str, verifier: str) -> Edge:
        if (draft, verifier) not in self.edges:
            raise ValueError(
                f"it is not known how much of '{draft}'s drafts '{verifier}' accepts: measure the stack '{draft} > {verifier}'"
            )
        return self.edges[draft, verifier]

    def tier(self, bottom: str, verifier: str) -> Tier:
        if (bottom, verifier) not in self.tiers:
            raise ValueError(
                f"it is not known how much of '{bottom}'s drafts '{verifier}' accepts: measure the stack '{bottom} > {verifier}'"
            )
        return self.tiers[bottom, verifier]

    def lookup(self, bottom: str) -> LookupCost:
        return self.lookups.get(bottom, LookupCost())

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {
            "models": list(self.models),
            "costs": {m: asdict(c) for m, c in self.costs.items()},
            "edges": [[*pair, asdict(edge)] for pair, edge in self.edges.items()],
            "tiers": [[*pair, [list(o) for o in tier.outcomes]] for pair, tier in self.tiers.items()],
            "lookups": {b: asdict(c) for b, c in self.lookups.items()},
        }

    @classmethod
    def from_dict(cls, data: Any) -> Calibration:
        """The inverse of :meth:`to_dict`; raises ``ValueError`` with one sentence for anything else."""
        try:
            costs = {
                m: LevelCost(
                    tuple(c["forward"]),
                    None if c["draft"] is None else tuple(c["draft"]),
                    c["overhead"],
                    c["draft_overhead"],
                )
                for m, c in data["costs"].items()
            }
            edges = {(d, v): Edge(tuple(e["survival"]), e["tail"]) for d, v, e in data["edges"]}
            tiers = {
                (b, v): Tier(tuple((int(m), int(a), float(p)) for m, a, p in outcomes))
                for b, v, outcomes in data["tiers"]
            }
            lookups = {b: LookupCost(c["lookup"], c["update"]) for b, c in data["lookups"].items()}
            return cls(tuple(data["models"]), costs, edges, tiers, lookups)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"this is no calibration: its parts are not of the form of one ({type(error).__name__})"
            ) from None
