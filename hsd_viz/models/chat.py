"""Render chat templates: Jinja programs of models that write a conversation as text.

Rendering equals ``apply_chat_template`` of transformers, in Jinja's sandbox.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from hsd_viz.errors import UserError, first_line

if TYPE_CHECKING:
    from jinja2 import Template

#: The longest text that a template may write, in characters.
MAX_CHARACTERS = 4_000_000


def render(
    template: str,
    messages: Sequence[Mapping[str, str]],
    *,
    bos_token: str = "",
    eos_token: str = "",
    add_generation_prompt: bool = True,
) -> str:
    """Return the text of a conversation.

    Raises:
        UserError: if the template raises an error, with the message of that error.
    """
    try:
        pieces: list[str] = []
        length = 0
        writing = _compiled(template).generate(
            messages=[dict(message) for message in messages],
            bos_token=bos_token,
            eos_token=eos_token,
            add_generation_prompt=add_generation_prompt,
            tools=None,
            documents=None,
        )
        for piece in writing:
            pieces.append(piece)
            length += len(piece)
            if length > MAX_CHARACTERS:
                raise UserError(f"it writes more than {MAX_CHARACTERS} characters")
        return "".join(pieces)
    except Exception as error:  # a template is a program and may raise anything
        raise UserError(first_line(error)) from None


@lru_cache(maxsize=8)
def _compiled(template: str) -> Template:
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        """A sandbox whose operators accept only numbers: ``"x" * 10**9`` would fill the memory."""

        intercepted_binops = frozenset(["*", "**", "%"])

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            numbers = (int, float)
            if not isinstance(left, numbers) or not isinstance(right, numbers):
                raise UserError(f"it uses {operator} on other values than numbers")
            if operator == "**" and (abs(left) > 1e6 or abs(right) > 64):
                raise UserError("it computes a large power")
            return super().call_binop(context, operator, left, right)

    sandbox = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    sandbox.filters["tojson"] = _as_json
    sandbox.globals["raise_exception"] = _raise
    sandbox.globals["strftime_now"] = _formatted_now
    return sandbox.from_string(template)


def _as_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise(message: str) -> NoReturn:
    raise UserError(str(message))


def _formatted_now(form: str) -> str:
    return datetime.now().strftime(form)
