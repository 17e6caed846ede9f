"""What a draft costs its verifier here: forwards timed by themselves, once for each model and runtime, when first asked for.

A database's drafts are as large as they pay for, and what they pay is a matter of the machine: on a GPU sixteen tokens cost what one
does, on a CPU twice that. Half a second of timing tells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
import torch

from hsd_viz.calibration.forwards import isolated
from hsd_viz.calibration.timing import monotone
from hsd_viz.decoding.model import Model

#: Tokens fed, and how often each is timed; a slow model is timed at few widths and once.
WIDTHS, REPEATS = (1, 2, 3, 4, 6, 8, 12, 16, 24), 7
FEW = (1, 4, 16)
#: Above so many ms for a forward of one token a model is slow.
SLOW = 40.0
CONTEXT = 128
#: ms that a draft of any size takes besides: its rows are walked one by one and its path is gathered. Without it drafts that hardly pay,
#: as at temperature 1, are put up too often.
HANDLING = 0.05


class DraftCosts:
    """Costs by number of draft tokens, kept for as long as the engine lives."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[float, ...]] = {}

    def known(self, model: Model) -> bool:
        """Whether ``model`` was timed, in the runtime that it is in."""
        return (model.name, model.runtime) in self._found

    def of(self, model: Model) -> tuple[float, ...]:
        """ms of a round that verifies 0, 1, 2, ... draft tokens, never falling."""
        key = model.name, model.runtime
        if key not in self._found:
            self._found[key] = _timed(model)
        return self._found[key]


def clock_for(models: Iterable[Model]) -> Callable[[], int]:
    """What times these models, in ns: on one thread of a CPU its own time, which leaves out what others do on this machine."""
    # The time of one thread would leave out a device's work, or other threads'.
    alone = torch.get_num_threads() == 1 and all(model.device.type == "cpu" for model in models)
    return time.thread_time_ns if alone else time.perf_counter_ns


def forwards(models: Mapping[str, Model]) -> dict[str, tuple[float, ...]]:
    """ms of a forward of 1, 2, 3, ... tokens by the models' names, never falling; timed by themselves, in turns.

    Slow models (more than :data:`SLOW` ms a token) are timed at few widths, so that their curves are shorter.
    """
    # The least of a few: what else the machine does only ever adds, and would stay in the curve for good.
    time_them = partial(isolated, models, context=CONTEXT, clock=clock_for(models.values()), figure=min)
    slow = any(ms[1] > SLOW for ms in time_them(widths=(1,), repeats=1).values())
    widths, repeats = (FEW, 1) if slow else (WIDTHS, REPEATS)
    timed = time_them(widths=widths, repeats=repeats)
    every = range(1, widths[-1] + 1)
    curves = {name: monotone([ms[w] for w in widths], [1.0] * len(widths)) for name, ms in timed.items()}
    return {name: tuple(np.interp(every, widths, curve).tolist()) for name, curve in curves.items()}


def _timed(model: Model) -> tuple[float, ...]:
    step, *drafts = forwards({"": model})[""]
    return (step, *(ms + HANDLING for ms in drafts))
