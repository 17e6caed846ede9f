"""The page's address: ``?trace=NAME&step=N&theme=dark`` opens a bundled recording at an event, ``tab`` a tab,
``stack``, ``prompt``, ``temperature``, ``top_k``, ``top_p``, ``seed``, ``rule`` and ``tokens`` fill the form, ``tour``
opens the tour at a step; a button copies the link.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import traitlets

from hsd_viz.views.linked import LinkedView

THEMES = ("light", "dark")
#: The name of the run decoded on the page.
HERE = "here"
#: Maximum characters read from a query, and shown from an invalid value.
MOST_QUERY, MOST_SHOWN = 8_000, 40
#: Maximum characters of a prompt in an address; a longer one is only stored in the browser.
MOST_PROMPT = 1_500
#: Parameters of the form, and its fields (:meth:`hsd_viz.views.controls.Controls.state`).
FORM = {
    "prompt": "prompt",
    "stack": "stack",
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "seed": "seed",
    "rule": "rule",
    "tokens": "length",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A parsed address: recording, event number (from 1, as in the player), title of the tab, fields of the form, a
    message per ignored parameter, and a step of the tour by its key.
    """

    trace: str | None = None
    step: int | None = None
    ignored: tuple[str, ...] = ()
    tab: str | None = None
    form: dict[str, str] = field(default_factory=dict)
    tour: str | None = None


def read(query: str, names: Collection[str], tabs: Collection[str] = ()) -> Asked:
    """Parse a query string. Only recordings in ``names`` can be opened, never a path, and only ``tabs``."""
    fields = parse_qs(query[:MOST_QUERY].lstrip("?"), errors="replace")
    trace, step, tab, ignored = None, None, None, []
    if "trace" in fields:
        trace = fields["trace"][-1]
        if trace not in names:
            ignored.append(f"no recording is named {_short(trace)}")
            trace = None
    if "step" in fields:
        number = fields["step"][-1]
        if number.isascii() and number.isdigit() and 0 < len(number) <= 9 and int(number) > 0:
            step = int(number)
        else:
            ignored.append(f"the step {_short(number)} is not a whole number from 1")
    if "theme" in fields and fields["theme"][-1] not in THEMES:
        ignored.append(f"the theme {_short(fields['theme'][-1])} is not 'light' or 'dark'")
    if "tab" in fields:
        tab = next((title for title in tabs if slug(title) == fields["tab"][-1]), None)
        if tab is None:
            ignored.append(f"no tab is named {_short(fields['tab'][-1])}")
    if step is not None and "trace" in fields and trace is None:
        # A step of another run would be the wrong place.
        step = None
    form = {name: fields[key][-1] for key, name in FORM.items() if key in fields}
    tour = fields["tour"][-1][:MOST_SHOWN] if "tour" in fields else None
    return Asked(trace, step, tuple(ignored), tab, form, tour)


def slug(title: str) -> str:
    """Return a tab's title as it is written in an address."""
    return "-".join(title.lower().split())


def parameters(form: dict[str, str]) -> dict[str, str]:
    """Return the parameters of fields of a form; none at all if the prompt is too long for an address."""
    if len(form.get("prompt", "")) > MOST_PROMPT:
        return {}
    return {key: form[name] for key, name in FORM.items() if name in form}


def ignored_words(ignored: Sequence[str]) -> str:
    """Return one message for the ignored parameters."""
    words = "; ".join(ignored)
    return f"{words[:1].upper()}{words[1:]}."


def served() -> bool:
    """Whether Voilà serves this page, so that its address belongs to the dashboard."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila/") or "VOILA_PREHEAT" in os.environ


def query_at_start() -> str | None:
    """Return Voilà's query; ``None`` if not known yet (preheated kernel) or not served by Voilà."""
    if not served() or os.environ.get("VOILA_PREHEAT") == "True":
        return None
    return os.environ.get("QUERY_STRING", "")


class Address(LinkedView):
    """A button that copies the link to the event under the cursor. ``name`` is the recording shown, or "".

    ``state`` are the parameters of the page as it is: the browser writes them into its address, with an entry of its
    history for another recording or tab. :meth:`go` moves the page to an event. ``asked(query)`` is called in a
    preheated kernel when the browser sends its query, ``back(query)`` when the user returns to an entry of the
    history.
    """

    view = traitlets.Unicode("address").tag(sync=True)

    name = traitlets.Unicode().tag(sync=True)
    #: {run, step}: cursor target, applied once that run is shown.
    start = traitlets.Dict().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    #: Number of the last return to an entry of the history that ``state`` has followed.
    returned = traitlets.Int(0).tag(sync=True)
    served = traitlets.Bool(False).tag(sync=True)
    waits = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        group: str | None = None,
        asked: Callable[[str], None] | None = None,
        back: Callable[[str], None] | None = None,
    ) -> None:
        self._asked, self._back = asked, back
        here = served()
        super().__init__(group=group, served=here, waits=here and query_at_start() is None)
        self.on_msg(self._on_message)

    def go(self, run: str, step: int) -> None:
        """Move the cursor to an event (from 0) of a run, once it is shown."""
        self.start = {"run": run, "step": step}

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict) or not isinstance(content.get("query"), str):
            return
        if content.get("kind") == "query" and self.waits:
            self.waits = False
            if self._asked is not None:
                self._asked(content["query"])
        elif content.get("kind") == "back" and self._back is not None:
            self._back(content["query"])
            if isinstance(content.get("number"), int):
                self.returned = content["number"]


def _short(value: str) -> str:
    return f"{value[:MOST_SHOWN]!r}{' …' if len(value) > MOST_SHOWN else ''}"
