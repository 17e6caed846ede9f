"""The built scripts of the views (their sources are in ``js/``), and the base of all widgets drawn by them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import traitlets

STATIC = Path(__file__).parent / "static"
#: All views in one module.
BUNDLE = (STATIC / "hsd-viz.js").read_text(encoding="utf-8")
_PACKED = gzip.compress(BUNDLE.encode("utf-8"), mtime=0)


class _Bundle(widgets.Widget):
    """The packed module of all views, which a page gets once."""

    code = traitlets.Bytes(_PACKED).tag(sync=True)


_bundles: list[_Bundle] = []


def _bundle() -> _Bundle:
    if not _bundles or _bundles[0].comm is None:
        _bundles[:] = [_Bundle()]
    return _bundles[0]


class Part(anywidget.AnyWidget):
    """A widget drawn by the view named ``view`` of the one module (``js/hsd-viz.ts``).

    A subclass with an ``_esm`` of its own is drawn by that.
    """

    _esm = (STATIC / "loader.js").read_text(encoding="utf-8")

    view = traitlets.Unicode().tag(sync=True)
    bundle = traitlets.Instance(widgets.Widget).tag(sync=True, **widgets.widget_serialization)

    def __init__(self, **options: Any) -> None:
        super().__init__(bundle=_bundle(), **options)
        self.on_msg(self._send_bundle)

    def _send_bundle(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Send the module to a page that does not have the model of the bundle."""
        if isinstance(content, dict) and content.get("kind") == "bundle":
            self.send({"kind": "bundle"}, [_PACKED])
