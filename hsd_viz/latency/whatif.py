"""What-if questions: latency over lookaheads, and where a second draft model pays. Fast enough for a slider."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hsd_viz.latency.affine import MOST, check_limits
from hsd_viz.latency.inputs import Calibration, LevelCost
from hsd_viz.latency.mixture import MixedLaw, Mixture
from hsd_viz.latency.recursion import drafting, repeat_rounds, verify
from hsd_viz.latency.select import split
from hsd_viz.latency.vectorised import Law
from hsd_viz.stack import Stack, parse

Array = NDArray[Any]


def surface(stack: Stack | str, calibration: Calibration | Mixture, *, most: int = MOST, place: int = 0) -> Array:
    """Return ms per token over the lookaheads of two neighbouring draft models.

    ``[most, most]``: row g - 1, column h - 1 is lookahead g at draft model ``place`` (0: the lowest) and h at the one
    above it; ``[most]`` where there is none above. Only the other lookaheads need to be written.

    Raises: ValueError: if there is no such draft model, another lookahead is left out or the target is not the
    calibrated one.
    """
    check_limits(most)
    stack = parse(stack) if isinstance(stack, str) else stack
    if not 0 <= place < len(stack.drafts):
        raise ValueError(
            f"place {place} has no lookahead to vary: '{stack}' has {len(stack.drafts)} draft models, counted from 0"
        )
    law = MixedLaw(calibration) if isinstance(calibration, Mixture) else Law(calibration)
    if stack.target.name != law.calibration.target:
        raise ValueError(f"the target of '{stack}' is not the calibrated one, '{law.calibration.target}'")
    for k, draft in enumerate(stack.drafts):
        if draft.lookahead is None and k not in (place, place + 1):
            raise ValueError(f"'{draft}' in '{stack}' has no lookahead: write one, as in '{draft.name}:4'")
    hierarchy, lookaheads = split(stack)
    return law.plane(*hierarchy, lookaheads, place, most)


@dataclass(frozen=True, slots=True)
class SecondDraft:
    """Where a small draft model below a larger one pays. All arrays are ``[acceptances, costs]``, times
    relative to a forward pass of the target.

    ``times`` ``[acceptances, most, most, costs]`` are those of the two by lookahead of the small and of the larger;
    ``both`` is their best, with its ``lookaheads`` ``[..., 2]``; ``one`` the best of: the larger alone, the small
    alone, no draft at all. ``direct`` is the target's acceptance of the small model's tokens.
    """

    acceptances: Array
    costs: Array
    direct: Array
    times: Array
    both: Array
    one: Array
    lookaheads: NDArray[np.intp]

    @property
    def gain(self) -> Array:
        """The speed of the two over the best without a second draft, as a share; negative where it does not pay."""
        return self.one / self.both - 1


def bounds(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the least and the largest acceptance by a target whose draft model, accepted with ``b``, accepts with
    ``a``: 1 - acceptance is a distance (total variation).
    """
    return np.maximum(0.0, a + b - 1), 1 - np.abs(a - b)


def one_draft(acceptance: float, cost: float, *, slope: float = 0.0, most: int = MOST) -> Array:
    """Return time per token with one draft model by lookahead, ``[most]``; arguments as in :func:`second_draft`."""
    unit = LevelCost((1.0, 1.0 + slope))
    alone = drafting(np.arange(1, most + 1), unit, 1)
    return verify(alone, _powers(acceptance, most + 1), unit, 1).per_token() @ np.array([cost, 1.0])


def _powers(rate: Any, n: int) -> Array:
    return np.asarray(rate, float)[..., None] ** np.arange(n, dtype=float)


def second_draft(
    acceptances: Array,
    costs: Array,
    *,
    cost: float = 0.25,
    acceptance: float = 0.85,
    slope: float = 0.0,
    closeness: float = 0.0,
    most: int = MOST,
) -> SecondDraft:
    """Return the best latency with and without a small draft model, over its ``acceptances`` by the larger and its
    ``costs``.

    The larger draft costs ``cost`` (a target forward pass costs 1) and is accepted by the target with probability
    ``acceptance``. Acceptance is independent; verifying m tokens costs 1 + ``slope`` (m - 1) forward passes. The
    target's acceptance of the small model's tokens is constrained: 1 - acceptance is a distance (total variation), so
    with a by the larger and b = ``acceptance`` it is between a + b - 1 and 1 - abs(a - b); ``closeness`` from 0 to 1
    interpolates. Catching up on a fully accepted draft counts as one token.
    """
    check_limits(most)
    a, c = np.asarray(acceptances, float), np.asarray(costs, float)
    rates, prices = np.array([*a, acceptance, closeness]), np.array([*c, cost, slope])
    if ((rates < 0) | (rates > 1)).any() or (prices < 0).any():
        raise ValueError("acceptance and closeness must be from 0 to 1, cost and slope must not be negative")
    least, largest = bounds(a, acceptance)
    direct = least + closeness * (largest - least)

    # Times by level in units of the level's own forward pass: costs are then a product.
    unit, steps = LevelCost((1.0, 1.0 + slope)), np.arange(1, most + 1)
    small = drafting(steps, unit, 1)
    middle = verify(small, _powers(a, most + 1)[:, None], unit, 1)
    calls = repeat_rounds(middle, most, every=True)
    per_level = verify(calls, _powers(acceptance, calls.sizes.shape[-1]), unit, 1).per_token()
    prices = np.stack([c, np.full_like(c, cost), np.ones_like(c)])
    times = per_level.reshape(len(a), most * most, 3) @ prices
    at = times.argmin(1)
    both = np.take_along_axis(times, at[:, None], 1)[:, 0]

    single = verify(small, _powers(direct, most + 1)[:, None], unit, 1).per_token() @ prices[[0, 2]]
    larger = one_draft(acceptance, cost, slope=slope, most=most)
    one = np.minimum(single.min(1), min(1.0, float(larger.min())))
    times = times.reshape(len(a), most, most, -1)
    return SecondDraft(a, c, direct, times, both, one, np.stack([at // most + 1, at % most + 1], -1))
