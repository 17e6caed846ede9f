"""Views of one run that share its data, one cursor and one selection, in the browser.

A *group* is one run and one cursor. Views whose ``group`` trait has the same value are of one group, wherever on the page they stand::

    stream, inspector = TokenStream(trace), RoundInspector()
    link(stream, inspector)          # one group; the trace travels once, with the first view that has one
    Player(group=stream.group)       # or so

**Data.** A view's ``data`` is what :func:`hsd_viz.views.payload.snapshot` makes of a trace, with the ``run`` it is of (any text, another
for another run) and ``seq`` (how many steps it holds). A view with empty ``data`` shows the run that another view of its group
publishes; one that is made before there is any run must draw itself empty and wait for the store's ``reset``.

**Cursor.** It lives in the browser and is of the group: hover previews, click or Enter pins, Esc lets go; ← → go by event, with Shift by
round, ``,`` ``.`` by token, Home and End to the ends, Space plays. An event is: a round's draft is put up; a draft token gets its
verdict; the round's own token is drawn. A target round is named by its id in the trace; ``token`` is an index into ``trace.token_rows``.

**Writing one.** A subclass states ``_esm = esm("name.js")`` and ``_css = css("name.css")``. Its script stands, plainly concatenated,
behind ``static/linked_run.js`` (the run and its events, pure) and ``static/linked.js`` (text, colours, theme, groups; its head has the
interface) and ends in ``export default linkedWidget(({ model, root, group, store, palette }) => { …; return cleanup; })``. It
draws into ``root``, listens to ``store.listeners`` (``(what, from)``: ``"reset"``, ``"append"``) and ``group.listeners``
(``(cursor, before)``), moves the cursor with ``group.hover``, ``group.pin`` and ``group.go`` only, and takes its listeners away in
``cleanup``. Keys come to ``root`` by themselves from whatever in it has the focus (``focusable(node)``). No build, no import; pure
functions may be exported by name: ``tests/js`` loads them in node as they are.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict
from typing import Any

import anywidget
import traitlets

from hsd_viz.trace import Trace
from hsd_viz.views import payload
from hsd_viz.views.palette import BASELINES, DATABASES, HUES
from hsd_viz.views.scripts import joined

#: What stands in front of every linked view's script.
SHARED = ("dom.js", "linked_run.js", "linked.js")


def esm(*names: str) -> str:
    """The script of a linked view, in one file or several, with what all of them share in front of it: each widget is whole by itself."""
    return joined(*SHARED, *names)


def css(name: str) -> str:
    """The style sheet of a linked view, likewise."""
    return joined("linked.css", name)


def page_palette() -> dict[str, Any]:
    """The palette as the browser gets it."""
    return {
        "hues": {name: asdict(hue) for name, hue in HUES.items()},
        "rivals": list(BASELINES),
        "databases": list(DATABASES),
    }


class LinkedView(anywidget.AnyWidget):
    """A view of a run in a group. ``trace``: publish this one; ``None``: show what the group has. ``group`` ``None``: one of its own."""

    group = traitlets.Unicode().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    palette = traitlets.Dict().tag(sync=True)

    def __init__(self, trace: Trace | None = None, group: str | None = None, **options: Any) -> None:
        super().__init__(palette=page_palette(), group=group or uuid.uuid4().hex, **options)
        if trace is not None:
            self.show(trace)

    def show(self, trace: Trace) -> None:
        """Show a whole trace, here and in the other views of the group."""
        self.data = {"run": uuid.uuid4().hex, "seq": 1, **payload.snapshot(trace)}


def link(*views: LinkedView, group: str | None = None) -> str:
    """Put views into one group, whose name is returned; ``None``: the first view's. The first view that has a trace publishes it."""
    if not views:
        raise ValueError("there is nothing to link: give the views that shall share a run and a cursor")
    name = group or views[0].group
    published = False
    for view in views:
        if published and view.data:
            view.data = {}
        published = published or bool(view.data.get("tokens"))
        view.group = name
    return name
