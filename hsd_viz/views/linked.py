"""Views that share one run, one cursor and one selection in the browser.

A *group* is one run and one cursor. Views with the same ``group`` trait belong to one group::

    stream, inspector = TokenStream(trace), RoundInspector()
    link(stream, inspector)          # one group; the first view with a trace publishes it
    Staircase(group=stream.group)    # equivalent

    **Data.** ``data`` is :func:`hsd_viz.views.run_data.snapshot` of a trace, with its ``run`` (an identifier) and
    ``seq`` (number of steps). A view with empty ``data`` shows the run published in its group; without a run it draws
    itself empty and waits for the store's ``reset``.

    **Cursor.** Held in the browser, per group: hover previews, click or Enter pins, Esc unpins; ← → move by event, with
    Shift by round, ``,`` ``.`` by token, Home and End to the ends, Space plays. Events: a round's draft is proposed; a
    draft token gets its verdict; the round's own token is drawn. A target round has its trace id; ``token`` indexes
    ``trace.token_rows``.

    **Adding a view.** A subclass sets the trait ``view`` to the name of a view of ``js/hsd-viz.ts``, whose folder
    ``js/name/`` has its script and style; ``npm run build`` makes the one module. Its
    ``index.ts`` ends in ``export default linkedWidget(({ model, root,
    group, store, palette }) => { …; return cleanup; })``. It draws into ``root``, listens to ``store.listeners``
    (``(what, from)``: ``"reset"``, ``"append"``) and ``group.listeners`` (``(cursor, before)``), moves the cursor only
    with ``group.hover``, ``group.pin`` and ``group.go``, and removes its listeners in ``cleanup``. Key events of
    focusable nodes (``focusable(node)``) reach ``root``.
"""

from __future__ import annotations

import uuid
import weakref
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import traitlets

from hsd_viz.drafting import drafters
from hsd_viz.figures.palette import DATABASES, HUES
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.doors import Given, View, trace_of

if TYPE_CHECKING:
    import pandas as pd


#: All linked views, to find the run of a group.
_VIEWS: weakref.WeakSet[LinkedView] = weakref.WeakSet()


def page_palette() -> dict[str, Any]:
    """Return the palette as sent to the browser, whose style sheet knows the colours of our own sources only."""
    return {
        "hues": {name: asdict(hue) for name, hue in HUES.items() if name not in drafters()},
        "baselines": [name for name in drafters() if name != "db"],
        "databases": list(DATABASES),
    }


class LinkedView(View):
    """A view of a run in a group.

    ``trace`` (or the path of its file): publish it; ``None``: show the group's run. ``group`` ``None``: a new group.

    ``cursor`` is the place under the cursor: ``{"token": index, "round": id, "pinned": bool}``, empty without one.
    ``selected`` are the ids of the selected target rounds. Both can be observed and set; of several views with one
    group the browser sets those of the first.
    """

    group = traitlets.Unicode().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    palette = traitlets.Dict().tag(sync=True)
    cursor = traitlets.Dict().tag(sync=True)
    selected = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self, trace: Given | None = None, group: str | None = None, **options: Any) -> None:
        self._shown: Trace | None = None
        super().__init__(palette=page_palette(), group=group or uuid.uuid4().hex, **options)
        _VIEWS.add(self)
        if trace is not None:
            self.show(trace)

    @property
    def trace(self) -> Trace | None:
        """The trace shown: the view's own, or that of its group; ``None`` without one."""
        group = [self, *(view for view in list(_VIEWS) if view is not self and view.group == self.group)]
        # During a live run the stream's data are those of its start.
        published = lambda view: run_data.has_tokens(view.data) or getattr(view, "live", False)
        return next((view._shown for view in group if view._shown is not None and published(view)), None)

    @property
    def selection(self) -> pd.DataFrame:
        """The tokens of the selected rounds (without a selection, of the cursor's round), as in ``trace.tokens``."""
        return self._rows("tokens", "round")

    @property
    def selected_rounds(self) -> pd.DataFrame:
        """The selected target rounds (without a selection, the cursor's), as in ``trace.rounds``."""
        return self._rows("rounds", "id")

    def _rows(self, table: str, column: str) -> pd.DataFrame:
        # The browser sets the traits of one view of a group.
        group = [self, *(view for view in list(_VIEWS) if view is not self and view.group == self.group)]
        trace, here = self.trace or Trace({}), next((v.cursor["round"] for v in group if "round" in v.cursor), None)
        chosen = next((v.selected for v in group if v.selected), [] if here is None else [here])
        frame = trace.frame(table)
        return frame[frame[column].isin(chosen)]

    def retire(self) -> None:
        """See :meth:`hsd_viz.views.doors.Doors.retire`."""
        super().retire()
        self._shown = None

    def shown_data(self) -> dict[str, Any]:
        """Return the data of the group's run, for a page of this view alone."""
        trace = self.trace
        return {} if trace is None else {"run": uuid.uuid4().hex, "seq": 1, **run_data.snapshot(trace)}

    def show(self, trace: Given) -> None:
        """Show a whole trace in all views of the group."""
        self._shown = trace = trace_of(trace)
        self.cursor, self.selected = {}, []
        self.data = {"run": uuid.uuid4().hex, "seq": 1, **run_data.snapshot(trace)}


def link(*views: LinkedView, group: str | None = None) -> str:
    """Join views into a group (default: the first view's) and return its name.

    The first view with a trace publishes it.
    """
    if not views:
        raise ValueError("link() needs at least one view")
    name = group or views[0].group
    published = False
    for view in views:
        if published and view.data:
            view.data = {}
        published = published or run_data.has_tokens(view.data)
        view.group = name
    return name
