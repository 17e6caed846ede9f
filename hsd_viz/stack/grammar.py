"""The vocabulary of the stack language: names, limits and the pattern of a part."""

from __future__ import annotations

import re
from typing import Literal

from hsd_viz.errors import UserError
from hsd_viz.stack.draft_sources import draft_sources

#: The databases that ``db`` uses by default, in order of locality.
DATABASES = ("context", "model", "statistics")
#: The loops of transformers on the same weights, for ``bench`` only.
HF_STACKS = ("hf-generate", "hf-lookup", "hf-assistant")
#: The number types that the weights of a copy can have.
COPY_TYPES = ("int8", "bfloat16", "float32")
#: The largest lookahead.
MAX_LOOKAHEAD = 64
#: The name of the target model.
TARGET = "target"
#: The stack of plain decoding, as text: the target alone.
PLAIN = TARGET
#: The lookahead of a draft model whose lookahead is left out.
DEFAULT_LOOKAHEAD = 4
#: A number of tokens; ``auto`` lets the selector choose; ``None`` if it is left out.
Lookahead = int | Literal["auto"] | None

#: The pattern of a part: a name, which may be quoted, with brackets, lookahead and confidence.
PART = re.compile(
    r"""(?:"(?P<quoted>[^"]+)"|(?P<word>[^\s>\[\],"]+?))"""
    r"(?:\s*(?P<brackets>\[.*\]))?(?:\s*:\s*(?P<lookahead>[0-9]+|auto))?"
    r"(?:\s*\?\s*(?P<confidence>[0-9]+|[0-9]*\.[0-9]+))?",
    re.S,
)
_NAME = re.compile(r"(?:\.\.?/|/|~).*|[A-Za-z_][A-Za-z0-9_.-]*|[\w.-]+/[\w.:-]+", re.S)
_COPY = re.compile(rf"(?P<model>.+)\[(?P<type>{'|'.join(COPY_TYPES)})\]", re.S)


class StackError(UserError):
    """An error for stack text that cannot be parsed. It names the part and what is allowed."""


def split_copy(name: str) -> tuple[str, str | None]:
    """Split the name of a copy into the model's name and the type of the copy's weights.

    The type is ``None`` if ``name`` is the name of a model.

    >>> split_copy("target[int8]")
    ('target', 'int8')
    """
    copy = _COPY.fullmatch(name)
    if copy is None:
        return name, None
    return copy["model"], copy["type"]


def is_model_name(name: str) -> bool:
    """Return whether ``name``, without quotes, has the form of a model's name."""
    return name not in draft_sources() and _NAME.fullmatch(name) is not None


def written_name(name: str) -> str:
    """Return a model's name as it is written in a stack: in double quotes if it needs them.

    >>> written_name("nano"), written_name("./my model")
    ('nano', '"./my model"')
    """
    part = PART.fullmatch(name)
    is_plain = part is not None and part["word"] == name and is_model_name(name)
    return name if is_plain else f'"{name}"'
