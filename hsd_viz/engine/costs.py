"""What a draft costs its verifier here: forwards timed by themselves, once for each model and runtime, when first asked for.

A database's drafts are as large as they pay for, and what they pay is a matter of the machine: on a GPU sixteen tokens cost what one
does, on a CPU twice that. Half a second of timing tells.
"""

from __future__ import annotations

import time
from functools import partial

from hsd_viz.bench.isolated import isolated
from hsd_viz.decoding.model import Model
from hsd_viz.latency.timing import monotone

#: Tokens fed, and how often each is timed; a slow model is timed at few widths and once.
WIDTHS, REPEATS = (1, 2, 3, 4, 6, 8, 12, 16, 24), 7
FEW = (1, 4, 16)
#: Above so many ms for a forward of one token a model is slow.
SLOW = 40.0
CONTEXT = 128
#: ms that a draft of any size takes besides: its rows are walked one by one and its path is gathered. With it texts sampled at
#: temperature 1, where drafts hardly pay, came 2 % faster here, and no others slower.
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


def _timed(model: Model) -> tuple[float, ...]:
    # Not the thread's own time, which would leave out what a device does meanwhile.
    # The least of a few: what else the machine does only ever adds, and would stay in the curve for good.
    time_it = partial(isolated, {"": model}, context=CONTEXT, clock=time.perf_counter_ns, figure=min)
    slow = time_it(widths=(1,), repeats=1)[""][1] > SLOW
    widths, repeats = (FEW, 1) if slow else (WIDTHS, REPEATS)
    timed = time_it(widths=widths, repeats=repeats)[""]
    found = monotone([timed[width] for width in widths], [1.0] * len(widths))
    costs: list[float] = []
    for k, width in enumerate(widths[1:]):
        low, step = found[k], (found[k + 1] - found[k]) / (width - widths[k])
        costs += [low + step * n for n in range(width - widths[k])]
    step, *drafts = *costs, found[-1]
    return (step, *(ms + HANDLING for ms in drafts))
