"""Time forward passes in isolation by number of tokens fed, and what the drafts of ``db`` cost
their verifier.

Real rounds cost more than an isolated forward pass: other models have used the processor's caches
since, verification rules are applied, and trees are gathered. But only a few widths are common in
them. So the shape of a cost curve is measured in isolation, at every width, and its height in real
rounds (:func:`fit_curve`).

``db`` sizes its trees by such costs (:class:`Costs`): on a GPU 16 tokens cost as much as one, on a
CPU twice as much.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from hsd_viz.decoding.rejection_sampling import Draft, RecordOptions
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.disk import read_json
from hsd_viz.drafting.costs import CostCurve, cost_curve
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.errors import MALFORMED, UserError
from hsd_viz.latency.traced_costs import monotone
from hsd_viz.models.families import CODE
from hsd_viz.settings.engine_choices import MEASURED, SHIPPED
from hsd_viz.stack import split_copy

if TYPE_CHECKING:
    from hsd_viz.decoding.session import Model

WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24)
#: Widths and repeats of :func:`draft_costs`; a slow model is timed at few widths and once.
DRAFT_WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
REPEATS = 7
FEW = (1, 4, 16)
#: A model is slow above this many ms for a forward pass of one token.
SLOW = 40.0
#: Further ms per draft of any size: its rows are walked one by one and its path is gathered.
#: Without them, drafts that hardly pay, as at temperature 1, are proposed too often.
HANDLING = 0.05
#: A width has its own ratio when real rounds were timed there at least this often.
ENOUGH = 20
FORMAT = "hsd_viz costs"


def time_forwards(
    models: Mapping[str, Model],
    *,
    widths: Sequence[int] = WIDTHS,
    context: int = 256,
    repeats: int = 15,
    figure: Callable[[Sequence[float]], float] = median,
) -> dict[str, dict[int, float]]:
    """Return ``{name: {tokens fed: ms}}`` of forward passes behind ``context`` tokens (fewer for
    models with fewer positions) with a row for each token fed. The models take turns, as they do in
    a stack. A forward pass ends when the most likely token of each row is known here, which is what
    a round waits for. ``figure`` summarises the repeats.
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
                if repeat:  # the first of each grows buffers
                    times[name][width].append(spent / 1e6)
    figures = {}
    for name, by_width in times.items():
        figures[name] = {width: figure(ms) for width, ms in by_width.items()}
    return figures


def fit_curve(shape: Mapping[int, float], real: Mapping[int, Sequence[float]]) -> tuple[float, ...]:
    """Return c(1), c(2), ... in ms: ``shape`` (isolated, by tokens fed) scaled to the times of
    ``real`` rounds (ms by tokens fed). The ratio of the two is known at the widths that are common
    in real rounds; it is interpolated between them and constant beyond, and the curve never falls.
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
    """Return ms of a round of ``model`` that verifies 0, 1, 2, ... draft tokens, never falling:
    timed in half a second, for slow models at fewer widths.
    """
    first = time_forwards({"": model}, widths=(1,), context=128, repeats=1, figure=min)
    if first[""][1] > SLOW:
        return round_costs(model, FEW, repeats=1)
    return round_costs(model, DRAFT_WIDTHS, REPEATS)


def round_costs(model: Model, widths: Sequence[int], repeats: int) -> tuple[float, ...]:
    """Return ms of a round of ``model`` that verifies 0, 1, 2, ... draft tokens, never falling.

    Forward passes of these ``widths`` are timed, those between are interpolated.
    """
    # The minimum of a few repeats: other load only ever adds time, and the curve is not measured
    # again.
    timed = time_forwards({"": model}, widths=widths, context=128, repeats=repeats, figure=min)
    ms = timed[""]
    curve = monotone([ms[width] for width in widths], [1.0] * len(widths))
    step, *drafts = np.interp(range(1, widths[-1] + 1), widths, curve).tolist()
    return (step, *(cost + HANDLING for cost in drafts))


class Costs:
    """Costs of a verification by number of draft tokens. ``source`` is ``shipped`` (the table of a
    family, so that the same command gives the same tree on every machine), ``measured`` (timed once
    per model and runtime) or a file.

    A file has ``{"format": "hsd_viz costs", "models": {NAME: {DTYPE: [c(0), c(1), ...]}}, "others":
    {DEVICE: c}}``: costs of 0, 1, 2, ... draft tokens in any unit, and for other models that of one
    more token in steps of one token. ``python -m benchmarks.costs`` writes one.

    Raises:
        UserError: if the file cannot be read or is not such a table.
    """

    def __init__(self, source: str | Path = SHIPPED, shipped: Path = CODE.costs) -> None:
        self.source = str(source)
        self._timed: dict[tuple[str, str], CostCurve] = {}
        self._timing = Lock()  # two at once would slow each other
        if self.source != MEASURED:
            self._table = _read(shipped if self.source == SHIPPED else Path(source))

    def of(self, model: Model, device: str = "cpu") -> CostCurve:
        """Return the costs for a verifier on a device (``cpu`` or ``cuda``)."""
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


def _curves(rows: Mapping[str, Any]) -> dict[str, CostCurve]:
    """Return the cost curves of a table by its keys."""
    return {key: cost_curve(row) for key, row in rows.items()}


def _read(path: Path) -> dict[str, dict[str, Any]]:
    data = read_json(path, "costs")
    try:
        if data["format"] != FORMAT:
            raise UserError(f"its format is not '{FORMAT}'")
        models = {name: _curves(rows) for name, rows in data["models"].items()}
        others = {device: data["others"][device] for device in ("cpu", "cuda")}
        return {"models": models, "others": _curves(others)}
    except MALFORMED as error:
        raise UserError(
            f"{path} is not a table of costs: {type(error).__name__}: {error}"
        ) from None
