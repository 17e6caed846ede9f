"""What was observed of a drafter: one form for traces, records of other engines and given figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hsd_viz.errors import UserError
from hsd_viz.words import check_range

TIMES = ("step", "verify", "draft", "overhead", "round")
#: Drafters that copy text, and all whose time does not grow with the length of the draft.
NGRAMS = ("lookup", "suffix")
PARALLEL = (*NGRAMS, "dflash", "medusa")
#: Limits of a record: beyond them it is damaged.
MOST_BATCH, MOST_DRAFT, MOST_ROUNDS = 4096, 1024, 10**12


@dataclass(frozen=True, slots=True)
class Served:
    """A request of a record: its rounds and accepted draft tokens, how many of its rounds accepted 0, 1, 2, ... tokens
    (() if unknown), its context and the cached part of it in tokens, its category and temperature.
    """

    rounds: float
    accepted: float
    histogram: tuple[float, ...] = ()
    context: float | None = None
    cached: float | None = None
    category: str = ""
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What was observed of a drafter. Times in ms at the batch size of the run, ``None`` where they were not observed.

    ``rounds`` counts verifications by (depth of the draft, accepted tokens), rounds without a draft included. Where
    they are unknown, ``rates`` has P(the first k tokens of a draft are accepted), k = 1, 2, ..., of ``verifications``
    rounds (0: unknown); with ``by_mean`` only their sum was observed (:func:`even_rates`). ``step`` is a plain step of
    the target; ``verify`` the forward pass of a round, ``draft`` its drafting, ``overhead`` the rest of it, ``round``
    all three. ``method`` is the drafter as a serving engine has it, ``stack`` the stack of a run of this project.
    ``speedups`` are repeated measurements; ``busy`` says how other work disturbed them ("": not noticed). ``curve`` has
    the forward passes over 1, 2, ... tokens of a hardware model, whose form counts for other draft lengths;
    ``requests`` are those of a record that has several.
    """

    source: str
    rounds: Mapping[tuple[int, int], int] = field(default_factory=dict)
    step: float | None = None
    verify: float | None = None
    draft: float | None = None
    overhead: float | None = None
    round: float | None = None
    batch: int = 1
    method: str = "draft"
    draft_model: str = "DRAFT"
    stack: str = ""
    rates: tuple[float, ...] = ()
    by_mean: bool = False
    verifications: int = 0
    speedups: tuple[float, ...] = ()
    busy: str = ""
    curve: tuple[float, ...] = ()
    requests: tuple[Served, ...] = ()

    def __post_init__(self) -> None:
        if not self.rates and not any(depth for depth, _ in self.rounds):
            raise UserError(f"{self.source} has no round with a draft: there is nothing to explain")
        check_range("the longest draft", self.deepest, 1, MOST_DRAFT)
        check_range("the number of rounds", self.total, 0, MOST_ROUNDS)
        for name in TIMES:
            if (value := getattr(self, name)) is not None:
                check_range(f"the {name} time", value, 0.0)
        check_range("the batch", self.batch, 1, MOST_BATCH)
        if self.step == 0 or self.round == 0:
            raise UserError("the time of a step and of a round must be more than 0")

    @property
    def total(self) -> int:
        """The number of rounds, 0 if unknown."""
        return sum(self.rounds.values()) if self.rounds else self.verifications

    @property
    def deepest(self) -> int:
        """The longest draft: the lookahead, or the limit of a database."""
        return max((depth for depth, _ in self.rounds), default=len(self.rates))

    @property
    def length(self) -> float:
        """Tokens per forward pass of the target."""
        if not self.rounds:
            return 1 + sum(self.rates)
        return 1 + sum(a * n for (_, a), n in self.rounds.items()) / self.total

    def parts(self) -> dict[str, float | None]:
        """Return drafting, verification (beyond a plain step) and overhead of a round, in plain steps."""
        step = self.step
        relative = lambda ms: None if ms is None or step is None else max(0.0, ms) / step
        extra = None if self.verify is None or step is None else self.verify - step
        times = (self.draft, extra, self.overhead)
        return dict(
            zip(("drafting", "verification", "overhead"), map(relative, times), strict=True)
        )

    def whole(self) -> float | None:
        """Return the time of a round in plain steps, ``None`` where a part of it was not observed."""
        if self.step is not None and self.round is not None:
            return self.round / self.step
        return None if None in self.parts().values() else self.least()

    def least(self) -> float:
        """Return the least time of a round in plain steps: what was not observed takes none."""
        return 1 + sum(part or 0.0 for part in self.parts().values())

    def by_position(self) -> list[tuple[int, int]]:
        """Return by position k: rounds that accepted k or more, and rounds whose draft reached k."""
        count = lambda place, k: sum(n for kind, n in self.rounds.items() if kind[place] >= k)
        return [(count(1, k), count(0, k)) for k in range(1, self.deepest + 1)]

    def survival(self) -> tuple[list[float], list[float]]:
        """Return P(a round drafts k tokens or more) and P(it accepts k or more), k = 1, 2, ..., ``deepest``."""
        if not self.rounds:
            return [1.0] * len(self.rates), [*self.rates]
        places = self.by_position()
        return [drafted / self.total for _, drafted in places], [
            taken / self.total for taken, _ in places
        ]

    def rates_by_position(self) -> list[float]:
        """Return the share of the rounds that drafted k tokens that accepted k; [] where only its mean is known."""
        if self.by_mean:
            return []
        return [
            taken / reached if reached else 0.0
            for reached, taken in zip(*self.survival(), strict=True)
        ]


def even_rates(accepted: float, depth: int) -> tuple[float, ...]:
    """Return P(the first k of ``depth`` tokens are accepted) of equal conditional acceptance, with ``accepted`` tokens
    in the mean.
    """
    check_range("the longest draft", depth, 1, MOST_DRAFT)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        below = sum(middle**k for k in range(1, depth + 1)) < accepted
        low, high = (middle, high) if below else (low, middle)
    return tuple(high**k for k in range(1, depth + 1))
