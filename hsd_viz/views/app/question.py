"""Questions of the page, and building blocks of answers (``Part`` and files of ``js/host.ts``)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from hsd_viz.engine.access import Access
from hsd_viz.errors import UserError
from hsd_viz.trace import Trace

Part = dict[str, Any]
Answer = dict[str, Any]


class Send(Protocol):
    """Sends a message of progress with a kind and fields."""

    def __call__(self, kind: str, **content: Any) -> None: ...


@dataclass
class PageRequest:
    """A request of the page.

    Attributes:
        about: the topic.
        options: the settings of the question.
        files: the names and contents of the attached files.
        send: the function that sends a message of progress.
        run: the run that the question is about; ``None``: none.
        access: the models and files that the request may name.
        cancelled: an event that is set when the visitor cancels the request.
    """

    about: str
    options: dict[str, Any]
    files: list[tuple[str, bytes]]
    send: Send
    run: Trace | None
    access: Access
    cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def trace(self) -> Trace:
        """The run that the question is about.

        Raises:
            UserError: if there is none.
        """
        if self.run is None or not len(self.run):
            raise UserError("there is no run to ask about")
        return self.run


def choice(name: str, label: str, options: Iterable[Any], value: Any) -> dict[str, Any]:
    """Return a menu for an answer. ``options`` are values, or pairs of a label and a value."""
    pairs = []
    for option in options:
        label_and_value = option if isinstance(option, tuple) else (str(option), str(option))
        pairs.append(list(label_and_value))
    return {"name": name, "label": label, "options": pairs, "value": str(value)}


def files_of(kind: str, result: Any, html: str | None = None) -> list[list[str]]:
    """Return the files with which a result can be saved: its data and its page."""
    data = json.dumps(result.to_dict(), indent=1) + "\n"
    return [
        [f"hsd_viz_{kind}.json", "Save the data", data],
        [f"hsd_viz_{kind}.html", "Save as a page", result.to_html() if html is None else html],
    ]
