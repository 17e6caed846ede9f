"""HTML pages that open offline: the complete page of a run or a comparison, or single views within
a text.

A page contains the bundle and its content (``js/page/start.ts``), encoded with gzip and base64 so
that no text can close the element. Its content security policy forbids connections.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets

from hsd_viz.disk import write_whole
from hsd_viz.errors import UserError
from hsd_viz.figures.pictures import CARTESIAN, WHOLE, check_drawn, picture, script
from hsd_viz.figures.theme import Given, as_trace, checked_ending, dark_of
from hsd_viz.figures.theme import save as save_figure
from hsd_viz.results.page import template
from hsd_viz.views import run_data
from hsd_viz.views.page_data import BUNDLE, STATIC, about

#: Maximum number of runs of a comparison, as on the page.
MAX_COMPARED_RUNS = 3
_SKIPPED = {*widgets.DOMWidget.class_trait_names(), "bundle"}


def run_page(trace: Given, *others: Given) -> str:
    """Return a self-contained page of a run, or of two or three runs and their comparison, as
    ``hsd-viz export`` writes it. Each run is a trace or the path of its file.

    Raises:
        UserError: if there are more than three runs.
    """
    if len(others) >= MAX_COMPARED_RUNS:
        raise UserError(
            f"{1 + len(others)} runs are too many to compare: give at most {MAX_COMPARED_RUNS}"
        )
    traces = {f"runs/{k}": as_trace(one) for k, one in enumerate((trace, *others))}
    shown = []
    for name, run in traces.items():
        day = f" of {str(run.meta['created'])[:10]}" if run.meta.get("created") else ""
        blurb = f"A recorded run{day}. All values were measured in it."
        if source := run.meta.get("imported"):
            blurb = f"A request as {source['engine']} recorded it: rounds, without tokens."
        shown.append(
            {
                "name": name,
                "title": run.stack or "a recorded run",
                "blurb": blurb,
                "stack": run.stack,
            }
        )
    race = {
        "group": "runs",
        "title": "as exported",
        "prompt": traces["runs/0"].prompt,
        "runs": shown,
    }
    page = about() | {
        "recordings": shown,
        "races": [race] if len(traces) > 1 else [],
        "games": [],
        "languages": {},
    }
    runs = {name: run_data.snapshot(run, name) for name, run in traces.items()}
    title = " · ".join(entry["title"] for entry in shown)
    return document({"about": page, "runs": runs}, '<main class="hsd-page"></main>', title)


class Exported:
    """Mixin that exports a view: :meth:`save` and :meth:`to_html`."""

    def to_html(self, *, dark: bool | None = None) -> str:
        """Return the view as an HTML page that opens offline and makes no network requests.

        Controls that need Python are left out. ``dark`` selects the theme; ``None`` follows the
        browser.
        """
        return self._page(dark)

    def _page(self, dark: bool | None, then: str = "") -> str:
        """Return the page. For pictures, ``then`` is ``height`` or ``drawing``, which the page
        writes to ``<pre id="result">``.
        """
        if not (parts := parts_of(self)):
            raise UserError(f"{type(self).__name__} contains no view to export")
        columns = f"repeat({getattr(self, 'cols', 1)}, minmax(0, 1fr))"
        boxes = "".join(f'<div id="view-{k}"></div>' for k in range(len(parts)))
        body = f'<main class="hsd-still" style="grid-template-columns: {columns}">{boxes}</main>'
        return document(content_of(parts) | {"then": then}, body, type(self).__name__, dark=dark)

    def save(
        self, path: str | Path, *, dark: bool | None = None, width: int = 960, scale: float = 2.0
    ) -> Path:
        """Write the view as ``.html`` (interactive), ``.png``, ``.pdf`` (as printed) or, for a
        chart, ``.svg``, and return the path.

        Pictures need Chromium or Chrome (``$BROWSER_PATH`` names another browser). ``width`` is in
        CSS pixels; ``scale`` is the number of PNG pixels per CSS pixel.

        Raises:
            UserError: if the suffix of the path is another one.
            RuntimeError: if there is no browser.
        """
        path = Path(path).expanduser()
        ending = checked_ending(path)
        figure = getattr(self, "figure", None)
        if ending == ".html":
            write_whole(path, self.to_html(dark=dark))
        elif figure is not None:
            save_figure(dark_of(figure) if dark else figure, path, width=width, scale=scale)
        elif ending == ".svg":
            check_drawn(type(self).__name__, [getattr(part, "view", "") for part in parts_of(self)])
            write_whole(path, picture(self._page(bool(dark), "drawing"), ending, width))
        else:
            write_whole(path, picture(self._page(bool(dark), "height"), ending, width, scale))
        return path


def content_of(parts: Sequence[Any]) -> dict[str, Any]:
    """Return the content of a page with views and figures. The page draws part k into the element
    ``view-k``.
    """
    shown: list[Any] = []
    scripts: list[str] = []
    styles: list[str] = []
    for k, part in enumerate(parts):
        own = {"view": part.view} if getattr(part, "view", "") else {"script": len(scripts)}
        if "script" in own:  # a view of another package has its own script and style
            scripts.append(str(part._esm))
            styles.append(str(getattr(part, "_css", "")))
        shown.append({"at": f"view-{k}", "state": _state(part), **own})
    content: dict[str, Any] = {"views": shown, "scripts": scripts, "styles": styles}
    names = {part.library for part in parts if getattr(part, "library", "")}
    if names:
        content["library"] = script(WHOLE if WHOLE in names else CARTESIAN)
    return content


def document(
    content: dict[str, Any], body: str, title: str, *, style: str = "", dark: bool | None = None
) -> str:
    """Return a page with ``content`` for the bundle. ``body`` is HTML."""
    styles = [(STATIC / "page.css").read_text(encoding="utf-8"), *content.pop("styles", []), style]
    # Only these sequences could end the script element early or keep it open.
    if re.search(r"<(/script|script|!--)", BUNDLE, re.IGNORECASE):
        raise ValueError("the bundle of the page would end its own script element")
    packed = ""  # a page without views needs no script
    if content.get("views") or content.get("about"):
        # Nine significant digits represent a probability (float32) exactly.
        short = json.loads(
            json.dumps(content), parse_float=lambda text: float(f"{float(text):.9g}")
        )
        text = json.dumps(short, ensure_ascii=True, separators=(",", ":"))
        packed = base64.b64encode(gzip.compress(text.encode("ascii"), mtime=0)).decode("ascii")
    values = {
        "body": body,
        "title": title,
        "dark": dark,
        "content": packed,
        "server": content.get("server"),
    }
    return template("document.html").render(
        values, bundle=BUNDLE, styles="\n".join(styles).replace("</", "<\\/")
    )


def parts_of(view: Any) -> list[Any]:
    """Return the views and figures of a view or a box, in order."""
    if isinstance(view, anywidget.AnyWidget):
        return [view]
    parts = []
    for child in getattr(view, "children", ()):
        parts += parts_of(child)
    return parts


def _state(part: anywidget.AnyWidget) -> dict[str, Any]:
    state = {
        k: v for k, v in part.get_state().items() if not k.startswith("_") and k not in _SKIPPED
    }
    if not state.get("data", True) and (
        trace := getattr(part, "trace", None)
    ):  # the run of its group
        state["data"] = run_data.snapshot(trace, "shown")
    return state
