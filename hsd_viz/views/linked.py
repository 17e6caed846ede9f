"""Views of one or several runs. Views of the same run share the run, a cursor and a selection in
the browser.

A *group* consists of one run and one cursor. Views with the same ``group`` trait share a group::

    stream, inspector = TokenStream(trace), RoundInspector()
    link(stream, inspector)          # one group; the first view with a trace publishes it
    Staircase(group=stream.group)    # equivalent

The cursor lives in the browser: hovering previews, a click or Enter pins, Esc unpins; ← → move by
event, with Shift by round, ``,`` ``.`` by token, Home and End to the ends, and Space plays. Target
rounds are identified by their id in the trace; ``token`` is an index of ``trace.token_rows``.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from hsd_viz.errors import UserError
from hsd_viz.figures.theme import Given, as_trace
from hsd_viz.stack import draft_sources
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.page_data import page_palette
from hsd_viz.views.view import Composition, View, compose

if TYPE_CHECKING:
    import pandas as pd

#: All linked views, to find the run of a group.
_VIEWS: weakref.WeakSet[LinkedView] = weakref.WeakSet()


class LinkedView(View):
    """A view of the run of a group.

    The trait ``cursor`` is the place of the cursor: ``{"token": index, "round": id,
    "pinned": bool}``, or empty. It can be observed and set. Of several views of a group, the
    browser sets the trait of the first one.

    Args:
        trace: a trace, or the path of its file, to publish to the group. ``None``: show the run of
            the group.
        group: the name of the group. ``None``: a new group.
        **options: further traits of the view.
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
        """The trace shown: that of the view, or else of its group; ``None``: there is none."""
        return next(
            (view._shown for view in self._group() if view._shown is not None and view.data), None
        )

    @property
    def selection(self) -> pd.DataFrame:
        """The tokens of the round under the cursor, as in ``trace.tokens``."""
        # The browser sets the cursor of only one view of a group.
        round_id = next(
            (view.cursor["round"] for view in self._group() if "round" in view.cursor), None
        )
        frame = (self.trace or Trace({})).frame("tokens")
        return frame[frame["round"] == round_id]

    def show(self, trace: Given) -> None:
        """Show a trace in all views of the group."""
        self._shown = as_trace(trace)
        self.cursor = {}
        self.data = run_data.snapshot(self._shown, uuid.uuid4().hex)


def link(*views: LinkedView, group: str | None = None) -> str:
    """Join views into a group (default: that of the first view), and return its name. The group
    shows the first trace.
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
    """The text of a run by token.

    ``pinned`` is the index of the pinned token (-1: none). ``details`` shows rejected drafts, the
    beginnings of rounds, and the numbers of a token.
    """

    view = traitlets.Unicode("stream").tag(sync=True)
    pinned = traitlets.Int(-1).tag(sync=True)
    live = traitlets.Bool(False).tag(sync=True)
    details = traitlets.Bool(True).tag(sync=True)


class Staircase(LinkedView):
    """A run as a staircase over time, with tokens upwards, and a player.

    The tread of a round is its duration, the riser its tokens, coloured by source; the slope is the
    speed. The ramp behind it is plain decoding if that was measured with the run. In a run without
    times, all rounds have the same width.
    """

    view = traitlets.Unicode("staircase").tag(sync=True)


class RoundInspector(LinkedView):
    """A round as a scene: draft tokens rise through the levels, and each level stops those that it
    rejects. Below are the computation of each verdict, and p and q at its position as a dart board.
    """

    view = traitlets.Unicode("scene").tag(sync=True)


class Timeline(LinkedView):
    """A run over time: the tokens of each round by source, the draft tokens of each database
    (counted at the first verifier), and the calls of each level. The *share* of a lane is the time
    of its calls over the time of the decode, prefill included.
    """

    view = traitlets.Unicode("timeline").tag(sync=True)


class Panels(LinkedView):
    """Counts of a run as tables with bars.

    ``which`` names the tables: ``ribbons`` (tokens that survive each level, by source),
    ``byPosition``, ``perRound``, ``byMatch``, and ``inText`` (ways to find the next token in the
    text before it, for a run with the semantic database).
    """

    view = traitlets.Unicode("panels").tag(sync=True)
    which = traitlets.List(traitlets.Unicode(), ["byPosition", "perRound", "ribbons"]).tag(
        sync=True
    )


class LocalityMap(LinkedView):
    """Copy arcs: the tokens of the text in a row, coloured by source, and an arc from each copied
    passage to its origin.
    """

    view = traitlets.Unicode("locality_map").tag(sync=True)


class DraftGame(View):
    """Beat the drafter: guess what the model of a run wrote next. One pass verifies the guess, and
    stairs of passes, then of time, grow beside those of other runs of the same text.

    ``trace`` is a run of the target alone with greedy decoding, ``others`` are runs by player:
    ``copying``, ``nano`` or a name that is shown. ``asked`` is the question (default: the prompt),
    ``given`` the beginning of the text (default: its first token), ``lesson`` a sentence after it,
    ``passes`` how many passes the visitor has.
    """

    view = traitlets.Unicode("game").tag(sync=True)
    runs = traitlets.Dict().tag(sync=True)
    palette = traitlets.Dict().tag(sync=True)
    asked = traitlets.Unicode().tag(sync=True)
    given = traitlets.Unicode().tag(sync=True)
    lesson = traitlets.Unicode().tag(sync=True)
    passes = traitlets.Int(3, min=1).tag(sync=True)

    def __init__(
        self,
        trace: Given,
        others: Mapping[str, Given] | None = None,
        *,
        asked: str = "",
        given: str = "",
        lesson: str = "",
        passes: int = 3,
    ) -> None:
        runs = {"plain": trace} | dict(others or {})
        super().__init__(
            palette=page_palette(),
            runs={player: run_data.snapshot(as_trace(run), player) for player, run in runs.items()},
            asked=asked,
            given=given,
            lesson=lesson,
            passes=passes,
        )


class Versus(View):
    """Two or three runs of one prompt and seed side by side, with a column per output position and
    a row per run.

    ``traces`` are the runs in order (:func:`hsd_viz.compare` decodes them). ``pinned`` is the
    pinned output position from 0 (-1: none). ``time`` is the initial time of the race in
    milliseconds (-1: the race plays once when it is first visible).
    """

    view = traitlets.Unicode("versus").tag(sync=True)
    runs = traitlets.List(traitlets.Dict()).tag(sync=True)
    sources = traitlets.Dict().tag(sync=True)
    pinned = traitlets.Int(-1).tag(sync=True)
    time = traitlets.Float(-1.0).tag(sync=True)
    palette = traitlets.Dict().tag(sync=True)

    def __init__(self, traces: Sequence[Given], **options: Any) -> None:
        super().__init__(
            palette=page_palette(),
            sources=dict(draft_sources()),
            **options,
        )
        self.show(traces)

    def show(self, traces: Sequence[Given]) -> None:
        """Show runs in this order."""
        with self.hold_sync():
            self.pinned = -1
            self.runs = [
                run_data.snapshot(as_trace(trace), "ABCDEFGH"[k % 8])
                for k, trace in enumerate(traces)
            ]


def overview(trace: Given) -> Composition:
    """Return the text, staircase, rounds and timeline of a run with one cursor. ``trace`` is a
    trace or the path of its file.
    """
    stream = TokenStream(trace)
    return compose(
        [stream, *(view(group=stream.group) for view in (Staircase, RoundInspector, Timeline))],
        cols=1,
    )
