"""A form that starts and cancels work with the page's engine in a worker thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import ipywidgets as widgets

from hsd_viz.views.controls import Prose
from hsd_viz.views.notice import Notice


class Host(Protocol):
    """The page: it lends its engine and starts nothing else meanwhile.

    ``model_names`` are the allowed models (``None``: any). ``hold()`` is false during a run.
    """

    @property
    def model_names(self) -> Sequence[str] | None: ...

    def hold(self) -> bool: ...

    def release(self) -> None: ...

    def lend_engine(self) -> Any: ...


class WorkForm(widgets.VBox):
    """Fields, start and cancel buttons, a status line, and an error card.

    A subclass creates its fields, arranges them with :meth:`lay_out`, and returns the work from :meth:`prepare`. The
    work runs in :attr:`thread` and polls ``self.cancelled``.
    """

    #: (label, tooltip) of the start button; tooltip and status of the cancel button; error during a run; title of the
    #: error card.
    START = ("", "")
    CANCEL = ("", "")
    TAKEN = ""
    FAILED = ""

    def __init__(self, host: Host, stacks: Sequence[str], label: str, rows: int) -> None:
        super().__init__()
        self._host = host
        self._stop = threading.Event()
        self.thread: threading.Thread | None = None
        self.notice, self.said = Notice(), Prose()
        self.stacks = widgets.Textarea("\n".join(stacks), description=label, rows=rows)
        self.stacks.add_class("hsd-code")
        self.stacks.add_class("hsd-lines")
        self.start = widgets.Button(description=self.START[0], tooltip=self.START[1])
        self.start.add_class("hsd-primary")
        self.cancel = widgets.Button(description="Cancel", tooltip=self.CANCEL[0], disabled=True)
        self.start.on_click(self.notice.guard(self._on_start))
        self.cancel.on_click(self.notice.guard(self._on_cancel))
        # An error is about the text that was there.
        self.stacks.observe(lambda _change: self.notice.clear(), "value")
        for name in ("hsd-form", "hsd-measure"):
            self.add_class(name)

    def lay_out(self, *fields: widgets.Widget, below: Sequence[widgets.Widget] = ()) -> None:
        """Arrange the fields, the buttons, the status line with ``below``, and the error card."""
        buttons = widgets.Box([self.start, self.cancel])
        buttons.add_class("hsd-buttons")
        self.children = (*fields, buttons, self.said, *below, self.notice)

    def prepare(self) -> Callable[[], str]:
        """Read the fields and return the work: a function run in the thread that returns the final status.

        Raises: ValueError: if a field is invalid. Errors of the work are shown.
        """
        raise NotImplementedError

    def cancelled(self) -> bool:
        """Whether the work was cancelled."""
        return self._stop.is_set()

    def going(self, going: bool) -> None:
        """Enable or disable the buttons."""
        self.start.disabled, self.cancel.disabled = going, not going

    def _on_start(self, _button: Any) -> None:
        self.notice.clear()
        work = self.prepare()
        if not self._host.hold():
            raise ValueError(self.TAKEN)
        self._stop.clear()
        self.going(True)
        self.said.value = "loading the models"
        self.thread = threading.Thread(
            target=self._work, args=(work,), name=f"hsd-viz {type(self).__name__}", daemon=True
        )
        self.thread.start()

    def _on_cancel(self, _button: Any) -> None:
        self._stop.set()
        self.said.value = self.CANCEL[1]

    def _work(self, work: Callable[[], str]) -> None:
        said = ""
        try:
            said = work()
        except Exception as error:  # shown as a card; otherwise it would be lost
            self.notice.error(error, self.FAILED)
        finally:
            self.said.value = said
            self.going(False)
            self._host.release()
