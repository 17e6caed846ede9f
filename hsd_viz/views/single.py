"""Views of several runs, of the stack language, of verification rules and of the latency law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import traitlets

from hsd_viz.calibration.basis import USUAL, Basis, basis_of, rate
from hsd_viz.figures.theme import Given, trace_of
from hsd_viz.latency.law import MOST
from hsd_viz.stack import draft_sources
from hsd_viz.views import run_data
from hsd_viz.views.page_data import STACKS, page_palette
from hsd_viz.views.view import View


class Versus(View):
    """Two or three runs of one prompt and seed, side by side: a column for each output position, a row for each run.

    ``traces`` are the runs in order (:func:`hsd_viz.compare` decodes them). ``pinned`` is the pinned output position
    from 0 (-1: none), ``time`` the time of the race shown first, in milliseconds (-1: its end).
    """

    view = traitlets.Unicode("versus").tag(sync=True)
    runs = traitlets.List(traitlets.Dict()).tag(sync=True)
    titles = traitlets.Dict().tag(sync=True)
    sources = traitlets.Dict().tag(sync=True)
    pinned = traitlets.Int(-1).tag(sync=True)
    time = traitlets.Float(-1.0).tag(sync=True)
    palette = traitlets.Dict().tag(sync=True)

    def __init__(self, traces: Sequence[Given], **options: Any) -> None:
        super().__init__(palette=page_palette(), titles=dict(STACKS), sources=dict(draft_sources()), **options)
        self.show(traces)

    def show(self, traces: Sequence[Given]) -> None:
        """Show these runs in order."""
        with self.hold_sync():
            self.pinned = -1
            self.runs = [run_data.snapshot(trace_of(trace), "ABCDEFGH"[k % 8]) for k, trace in enumerate(traces)]


# --- verification rules -----------------------------------------------------------------------------------------------


class RuleLab(View):
    """One draft, six rules: token, block and branch verification, sampler-match (the target's own draw equals the
    draft), and two that are not lossless: typical acceptance, and branch verification without the cap of a whole draft.

    ``p`` is the target's probability of each of ``tokens``; the draft model's row is between it and its reverse order,
    by ``disagreement``. ``epsilon`` is the threshold of typical acceptance, ``seed`` selects the draft.
    """

    view = traitlets.Unicode("rule_lab").tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode(), ["the", "a", "one", "no"], minlen=2, maxlen=5).tag(sync=True)
    p = traitlets.List(traitlets.Float(min=0, max=1), [0.5, 0.25, 0.15, 0.1], minlen=2, maxlen=5).tag(sync=True)
    lookahead = traitlets.Int(3, min=1, max=3).tag(sync=True)
    disagreement = traitlets.Float(0.4, min=0, max=1).tag(sync=True)
    epsilon = traitlets.Float(0.2, min=0.001, max=1).tag(sync=True)
    seed = traitlets.Int(93, min=0, max=2**31 - 1).tag(sync=True)


# --- the latency law --------------------------------------------------------------------------------------------------


class OneDraftWhatIf(View):
    """One draft model: speed over plain decoding by ``lookahead``, for an ``acceptance``, a ``cost`` per draft token
    and a ``slope`` per verified token (both in target forward passes), each with a slider.

    ``basis``, if given, adds the calibrated draft models as presets.
    """

    view = traitlets.Unicode("one_draft").tag(sync=True)
    acceptance = traitlets.Float(0.7, min=0, max=0.99).tag(sync=True)
    cost = traitlets.Float(0.15, min=0, max=1).tag(sync=True)
    lookahead = traitlets.Int(4, min=1, max=MOST).tag(sync=True)
    slope = traitlets.Float(0.02, min=0, max=0.5).tag(sync=True)
    presets = traitlets.List(traitlets.Dict()).tag(sync=True)
    source = traitlets.Unicode().tag(sync=True)

    def __init__(self, basis: Any = None, *, source: str = "", **values: Any) -> None:
        super().__init__(**({} if basis is None else one_draft_state(basis_of(basis, source))) | values)


def one_draft_state(basis: Basis) -> dict[str, Any]:
    """Return the presets of a calibration, and the values of the last one. Costs are in one-token forward passes of the
    target, launch and overheads included; the slope is that of one more token over the first four.
    """
    known = basis.calibration
    cost = known.costs[known.target]
    one = cost.verifying(1)
    # Kept to the sliders' steps, so that a preset stays recognised.
    fitted = lambda value, step, top: round(min(top, round(max(0.0, value) / step) * step), 6)
    presets = [
        {
            "name": draft,
            "acceptance": fitted(rate(known.edge(draft, known.target)), 0.01, 0.99),
            "cost": fitted(known.costs[draft].alone(USUAL) / USUAL / (one + cost.overhead), 0.005, 1.0),
            "slope": fitted((cost.verifying(5) - one) / 4 / (one + cost.overhead), 0.01, 0.5),
        }
        for draft, verifier in known.edges
        if verifier == known.target
    ]
    chosen = {name: value for name, value in presets[-1].items() if name != "name"} if presets else {}
    return {"presets": presets, "source": basis.predicted, **chosen}
