"""Costs of verifying drafts: forward passes timed in isolation, once for each model and runtime, on first use.

The size of a database's drafts depends on these costs, which depend on the machine: on a GPU sixteen tokens cost as
much as one, on a CPU twice as much. The timing takes about half a second.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import torch

from hsd_viz.calibration.forwards import time_forwards
from hsd_viz.calibration.timing import monotone
from hsd_viz.decoding.model import Model

#: Tokens fed, and repeats of each; a slow model is timed at few widths and once.
WIDTHS, REPEATS = (1, 2, 3, 4, 6, 8, 12, 16, 24), 7
FEW = (1, 4, 16)
#: A model is slow above this many ms for a forward pass of one token.
SLOW = 40.0
CONTEXT = 128
#: Further ms per draft of any size: its rows are walked one by one and its path is gathered. Without them, drafts that
#: hardly pay, as at temperature 1, are proposed too often.
HANDLING = 0.05


class DraftCosts:
    """Costs by number of draft tokens, stored for the lifetime of the engine."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[float, ...]] = {}

    def known(self, model: Model) -> bool:
        """Return whether ``model`` was timed in its current runtime."""
        return (model.name, model.runtime) in self._found

    def of(self, model: Model) -> tuple[float, ...]:
        """Return ms of a round that verifies 0, 1, 2, ... draft tokens, never falling."""
        key = model.name, model.runtime
        if key not in self._found:
            step, *drafts = _forward_curve(model)
            self._found[key] = (step, *(ms + HANDLING for ms in drafts))
        return self._found[key]


def _forward_curve(model: Model) -> list[float]:
    """Return ms of a forward pass of 1, 2, 3, ... tokens, never falling; shorter for slow models."""
    # One CPU thread's own time excludes other load; it would also exclude the work of a device or of other threads.
    alone = torch.get_num_threads() == 1 and model.device.type == "cpu"
    clock = time.thread_time_ns if alone else time.perf_counter_ns
    # The minimum of a few repeats: other load only ever adds time, and the curve is not measured again.
    measure = partial(time_forwards, {"": model}, context=CONTEXT, clock=clock, figure=min)
    slow = measure(widths=(1,), repeats=1)[""][1] > SLOW
    widths, repeats = (FEW, 1) if slow else (WIDTHS, REPEATS)
    ms = measure(widths=widths, repeats=repeats)[""]
    curve = monotone([ms[w] for w in widths], [1.0] * len(widths))
    return np.interp(range(1, widths[-1] + 1), widths, curve).tolist()
