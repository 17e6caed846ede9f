"""The report of a plan: the ranked stacks with their measurements, and its conversion to JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from hsd_viz.conversion import OF_ANOTHER_TYPE
from hsd_viz.errors import UserError
from hsd_viz.latency.basis import MEASURED, prompts_of
from hsd_viz.latency.inputs import Calibration
from hsd_viz.results.estimate import UNKNOWN, Estimate, estimate_of
from hsd_viz.text import counted


@dataclass(frozen=True, slots=True)
class Compared:
    """A predicted and a measured figure.

    Attributes:
        predicted: the prediction of the latency law.
        measured: the measured value; ``None``: not measured.
    """

    predicted: float
    measured: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStack:
    """A stack of a plan. Milliseconds are per emitted token, prefill excluded.

    Attributes:
        stack: the stack as text.
        predicted_ms_per_token: the time predicted by the latency law.
        measured_ms_per_token: the measured time; unknown: not measured.
        forwards_per_token: the forward passes of each model per emitted token.
        acceptance_length: the tokens per forward pass of the target.
    """

    stack: str
    predicted_ms_per_token: float
    measured_ms_per_token: Estimate = UNKNOWN
    forwards_per_token: dict[str, Compared]
    acceptance_length: Compared

    @property
    def error(self) -> float | None:
        """The relative error of the prediction; ``None``: not measured."""
        measured = self.measured_ms_per_token.value
        if measured is None:
            return None
        return self.predicted_ms_per_token / measured - 1

    def to_dict(self) -> dict[str, Any]:
        """Return the stack as JSON data."""
        forwards = {name: asdict(passes) for name, passes in self.forwards_per_token.items()}
        return {
            "stack": self.stack,
            "predicted_ms_per_token": self.predicted_ms_per_token,
            **self.measured_ms_per_token.named(MEASURED),
            "error": self.error,
            "forwards_per_token": forwards,
            "acceptance_length": asdict(self.acceptance_length),
        }


@dataclass(frozen=True, slots=True)
class Spread:
    """The magnitude of relative errors.

    Attributes:
        median: the median magnitude.
        worst: the largest magnitude.
    """

    median: float
    worst: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionErrors:
    """Errors of the predictions; ``None``: not measured.

    Attributes:
        drift: the measured over the predicted time of plain decoding: the slow-down of the machine
            since the calibration.
        ms_per_token: the errors of the milliseconds per token.
        ms_per_token_without_drift: these errors after dividing by the drift.
        forwards_per_token: the errors of the forward passes per token.
    """

    drift: float | None
    ms_per_token: Spread | None
    ms_per_token_without_drift: Spread | None
    forwards_per_token: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortestPath:
    """The stack that the polynomial selection picks by itself.

    Attributes:
        stack: the stack as text.
        predicted_ms_per_token: the time predicted by the latency law.
    """

    stack: str
    predicted_ms_per_token: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAcceptance:
    """The acceptance of a drafter by a verifier.

    Attributes:
        draft: the name of the drafter.
        verifier: the name of the verifier.
        rate: the accepted over the examined tokens, for drafts of four tokens.
        rounds: the number of rounds behind the rate.
    """

    draft: str
    verifier: str
    rate: float
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationFacts:
    """The calibration behind a plan.

    Attributes:
        kept: whether a stored calibration was used.
        created: the time of the measurement in seconds since 1970; ``None`` in old plans.
        age_seconds: the seconds since the measurement.
        seconds: the duration of the measurement in seconds.
        identity: the identity of the engine (:func:`hsd_viz.latency.stored.identity`).
        texts: the description of the decoded texts.
        acceptance: the acceptances between drafters and verifiers.
        inputs: the inputs of the latency law.
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
    """Stacks ranked by the latency law, with their measurements.

    Attributes:
        models: the draft models, smallest first, and the target.
        hierarchies: the stacks, by predicted time.
        picked: the stack that the law selects.
        best_single_draft: the fastest stack with one draft model; ``None``: no draft model.
        kind: the kind of the picked stack.
        shortest_path: the stack that the polynomial selection picks by itself.
        best_measured: the fastest measured stack.
        picked_over_best_measured: the additional time of the picked stack relative to the best
            measured one; ``None``: not measured.
        measured_prompts: the number of measured prompts; ``None``: no measurement.
        errors: the errors of the predictions; ``None``: no measurement.
        calibration: the calibration behind the predictions.
        complete: whether the measurement finished without interruption.
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
        """The number of measured prompts, as text."""
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
            prompts = prompts_of(saved.measured_on)
            calibration = saved.calibration
            by_field = {
                **data,
                "hierarchies": [_stack_data(stack, prompts) for stack in saved.hierarchies],
                "measured_prompts": prompts,
                "calibration": {**calibration, "inputs": Calibration.from_dict(calibration)},
            }
            return msgspec.convert(by_field, cls)
        except (UserError, *OF_ANOTHER_TYPE) as error:
            raise UserError(f"not a plan of hsd-viz plan --json: {error}") from None


def _stack_data(stack: dict[str, Any], prompts: int | None) -> dict[str, Any]:
    """Return the fields of a saved stack, with its measured time as the fields of an estimate."""
    time = estimate_of({MEASURED: None} | stack, MEASURED, prompts)
    return stack | {MEASURED: asdict(time)}


class _SavedPlan(msgspec.Struct):
    """What a saved plan has in another form.

    Attributes:
        hierarchies: the stacks.
        measured_on: the number of measured prompts, as text.
        calibration: the facts and inputs of the calibration.
    """

    hierarchies: list[dict[str, Any]]
    measured_on: str | None
    calibration: dict[str, Any]
