"""The machine of a server as the doctor needs it: step times of a target and its drafter at any batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hsd_viz.adapters import METHODS
from hsd_viz.adapters.observation import NGRAMS, PARALLEL, Observation
from hsd_viz.bench.predict import check_setting
from hsd_viz.latency.hardware import Machine, Shape, fitted, gpu_of, shape_of


@dataclass(frozen=True, slots=True)
class Roofline:
    """The machine of a server: step times of its models at any batch. ``at`` has the context and the formats."""

    machine: Machine
    target: Shape
    head: Shape
    at: dict[str, Any]

    def ms(self, tokens: float, batch: int) -> float:
        """Return the milliseconds of a forward pass of the target over ``tokens`` tokens per sequence."""
        return self.machine.step_ms(self.target, tokens=tokens, batch=batch, **self.at)

    def fits(self, batch: int) -> bool:
        """Return whether the models and the caches of a batch fit into the memory."""
        return self.machine.memory_share((self.target, self.head), batch=batch, **self.at) <= 1

    def drafting(self, batch: int, seen: Observation) -> float:
        """Return the milliseconds of drafting; an n-gram drafter takes none."""
        step = 0.0 if seen.method in NGRAMS else self.machine.step_ms(self.head, batch=batch, **self.at)
        return step * (1 if seen.method in PARALLEL else sum(seen.survival()[0]))


def roofline_of(
    gpu: str, models: Sequence[str], tp: int = 1, *, context: int = 2048, weights: str = "bf16"
) -> Roofline:
    """Return the roofline of a GPU for a target and, after it, its draft model (a name, a ``config.json``, or a draft
    head such as ``eagle3``). Raises: ValueError: for unknown names, and for models that do not fit.
    """
    names = [name.strip() for name in models]
    if not names or names[0] in ("", *METHODS):
        raise ValueError(f"the models '{','.join(names)}' have no target: name it first, as in llama-8b,eagle3")
    target, *drafts = [shape_of(name) for name in names if name not in METHODS]
    check_setting(target, tp, weights, context=(context,))
    machine, head = Machine(gpu_of(gpu), tp), drafts[0] if drafts else target.head()
    if machine.memory_share((target, head), batch=1, context=1, weights=weights) > 1:
        raise ValueError(
            f"{target.name} does not fit into the memory of {tp} x {machine.gpu.name}: see --tp and --weights"
        )
    return Roofline(machine, target, head, {"context": context, "weights": weights})


def filled(seen: Observation, roofline: Roofline) -> tuple[Observation, Roofline, tuple[str, ...]]:
    """Return the observation with the times that the roofline predicts where they were not observed, the roofline
    fitted on those that were, and the names of the predicted ones.
    """
    depth, batch = sum(seen.survival()[0]), seen.batch
    if (step := seen.step) is not None:
        many = max(2, round(depth + 1))
        verify = step * roofline.ms(many, batch) / roofline.ms(1, batch) if seen.verify is None else seen.verify
        at = {"many": many, "batch": batch, **roofline.at}
        roofline = replace(roofline, machine=fitted(roofline.machine, roofline.target, step, max(step, verify), **at))
    guesses = {
        "step": roofline.ms(1, batch),
        "verify": roofline.ms(depth + 1, batch),
        "draft": roofline.drafting(batch, seen),
        "overhead": roofline.machine.efficiency.round_us * 1e-3,
    }
    if seen.round is not None:
        # The time of a round is known: what is left of it is overhead.
        spent = sum(getattr(seen, name) or guesses[name] for name in ("verify", "draft"))
        guesses["overhead"] = max(0.0, seen.round - spent)
    predicted = tuple(name for name in guesses if getattr(seen, name) is None)
    filled: dict[str, Any] = {name: guesses[name] for name in predicted}
    return replace(seen, **filled), roofline, predicted
