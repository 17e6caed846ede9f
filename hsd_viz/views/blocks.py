"""The stack as blocks, kept in step with its text: what a person moves there is written, what is written is shown there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from hsd_viz.stack import BOTTOMS, DATABASES, MAX_LOOKAHEAD, DraftSource, Model, Stack, StackError, parse
from hsd_viz.views.linked import css, esm, page_palette

#: What each bottom is, in words.
BOTTOM_WORDS = {
    "db": "databases, as a scored tree",
    "hd": "Hierarchy Drafting as published",
    "lookup": "prompt look-up, a rival",
    "sam": "suffix automaton, a rival",
    "suffix": "suffix tree, a rival",
    "recycling": "token recycling, a rival",
    "retrieval": "retrieval from a corpus, a rival",
    "ngram-cache": "n-gram cache, a rival",
    "auto": "the fastest stack for this machine",
}
#: Items in brackets that are switches, not databases that are asked in an order.
OPTION_WORDS = {"window": "with Lookahead's window", "original": "as first published"}
#: Messages from the browser are not trusted: no stack that people write is longer.
MOST_PARTS, MOST_NAME = 16, 400


class StackBlocks(anywidget.AnyWidget):
    """A stack as blocks: the target on top, what drafts for it beneath.

    ``text`` is the stack as written, by the blocks or elsewhere; :func:`hsd_viz.stack.parse` alone decides what it means. While it
    cannot be read, ``error`` says why in one sentence and the blocks keep the last stack that could, which is ``shown``. ``names`` are
    the models that may be named; ``None`` allows any, and ``offered`` are then those that are at hand.
    """

    _esm = esm("blocks_parts.js", "blocks_fields.js", "blocks.js")
    _css = css("blocks.css")

    text = traitlets.Unicode("target").tag(sync=True)
    shown = traitlets.Unicode().tag(sync=True)
    parts = traitlets.List().tag(sync=True)
    error = traitlets.Unicode().tag(sync=True)
    #: The language as the blocks need it: {bottom: {words, databases, usual, options: {name: words}}}.
    bottoms = traitlets.Dict().tag(sync=True)
    offered = traitlets.List(traitlets.Unicode()).tag(sync=True)
    free = traitlets.Bool(False).tag(sync=True)
    most = traitlets.Int(MAX_LOOKAHEAD).tag(sync=True)
    palette = traitlets.Dict().tag(sync=True)

    def __init__(self, text: str = "target", names: Sequence[str] | None = None, offered: Sequence[str] = ()) -> None:
        self._names = names
        super().__init__(
            text=text,
            bottoms=_language(),
            offered=list(names or offered),
            free=names is None,
            palette=page_palette(),
            **_state(parse(text)),
        )
        self.observe(lambda _change: self._read(), "text")
        self.on_msg(self._on_message)
        self._read()

    def _read(self) -> None:
        try:
            stack = allowed(parse(self.text), self._names)
        except StackError as error:
            self.error = str(error)
            return
        with self.hold_sync():
            state = _state(stack)
            self.parts, self.shown, self.error = state["parts"], state["shown"], ""

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict) or content.get("kind") != "edit":
            return
        try:
            stack = allowed(parse(str(_stack(content.get("parts")))), self._names)
        except StackError as error:
            # The browser shows an edit at once; this one it must take back.
            self.error = str(error)
            self.send({"kind": "refused"})
            return
        if self.text == str(stack):
            self._read()
        else:
            self.text = str(stack)


def allowed(stack: Stack, names: Sequence[str] | None) -> Stack:
    """The same stack. Raises :class:`~hsd_viz.stack.StackError` where it names a model that is not one of ``names`` (``None``: any)."""
    options = stack.bottom.items if stack.bottom is not None and stack.bottom.name == "auto" else ()
    for name in (*(m.name for m in stack.models), *(item for item in options if item not in BOTTOMS["auto"])):
        if names is not None and name not in names:
            raise StackError(f"'{name}' is not allowed here: this page runs {', '.join(names)}")
    return stack


def _language() -> dict[str, Any]:
    found = {}
    for name, items in BOTTOMS.items():
        options = {item: OPTION_WORDS[item] for item in items if item in OPTION_WORDS}
        databases = [item for item in items if item not in options]
        # Without brackets all databases are asked; logits is one only where it is named.
        usual = [item for item in databases if item in DATABASES]
        found[name] = {"words": BOTTOM_WORDS[name], "databases": databases, "usual": usual, "options": options}
    return found


def _state(stack: Stack) -> dict[str, Any]:
    """A stack as the browser has it: parts, bottom first, and its text."""
    parts: list[dict[str, Any]] = [{"kind": "model", "name": m.name, "lookahead": m.lookahead} for m in stack.models]
    if stack.bottom is not None:
        parts.insert(0, {"kind": "bottom", "name": stack.bottom.name, "items": list(stack.bottom.items)})
    return {"parts": parts, "shown": str(stack)}


def _stack(parts: Any) -> Stack:
    """The stack that the browser's parts describe, unchecked but for their shape: its text goes through the parser."""
    if (
        not isinstance(parts, list)
        or not 0 < len(parts) <= MOST_PARTS
        or not all(isinstance(p, Mapping) for p in parts)
    ):
        raise StackError(f"these are no blocks of a stack: there are 1 to {MOST_PARTS} of them")
    bottom = None
    if parts[0].get("kind") == "bottom":
        items = parts[0].get("items")
        if not isinstance(items, list) or len(items) > MOST_PARTS:
            raise StackError(f"the items of '{_name(parts[0].get('name'))}' are no list of up to {MOST_PARTS} names")
        bottom = DraftSource(_name(parts[0].get("name")), tuple(map(_name, items)))
    return Stack(
        bottom, tuple(Model(_name(p.get("name")), _lookahead(p.get("lookahead"))) for p in parts[bottom is not None :])
    )


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > MOST_NAME or '"' in name:
        raise StackError(
            f"a block has no name that can be written: a name has 1 to {MOST_NAME} characters and no double quote"
        )
    return name.strip()


def _lookahead(number: Any) -> int | None:
    if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
        raise StackError(f"the lookahead {number!r} is not readable: it is a whole number from 1 to {MAX_LOOKAHEAD}")
    return number
