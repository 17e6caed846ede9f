"""Errors that people can see. Voilà swallows what a callback raises: here it becomes a card on the page."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from hsd_viz.views.scripts import STATIC


class Notice(anywidget.AnyWidget):
    """A card with one sentence and, for errors that nobody expected, the details behind a toggle. Hidden while empty."""

    _esm = STATIC / "notice.js"

    title = traitlets.Unicode("").tag(sync=True)
    message = traitlets.Unicode("").tag(sync=True)
    details = traitlets.Unicode("").tag(sync=True)

    def error(self, error: BaseException, expected_title: str = "That cannot be run") -> None:
        """Show an error. A ``ValueError`` speaks for itself, under ``expected_title``; anything else brings its traceback."""
        expected = isinstance(error, ValueError)
        details = "" if expected else "".join(traceback.format_exception(error))
        message = str(error).strip() or type(error).__name__
        title = expected_title if expected else f"Something went wrong ({type(error).__name__})"
        with self.hold_sync():
            self.title, self.details, self.message = title, details, message

    def clear(self) -> None:
        """Put the card away."""
        self.message = ""

    def guard(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """The same callback, with whatever it raises shown here instead of lost."""

        @functools.wraps(callback)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            try:
                return callback(*args, **kwargs)
            except Exception as error:
                self.error(error)
                return None

        return guarded
