"""A form on the page whose button starts work with the page's engine, in a thread of its own, and one that cancels it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import ipywidgets as widgets

from hsd_viz.views.controls import Prose
from hsd_viz.views.notice import Notice


class Host(Protocol):
    """The page that work is done on: it lends its engine, and starts nothing else meanwhile.

    ``model_names`` are the models allowed (``None``: any). ``hold()`` is false while a run goes on.
    """

    @property
    def model_names(self) -> Sequence[str] | None: ...

    def hold(self) -> bool: ...

    def release(self) -> None: ...

    def lend_engine(self) -> Any: ...


class WorkForm(widgets.VBox):
    """Fields for stacks and more, the two buttons, what is said of the work, and a card for what goes wrong.

    A subclass makes its fields, lays them out with :meth:`lay_out`, and says in :meth:`prepare` what is to be done. While
    work goes on its thread is :attr:`thread`; it looks at ``self.cancelled`` now and then.
    """

    #: What the buttons say and do, what they say when a run goes on already, and the title of the card.
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
        for name in ("hsd-form", "hsd-measure"):
            self.add_class(name)

    def lay_out(self, *fields: widgets.Widget, below: Sequence[widgets.Widget] = ()) -> None:
        """The fields, the buttons, what is said with ``below`` it, the card."""
        buttons = widgets.Box([self.start, self.cancel])
        buttons.add_class("hsd-buttons")
        self.children = (*fields, buttons, self.said, *below, self.notice)

    def prepare(self) -> Callable[[], str]:
        """What is to be done, read from the fields now: a call that does it and returns what is said then.

        Raises ``ValueError`` with one sentence where the fields will not do. The call runs in the thread; what it raises is shown.
        """
        raise NotImplementedError

    def cancelled(self) -> bool:
        """Whether the work was cancelled."""
        return self._stop.is_set()

    def going(self, going: bool) -> None:
        """Only what makes sense now can be pressed."""
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
        except Exception as error:  # shown as a card: nobody else hears of it
            self.notice.error(error, self.FAILED)
        finally:
            self.said.value = said
            self.going(False)
            self._host.release()
