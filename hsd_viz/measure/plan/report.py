"""A plan: the ranked stacks, what was measured of them, and its JSON data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from hsd_viz.errors import UserError
from hsd_viz.latency.inputs import Calibration
from hsd_viz.text import counted


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure as predicted and as measured.

    Attributes:
        predicted: by the latency law.
        measured: None where it was not measured.
    """

    predicted: float
    measured: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStack:
    """A stack of a plan. Milliseconds are per emitted token, prefill excluded.

    Attributes:
        stack: the stack as text.
        predicted_ms_per_token: by the latency law.
        measured_ms_per_token: None where it was not measured.
        measured_ms_per_token_ci: its interval.
        forwards_per_token: forward passes of each model per emitted token.
        acceptance_length: tokens per forward pass of the target.
    """

    stack: str
    predicted_ms_per_token: float
    measured_ms_per_token: float | None = None
    measured_ms_per_token_ci: tuple[float, float] | None = None
    forwards_per_token: dict[str, Compared]
    acceptance_length: Compared

    @property
    def ms_per_token(self) -> Compared:
        """Milliseconds per emitted token."""
        return Compared(self.predicted_ms_per_token, self.measured_ms_per_token)

    @property
    def error(self) -> float | None:
        """The relative error of the prediction; None where nothing was measured."""
        if self.measured_ms_per_token is None:
            return None
        return self.predicted_ms_per_token / self.measured_ms_per_token - 1

    def to_dict(self) -> dict[str, Any]:
        """Return the stack as JSON data."""
        interval = self.measured_ms_per_token_ci
        forwards = {name: asdict(passes) for name, passes in self.forwards_per_token.items()}
        return {
            "stack": self.stack,
            "predicted_ms_per_token": self.predicted_ms_per_token,
            "measured_ms_per_token": self.measured_ms_per_token,
            "measured_ms_per_token_ci": None if interval is None else list(interval),
            "error": self.error,
            "forwards_per_token": forwards,
            "acceptance_length": asdict(self.acceptance_length),
        }


@dataclass(frozen=True, slots=True)
class Spread:
    """The sizes of some relative errors.

    Attributes:
        median: the median size.
        worst: the largest size.
    """

    median: float
    worst: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionErrors:
    """Errors of the predictions; each is None where nothing of it was measured.

    Attributes:
        drift: measured over predicted time of plain decoding: what the machine lost since the
            calibration.
        ms_per_token: of the milliseconds per token.
        ms_per_token_without_drift: the same as if the machine had the speed of the calibration.
        forwards_per_token: of the forward passes per token.
    """

    drift: float | None
    ms_per_token: Spread | None
    ms_per_token_without_drift: Spread | None
    forwards_per_token: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortestPath:
    """What the polynomial selection alone picks.

    Attributes:
        stack: the stack as text.
        predicted_ms_per_token: its time by the law.
    """

    stack: str
    predicted_ms_per_token: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAcceptance:
    """How much of a draft is accepted.

    Attributes:
        draft: what drafts.
        verifier: the model that verifies.
        rate: accepted over examined tokens, for drafts of four.
        rounds: the rounds behind it.
    """

    draft: str
    verifier: str
    rate: float
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationFacts:
    """The calibration behind a plan.

    Attributes:
        kept: whether it was stored before.
        created: when it was measured, in seconds since 1970; None in old plans.
        age_seconds: since then.
        seconds: how long that took.
        identity: of the engine (:func:`hsd_viz.latency.stored.identity`).
        texts: what was decoded.
        acceptance: how much of each other's drafts the models accept.
        inputs: of the latency law.
    """

    kept: bool
    created: float | None = None
    age_seconds: float
    seconds: float
    identity: dict[str, Any]
    texts: dict[str, Any]
    acceptance: tuple[PairAcceptance, ...]
    inputs: Calibration

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as JSON data."""
        return {
            "kept": self.kept,
            "created": self.created,
            "age_seconds": self.age_seconds,
            "seconds": self.seconds,
            "identity": self.identity,
            "texts": self.texts,
            "acceptance": [asdict(pair) for pair in self.acceptance],
            **self.inputs.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """Stacks ranked by the latency law, and what was measured of them.

    Attributes:
        models: the draft models, smallest first, and the target.
        hierarchies: the stacks, fastest by the law first.
        picked: the stack that the law selects.
        best_single_draft: the fastest stack of one draft model; None without a draft model.
        kind: the kind of the picked stack.
        shortest_path: what the polynomial selection alone picks.
        best_measured: the fastest measured stack.
        picked_over_best_measured: by what share the picked one takes longer; None where it was not
            measured.
        measured_prompts: the number of the prompts that were measured; None without a measurement.
        errors: of the predictions; None without a measurement.
        calibration: what the predictions are based on.
        complete: whether the measurement was not interrupted.
    """

    models: tuple[str, ...]
    hierarchies: tuple[PlannedStack, ...]
    picked: str
    best_single_draft: str | None
    kind: str
    shortest_path: ShortestPath
    best_measured: str | None
    picked_over_best_measured: float | None
    measured_prompts: int | None
    errors: PredictionErrors | None
    calibration: CalibrationFacts
    complete: bool

    @property
    def measured_on(self) -> str | None:
        """What was measured on, as text."""
        if self.measured_prompts is None:
            return None
        return counted(self.measured_prompts, "other prompt")

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON data."""
        return {
            "models": list(self.models),
            "hierarchies": [stack.to_dict() for stack in self.hierarchies],
            "picked": self.picked,
            "best_single_draft": self.best_single_draft,
            "kind": self.kind,
            "shortest_path": asdict(self.shortest_path),
            "best_measured": self.best_measured,
            "picked_over_best_measured": self.picked_over_best_measured,
            "measured_on": self.measured_on,
            "errors": None if self.errors is None else asdict(self.errors),
            "calibration": self.calibration.to_dict(),
            "complete": self.complete,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PlanReport:
        """Return a plan from its JSON data.

        Raises:
            UserError: if it is not one.
        """
        try:
            saved = msgspec.convert(data, _SavedPlan)
            number = re.match(r"\d+", saved.measured_on or "")
            calibration = saved.calibration
            by_field = {
                **data,
                "measured_prompts": None if number is None else int(number[0]),
                "calibration": {**calibration, "inputs": Calibration.from_dict(calibration)},
            }
            return msgspec.convert(by_field, cls)
        except (UserError, msgspec.ValidationError, UnicodeEncodeError) as error:
            raise UserError(f"not a plan of hsd-viz plan --json: {error}") from None


class _SavedPlan(msgspec.Struct):
    """What a saved plan has in another form.

    Attributes:
        measured_on: the number of prompts, and what they are.
        calibration: its facts and its inputs.
    """

    measured_on: str | None
    calibration: dict[str, Any]
