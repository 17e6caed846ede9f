"""A button that saves the run on the page as a browser download."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import traitlets

from hsd_viz.views.save_forms import Form, SavedFile
from hsd_viz.views.scripts import Part


class Save(Part):
    """A menu of ``forms`` by name (none for a single form); ``make(name)`` returns the selected form's file.

    The bytes are sent as a message to the script, which starts a download: no file on the server, no request. Errors of
    ``make`` go to ``refused``.
    """

    view = traitlets.Unicode("save").tag(sync=True)

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
        entries = [{"id": key, "label": f.label, "words": f.words, "ending": f.ending} for key, f in forms.items()]
        super().__init__(forms=entries, label=label)
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict) or content.get("kind") != "save" or self.disabled:
            return
        try:
            file = self._make(str(content.get("form")))
        except Exception as error:  # any error is shown, and the menu stays usable
            self.send({"kind": "failed"})
            self._refused(error)
            return
        self.send({"kind": "file", "name": file.name, "type": file.type}, [file.content])
