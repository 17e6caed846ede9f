"""The stack language: a parser with an exact inverse.

    stack    := part (">" part)*
    part     := source | model ["[" type "]"] [":" digits | ":auto"] ["?" number]
    source   := name ["[" item ("," item)* "]"]
    model    := ladder name (a bare word) | hub id (exactly one "/")
              | path starting with ./ ../ / ~ | any of these in double quotes

The last part is the target and has no lookahead. A lookahead is from 1 to 64, 4 if left out;
":auto" asks the selector. "?0.4": a draft stops once its own model gives it a probability below
0.4. "target[int8]": a copy of the model's weights in that type of COPY_TYPES. A source comes first:
one of draft_sources(), with its items there; auto takes db and models, and must be followed by the
target.

>>> str(parse("db[ context ]>nano:4 > target"))
'db[context] > nano:4 > target'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal

from hsd_viz.errors import UserError
from hsd_viz.sources import PROVIDER
from hsd_viz.words import did_you_mean

DATABASES = ("context", "model", "statistics")
#: transformers' own loops on the same weights, for ``bench`` only.
HF_STACKS = ("hf-generate", "hf-lookup", "hf-assistant")
#: The types that the weights of a copy can have.
COPY_TYPES = ("int8", "bfloat16", "float32")
#: The largest lookahead, and the one of a draft model without one.
MAX_LOOKAHEAD = 64
#: The names of the target, of database drafting and of the choice of a stack.
TARGET = "target"
DATABASE = "db"
AUTO = "auto"
DEFAULT_LOOKAHEAD = 4
Lookahead = int | Literal["auto"] | None

_QUOTED = re.compile(r'"[^"]+"')
_PART = re.compile(
    r"""(?:"(?P<quoted>[^"]+)"|(?P<word>[^\s>\[\],"]+?))"""
    r"(?:\s*(?P<brackets>\[.*\]))?(?:\s*:\s*(?P<lookahead>[0-9]+|auto))?"
    r"(?:\s*\?\s*(?P<confidence>[0-9]+|[0-9]*\.[0-9]+))?",
    re.S,
)
_NAME = re.compile(r"(?:\.\.?/|/|~).*|[A-Za-z_][A-Za-z0-9_.-]*|[\w.-]+/[\w.:-]+", re.S)
_COPY = re.compile(rf"(?P<model>.+)\[(?P<type>{'|'.join(COPY_TYPES)})\]", re.S)
_LOOKAHEADS = f"expected a whole number from 1 to {MAX_LOOKAHEAD}, or auto"
_CONFIDENCES = "expected a number above 0 and below 1, as in nano:8?0.4"


class StackError(UserError):
    """Stack text that cannot be parsed; the message names the part and what is allowed."""


def draft_sources() -> dict[str, tuple[str, ...]]:
    """Return every draft source with the items it takes in brackets: the registered drafters, and
    ``auto``.
    """
    return {**PROVIDER.items_by_name(), AUTO: (DATABASE,)}


def split_copy(name: str) -> tuple[str, str | None]:
    """Return the model whose copy ``name`` is, and the type of the copy's weights; ``None`` for the
    name of a model.

    >>> split_copy("target[int8]")
    ('target', 'int8')
    """
    copy = _COPY.fullmatch(name)
    if copy is None:
        return name, None
    return copy["model"], copy["type"]


@dataclass(frozen=True, slots=True)
class DraftSource:
    """A database drafter, a baseline or ``auto``, first in a stack.

    Attributes:
        name: of the drafter.
        items: databases in access order, and options; of ``auto`` ``db`` and model names. Empty for
            the default.
    """

    name: str
    items: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.items:
            return self.name
        known = draft_sources()[self.name]
        items = [item if item in known else str(ModelPart(item)) for item in self.items]
        return f"{self.name}[{','.join(items)}]"


@dataclass(frozen=True, slots=True)
class ModelPart:
    """A model: a ladder name, a hub id or a path.

    Attributes:
        name: the name, id or path; of a copy with the type of its weights, as in ``target[int8]``.
        lookahead: the tokens that it proposes at least; ``None`` if left out, and for the target.
        confidence: its draft stops after the token with which the draft's probability by its own
            rows falls below this number; ``None``: it never stops for this reason.
    """

    name: str
    lookahead: Lookahead = None
    confidence: float | None = None

    @property
    def original(self) -> str:
        """The name of the model itself, without the type of a copy."""
        return split_copy(self.name)[0]

    def __str__(self) -> str:
        original, copied = split_copy(self.name)
        part = _PART.fullmatch(original)
        plain = part and part["word"] == original and _is_model_name(original)
        text = original if plain else f'"{original}"'
        if copied is not None:
            text += f"[{copied}]"
        if self.lookahead is not None:
            text += f":{self.lookahead}"
        if self.confidence is not None:
            text += f"?{Decimal(repr(self.confidence)):f}"
        return text


@dataclass(frozen=True, slots=True)
class Stack:
    """A parsed stack.

    Attributes:
        bottom: the draft source below the models, if there is one.
        models: the models, bottom first; the last is the target.
    """

    bottom: DraftSource | None
    models: tuple[ModelPart, ...]

    @property
    def target(self) -> ModelPart:
        return self.models[-1]

    @property
    def drafts(self) -> tuple[ModelPart, ...]:
        """The draft models, bottom first."""
        return self.models[:-1]

    @property
    def source(self) -> str | None:
        """The draft source at the bottom, as the stack writes it."""
        return None if self.bottom is None else str(self.bottom)

    @property
    def parts(self) -> tuple[DraftSource | ModelPart, ...]:
        """The parts by level, level 0 first."""
        return self.models if self.bottom is None else (self.bottom, *self.models)

    @property
    def automatic(self) -> bool:
        """Whether the draft source is ``auto``, which chooses a stack."""
        return self.bottom is not None and self.bottom.name == AUTO

    def resolved(self, lookahead: Lookahead = DEFAULT_LOOKAHEAD) -> Stack:
        """Return the same stack with ``lookahead`` where it was left out."""
        drafts = []
        for model in self.drafts:
            if model.lookahead is None:
                model = replace(model, lookahead=lookahead)
            drafts.append(model)
        return Stack(self.bottom, (*drafts, self.target))

    def __str__(self) -> str:
        return " > ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class HFStack:
    """transformers' own loop (``bench`` only).

    Attributes:
        name: ``hf-generate``, ``hf-lookup`` or ``hf-assistant``.
        assistant: the model of ``hf-assistant[MODEL]``.
    """

    name: str
    assistant: str | None = None

    def __str__(self) -> str:
        return self.name if self.assistant is None else f"{self.name}[{ModelPart(self.assistant)}]"


def parse(text: str | Stack) -> Stack:
    """Parse a stack; one that is parsed is returned as it is.

    Raises:
        StackError: if ``text`` is not a valid stack.
    """
    if isinstance(text, Stack):
        return text
    if not isinstance(text, str):
        kind = type(text).__name__
        raise StackError(f"a stack is one text such as 'nano > target', not {kind}: {text!r:.80}")
    if not text.strip():
        raise StackError(
            "the stack is empty: write for example 'target', 'nano:4 "
            "> target' or 'db > nano:4 > target'"
        )
    stack = _read_parts(text)
    check_stack(stack)
    return stack


def _read_parts(text: str) -> Stack:
    """Parse the parts of a stack; what they may be together is not checked."""
    bottom: DraftSource | None = None
    models: list[ModelPart] = []
    for place, piece in enumerate(_split(text, ">")):
        if not piece:
            raise StackError(
                f"part {place + 1} of the stack {text.strip()!r} is "
                "empty: separate the parts with '>'"
            )
        part = _parse_part(piece)
        if isinstance(part, ModelPart):
            models.append(part)
        elif place:
            raise StackError(
                f"'{part}' is part {place + 1} of the stack: it can only be the first part"
            )
        else:
            bottom = part
    if not models:
        raise StackError(
            f"'{bottom}' has no target: end the stack with a model, as in '{bottom} > target'"
        )
    return Stack(bottom, tuple(models))


def check_stack(stack: Stack) -> None:
    """Check what the parts of a stack are together.

    Raises:
        StackError: if the target is a copy or has settings, if models follow ``auto``, or if a
            model would draft for itself.
    """
    _check_target(stack.target)
    if stack.bottom is not None and stack.automatic:
        _check_automatic(stack, stack.bottom)
    names = [model.name for model in stack.models]
    for name in names:
        if names.count(name) > 1:
            raise StackError(
                f"'{name}' appears twice in the stack: a model cannot draft for itself"
            )


def _check_target(target: ModelPart) -> None:
    """Check that a target is the model itself, without settings of a draft model."""
    if target.original != target.name:
        raise StackError(
            f"the last part '{target}' is the target, of which the option dtype sets the type "
            f"of the weights: write '{ModelPart(target.original)}'"
        )
    if target.lookahead is not None or target.confidence is not None:
        plain = ModelPart(target.name)
        what = "confidence" if target.lookahead is None else "lookahead"
        raise StackError(
            f"the last part '{target}' is the target and takes no {what}: write '{plain}'"
        )


def _check_automatic(stack: Stack, bottom: DraftSource) -> None:
    """Check that ``auto`` is followed by the target alone, which is not among its items."""
    if stack.drafts:
        drafts = [model.name for model in stack.drafts]
        named = f"{DraftSource(AUTO, (DATABASE, *drafts))} > {stack.target}"
        raise StackError(
            f"'auto' chooses the draft models and must be followed by the target: write '{named}'"
        )
    target = stack.target.name
    if target in bottom.items:
        raise StackError(
            f"'{target}' is the target and in '{bottom}': a model cannot draft for itself"
        )


def read_source(text: str) -> DraftSource:
    """Parse a draft source alone, as in ``db[context]``.

    Raises:
        StackError: if ``text`` is not one.
    """
    source = read_bottom(text)
    if source is None:
        raise StackError(f"'{text}' is not a draft source: use one of {', '.join(draft_sources())}")
    return source


def read_bottom(text: str) -> DraftSource | None:
    """Parse the lowest part of a stack alone; ``None`` if it is a model.

    Raises:
        StackError: if ``text`` is not a part of a stack.
    """
    stack = parse(f"{text} > target")
    return None if stack.drafts else stack.bottom


def decoded_stack(meta: Mapping[str, Any]) -> Stack:
    """Return the stack that a run decoded with, as the meta of its trace has it.

    Raises:
        StackError: if the meta has none.
    """
    return parse(str(meta.get("stack_resolved") or meta.get("stack") or ""))


def parse_bench(text: str | Stack) -> Stack | HFStack:
    """Parse a stack like :func:`parse`, or ``hf-generate``, ``hf-lookup`` and
    ``hf-assistant[MODEL]``.
    """
    if isinstance(text, Stack):
        return text
    loop = None
    if isinstance(text, str):  # parse() has the message for anything else
        loop = re.match(r'(hf-[^\s>\[\],":]*)\s*(.*)', text.strip(), re.S)
    if loop is None:
        return parse(text)
    name, rest = loop.groups()
    if name not in HF_STACKS:
        loops = "hf-generate, hf-lookup and hf-assistant[MODEL]" + did_you_mean(name, HF_STACKS)
        raise StackError(f"unknown stack '{name}': the loops of transformers are {loops}")
    model = re.fullmatch(r"\[(.+)\]", rest, re.S)
    if (model is None) if name == "hf-assistant" else rest:
        raise StackError(
            f"'{text.strip()}' is not valid: write hf-generate, hf-lookup or hf-assistant[nano]"
        )
    return HFStack(name, _parse_model(model[1].strip()).name if model else None)


def _split(text: str, mark: str) -> list[str]:
    """Split at each ``mark`` outside quotes."""
    unquoted = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), text)
    if '"' in unquoted:
        raise StackError(f"the stack {text.strip()!r} has an unclosed or empty double quote")
    pieces = []
    start = 0
    for place, character in enumerate(unquoted):
        if character == mark:
            pieces.append(text[start:place].strip())
            start = place + 1
    pieces.append(text[start:].strip())
    return pieces


def _parse_part(text: str) -> DraftSource | ModelPart:
    """Parse a part: a draft source if it has the name of one, else a model."""
    sources = draft_sources()
    part = _PART.fullmatch(text)
    name = part["word"] if part else None
    brackets = part["brackets"] if part else None
    if part is not None and name in sources:
        return _parse_source(part, text)
    is_copy = brackets is not None and brackets[1:-1].strip() in COPY_TYPES
    if name is None or brackets is None or is_copy:
        return _parse_model(text)
    expected = ", ".join(sources) + did_you_mean(name, sources)
    raise StackError(
        f"unknown name '{name}' in '{text}': expected {expected}; "
        f"a model takes the type of a copy's weights: {', '.join(COPY_TYPES)}"
    )


def _parse_source(part: re.Match[str], text: str) -> DraftSource:
    """Parse a part whose name is that of a draft source."""
    source = part["word"]
    brackets = part["brackets"]
    for setting in ("lookahead", "confidence"):
        if part[setting]:
            raise StackError(
                f"'{source}' takes no {setting}: its drafts are as long as the match suggests"
            )
    if not brackets:
        return DraftSource(source)
    if not draft_sources()[source]:
        raise StackError(f"'{source}' takes no brackets: write '{source}'")
    items: list[str] = []
    for written in _split(brackets[1:-1], ","):
        item = _parse_item(source, written, text)
        if item in items:
            raise StackError(f"'{item}' appears twice in '{text}'")
        items.append(item)
    return DraftSource(source, tuple(items))


def _parse_item(source: str, item: str, text: str) -> str:
    """Parse an item in the brackets of a draft source; those of ``auto`` may be models."""
    sources = draft_sources()
    allowed = sources[source]
    if item in allowed:
        return item
    is_source = item.split("[")[0].strip() in sources
    may_be_model = source == AUTO and item and not is_source
    if not may_be_model:
        takes = "db and models, such as nano" if source == AUTO else ", ".join(allowed)
        takes += did_you_mean(item, allowed)
        raise StackError(f"unknown item '{item}' in '{text}': {source}[...] takes {takes}")
    model = _parse_model(item)
    settings = {"lookahead": model.lookahead, "confidence": model.confidence}
    for setting, value in settings.items():
        if value is not None:
            raise StackError(
                f"'{item}' in '{text}' has a {setting}, which auto "
                f"chooses: write '{ModelPart(model.name)}'"
            )
    return model.name


def _parse_model(text: str) -> ModelPart:
    part = _PART.fullmatch(text)
    brackets = part["brackets"] if part else None
    copied = brackets[1:-1].strip() if brackets else None
    name = (part["quoted"] or part["word"]) if part and copied in (None, *COPY_TYPES) else ""
    look = part["lookahead"] if part else None
    if not part or not _is_model_name(name):
        raise StackError(_unknown_part(text, look))
    if split_copy(name)[1] is not None:
        raise StackError(
            f"'{text}' has the type of a copy inside the quotes: write '{ModelPart(name)}'"
        )
    if copied is not None:
        name += f"[{copied}]"
    confidence = _confidence(part["confidence"], text)
    if look in (None, "auto"):
        return ModelPart(name, "auto" if look else None, confidence)
    if not 1 <= int(look) <= MAX_LOOKAHEAD:
        raise StackError(f"the lookahead {int(look)} in '{text}' is out of range: {_LOOKAHEADS}")
    return ModelPart(name, int(look), confidence)


def _unknown_part(text: str, look: str | None) -> str:
    """Return the message about a part that is not a model."""
    unsure = re.fullmatch(r"[A-Za-z0-9_.-]+(?:\s*:\s*(?:[0-9]+|auto))?\s*\?(.*)", text, re.S)
    if unsure and not look:
        return f"the confidence '{unsure[1].strip()}' in '{text}' is not valid: {_CONFIDENCES}"
    wrong = re.fullmatch(r"[A-Za-z0-9_.-]+:(.*)", text, re.S)
    if wrong and not look:
        return f"the lookahead '{wrong[1].strip()}' in '{text}' is not valid: {_LOOKAHEADS}"
    return (
        f"unknown part '{text}': expected one of {', '.join(draft_sources())} "
        "(first only), a ladder name "
        "such as nano, a hub id with one '/', or a path starting with "
        "./ ../ / or ~ (quote names with spaces)"
    )


def _confidence(written: str | None, text: str) -> float | None:
    """Return the confidence of a part as a number."""
    if written is None:
        return None
    confidence = float(written)
    if not 0 < confidence < 1:
        raise StackError(f"the confidence {written} in '{text}' is out of range: {_CONFIDENCES}")
    return confidence


def _is_model_name(name: str) -> bool:
    return name not in draft_sources() and _NAME.fullmatch(name) is not None
