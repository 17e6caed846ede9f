"""Tools from functions: the parameters of a function are the arguments of the tool, and its
docstring is the description.

A parameter is annotated ``A[type, Setting(...)]``, as those of commands are
(:mod:`hsd_viz.settings.declare`); its JSON schema has the type, the meaning and the range.
:class:`Limits` adds what a setting does not limit, because a chat may send anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter, getdoc, signature
from typing import Any, get_args, get_origin, get_type_hints

from hsd_viz.mcp.protocol import Message, Tool, ToolAnswer
from hsd_viz.settings.declare import Declared, choices_of, declared_in, without_none
from hsd_viz.settings.ranges import Range
from hsd_viz.settings.spelling import as_argument


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an argument beside the range of its setting.

    Attributes:
        length: the largest number of characters of a text.
        items: the largest number of items of a list.
        choices: the texts that are allowed; empty: all.
    """

    length: int = 200
    items: int = 16
    choices: tuple[str, ...] = ()


def tool_of(function: Callable[..., ToolAnswer], title: str) -> Tool:
    """Return the tool that calls a function.

    Args:
        function: a function or bound method, each of whose parameters has a
            :class:`~hsd_viz.settings.declare.Setting`.
        title: the display name.
    """
    hints = get_type_hints(function, include_extras=True)
    properties: dict[str, Message] = {}
    required: list[str] = []
    for name, parameter in signature(function).parameters.items():
        declared = declared_in(name, hints[name], parameter.default)
        assert declared is not None, f"{function.__name__}: {name} has no setting"
        properties[name] = _schema_of(declared, _limits_of(hints[name]))
        if parameter.default is Parameter.empty:
            required.append(name)
    return Tool(
        name=function.__name__,
        title=title,
        description=" ".join((getdoc(function) or "").split()),
        properties=properties,
        required=required,
        run=function,
    )


def _limits_of(hint: Any) -> Limits:
    for mark in hint.__metadata__:
        if isinstance(mark, Limits):
            return mark
    return Limits()


def _schema_of(declared: Declared, limits: Limits) -> Message:
    """Return the JSON schema of an argument."""
    kind = without_none(declared.type)
    description = {"description": declared.setting.help_for(as_argument)}
    if get_origin(kind) is Sequence:
        items = _schema_of_one(get_args(kind)[0], declared.setting.range, limits)
        return {"type": "array", "items": items, "maxItems": limits.items, **description}
    return {**_schema_of_one(kind, declared.setting.range, limits), **description}


def _schema_of_one(kind: Any, range_: Range | None, limits: Limits) -> Message:
    """Return the JSON schema of a value that is not a list.

    Raises:
        TypeError: for a type that a chat cannot send.
    """
    if kind in (int, float):
        assert range_ is not None and range_.high is not None, "a number needs a range"
        name = "integer" if kind is int else "number"
        return {"type": name, "minimum": range_.low, "maximum": range_.high}
    choices = choices_of(kind) or limits.choices
    if choices:
        return {"type": "string", "maxLength": limits.length, "enum": list(choices)}
    if kind is not str:
        raise TypeError(f"{kind} is not a type of JSON")
    return {"type": "string", "maxLength": limits.length}
