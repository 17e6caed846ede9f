"""A block editor for stacks, synchronized with the stack's text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import traitlets

from hsd_viz.drafting import drafters
from hsd_viz.stack import (
    DATABASES,
    DRAFT_SOURCES,
    MAX_LOOKAHEAD,
    DraftSource,
    Model,
    Stack,
    StackError,
    parse,
)
from hsd_viz.views.doors import View
from hsd_viz.views.linked import page_palette

#: Description of each draft source.
BOTTOM_WORDS = {name: known.words for name, known in drafters().items()} | {
    "auto": "the fastest stack for this machine"
}
#: Items in brackets that are switches, not databases.
OPTION_WORDS = {"original": "first published version"}
#: Limits on messages from the browser, which are not trusted.
MOST_PARTS, MOST_NAME = 16, 400
#: How the page allows what it refuses.
OTHER_MODELS = "need `hsd-viz dashboard --allow-models`"


class StackBlocks(View):
    """A stack as blocks: the target at the top, its drafters below.

    ``text`` is the stack's text, parsed by :func:`hsd_viz.stack.parse`. If it is invalid, ``error`` has the reason and
    the blocks keep ``shown``, the last valid stack. ``names`` are the allowed models; ``None`` allows any, and
    ``offered`` lists the available ones.
    """

    view = traitlets.Unicode("blocks").tag(sync=True)

    text = traitlets.Unicode("target").tag(sync=True)
    shown = traitlets.Unicode().tag(sync=True)
    parts = traitlets.List().tag(sync=True)
    error = traitlets.Unicode().tag(sync=True)
    #: The grammar as the browser needs it: {source: {words, databases, usual, options: {name: words}}}.
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
            # The browser showed the edit at once and must revert it.
            self.error = str(error)
            self.send({"kind": "refused"})
            return
        if self.text == str(stack):
            self._read()
        else:
            self.text = str(stack)


def spelled_out(stacks: Iterable[Stack]) -> str:
    """Return what the draft sources and hierarchies among some stacks are, each once; "" without any."""
    stacks = list(stacks)
    names = dict.fromkeys(stack.bottom.name for stack in stacks if stack.bottom is not None)
    found = [f"{name}: {BOTTOM_WORDS[name]}" for name in names if name in BOTTOM_WORDS]
    if any(len(stack.drafts) > 1 for stack in stacks):
        found.append("several draft models: Hierarchical Speculative Decoding (HSD)")
    return f"{'; '.join(found)}." if found else ""


def allowed(stack: Stack, names: Sequence[str] | None) -> Stack:
    """Return the stack. Raises: StackError: if it names a model not in ``names`` (``None``: any)."""
    options = stack.bottom.items if stack.bottom is not None and stack.bottom.name == "auto" else ()
    for name in (*(m.name for m in stack.models), *(item for item in options if item not in DRAFT_SOURCES["auto"])):
        if names is not None and name not in names:
            use = f"use {', '.join(names)}; other models {OTHER_MODELS}"
            raise StackError(f"'{name}' is not allowed on this page: {use}")
    return stack


def _language() -> dict[str, Any]:
    found = {}
    for name, items in DRAFT_SOURCES.items():
        options = {item: OPTION_WORDS[item] for item in items if item in OPTION_WORDS}
        databases = [item for item in items if item not in options]
        # Without brackets all databases are used; logits only if named.
        usual = [item for item in databases if item in DATABASES]
        found[name] = {"words": BOTTOM_WORDS[name], "databases": databases, "usual": usual, "options": options}
    return found


def _state(stack: Stack) -> dict[str, Any]:
    """Return a stack as the browser's parts, lowest level first."""
    parts: list[dict[str, Any]] = [{"kind": "model", "name": m.name, "lookahead": m.lookahead} for m in stack.models]
    if stack.bottom is not None:
        parts.insert(0, {"kind": "bottom", "name": stack.bottom.name, "items": list(stack.bottom.items)})
    return {"parts": parts, "shown": str(stack)}


def _stack(parts: Any) -> Stack:
    """Build a stack from the browser's parts. Only their shape is checked here; the parser checks the text."""
    if (
        not isinstance(parts, list)
        or not 0 < len(parts) <= MOST_PARTS
        or not all(isinstance(p, Mapping) for p in parts)
    ):
        raise StackError(f"invalid blocks: a stack has 1 to {MOST_PARTS} parts")
    bottom = None
    if parts[0].get("kind") == "bottom":
        items = parts[0].get("items")
        if not isinstance(items, list) or len(items) > MOST_PARTS:
            raise StackError(f"the items of '{_name(parts[0].get('name'))}' are not a list of up to {MOST_PARTS} names")
        bottom = DraftSource(_name(parts[0].get("name")), tuple(map(_name, items)))
    return Stack(
        bottom, tuple(Model(_name(p.get("name")), _lookahead(p.get("lookahead"))) for p in parts[bottom is not None :])
    )


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > MOST_NAME or '"' in name:
        raise StackError(f"invalid block name: a name has 1 to {MOST_NAME} characters and no double quote")
    return name.strip()


def _lookahead(number: Any) -> int | None:
    if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
        raise StackError(f"invalid lookahead {number!r}: use a whole number from 1 to {MAX_LOOKAHEAD}")
    return number
