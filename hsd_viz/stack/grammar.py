"""The names and the signs of the stack language."""

from __future__ import annotations

import re
from typing import Literal

from hsd_viz.errors import UserError
from hsd_viz.stack.draft_sources import draft_sources

DATABASES = ("context", "model", "statistics")
#: transformers' own loops on the same weights, for ``bench`` only.
HF_STACKS = ("hf-generate", "hf-lookup", "hf-assistant")
#: The types that the weights of a copy can have.
COPY_TYPES = ("int8", "bfloat16", "float32")
#: The largest lookahead, and the one of a draft model without one.
MAX_LOOKAHEAD = 64
TARGET = "target"
DEFAULT_LOOKAHEAD = 4
Lookahead = int | Literal["auto"] | None

#: A part of a stack: a name, maybe in double quotes, with its brackets, lookahead and confidence.
PART = re.compile(
    r"""(?:"(?P<quoted>[^"]+)"|(?P<word>[^\s>\[\],"]+?))"""
    r"(?:\s*(?P<brackets>\[.*\]))?(?:\s*:\s*(?P<lookahead>[0-9]+|auto))?"
    r"(?:\s*\?\s*(?P<confidence>[0-9]+|[0-9]*\.[0-9]+))?",
    re.S,
)
_NAME = re.compile(r"(?:\.\.?/|/|~).*|[A-Za-z_][A-Za-z0-9_.-]*|[\w.-]+/[\w.:-]+", re.S)
_COPY = re.compile(rf"(?P<model>.+)\[(?P<type>{'|'.join(COPY_TYPES)})\]", re.S)


class StackError(UserError):
    """Stack text that cannot be parsed; the message names the part and what is allowed."""


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


def is_model_name(name: str) -> bool:
    """Return whether ``name`` has the form of a model's name, without double quotes."""
    return name not in draft_sources() and _NAME.fullmatch(name) is not None


def written_name(name: str) -> str:
    """Return a model's name as a stack has it: in double quotes if it would read as something else.

    >>> written_name("nano"), written_name("./my model")
    ('nano', '"./my model"')
    """
    part = PART.fullmatch(name)
    is_plain = part is not None and part["word"] == name and is_model_name(name)
    return name if is_plain else f'"{name}"'
