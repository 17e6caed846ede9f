"""The stack language: a parser with an exact inverse.

    stack    := part (">" part)*                 the last part is the target and has no lookahead
    part     := source | model [":" digits | ":auto"]   lookahead 1-64, 4 if left out; ":auto" asks the selector
    source   := name ["[" item ("," item)* "]"]  first part only: one of DRAFT_SOURCES, with the items given there; auto
                                                 takes db and models, and must be followed by the target
    model    := ladder name (a bare word) | hub id (exactly one "/") | path starting with ./ ../ / ~ | any of these in
                double quotes

>>> str(parse("db[ context ]>nano:4 > target"))
'db[context] > nano:4 > target'
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import entry_points
from typing import Literal

from hsd_viz.words import card, did_you_mean, table

DATABASES = ("context", "model", "statistics")


class DraftSources(Mapping[str, tuple[str, ...]]):
    """Every draft source with the items it takes in brackets: ``auto``, and what ``hsd_viz.drafting`` and the entry
    points of the group ``hsd_viz.drafters`` register. They are loaded on first use.
    """

    def __init__(self) -> None:
        self._items: dict[str, tuple[str, ...]] = {}
        self._loaded = False

    def register(self, name: str, items: tuple[str, ...]) -> None:
        """Add a source; see :func:`hsd_viz.drafting.drafter`."""
        self._items[name] = items

    def _load(self) -> dict[str, tuple[str, ...]]:
        if not self._loaded:
            self._loaded = True
            import_module("hsd_viz.drafting")
            self._items["auto"] = ("db",)
            for point in entry_points(group="hsd_viz.drafters"):
                try:
                    point.load()
                except Exception as error:  # of another package: its drafters are missing, the others work
                    warnings.warn(
                        f"the drafter '{point.name}' of {point.value} cannot be loaded: {error}", stacklevel=2
                    )
        return self._items

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self._load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())


DRAFT_SOURCES = DraftSources()
#: transformers' own loops on the same weights, for ``bench`` only.
HF_STACKS = ("hf-generate", "hf-lookup", "hf-assistant")
#: The largest lookahead, and the one of a draft model without one.
MAX_LOOKAHEAD, DEFAULT_LOOKAHEAD = 64, 4
Lookahead = int | Literal["auto"] | None

_LOOKAHEAD = r":\s*(?:[0-9]+|auto)(?=\s*(?:[>\],]|\Z))"
_TOKEN = re.compile(
    rf'\s*(?:"(?P<quoted>[^"]+)"|(?P<mark>[>\[\],])|(?P<look>{_LOOKAHEAD})|(?P<word>(?:[^\s>\[\],":]|(?!{_LOOKAHEAD}):)+))\s*'
)
_NAME = re.compile(r"(?:\.\.?/|/|~).*|[A-Za-z_][A-Za-z0-9_.-]*|[\w.-]+/[\w.:-]+", re.S)
_LOOKAHEADS = f"expected a whole number from 1 to {MAX_LOOKAHEAD}, or auto"
_Tokens = Sequence[re.Match[str]]


class StackError(ValueError):
    """Stack text that cannot be parsed; the message names the part and what is allowed."""


class LargerDraftWarning(UserWarning):
    """A draft model is larger than the model that verifies it."""


@dataclass(frozen=True, slots=True)
class DraftSource:
    """A database drafter, a baseline or ``auto`` as the first part of a stack. ``items`` are databases, in access
    order, and options; empty for the default. Those of ``auto`` are ``db`` and model names.
    """

    name: str
    items: tuple[str, ...] = ()

    def __str__(self) -> str:
        items = [i if i in DRAFT_SOURCES[self.name] else str(Model(i)) for i in self.items]
        return f"{self.name}[{','.join(items)}]" if items else self.name


@dataclass(frozen=True, slots=True)
class Model:
    """A model: a ladder name, a hub id or a path. ``lookahead`` is ``None`` if left out, and for the target; ``"auto"``
    if the selector chooses it.
    """

    name: str
    lookahead: Lookahead = None

    def __str__(self) -> str:
        tokens = list(_TOKEN.finditer(self.name))
        plain = len(tokens) == 1 and tokens[0]["word"] == self.name and _is_model_name(self.name)
        name = self.name if plain else f'"{self.name}"'
        return name if self.lookahead is None else f"{name}:{self.lookahead}"


@dataclass(frozen=True, slots=True)
class Stack:
    """A parsed stack, bottom first: an optional draft source, then models, of which the last is the target."""

    bottom: DraftSource | None
    models: tuple[Model, ...]

    def _repr_html_(self) -> str:
        """Return the parts with their roles for a notebook, the lowest level first."""
        roles = ["draft source"] * (self.bottom is not None) + ["draft model"] * len(self.drafts) + ["target model"]
        looks = ["–"] * (self.bottom is not None) + [m.lookahead or DEFAULT_LOOKAHEAD for m in self.drafts] + ["–"]
        rows = [(k, *row) for k, row in enumerate(zip(self.parts, roles, looks, strict=True))]
        return card("Stack", self, table(("level", "part", "role", "lookahead"), rows))

    @property
    def target(self) -> Model:
        return self.models[-1]

    @property
    def drafts(self) -> tuple[Model, ...]:
        """The draft models, bottom first."""
        return self.models[:-1]

    @property
    def parts(self) -> tuple[DraftSource | Model, ...]:
        """The parts by level, level 0 first."""
        return self.models if self.bottom is None else (self.bottom, *self.models)

    @property
    def automatic(self) -> bool:
        """Whether the draft source is ``auto``, which chooses a stack."""
        return self.bottom is not None and self.bottom.name == "auto"

    def resolved(self, lookahead: Lookahead = DEFAULT_LOOKAHEAD) -> Stack:
        """Return the same stack with ``lookahead`` where it was left out."""
        drafts = (replace(m, lookahead=lookahead if m.lookahead is None else m.lookahead) for m in self.drafts)
        return Stack(self.bottom, (*drafts, self.target))

    def __str__(self) -> str:
        return " > ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class HFStack:
    """transformers' own loop: ``hf-generate``, ``hf-lookup`` or ``hf-assistant[MODEL]`` (``bench`` only)."""

    name: str
    assistant: str | None = None

    def __str__(self) -> str:
        return self.name if self.assistant is None else f"{self.name}[{Model(self.assistant)}]"


def parse(text: str | Stack) -> Stack:
    """Parse a stack; one that is parsed is returned as it is. Raises: StackError: if ``text`` is not a valid stack."""
    if isinstance(text, Stack):
        return text
    if not isinstance(text, str) or not text.strip():
        raise StackError("the stack is empty: write for example 'target', 'nano:4 > target' or 'db > nano:4 > target'")
    bottom: DraftSource | None = None
    models: list[Model] = []
    for place, tokens in enumerate(_split(_tokens(text), ">")):
        if not tokens:
            raise StackError(f"part {place + 1} of the stack {text.strip()!r} is empty: separate the parts with '>'")
        part = _parse_part(tokens)
        if isinstance(part, Model):
            models.append(part)
        elif place:
            raise StackError(f"'{part}' is part {place + 1} of the stack: it can only be the first part")
        else:
            bottom = part
    if not models:
        raise StackError(f"'{bottom}' has no target: end the stack with a model, as in '{bottom} > target'")
    if models[-1].lookahead is not None:
        name = Model(models[-1].name)
        raise StackError(f"the last part '{models[-1]}' is the target and takes no lookahead: write '{name}'")
    stack = Stack(bottom, tuple(models))
    names = [model.name for model in models]
    if bottom is not None and stack.automatic:
        if stack.drafts:
            named = f"{DraftSource('auto', ('db', *names[:-1]))} > {stack.target}"
            raise StackError(f"'auto' chooses the draft models and must be followed by the target: write '{named}'")
        if names[0] in bottom.items:
            raise StackError(f"'{names[0]}' is the target and in '{bottom}': a model cannot draft for itself")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise StackError(f"'{twice}' appears twice in the stack: a model cannot draft for itself")
    return stack


def parse_bench(text: str) -> Stack | HFStack:
    """Parse a stack like :func:`parse`, or ``hf-generate``, ``hf-lookup`` and ``hf-assistant[MODEL]``."""
    head, *rest = _tokens(text) if isinstance(text, str) and text.strip() else (None,)
    name = head["word"] if head is not None else None
    if not name or not name.startswith("hf-"):
        return parse(text)
    if name not in HF_STACKS:
        allowed = f"{', '.join(HF_STACKS[:2])} and hf-assistant[MODEL]"
        raise StackError(
            f"unknown stack '{name}': the loops of transformers are {allowed}{did_you_mean(name, HF_STACKS)}"
        )
    items = _items(rest)
    if (len(items or ()) != (name == "hf-assistant")) or (rest and items is None):
        raise StackError(f"'{text.strip()}' is not valid: write hf-generate, hf-lookup or hf-assistant[nano]")
    return HFStack(name, _parse_model(items[0]).name if items else None)


def _tokens(text: str) -> list[re.Match[str]]:
    found, end = [], 0
    while end < len(text):
        token = _TOKEN.match(text, end)
        if token is None:
            raise StackError(f"the stack {text.strip()!r} has an unclosed or empty double quote")
        found.append(token)
        end = token.end()
    return found


def _split(tokens: _Tokens, mark: str) -> list[_Tokens]:
    """Split at each ``mark``."""
    places = [k for k, token in enumerate(tokens) if token["mark"] == mark]
    return [tokens[a + 1 : b] for a, b in zip((-1, *places), (*places, len(tokens)), strict=True)]


def _text(tokens: _Tokens) -> str:
    return tokens[0].string[tokens[0].start() : tokens[-1].end()].strip() if tokens else ""


def _items(tokens: _Tokens) -> list[_Tokens] | None:
    """Return the items of ``[item, item]``, ``None`` if the tokens are not such a list."""
    if len(tokens) < 2 or tokens[0]["mark"] != "[" or tokens[-1]["mark"] != "]":
        return None
    return _split(tokens[1:-1], ",")


def _parse_part(tokens: _Tokens) -> DraftSource | Model:
    name, items, part = tokens[0]["word"], _items(tokens[1:]), _text(tokens)
    if name is None or (items is None and (name not in DRAFT_SOURCES or len(tokens) > 1)):
        if name in DRAFT_SOURCES and tokens[-1]["look"]:
            raise StackError(f"'{name}' takes no lookahead: its drafts are as long as the match suggests")
        return _parse_model(tokens)
    if name not in DRAFT_SOURCES:
        hint = did_you_mean(name, DRAFT_SOURCES)
        raise StackError(f"unknown name '{name}' in '{part}': expected {', '.join(DRAFT_SOURCES)}{hint}")
    allowed, named = DRAFT_SOURCES[name], []
    if items is not None and not allowed:
        raise StackError(f"'{name}' takes no brackets: write '{name}'")
    for item in items or ():
        word = _text(item)
        if word not in allowed:
            if name != "auto" or not item or word.split("[")[0].strip() in DRAFT_SOURCES:
                takes = "db and models, such as nano" if name == "auto" else ", ".join(allowed)
                hint = did_you_mean(word, allowed)
                raise StackError(f"unknown item '{word}' in '{part}': {name}[...] takes {takes}{hint}")
            model = _parse_model(item)
            if model.lookahead is not None:
                raise StackError(
                    f"'{word}' in '{part}' has a lookahead, which auto chooses: write '{Model(model.name)}'"
                )
            word = model.name
        if word in named:
            raise StackError(f"'{word}' appears twice in '{part}'")
        named.append(word)
    return DraftSource(name, tuple(named))


def _parse_model(tokens: _Tokens) -> Model:
    lookahead: Lookahead = None
    part = _text(tokens)
    if len(tokens) > 1 and (look := tokens[-1]["look"]):
        value = look[1:].strip()
        lookahead = "auto" if value == "auto" else int(value)
        if lookahead != "auto" and not 1 <= lookahead <= MAX_LOOKAHEAD:
            raise StackError(f"the lookahead {lookahead} in '{part}' is out of range: {_LOOKAHEADS}")
        tokens = tokens[:-1]
    name = tokens[0]["quoted"] or tokens[0]["word"] or ""
    if tokens[0]["word"] and (colon := re.fullmatch(r"[A-Za-z0-9_.-]+:(.*)", name)):
        raise StackError(f"the lookahead '{colon[1]}' in '{part}' is not valid: {_LOOKAHEADS}")
    if len(tokens) > 1 or not _is_model_name(name):
        raise StackError(
            f"unknown part '{part}': expected one of {', '.join(DRAFT_SOURCES)} (first only), a ladder name "
            "such as nano, a hub id with one '/', or a path starting with ./ ../ / or ~ (quote names with spaces)"
        )
    return Model(name, lookahead)


def _is_model_name(name: str) -> bool:
    return name not in DRAFT_SOURCES and _NAME.fullmatch(name) is not None
