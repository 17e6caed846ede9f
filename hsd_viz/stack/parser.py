"""The parser of stacks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hsd_viz.names.hints import did_you_mean
from hsd_viz.stack.checks import check_stack
from hsd_viz.stack.draft_sources import AUTO, draft_sources
from hsd_viz.stack.grammar import (
    COPY_TYPES,
    HF_STACKS,
    MAX_LOOKAHEAD,
    PART,
    StackError,
    is_model_name,
    split_copy,
)
from hsd_viz.stack.parts import DraftSource, HFStack, ModelPart, Stack

_QUOTED = re.compile(r'"[^"]+"')
_LOOKAHEADS = f"expected a whole number from 1 to {MAX_LOOKAHEAD}, or auto"
_CONFIDENCES = "expected a number above 0 and below 1, as in nano:8?0.4"


def parse(text: str | Stack) -> Stack:
    """Parse a stack. A parsed stack is returned unchanged.

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
    """Parse the parts of a stack, without checking them against each other."""
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


def read_source(text: str) -> DraftSource:
    """Parse a draft source alone, as in ``db[context]``.

    Raises:
        StackError: if ``text`` is not a draft source.
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
    """Return the stack that a run decoded, from the meta of its trace.

    Raises:
        StackError: if the meta has no valid stack.
    """
    return parse(str(meta.get("stack_resolved") or meta.get("stack") or ""))


def parse_bench(text: str | Stack) -> Stack | HFStack:
    """Parse a stack as :func:`parse` does, or a loop of transformers: ``hf-generate``,
    ``hf-lookup`` or ``hf-assistant[MODEL]``.
    """
    if isinstance(text, Stack):
        return text
    loop = None
    if isinstance(text, str):  # parse() raises the error for other types
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
    """Split a text at each ``mark`` outside quotes."""
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
    """Parse a part: a draft source if its name is one of them, else a model."""
    sources = draft_sources()
    part = PART.fullmatch(text)
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
    """Parse the part of a draft source."""
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
    """Parse an item in the brackets of a draft source; an item of ``auto`` may be a model."""
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
    part = PART.fullmatch(text)
    brackets = part["brackets"] if part else None
    copied = brackets[1:-1].strip() if brackets else None
    name = (part["quoted"] or part["word"]) if part and copied in (None, *COPY_TYPES) else ""
    lookahead = part["lookahead"] if part else None
    if not part or not is_model_name(name):
        raise StackError(_unknown_part(text, lookahead))
    if split_copy(name)[1] is not None:
        raise StackError(
            f"'{text}' has the type of a copy inside the quotes: write '{ModelPart(name)}'"
        )
    if copied is not None:
        name += f"[{copied}]"
    confidence = _confidence(part["confidence"], text)
    if lookahead in (None, "auto"):
        return ModelPart(name, "auto" if lookahead else None, confidence)
    if not 1 <= int(lookahead) <= MAX_LOOKAHEAD:
        raise StackError(
            f"the lookahead {int(lookahead)} in '{text}' is out of range: {_LOOKAHEADS}"
        )
    return ModelPart(name, int(lookahead), confidence)


def _unknown_part(text: str, lookahead: str | None) -> str:
    """Return the error message for a part that is not a valid model."""
    unsure = re.fullmatch(r"[A-Za-z0-9_.-]+(?:\s*:\s*(?:[0-9]+|auto))?\s*\?(.*)", text, re.S)
    if unsure and not lookahead:
        return f"the confidence '{unsure[1].strip()}' in '{text}' is not valid: {_CONFIDENCES}"
    wrong = re.fullmatch(r"[A-Za-z0-9_.-]+:(.*)", text, re.S)
    if wrong and not lookahead:
        return f"the lookahead '{wrong[1].strip()}' in '{text}' is not valid: {_LOOKAHEADS}"
    return (
        f"unknown part '{text}': expected one of {', '.join(draft_sources())} "
        "(first only), a ladder name "
        "such as nano, a hub id with one '/', or a path starting with "
        "./ ../ / or ~ (quote names with spaces)"
    )


def _confidence(written: str | None, text: str) -> float | None:
    """Return the confidence of a part as a number; ``None`` if it is left out."""
    if written is None:
        return None
    confidence = float(written)
    if not 0 < confidence < 1:
        raise StackError(f"the confidence {written} in '{text}' is out of range: {_CONFIDENCES}")
    return confidence
