"""The figures of a replay, with their conversion to JSON."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hsd_viz.results.estimate import Estimate
from hsd_viz.results.positions import rates_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """The settings of a replay.

    Attributes:
        drafters: the draft sources, as in a stack.
        budget: the maximum number of draft tokens per round; ``None``: that of each drafter.
        verify_cost: the cost of verifying draft tokens, as text.
        temperature: the sampling temperature; ``None``: that of each request.
        limit: the maximum number of requests; ``None``: all.
        tokenizer: the name of the tokenizer; "" or ``None``: none.
        databases: the folder of the databases; "": the shipped ones.
    """

    drafters: tuple[str, ...]
    budget: int | None
    verify_cost: str
    temperature: float | None
    limit: int | None
    tokenizer: str | None
    databases: str


class Pays(StrEnum):
    """Whether a drafter pays, with the values in JSON data.

    Attributes:
        YES: the whole interval of the speed-up is above 1.
        UNCLEAR: the speed-up may be above 1.
        NO: the speed-up is not above 1.
    """

    YES = "yes"
    UNCLEAR = "unclear"
    NO = "no"

    @classmethod
    def at(cls, speedup: Estimate) -> Pays:
        """Return whether a drafter with this speed-up pays.

        With few requests there is no interval; then the result is ``NO`` or ``UNCLEAR``.
        """
        if speedup.interval is None:
            return cls.UNCLEAR if (speedup.value or 0.0) > 1 else cls.NO
        low, high = speedup.interval
        if low > 1:
            return cls.YES
        return cls.NO if high <= 1 else cls.UNCLEAR


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterFigures:
    """The figures of a drafter over all requests.

    Attributes:
        name: the name of the draft source.
        tokens: the number of emitted tokens.
        rounds: the number of forward passes of the target.
        drafted: the number of draft tokens.
        accepted: the number of accepted draft tokens.
        mean_acceptance_length: the tokens per forward pass of the target.
        acceptance_rate: the accepted over the drafted tokens.
        speedup: the speed-up predicted from the cost of verification, without that of drafting.
        pays: whether the drafter is certainly faster than plain decoding.
        drafted_by_position: the number of rounds whose draft reached position k, for k = 1, 2, ...
        accepted_by_position: the number of rounds that accepted k or more tokens.
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
    """The tokens per forward pass of the requests whose verifications are recorded.

    Attributes:
        recorded: the recorded value.
        least: the lower bound with a database above the recorded drafter.
        most: the upper bound with that database.
        by_database: the share of rounds in which the database drafts.
    """

    recorded: Estimate
    least: Estimate
    most: Estimate
    by_database: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AboveFigures:
    """The figures of a database above the recorded drafter
    (:mod:`hsd_viz.measure.replay.above`).

    Attributes:
        requests: the number of requests with recorded verifications.
        refused: the number of requests without usable verifications.
        why: the most frequent reason against these.
        tokens: the tokens per forward pass; ``None``: no request has recorded verifications.
    """

    requests: int
    refused: int
    why: str = ""
    tokens: TokensAbove | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data, without unknown figures."""
        data: dict[str, Any] = {"requests": self.requests, "refused": self.refused}
        if self.refused:
            data["why"] = self.why
        if self.tokens is not None:
            data |= self.tokens.recorded.named("recorded")
            data |= self.tokens.least.named("least")
            data |= self.tokens.most.named("most")
            data["by_database"] = self.tokens.by_database
        return data
