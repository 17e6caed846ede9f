"""How a stack is written: one parser, with an exact inverse.

    stack    := part (">" part)*                 the last part is the target and has no lookahead
    part     := bottom | model [":" digits]      lookahead 1-64; only an all-digit suffix is one
    bottom   := name ["[" item ("," item)* "]"]  only first, at most one: those of BOTTOMS, with the items given there;
                                                 auto's items are db and models, and nothing but the target stands above it
    model    := ladder name (a bare word) | hub id (exactly one "/") | path starting with ./ ../ / ~ | any of these quoted

>>> str(parse("db[ context ]>nano:4 > target"))
'db[context] > nano:4 > target'
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DATABASES = ("context", "model", "statistics")
#: Every bottom of the stack language, with the items it takes in brackets.
BOTTOMS: dict[str, tuple[str, ...]] = {
    "db": (*DATABASES, "logits"),
    "hd": (*DATABASES, "window"),
    "lookup": ("original",),
    "sam": (),
    "suffix": (),
    "recycling": (),
    "retrieval": (),
    "ngram-cache": (),
    "auto": ("db",),
}
#: transformers' own loops on the same weights, for ``bench`` only.
HF_STACKS = ("hf-generate", "hf-lookup", "hf-assistant")
MAX_LOOKAHEAD = 64

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_BOTTOM = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)\s*(?:\[(.*)\])?\Z", re.S)
_LOOKAHEAD = re.compile(r"(.*?)\s*:\s*([0-9]+)\Z", re.S)
_PATH_STARTS = ("./", "../", "/", "~")


class StackError(ValueError):
    """Stack text that cannot be read; the message names the part and says what is allowed."""


@dataclass(frozen=True, slots=True)
class DraftSource:
    """A database, rival or ``auto`` at the bottom; ``items`` are databases, in the order in which they are asked, and options; () for
    its default. Those of ``auto`` are ``db`` and the names of models, as they are (unquoted)."""

    name: str
    items: tuple[str, ...] = ()

    def __str__(self) -> str:
        items = self.items
        if self.name == "auto":
            items = tuple(item if item in BOTTOMS["auto"] else _option_text(item) for item in items)
        return f"{self.name}[{','.join(items)}]" if items else self.name


@dataclass(frozen=True, slots=True)
class Model:
    """A model: a ladder name, a hub id or a path; ``lookahead`` is None where it is left out and at the target."""

    name: str
    lookahead: int | None = None

    def __str__(self) -> str:
        plain = (
            re.match(r"[^\s\">\[\]]+\Z", self.name) and not re.search(r":[0-9]+\Z", self.name) and _readable(self.name)
        )
        name = self.name if plain else f'"{self.name}"'
        return name if self.lookahead is None else f"{name}:{self.lookahead}"


@dataclass(frozen=True, slots=True)
class Stack:
    """A parsed stack, bottom first; the last part is the target. ``levels`` are the parts, level 0 at the bottom."""

    bottom: DraftSource | None
    models: tuple[Model, ...]

    @property
    def target(self) -> Model:
        return self.models[-1]

    @property
    def drafts(self) -> tuple[Model, ...]:
        return self.models[:-1]

    @property
    def parts(self) -> tuple[DraftSource | Model, ...]:
        return self.models if self.bottom is None else (self.bottom, *self.models)

    @property
    def drafts_with_models(self) -> bool:
        """Whether draft models may take part: they draw with numbers of their own, so that above temperature 0 one seed may give another
        text than plain decoding; databases and rivals (point masses) leave every place of the text its number."""
        if self.bottom is not None and self.bottom.name == "auto":
            return set(self.bottom.items) != {"db"}
        return bool(self.drafts)

    def resolved(self, default_lookahead: int = 4) -> Stack:
        """The same stack with every left-out lookahead filled in."""
        drafts = tuple(Model(m.name, m.lookahead or default_lookahead) for m in self.drafts)
        return Stack(self.bottom, (*drafts, self.target))

    def __str__(self) -> str:
        return " > ".join(str(p) for p in self.parts)


@dataclass(frozen=True, slots=True)
class HFStack:
    """transformers' own loop: ``hf-generate``, ``hf-lookup`` or ``hf-assistant[MODEL]`` (``bench`` only)."""

    name: str
    assistant: str | None = None

    def __str__(self) -> str:
        return self.name if self.assistant is None else f"{self.name}[{self.assistant}]"


def parse(text: str) -> Stack:
    """Read a stack. Raises :class:`StackError` with one sentence."""
    if not isinstance(text, str) or not text.strip():
        raise StackError("the stack is empty: write for example 'target', 'nano:4 > target' or 'db > nano:4 > target'")
    parts = [p.strip() for p in _split(text, ">")]
    bottom: DraftSource | None = None
    models: list[Model] = []
    for place, part in enumerate(parts):
        if not part:
            raise StackError(
                f"part {place + 1} of the stack {text.strip()!r} is empty: write parts with '>' between them"
            )
        found = _bottom(part)
        if found is not None:
            if place > 0:
                raise StackError(
                    f"'{found}' can only stand first (at the bottom) of a stack, here it is part {place + 1}"
                )
            bottom = found
            continue
        model = _model(part)
        if place == len(parts) - 1 and model.lookahead is not None:
            raise StackError(f"the last part '{part}' is the target and takes no lookahead: write '{model.name}'")
        models.append(model)
    if not models:
        raise StackError(f"'{bottom}' drafts for nobody: end the stack with a target model, as in '{bottom} > target'")
    names = [m.name for m in models]
    if bottom is not None and bottom.name == "auto":
        target = models[-1]
        if len(models) > 1:
            named = DraftSource("auto", ("db", *(m.name for m in models[:-1])))
            raise StackError(
                f"'auto' chooses who drafts and stands right before the target: write '{named} > {target}'"
            )
        if target.name in bottom.items:
            raise StackError(
                f"'{target.name}' is the target and stands in '{bottom}' too: a model cannot draft for itself"
            )
    for name in names:
        if names.count(name) > 1:
            raise StackError(f"'{name}' stands twice in the stack: a model cannot draft for itself")
    return Stack(bottom, tuple(models))


def parse_bench(text: str) -> Stack | HFStack:
    """Like :func:`parse`, and reads ``hf-generate``, ``hf-lookup`` and ``hf-assistant[MODEL]`` too."""
    found = _BOTTOM.match(text.strip()) if isinstance(text, str) else None
    if not found or not found[1].startswith("hf-"):
        return parse(text)
    name, inner = found[1], found[2]
    if name not in HF_STACKS:
        raise StackError(
            f"unknown stack '{name}': transformers' loops are {', '.join(HF_STACKS[:2])} and hf-assistant[MODEL]"
        )
    if (name == "hf-assistant") != bool(inner and inner.strip()):
        raise StackError(f"'{text.strip()}' is not readable: write hf-generate, hf-lookup or hf-assistant[nano]")
    return HFStack(name, _model(inner.strip()).name if inner else None)


def _split(text: str, mark: str) -> list[str]:
    """Split at ``mark`` outside double quotes."""
    if text.count('"') % 2:
        raise StackError(f"the stack {text.strip()!r} has a double quote that is not closed")
    pieces = text.split('"')
    parts = [""]
    for i, piece in enumerate(pieces):
        if i % 2:
            parts[-1] += f'"{piece}"'
        else:
            first, *rest = piece.split(mark)
            parts[-1] += first
            parts += rest
    return parts


def _bottom(part: str) -> DraftSource | None:
    found = _BOTTOM.match(part)
    if not found or (found[1] not in BOTTOMS and found[2] is None):
        return None
    name, inner = found[1], found[2]
    if name not in BOTTOMS:
        raise StackError(f"unknown part '{part}': brackets follow one of {', '.join(BOTTOMS)}, not '{name}'")
    if inner is None:
        return DraftSource(name)
    allowed = BOTTOMS[name]
    if not allowed:
        raise StackError(f"'{name}' takes no brackets: write '{name}'")
    items = tuple(i.strip() for i in (_split if name == "auto" else str.split)(inner, ","))
    if name == "auto":
        allowed = items = tuple(_option(item, part) for item in items)
    for item in items:
        if item not in allowed:
            raise StackError(f"unknown item '{item}' in '{part}': {name}[...] takes {', '.join(allowed)}")
        if items.count(item) > 1:
            raise StackError(f"'{item}' stands twice in '{part}'")
    return DraftSource(name, items)


def _option(item: str, part: str) -> str:
    """One of the options of ``auto``: ``db`` or a model's name."""
    if item in BOTTOMS["auto"]:
        return item
    if not item or item in BOTTOMS or ("[" in item and _BOTTOM.match(item)):
        raise StackError(f"unknown item '{item}' in '{part}': auto[...] takes db and models, such as nano")
    model = _model(item)
    if model.lookahead is not None:
        raise StackError(f"'{item}' in '{part}' has a lookahead: auto chooses it itself, write '{Model(model.name)}'")
    return model.name


def _option_text(name: str) -> str:
    """A model's name as an item in brackets, where a comma parts and a bracket closes."""
    text = str(Model(name))
    return f'"{name}"' if "," in text and not text.startswith('"') else text


def _model(part: str) -> Model:
    name, lookahead = part, None
    if quoted := re.match(r'"([^"]+)"(?:\s*:\s*([0-9]+))?\Z', part):
        name, digits = quoted[1], quoted[2]
        lookahead = None if digits is None else int(digits)
    elif numbered := _LOOKAHEAD.match(part):
        name, lookahead = numbered[1], int(numbered[2])
    elif part in BOTTOMS:
        raise StackError(f"'{part}' is no model: it can only stand first (at the bottom) of a stack")
    if found := re.match(r"[A-Za-z0-9_.-]+\s*:\s*(\S*)\Z", part):
        if not found[1].isascii() or not found[1].isdigit():
            raise StackError(
                f"the lookahead '{found[1]}' in '{part}' is not readable: it is a whole number from 1 to {MAX_LOOKAHEAD}"
            )
        if name in BOTTOMS:
            raise StackError(f"'{name}' takes no lookahead: its draft is as long as what it finds")
    if lookahead is not None and not 1 <= lookahead <= MAX_LOOKAHEAD:
        raise StackError(
            f"the lookahead {lookahead} in '{part}' is out of range: it is a whole number from 1 to {MAX_LOOKAHEAD}"
        )
    if not _readable(name):
        raise StackError(
            f"unknown part '{part}': a part is one of {', '.join(BOTTOMS)} (first only), a ladder name such as nano, a hub id "
            "with one '/', or a path starting with ./ ../ / or ~ (quote names with spaces)"
        )
    return Model(name, lookahead)


def _readable(name: str) -> bool:
    if not name or name in BOTTOMS:
        return False
    if name.startswith(_PATH_STARTS):
        return True
    owner, slash, rest = name.partition("/")
    return bool(_WORD.match(name) if not slash else re.match(r"[\w.-]+\Z", owner) and re.match(r"[\w.:-]+\Z", rest))
