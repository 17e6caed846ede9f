"""The stack language: a parser with an exact inverse.

    stack    := part (">" part)*                 the last part is the target and has no lookahead
    part     := source | model [variant] [":" digits]   lookahead 1-64; only an all-digit suffix is one
    variant  := "[int8]"                         the model with its weights rounded to 8 bits
              | "[skip" ["=" layers] "]"         a draft of the model's own layers, without those given or found
    source   := name ["[" item ("," item)* "]"]  first part only: one of DRAFT_SOURCES, with the items given there; auto
                                                 takes db and models, and must be followed by the target
    model    := ladder name (a bare word) | hub id (exactly one "/") | path starting with ./ ../ / ~ | any of these
    quoted

>>> str(parse("db[ context ]>nano:4 > target"))
'db[context] > nano:4 > target'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from hsd_viz.card import card, table
from hsd_viz.words import did_you_mean

DATABASES = ("context", "model", "statistics")
#: Every draft source, with the items it takes in brackets.
DRAFT_SOURCES: dict[str, tuple[str, ...]] = {
    "db": (*DATABASES, "logits"),
    "hd": (*DATABASES, "window"),
    "lookup": ("original",),
    "sam": (),
    "suffix": (),
    "recycling": (),
    "retrieval": (),
    "ngram-cache": (),
    "ngram-mod": ("short",),
    "auto": ("db",),
}
#: Deprecated alias of :data:`DRAFT_SOURCES`, removed in the next release.
BOTTOMS = DRAFT_SOURCES
#: transformers' own loops on the same weights, for ``bench`` only.
HF_STACKS = ("hf-generate", "hf-lookup", "hf-assistant")
MAX_LOOKAHEAD = 64

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_SOURCE = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)\s*(?:\[(.*)\])?\Z", re.S)
_LOOKAHEAD = re.compile(r"(.*?)\s*:\s*([0-9]+)\Z", re.S)
_VARIANT = re.compile(r"(.+?)\s*\[\s*(?:(int8)|skip\s*(=[^\]]*)?)\s*\]\Z", re.S)
_LOOKAHEADS = f"expected a whole number from 1 to {MAX_LOOKAHEAD}"
_PATH_STARTS = ("./", "../", "/", "~")
#: What a model is made of another one by: its weights rounded to 8 bits, or layers to leave out (none: to be found).
Variant = Literal["int8"] | tuple[int, ...]


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
        items = self.items
        if self.name == "auto":
            items = tuple(item if item in DRAFT_SOURCES["auto"] else _quoted_item(item) for item in items)
        return f"{self.name}[{','.join(items)}]" if items else self.name


@dataclass(frozen=True, slots=True)
class Model:
    """A model: a ladder name, a hub id or a path, with ``[int8]`` or ``[skip=...]`` (:func:`split_variant`).
    ``lookahead`` is ``None`` if omitted, and for the target.
    """

    name: str
    lookahead: int | None = None

    def __str__(self) -> str:
        base, variant = split_variant(self.name)
        plain = re.match(r"[^\s\">\[\]]+\Z", base) and not re.search(r":[0-9]+\Z", base)
        name = variant_name(base if plain and _is_model_name(base) else f'"{base}"', variant)
        return name if self.lookahead is None else f"{name}:{self.lookahead}"


@dataclass(frozen=True, slots=True)
class Stack:
    """A parsed stack, bottom first: an optional draft source, then models, of which the last is the target."""

    bottom: DraftSource | None
    models: tuple[Model, ...]

    def _repr_html_(self) -> str:
        """Return the parts with their roles for a notebook, the lowest level first."""
        roles = ["draft source"] if self.bottom is not None else []
        roles += ["draft model"] * len(self.drafts) + ["target model"]
        rows = []
        for level, (part, role) in enumerate(zip(self.parts, roles, strict=True)):
            lookahead = part.lookahead if isinstance(part, Model) and role == "draft model" else None
            chosen = "–" if role != "draft model" else "selected at run time" if lookahead is None else lookahead
            rows.append((level, part, role, chosen))
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
    def drafts_with_models(self) -> bool:
        """Whether draft models may be used. They consume random numbers, so that above temperature 0 the text may
        differ from plain decoding with the same seed. Databases and baselines (point masses) leave the random number of
        each position unchanged.
        """
        if self.bottom is not None and self.bottom.name == "auto":
            return set(self.bottom.items) != {"db"}
        return bool(self.drafts)

    def resolved(self, default_lookahead: int = 4) -> Stack:
        """Return the same stack with omitted lookaheads filled in."""
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
    """Parse a stack. Raises: StackError: if ``text`` is not a valid stack."""
    if not isinstance(text, str) or not text.strip():
        raise StackError("the stack is empty: write for example 'target', 'nano:4 > target' or 'db > nano:4 > target'")
    parts = [p.strip() for p in _split(text, ">")]
    bottom: DraftSource | None = None
    models: list[Model] = []
    for place, part in enumerate(parts):
        if not part:
            raise StackError(f"part {place + 1} of the stack {text.strip()!r} is empty: separate the parts with '>'")
        source = _parse_source(part)
        if source is None:
            models.append(_parse_model(part))
        elif place == 0:
            bottom = source
        else:
            raise StackError(f"'{source}' is part {place + 1} of the stack: it can only be the first part")
    if not models:
        raise StackError(f"'{bottom}' has no target: end the stack with a model, as in '{bottom} > target'")
    if models[-1].lookahead is not None:
        raise StackError(f"the last part '{parts[-1]}' is the target and takes no lookahead: write '{models[-1].name}'")
    base, variant = split_variant(models[-1].name)
    if isinstance(variant, tuple):
        raise StackError(f"the target '{parts[-1]}' leaves out no layers: end the stack in '{base}'")
    stack = Stack(bottom, tuple(models))
    _check_models(stack)
    return stack


def _check_models(stack: Stack) -> None:
    """Check that no model occurs twice and that ``auto`` is followed by the target."""
    names = [model.name for model in stack.models]
    if stack.bottom is not None and stack.bottom.name == "auto":
        if stack.drafts:
            named = DraftSource("auto", ("db", *names[:-1]))
            raise StackError(
                f"'auto' chooses the draft models and must be followed by the target: write '{named} > {stack.target}'"
            )
        if stack.target.name in stack.bottom.items:
            raise StackError(
                f"'{stack.target.name}' is the target and in '{stack.bottom}': a model cannot draft for itself"
            )
    for name in names:
        if names.count(name) > 1:
            raise StackError(f"'{name}' appears twice in the stack: a model cannot draft for itself")


def parse_bench(text: str) -> Stack | HFStack:
    """Parse a stack like :func:`parse`, or ``hf-generate``, ``hf-lookup`` and ``hf-assistant[MODEL]``."""
    found = _SOURCE.match(text.strip()) if isinstance(text, str) else None
    if not found or not found[1].startswith("hf-"):
        return parse(text)
    name, inner = found[1], found[2]
    if name not in HF_STACKS:
        allowed = f"{', '.join(HF_STACKS[:2])} and hf-assistant[MODEL]"
        raise StackError(
            f"unknown stack '{name}': the loops of transformers are {allowed}{did_you_mean(name, HF_STACKS)}"
        )
    if (name == "hf-assistant") != bool(inner and inner.strip()):
        raise StackError(f"'{text.strip()}' is not valid: write hf-generate, hf-lookup or hf-assistant[nano]")
    return HFStack(name, _parse_model(inner.strip()).name if inner else None)


def _split(text: str, mark: str) -> list[str]:
    """Split at ``mark`` outside double quotes."""
    if text.count('"') % 2:
        raise StackError(f"the stack {text.strip()!r} has an unclosed double quote")
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


def _parse_source(part: str) -> DraftSource | None:
    """Return the draft source that ``part`` is, ``None`` if it is a model."""
    found = _SOURCE.match(part)
    if not found or (found[1] not in DRAFT_SOURCES and found[2] is None):
        return None
    name, inner = found[1], found[2]
    if name not in DRAFT_SOURCES:
        if _VARIANT.match(part):
            return None
        raise StackError(
            f"unknown name '{name}' in '{part}': expected {', '.join(DRAFT_SOURCES)}{did_you_mean(name, DRAFT_SOURCES)}"
        )
    if inner is None:
        return DraftSource(name)
    allowed = DRAFT_SOURCES[name]
    if not allowed:
        raise StackError(f"'{name}' takes no brackets: write '{name}'")
    items = tuple(i.strip() for i in (_split if name == "auto" else str.split)(inner, ","))
    if name == "auto":
        allowed = items = tuple(_parse_auto_item(item, part) for item in items)
    for item in items:
        if item not in allowed:
            hint = did_you_mean(item, allowed)
            raise StackError(f"unknown item '{item}' in '{part}': {name}[...] takes {', '.join(allowed)}{hint}")
        if items.count(item) > 1:
            raise StackError(f"'{item}' appears twice in '{part}'")
    return DraftSource(name, items)


def _parse_auto_item(item: str, part: str) -> str:
    """Return an item of ``auto``: ``db`` or a model name."""
    if item in DRAFT_SOURCES["auto"]:
        return item
    if not item or item in DRAFT_SOURCES or ("[" in item and _SOURCE.match(item) and split_variant(item)[1] != "int8"):
        raise StackError(f"unknown item '{item}' in '{part}': auto[...] takes db and models, such as nano")
    model = _parse_model(item)
    if model.lookahead is not None:
        raise StackError(f"'{item}' in '{part}' has a lookahead, which auto chooses: write '{Model(model.name)}'")
    return model.name


def _quoted_item(name: str) -> str:
    """Return a model name as an item in brackets, quoted if it contains a comma."""
    text = str(Model(name))
    return f'"{name}"' if "," in text and not text.startswith('"') else text


def _parse_model(part: str) -> Model:
    name = part
    lookahead: int | None = None
    if quoted := re.match(r'"([^"]+)"\s*(\[[^\]]*\])?(?:\s*:\s*([0-9]+))?\Z', part):
        name, lookahead = quoted[1] + (quoted[2] or ""), int(quoted[3]) if quoted[3] else None
    elif numbered := _LOOKAHEAD.match(part):
        name, lookahead = numbered[1], int(numbered[2])
    elif part in DRAFT_SOURCES:
        raise StackError(f"'{part}' is not a model: it can only be the first part of a stack")
    if found := re.match(r"[A-Za-z0-9_.-]+\s*:\s*(\S*)\Z", part):
        if not found[1].isascii() or not found[1].isdigit():
            raise StackError(f"the lookahead '{found[1]}' in '{part}' is not valid: {_LOOKAHEADS}")
        if name in DRAFT_SOURCES:
            raise StackError(f"'{name}' takes no lookahead: its drafts are as long as the match suggests")
    if lookahead is not None and not 1 <= lookahead <= MAX_LOOKAHEAD:
        raise StackError(f"the lookahead {lookahead} in '{part}' is out of range: {_LOOKAHEADS}")
    name, variant = _parse_variant(name, part)
    if not _is_model_name(name):
        raise StackError(
            f"unknown part '{part}': expected one of {', '.join(DRAFT_SOURCES)} (first only), a ladder name "
            "such as nano, a hub id with one '/', or a path starting with ./ ../ / or ~ (quote names with spaces)"
        )
    return Model(variant_name(name, variant), lookahead)


def split_variant(name: str) -> tuple[str, Variant | None]:
    """Return the model behind a name, and what is made of it: ``"int8"``, or its layers that are left out (none if they
    are to be found). ``None`` if it is the model itself.

    >>> split_variant("target[skip=1,3]"), split_variant("target[skip]"), split_variant("target[int8]")
    (('target', (1, 3)), ('target', ()), ('target', 'int8'))
    """
    found = _VARIANT.match(name)
    if not found:
        return name, None
    return found[1], "int8" if found[2] else tuple(int(n) for n in (found[3] or "=")[1:].split(",") if n.strip())


def variant_name(base: str, variant: Variant | None) -> str:
    """Return the inverse of :func:`split_variant`, the layers in order."""
    if variant is None:
        return base
    if variant == "int8":
        return f"{base}[int8]"
    return f"{base}[skip={','.join(map(str, sorted(set(variant))))}]" if variant else f"{base}[skip]"


def _parse_variant(name: str, part: str) -> tuple[str, Variant | None]:
    found = _VARIANT.match(name)
    if found and found[3] is not None and not re.match(r"=\s*[0-9]{1,4}(\s*,\s*[0-9]{1,4})*\s*\Z", found[3]):
        raise StackError(
            f"the layers '{found[3][1:].strip()}' in '{part}' are not valid: use numbers from 0, as in [skip=1,3]"
        )
    return split_variant(name)


def _is_model_name(name: str) -> bool:
    if not name or name in DRAFT_SOURCES:
        return False
    if name.startswith(_PATH_STARTS):
        return True
    owner, slash, rest = name.partition("/")
    return bool(_WORD.match(name) if not slash else re.match(r"[\w.-]+\Z", owner) and re.match(r"[\w.:-]+\Z", rest))
