"""Views of a run, or of several; those of one run share it, a cursor and a selection in the
browser.

A *group* is one run and one cursor. Views with the same ``group`` trait belong to one group::

    stream, inspector = TokenStream(trace), RoundInspector()
    link(stream, inspector)          # one group; the first view with a trace publishes it
    Staircase(group=stream.group)    # equivalent

The cursor is held in the browser: hover previews, click or Enter pins, Esc unpins; ← → move by
event, with Shift by round, ``,`` ``.`` by token, Home and End to the ends, Space plays. A target
round has its trace id; ``token`` indexes ``trace.token_rows``.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from hsd_viz.errors import UserError
from hsd_viz.figures.theme import Given, trace_of
from hsd_viz.stack import draft_sources
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.page_data import ABOUT, page_palette
from hsd_viz.views.view import Composition, View, compose

if TYPE_CHECKING:
    import pandas as pd

#: All linked views, to find the run of a group.
_VIEWS: weakref.WeakSet[LinkedView] = weakref.WeakSet()


class LinkedView(View):
    """A view of a run in a group. ``trace`` (or the path of its file): publish it; ``None``: show
    the group's run. ``group`` ``None``: a new group.

    ``cursor`` is the place under the cursor: ``{"token": index, "round": id, "pinned": bool}``,
    empty without one. It can be observed and set; of several views with one group the browser sets
    that of the first.
    """

    group = traitlets.Unicode().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    palette = traitlets.Dict().tag(sync=True)
    cursor = traitlets.Dict().tag(sync=True)

    def __init__(
        self, trace: Given | None = None, group: str | None = None, **options: Any
    ) -> None:
        self._shown: Trace | None = None
        super().__init__(palette=page_palette(), group=group or uuid.uuid4().hex, **options)
        _VIEWS.add(self)
        if trace is not None:
            self.show(trace)

    def _group(self) -> list[LinkedView]:
        return [
            self,
            *(view for view in list(_VIEWS) if view is not self and view.group == self.group),
        ]

    @property
    def trace(self) -> Trace | None:
        """The trace shown: the view's own, or that of its group; ``None`` without one."""
        return next(
            (view._shown for view in self._group() if view._shown is not None and view.data), None
        )

    @property
    def selection(self) -> pd.DataFrame:
        """The tokens of the round under the cursor, as in ``trace.tokens``."""
        # The browser sets the traits of one view of a group.
        here = next(
            (view.cursor["round"] for view in self._group() if "round" in view.cursor), None
        )
        frame = (self.trace or Trace({})).frame("tokens")
        return frame[frame["round"] == here]

    def show(self, trace: Given) -> None:
        """Show a whole trace in all views of the group."""
        self._shown = trace = trace_of(trace)
        self.cursor = {}
        self.data = run_data.snapshot(trace, uuid.uuid4().hex)


def link(*views: LinkedView, group: str | None = None) -> str:
    """Join views into a group (default: the first view's) and return its name; the first trace
    is shown.
    """
    if not views:
        raise UserError("link() needs at least one view")
    first = next((view for view in views if view.data), None)
    name = group or views[0].group
    for view in views:
        if view is not first:
            view.data = {}
        view.group = name
    return name


class TokenStream(LinkedView):
    """The text of a decode by token. ``pinned``: index of the pinned token (-1: none);
    ``details``: rejected drafts, where rounds begin, and the numbers of a token.
    """

    view = traitlets.Unicode("stream").tag(sync=True)
    pinned = traitlets.Int(-1).tag(sync=True)
    live = traitlets.Bool(False).tag(sync=True)
    details = traitlets.Bool(True).tag(sync=True)


class Staircase(LinkedView):
    """A run as a staircase: time across, tokens up, with a player.

    A tread is what a round cost, a riser what it brought, coloured by source; the slope is the
    speed. The ramp behind it is plain decoding, where that was measured beside the run. Rounds of a
    run without times have one width.
    """

    view = traitlets.Unicode("staircase").tag(sync=True)


class RoundInspector(LinkedView):
    """One round as a scene: drafts rise through the levels, each stops the tokens that it rejects.
    Below are the computation of each verdict, and p and q of its position as a dart board.
    """

    view = traitlets.Unicode("scene").tag(sync=True)


class Timeline(LinkedView):
    """A run over time: tokens of each round by source, drafts of each database (counted at the
    first verifier), calls of each level. A lane's *share* is its calls' time over the time of the
    whole decode, prefill included.
    """

    view = traitlets.Unicode("timeline").tag(sync=True)


class Panels(LinkedView):
    """Counts of a run as tables with bars; ``which`` names them: ``ribbons`` (what survives each
    level, by source), ``byPosition``, ``perRound``, ``byMatch``, ``inText`` (where the next token
    was in the text before it, of a run with the semantic database).
    """

    view = traitlets.Unicode("panels").tag(sync=True)
    which = traitlets.List(traitlets.Unicode(), ["byPosition", "perRound", "ribbons"]).tag(
        sync=True
    )


class LocalityMap(LinkedView):
    """Copy arcs: the sources of the text's tokens in a row, and an arc from each copied passage
    to its origin.
    """

    view = traitlets.Unicode("locality_map").tag(sync=True)


class DraftGame(LinkedView):
    """Let the visitor propose the next tokens of a run, which its recorded target verifies: a
    proposal is compared with the tokens that the target drew, as exact for greedy decoding and for
    point-mass drafts.
    """

    view = traitlets.Unicode("drafter").tag(sync=True)
    others = traitlets.List(traitlets.Dict()).tag(sync=True)


class Versus(View):
    """Two or three runs of one prompt and seed, side by side: a column for each output position, a
    row for each run.

    ``traces`` are the runs in order (:func:`hsd_viz.compare` decodes them). ``pinned`` is the
    pinned output position from 0 (-1: none), ``time`` the time of the race shown first, in
    milliseconds (-1: it plays once when it is first seen).
    """

    view = traitlets.Unicode("versus").tag(sync=True)
    runs = traitlets.List(traitlets.Dict()).tag(sync=True)
    titles = traitlets.Dict().tag(sync=True)
    sources = traitlets.Dict().tag(sync=True)
    pinned = traitlets.Int(-1).tag(sync=True)
    time = traitlets.Float(-1.0).tag(sync=True)
    palette = traitlets.Dict().tag(sync=True)

    def __init__(self, traces: Sequence[Given], **options: Any) -> None:
        super().__init__(
            palette=page_palette(),
            titles=dict(ABOUT["stacks"]),
            sources=dict(draft_sources()),
            **options,
        )
        self.show(traces)

    def show(self, traces: Sequence[Given]) -> None:
        """Show these runs in order."""
        with self.hold_sync():
            self.pinned = -1
            self.runs = [
                run_data.snapshot(trace_of(trace), "ABCDEFGH"[k % 8])
                for k, trace in enumerate(traces)
            ]


def overview(trace: Given) -> Composition:
    """Return the text, staircase, rounds and timeline of a run, or of the path of its file, with
    one cursor.
    """
    stream = TokenStream(trace)
    return compose(
        [stream, *(view(group=stream.group) for view in (Staircase, RoundInspector, Timeline))],
        cols=1,
    )
