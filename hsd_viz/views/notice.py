"""Visible errors: Voilà hides exceptions of callbacks, so they are shown as a card on the page."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

import traitlets

from hsd_viz.views.scripts import Part


class Notice(Part):
    """An error card; unexpected errors have their traceback behind a toggle. Hidden while empty."""

    view = traitlets.Unicode("notice").tag(sync=True)

    title = traitlets.Unicode("").tag(sync=True)
    message = traitlets.Unicode("").tag(sync=True)
    details = traitlets.Unicode("").tag(sync=True)

    def error(self, error: BaseException, expected_title: str = "Run failed") -> None:
        """Show an error: a ``ValueError`` as its message under ``expected_title``, any other with its traceback."""
        expected = isinstance(error, ValueError)
        details = "" if expected else "".join(traceback.format_exception(error))
        message = str(error).strip() or type(error).__name__
        title = expected_title if expected else f"Unexpected error ({type(error).__name__})"
        with self.hold_sync():
            self.title, self.details, self.message = title, details, message

    def clear(self) -> None:
        """Hide the card."""
        self.message = ""

    def guard(self, callback: Callable[..., Any], expected_title: str = "Run failed") -> Callable[..., Any]:
        """Wrap a callback so that its errors are shown here (:meth:`error`)."""

        @functools.wraps(callback)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            try:
                return callback(*args, **kwargs)
            except Exception as error:
                self.error(error, expected_title)
                return None

        return guarded
