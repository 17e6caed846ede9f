"""Save the run on the page to a file, and open a trace file."""

from __future__ import annotations

from collections.abc import Callable

from hsd_viz.trace import Trace
from hsd_viz.views.notice import Notice
from hsd_viz.views.open_file import OpenFile
from hsd_viz.views.open_trace import read_trace
from hsd_viz.views.reports import MAX_BYTES
from hsd_viz.views.save import Save
from hsd_viz.views.save_forms import FORMS, SavedFile, saved


class Files:
    """The two buttons, ``open`` and ``save``.

    ``run()`` returns the run to save or ``None``, ``opened(trace, name)`` receives an opened run. Errors go to
    ``notice`` and leave the page unchanged. Both are disabled while ``busy``.
    """

    def __init__(self, run: Callable[[], Trace | None], opened: Callable[[Trace, str], None], notice: Notice) -> None:
        self._run, self._opened, self._notice = run, opened, notice
        self.open = OpenFile(
            "Open a trace", ".json,.gz,application/json,application/gzip", MAX_BYTES, self._on_file, self._refuse, True
        )
        self.save = Save(FORMS, self._make, lambda error: notice.error(error, "Save failed"))

    @property
    def busy(self) -> bool:
        """Whether a run is in progress."""
        return self.save.disabled

    @busy.setter
    def busy(self, busy: bool) -> None:
        self.save.disabled = busy

    def _make(self, form: str) -> SavedFile:
        trace = self._run()
        if trace is None or not len(trace):
            raise ValueError("no run to save")
        return saved(trace, form)

    def _on_file(self, content: bytes, name: str) -> None:
        try:
            if self.busy:
                raise ValueError("a run is in progress: open the file after it ends")
            trace = read_trace(content, name)
        except ValueError as error:
            self._refuse(error)
            return
        self._notice.clear()
        self._notice.guard(self._opened)(trace, name)

    def _refuse(self, error: ValueError) -> None:
        self._notice.error(error, "Open failed")
