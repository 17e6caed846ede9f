"""Time forward passes by the number of tokens fed (their width), and provide the costs by which
``db`` sizes its drafts.

A real round costs more than an isolated forward pass: other models have used the processor's caches
in between, verification rules are applied, and trees are gathered. But only a few widths are common
in real rounds. So the shape of a cost curve is measured in isolation, at all widths, and its height
in real rounds (:func:`fit_curve`).

``db`` sizes its trees by such costs (:class:`Costs`): 16 tokens cost as much as one token on a GPU,
and twice as much on a CPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from hsd_viz.conversion import OF_ANOTHER_TYPE
from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.verdict import RecordOptions
from hsd_viz.disk import read_json
from hsd_viz.drafting.costs import CostCurve, cost_curve
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.errors import UserError
from hsd_viz.latency.traced_costs import monotone
from hsd_viz.models.families import CODE
from hsd_viz.settings.engine_choices import MEASURED, SHIPPED
from hsd_viz.stack import split_copy

if TYPE_CHECKING:
    from hsd_viz.decoding.session import Model

#: The default widths of :func:`time_forwards`.
WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24)
#: The widths of :func:`draft_costs`.
DRAFT_WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
#: The repeats of :func:`draft_costs`.
REPEATS = 7
#: The widths of :func:`draft_costs` for a slow model, which is timed once.
FEW = (1, 4, 16)
#: The time in ms of a forward pass of one token above which a model is slow.
SLOW = 40.0
#: The time in ms to handle a draft of any size: to walk its rows and gather its path. Without it,
#: drafts that are hardly worth their cost, as at temperature 1, would be proposed too often.
HANDLING = 0.05
#: The least number of real rounds at a width for the width to have a ratio of its own.
ENOUGH = 20
#: The format of files of costs.
FORMAT = "hsd_viz costs"


def time_forwards(
    models: Mapping[str, Model],
    *,
    widths: Sequence[int] = WIDTHS,
    context: int = 256,
    repeats: int = 15,
    figure: Callable[[Sequence[float]], float] = median,
) -> dict[str, dict[int, float]]:
    """Time forward passes by width.

    The models take turns, as in a stack. A forward pass returns a row for each token fed, and ends
    when the likeliest token of each row is known to the host, which is what a round waits for.

    Args:
        models: the models by name.
        widths: the numbers of tokens to feed.
        context: the number of tokens in the cache; fewer if a model has fewer positions.
        repeats: the number of timed repeats.
        figure: a function that summarizes the repeats.

    Returns:
        The time in ms by name and width.
    """
    longest = min(
        [context + max(widths), *(m.positions for m in models.values() if m.positions is not None)]
    )
    context = max(1, longest - max(widths))
    vocabulary = min(m.vocab_size for m in models.values())
    ids = np.random.default_rng(0).integers(0, vocabulary, context + max(widths)).tolist()
    fed = ids[context:]
    drafts = {width: Draft(DraftTree.chain(fed[1:width], "")) for width in widths}
    sessions = {name: model.session() for name, model in models.items()}
    for session in sessions.values():
        session.feed(ids[:context])
    times: dict[str, dict[int, list[float]]] = {}
    for name in models:
        times[name] = {width: [] for width in widths}
    for repeat in range(repeats + 1):
        for width in widths:
            for name, session in sessions.items():
                start = time.perf_counter_ns()
                session.verify(fed[:1], drafts[width], Sampling(), None, RecordOptions())
                spent = time.perf_counter_ns() - start
                session.truncate(context)
                if repeat:  # the first repeat is not timed, because it allocates buffers
                    times[name][width].append(spent / 1e6)
    figures = {}
    for name, by_width in times.items():
        figures[name] = {width: figure(ms) for width, ms in by_width.items()}
    return figures


def fit_curve(shape: Mapping[int, float], real: Mapping[int, Sequence[float]]) -> tuple[float, ...]:
    """Return a cost curve that has the shape of isolated times and the height of real rounds.

    The ratio of the two is known at the widths that are common in real rounds. It is interpolated
    between them and constant beyond them. The curve never falls.

    Args:
        shape: the isolated time in ms by width.
        real: the times in ms of real rounds by width.

    Returns:
        The costs c(1), c(2), ... in ms.
    """
    widths = np.array(sorted(shape))
    every = np.arange(1, int(max(widths[-1], *real)) + 1)
    before_last, last = widths[-2:]
    slope = (shape[last] - shape[before_last]) / (last - before_last)
    step = max(0.0, slope)
    base = (
        np.interp(every, widths, [shape[int(w)] for w in widths])
        + np.maximum(0, every - widths[-1]) * step
    )
    often = sorted(m for m in real if len(real[m]) >= ENOUGH) or [
        max(real, key=lambda m: len(real[m]))
    ]
    ratio = np.interp(every, often, [median(real[m]) / base[m - 1] for m in often])
    return tuple(
        monotone((base * ratio).tolist(), [float(len(real.get(m, (0,)))) for m in every.tolist()])
    )


def draft_costs(model: Model) -> tuple[float, ...]:
    """Return the time in ms of a round that verifies 0, 1, 2, ... draft tokens, never falling.

    Timing takes about half a second; a slow model is timed at fewer widths.
    """
    first = time_forwards({"": model}, widths=(1,), context=128, repeats=1, figure=min)
    if first[""][1] > SLOW:
        return round_costs(model, FEW, repeats=1)
    return round_costs(model, DRAFT_WIDTHS, REPEATS)


def round_costs(model: Model, widths: Sequence[int], repeats: int) -> tuple[float, ...]:
    """Return the time in ms of a round that verifies 0, 1, 2, ... draft tokens, never falling.

    Forward passes of these ``widths`` are timed; the times between them are interpolated.
    """
    # The minimum of the repeats is used, because other load only adds time.
    timed = time_forwards({"": model}, widths=widths, context=128, repeats=repeats, figure=min)
    ms = timed[""]
    curve = monotone([ms[width] for width in widths], [1.0] * len(widths))
    step, *drafts = np.interp(range(1, widths[-1] + 1), widths, curve).tolist()
    return (step, *(cost + HANDLING for cost in drafts))


class Costs:
    """The costs of verification by number of draft tokens.

    A file of costs has the form ``{"format": "hsd_viz costs", "models": {NAME: {DTYPE: [c(0), c(1),
    ...]}}, "others": {DEVICE: c}}``. It contains the costs of 0, 1, 2, ... draft tokens in any unit
    for each model, and for other models the cost of a further token relative to a step of one
    token. ``python -m benchmarks.costs`` writes such a file.

    Args:
        source: ``shipped`` for the table of a family, with which a command gives the same tree on
            every machine; ``measured`` for costs that are timed once per model and runtime; or the
            path of a file.
        shipped: the file of the family's table.

    Raises:
        UserError: if the file cannot be read or is not such a table.
    """

    def __init__(self, source: str | Path = SHIPPED, shipped: Path = CODE.costs) -> None:
        self.source = str(source)
        self._timed: dict[tuple[str, str], CostCurve] = {}
        self._timing = Lock()  # concurrent measurements would slow each other down
        if self.source != MEASURED:
            self._table = _read(shipped if self.source == SHIPPED else Path(source))

    def of(self, model: Model, device: str = "cpu") -> CostCurve:
        """Return the costs of verification by a model on a device (``cpu`` or ``cuda``)."""
        if self.source == MEASURED:
            with self._timing:
                if (key := (model.name, model.runtime)) not in self._timed:
                    self._timed[key] = cost_curve(draft_costs(model))
                return self._timed[key]
        original = split_copy(model.name)[0]
        by_dtype = self._table["models"].get(original, {}) if device == "cpu" else {}
        return by_dtype.get(model.dtype) or next(
            iter(by_dtype.values()), self._table["others"][device]
        )


#: The costs of verifying 0, 1, 2, ... draft tokens, or that of one more token.
Costing = float | list[float]


class _OtherCosts(msgspec.Struct):
    """The costs of models that a table does not name, by device."""

    cpu: Costing
    cuda: Costing


class _CostTable(msgspec.Struct):
    """A file of costs.

    Attributes:
        format: the mark of such a file.
        models: the costs of each model by the type of its weights.
        others: those of other models.
    """

    format: Literal["hsd_viz costs"]
    models: dict[str, dict[str, Costing]]
    others: _OtherCosts


def _curves(costings: Mapping[str, Costing]) -> dict[str, CostCurve]:
    """Return the cost curves of costs by name."""
    return {name: cost_curve(costing) for name, costing in costings.items()}


def _read(path: Path) -> dict[str, dict[str, Any]]:
    data = read_json(path, "costs")
    try:
        table = msgspec.convert(data, _CostTable)
        models = {name: _curves(costs) for name, costs in table.models.items()}
        others = _curves({"cpu": table.others.cpu, "cuda": table.others.cuda})
    except (UserError, *OF_ANOTHER_TYPE) as error:
        raise UserError(f"{path} is not a table of costs: {error}") from None
    return {"models": models, "others": others}
