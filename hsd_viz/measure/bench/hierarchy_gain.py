"""The gain of several draft levels over one: the ratio of the speeds of the fastest hierarchy and
the fastest single draft of a bench.

The two stacks are selected by their speed over all prompts of the same bench. If several are about
equally fast, the ratio slightly favours the kind of which more stacks were measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hsd_viz.disk import object_at
from hsd_viz.measure.bench.output import Output
from hsd_viz.measure.bench.samples import Samples
from hsd_viz.results.bootstrap import estimate, ratio
from hsd_viz.results.estimate import Estimate, estimate_of
from hsd_viz.results.kinds import StackKind, Structure, kind_of, stack_of_row, structure_of
from hsd_viz.stack import Stack

#: Name of the ratio in JSON data.
GAIN = "speedup_over_single_draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """The ratio of the speeds over some prompts.

    Attributes:
        outputs: the number of prompts.
        speedup: the tokens per second of the hierarchy over those of the single draft.
    """

    outputs: int
    speedup: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the ratio as JSON data."""
        return {"outputs": self.outputs, **self.speedup.named(GAIN)}


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyGain(Gain):
    """The gain of several draft levels over one.

    Attributes:
        hierarchy: the fastest stack with several draft levels.
        single_draft: the fastest stack with one draft level.
        by_category: the gain by category of prompts.
    """

    hierarchy: str
    single_draft: str
    by_category: dict[str, Gain]

    def to_dict(self) -> dict[str, Any]:
        """Return the gain as JSON data."""
        return {
            **Gain.to_dict(self),
            "hierarchy": self.hierarchy,
            "single_draft": self.single_draft,
            "by_category": {name: gain.to_dict() for name, gain in self.by_category.items()},
        }


def gain_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the JSON data of a gain to the fields of :class:`HierarchyGain`.

    Raises:
        UserError: if the data is not that of a gain.
    """
    categories = object_at(data, "by_category")
    by_category = {name: _ratio_data(object_at(categories, name)) for name in categories}
    return {**data, **_ratio_data(data), "by_category": by_category}


def _ratio_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the JSON data of a ratio to the fields of :class:`Gain`."""
    outputs = data.get("outputs")
    return {"outputs": outputs, "speedup": asdict(estimate_of(data, GAIN, outputs))}


def hierarchy_gain(
    outputs: Mapping[str, Sequence[Output]], used: Sequence[str], categories: Sequence[str]
) -> HierarchyGain | None:
    """Return the gain of the fastest hierarchy over the fastest single draft.

    Args:
        outputs: the outputs of each stack, one per prompt.
        used: the category of each prompt.
        categories: all categories.

    Returns:
        The gain; ``None`` unless both kinds of stacks were measured.
    """
    hierarchies = []
    single_drafts = []
    for name in outputs:
        structure = _structure(name)
        if structure is None or structure is Structure.PLAIN:
            continue
        if structure.is_hierarchy:
            hierarchies.append(name)
        else:
            single_drafts.append(name)
    if not (used and hierarchies and single_drafts):
        return None
    hierarchy = _fastest(outputs, hierarchies)
    single_draft = _fastest(outputs, single_drafts)
    by_category = {}
    for category in categories:
        chosen = [k for k, of_prompt in enumerate(used) if of_prompt == category]
        by_category[category] = _gain(outputs[hierarchy], outputs[single_draft], chosen)
    whole = _gain(outputs[hierarchy], outputs[single_draft], range(len(used)))
    return HierarchyGain(
        hierarchy=hierarchy,
        single_draft=single_draft,
        outputs=whole.outputs,
        speedup=whole.speedup,
        by_category=by_category,
    )


def _structure(name: str) -> Structure | None:
    """Return the structure of the stack of a bench row; ``None`` if it is not a stack of this
    package, or selects one itself.
    """
    stack = stack_of_row(name)
    if not isinstance(stack, Stack) or kind_of(stack) is StackKind.AUTO:
        return None
    return structure_of(stack)


def _fastest(outputs: Mapping[str, Sequence[Output]], names: Sequence[str]) -> str:
    """Return the stack with the most tokens per second over all prompts."""

    def speed(name: str) -> float:
        tokens = sum(output.timed_tokens for output in outputs[name])
        seconds = sum(output.seconds for output in outputs[name])
        return tokens / seconds if seconds else 0.0

    return max(names, key=speed)


def _gain(
    hierarchy: Sequence[Output], single_draft: Sequence[Output], chosen: Sequence[int]
) -> Gain:
    """Return the ratio of the speeds over the ``chosen`` prompts; a resample draws the same prompts
    on both sides.
    """
    above = Samples([hierarchy[k] for k in chosen], seed=0)
    below = Samples([single_draft[k] for k in chosen], seed=0)
    speedup = estimate(ratio(above.speed(), below.speed()), len(chosen))
    return Gain(outputs=len(chosen), speedup=speedup)
