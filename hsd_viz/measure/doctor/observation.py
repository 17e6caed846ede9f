"""Observations of a drafter: a common form for traces, records of engines and given figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

from hsd_viz.errors import UserError
from hsd_viz.records.sample import MAX_DRAFT
from hsd_viz.results.positions import rates_at, reaching
from hsd_viz.settings.ranges import MAX_BATCH, check_range
from hsd_viz.stack import Stack

TIMES = ("step", "verify", "draft", "overhead", "round")
#: Maximum number of rounds of a record; one with more is damaged.
MAX_ROUNDS = 10**12


@dataclass(frozen=True, slots=True)
class Served:
    """A request of a record.

    Attributes:
        rounds: the number of verifications.
        accepted: the number of accepted draft tokens.
        histogram: the number of rounds that accepted 0, 1, 2, ... tokens; (): unknown.
        context: the number of prompt tokens.
        cached: the number of cached prompt tokens.
        category: the category of the prompt.
        temperature: the sampling temperature.
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
    """An observation of a drafter.

    Times are in milliseconds at the batch size of the run; ``None``: not observed. There are three
    levels of detail: ``rounds``; ``rates`` of ``verifications``; only ``totals``.

    Attributes:
        source: the name of the file or the run.
        rounds: the number of rounds by (depth of the draft, accepted tokens), including those
            without a draft.
        step: the time of a plain decoding step of the target.
        verify: the time of the forward pass of a round.
        draft: the time of drafting in a round.
        overhead: the remaining time of a round.
        round: the total time of a round.
        batch: the number of requests decoded together.
        method: the name of the drafter in a serving engine.
        draft_model: the name of the draft model.
        stack: the stack of a run of this project.
        rates: P(the first k tokens of a draft are accepted), k = 1, 2, ..., over all drafts.
        varied: whether drafts have several, unknown lengths, so that a draft shorter than k counts
            as a rejection at position k.
        by_mean: whether only the sum of the rates was observed (:func:`even_rates`).
        verifications: the number of rounds behind ``rates``; 0: unknown.
        idle: the share of forward passes without a draft, if there are no ``rounds``.
        mean_drafted: the draft tokens per draft, if different from the length of ``rates``.
        totals: (tokens, draft tokens) per forward pass, if nothing else is known.
        drafted_known: whether the number of draft tokens is known; if not, it is at least that of
            the accepted ones.
        speedups: the speed-ups of repeated measurements.
        busy: a description of disturbing load; "": none was noticed.
        curve: the times of forward passes over 1, 2, ... tokens by a hardware model.
        requests: the requests of a record of several.
        batches: (running requests, tokens per second of each) of the lines that report both.
        sampled: whether the temperature was above 0; ``None``: unknown.
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
    stack: Stack | None = None
    rates: tuple[float, ...] = ()
    varied: bool = False
    by_mean: bool = False
    verifications: int = 0
    idle: float = 0.0
    mean_drafted: float | None = None
    totals: tuple[float, float] | None = None
    drafted_known: bool = True
    speedups: tuple[float, ...] = ()
    busy: str = ""
    curve: tuple[float, ...] = ()
    requests: tuple[Served, ...] = ()
    batches: tuple[tuple[float, float], ...] = ()
    sampled: bool | None = None

    def __post_init__(self) -> None:
        has_draft = any(depth for depth, _ in self.rounds)
        if not self.rates and not has_draft and self.totals is None:
            raise UserError(f"{self.source} has no round with a draft: there is nothing to explain")
        check_range("the longest draft", self.deepest, 1, MAX_DRAFT)
        check_range("the number of rounds", self.total, 0, MAX_ROUNDS)
        for name in TIMES:
            if (value := getattr(self, name)) is not None:
                check_range(f"the {name} time", value, 0.0)
        check_range("the batch", self.batch, 1, MAX_BATCH)
        if self.step == 0 or self.round == 0:
            raise UserError("the time of a step and of a round must be more than 0")

    @property
    def total(self) -> int:
        """The number of rounds; 0: unknown."""
        return sum(self.rounds.values()) if self.rounds else self.verifications

    @property
    def deepest(self) -> int:
        """The length of the longest observed draft; if only totals are known, a lower bound of
        it.
        """
        if self.totals is not None and not self.rates:
            return max(1, ceil(self.totals[1]))
        return max((depth for depth, _ in self.rounds), default=len(self.rates))

    @property
    def length(self) -> float:
        """Tokens per forward pass of the target, over passes with and without a draft."""
        if self.rounds:
            return 1 + self._sum(accepted=True) / self.total
        if self.rates:
            return 1 + (1 - self.idle) * sum(self.rates)
        assert self.totals is not None
        return self.totals[0]

    @property
    def drafted(self) -> float:
        """Draft tokens per forward pass of the target."""
        if self.rounds:
            return self._sum(accepted=False) / self.total
        if self.rates:
            per_draft = len(self.rates) if self.mean_drafted is None else self.mean_drafted
            return (1 - self.idle) * per_draft
        assert self.totals is not None
        return self.totals[1]

    def _sum(self, accepted: bool) -> int:
        """Return the number of accepted tokens, or else of draft tokens, of all rounds."""
        tokens = 0
        for (depth, taken), count in self.rounds.items():
            tokens += (taken if accepted else depth) * count
        return tokens

    @property
    def without_draft(self) -> float:
        """The share of forward passes without a draft; 0 if it is unknown."""
        if self.rounds:
            return sum(n for (depth, _), n in self.rounds.items() if not depth) / self.total
        return self.idle

    @property
    def positions_known(self) -> bool:
        """Whether the acceptance at each position is known for all draft lengths."""
        return bool(self.rounds) or (bool(self.rates) and not self.varied)

    def parts(self) -> dict[str, float | None]:
        """Return the times of drafting, verification beyond a step, and overhead, in plain
        steps.
        """
        extra = None
        if self.verify is not None and self.step is not None:
            extra = self.verify - self.step
        return {
            "drafting": self._in_steps(self.draft),
            "verification": self._in_steps(extra),
            "overhead": self._in_steps(self.overhead),
        }

    def _in_steps(self, ms: float | None) -> float | None:
        if ms is None or self.step is None:
            return None
        return max(0.0, ms) / self.step

    def whole(self) -> float | None:
        """Return the time of a round in plain decoding steps; ``None``: a part was not observed."""
        if self.step is not None and self.round is not None:
            return self.round / self.step
        return None if None in self.parts().values() else self.least()

    def unknown_times(self) -> list[str]:
        """Return the times that were not observed."""
        missing = ["a plain decoding step"] if self.step is None else []
        if self.round is None:
            missing += [part for part, time in self.parts().items() if time is None]
        return missing

    def least(self) -> float:
        """Return a lower bound of the time of a round in plain decoding steps: unobserved parts
        count as 0.
        """
        return 1 + sum(part or 0.0 for part in self.parts().values())

    def by_position(self) -> list[tuple[int, int]]:
        """Return for each position k the number of rounds that accepted k or more tokens, and of
        rounds whose draft reached k.
        """
        places = range(1, self.deepest + 1)
        depths = []
        accepted = []
        for (depth, taken), count in self.rounds.items():
            depths.append((depth, count))
            accepted.append((taken, count))
        return list(zip(reaching(accepted, places), reaching(depths, places), strict=True))

    def survival(self) -> tuple[list[float], list[float]]:
        """Return P(a pass drafts k tokens or more) and P(it accepts k or more), k = 1, 2, ...

        If lengths vary and are unknown, only the sum of the first list is meaningful.
        """
        if self.rounds:
            places = self.by_position()
            reached = [drafted / self.total for _, drafted in places]
            return reached, [taken / self.total for taken, _ in places]
        used = 1 - self.idle
        if self.rates:
            if self.varied:
                per_position = self.drafted / len(self.rates)
                return [per_position] * len(self.rates), [used * rate for rate in self.rates]
            return [used] * len(self.rates), [used * rate for rate in self.rates]
        return [self.drafted], [self.length - 1]

    def rates_by_position(self) -> list[float]:
        """Return the share of drafts with k or more tokens of which k were accepted, k = 1, 2, ...

        Return [] if only the mean is known, or if lengths vary and are unknown.
        """
        if self.rounds:
            return rates_at(self.by_position())
        return [] if self.by_mean or self.varied else [*self.rates]


def even_rates(accepted: float, depth: int) -> tuple[float, ...]:
    """Return P(the first k of ``depth`` tokens are accepted), k = 1, 2, ..., for the constant
    conditional acceptance that accepts ``accepted`` tokens on average.
    """
    check_range("the longest draft", depth, 1, MAX_DRAFT)
    low = 0.0
    high = 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if sum(middle**k for k in range(1, depth + 1)) < accepted:
            low = middle
        else:
            high = middle
    return tuple(high**k for k in range(1, depth + 1))
