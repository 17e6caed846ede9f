"""The figures of a replay as values, and their JSON data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hsd_viz.records.sample import rates_at
from hsd_viz.results.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """How a log was replayed.

    Attributes:
        drafters: the draft sources, as in a stack.
        budget: the most draft tokens per round; None: each drafter's own.
        verify_cost: the cost of verifying draft tokens, as text.
        temperature: of the sampling; None: of each request.
        limit: the most requests; None: all.
        tokenizer: its name; "" or None without one.
        databases: their folder; "" for the shipped ones.
    """

    drafters: tuple[str, ...]
    budget: int | None
    verify_cost: str
    temperature: float | None
    limit: int | None
    tokenizer: str | None
    databases: str


class Pays(StrEnum):
    """Whether a drafter pays, as in JSON data.

    Attributes:
        YES: the whole interval of its speed-up is above 1.
        UNCLEAR: its speed-up may be above 1.
        NO: it is not.
    """

    YES = "yes"
    UNCLEAR = "unclear"
    NO = "no"

    @classmethod
    def at(cls, speedup: Estimate) -> Pays:
        """Return whether a drafter of this speed-up pays.

        Few requests have no interval: then it does not, or is unclear.
        """
        if speedup.interval is None:
            return cls.UNCLEAR if (speedup.value or 0.0) > 1 else cls.NO
        low, high = speedup.interval
        if low > 1:
            return cls.YES
        return cls.NO if high <= 1 else cls.UNCLEAR


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterFigures:
    """What a drafter would have brought, over all requests.

    Attributes:
        name: the draft source.
        tokens: emitted tokens.
        rounds: forward passes of the target.
        drafted: draft tokens.
        accepted: accepted draft tokens.
        mean_acceptance_length: tokens per forward pass of the target.
        acceptance_rate: accepted over drafted tokens.
        speedup: predicted by the cost of verification; drafting is not counted.
        pays: whether it certainly is faster than plain decoding.
        drafted_by_position: by position k (from 1) the rounds whose draft reached that depth.
        accepted_by_position: the rounds that accepted k or more.
    """

    name: str
    tokens: int
    rounds: int
    drafted: int
    accepted: int
    mean_acceptance_length: Estimate
    acceptance_rate: Estimate
    speedup: Estimate
    pays: Pays
    drafted_by_position: tuple[int, ...]
    accepted_by_position: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON data."""
        return {
            "name": self.name,
            "tokens": self.tokens,
            "rounds": self.rounds,
            "drafted": self.drafted,
            "accepted": self.accepted,
            **self.mean_acceptance_length.named("mean_acceptance_length"),
            **self.acceptance_rate.named("acceptance_rate"),
            **self.speedup.named("speedup"),
            "pays": self.pays.value,
            "drafted_by_position": list(self.drafted_by_position),
            "accepted_by_position": list(self.accepted_by_position),
        }

    def rates_by_position(self) -> list[float]:
        """Return the acceptance at position 1, 2, ..."""
        return rates_at(zip(self.accepted_by_position, self.drafted_by_position, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensAbove:
    """Tokens per forward pass of the requests whose verifications are recorded.

    Attributes:
        recorded: as they were.
        least: at least, with a database above the recorded drafter.
        most: at most.
        by_database: the share of the rounds in which the database drafts.
    """

    recorded: Estimate
    least: Estimate
    most: Estimate
    by_database: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AboveFigures:
    """What a database above the recorded drafter would bring
    (:mod:`hsd_viz.measure.replay.above`).

    Attributes:
        requests: the requests of which it is known.
        refused: those of which it is not.
        why: the most frequent reason.
        tokens: the figures; None without a request of which it is known.
    """

    requests: int
    refused: int
    why: str = ""
    tokens: TokensAbove | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data; what is not known is left out."""
        data: dict[str, Any] = {"requests": self.requests, "refused": self.refused}
        if self.refused:
            data["why"] = self.why
        if self.tokens is not None:
            data |= self.tokens.recorded.named("recorded")
            data |= self.tokens.least.named("least")
            data |= self.tokens.most.named("most")
            data["by_database"] = self.tokens.by_database
        return data
