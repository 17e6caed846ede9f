"""A button that keeps the run on the page as a file, where the browser puts its downloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets

from hsd_viz.views.save_forms import Form, SavedFile
from hsd_viz.views.scripts import STATIC


class Save(anywidget.AnyWidget):
    """A menu of ``forms``, by name; ``make(name)`` is called for the one that a reader chose, and returns its file. A single form needs
    no menu: the button asks for it.

    The bytes travel as a message to the script, which hands them to the browser: no file lies on the server, no address is asked.
    What ``make`` raises goes to ``refused``.
    """

    _esm = STATIC / "save.js"
    _css = STATIC / "save.css"

    label = traitlets.Unicode("Save").tag(sync=True)
    forms = traitlets.List().tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        forms: Mapping[str, Form],
        make: Callable[[str], SavedFile],
        refused: Callable[[Exception], None],
        label: str = "Save",
    ) -> None:
        self._make, self._refused = make, refused
        told = [{"id": key, "label": f.label, "words": f.words, "ending": f.ending} for key, f in forms.items()]
        super().__init__(forms=told, label=label)
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict) or content.get("kind") != "save" or self.disabled:
            return
        try:
            file = self._make(str(content.get("form")))
        except Exception as error:  # whatever it is, the reader hears of it and the menu works again
            self.send({"kind": "failed"})
            self._refused(error)
            return
        self.send({"kind": "file", "name": file.name, "type": file.type}, [file.content])
