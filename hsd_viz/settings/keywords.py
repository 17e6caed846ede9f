"""Functions of Python whose keyword arguments are declared once, as the fields of a dataclass."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, getdoc, signature
from typing import Any, ParamSpec, TypeVar

from hsd_viz.names.hints import guided
from hsd_viz.settings.declare import Declared, choices_of, fields_of

P = ParamSpec("P")
R = TypeVar("R")
Declaration = TypeVar("Declaration")


def keywords_from(
    declaration: Callable[P, Declaration],
) -> Callable[[Callable[[Declaration], R]], Callable[P, R]]:
    """Make a function of one dataclass value a function of the fields of the dataclass.

    The fields become its parameters, and the help of their settings the ``Args`` section of its
    docstring.

    Args:
        declaration: a dataclass each of whose fields has a
            :class:`~hsd_viz.settings.declare.Setting`.
    """

    def with_fields(function: Callable[[Declaration], R]) -> Callable[P, R]:
        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(declaration(*args, **kwargs))

        _document(called, declaration, signature(function).return_annotation)
        return guided(called)

    return with_fields


def documented(declaration: type[Declaration]) -> type[Declaration]:
    """Document a dataclass as what is called with its fields: a decorator above ``dataclass``."""
    _document(declaration, declaration, None)
    return declaration


def _document(target: Any, declaration: Any, returned: Any) -> None:
    """Give a function or class the signature and the ``Args`` section of a declaration's fields."""
    target.__signature__ = Signature(_parameters_of(declaration), return_annotation=returned)
    summary, errors, rest = (getdoc(target) or "").partition("\n\nRaises:")
    target.__doc__ = f"{summary}\n\n{_arguments_of(declaration)}{errors}{rest}"


def _parameters_of(declaration: Any) -> list[Parameter]:
    """Return the fields of a dataclass as parameters: the positional ones, then its own before
    those that it inherits.
    """
    by_name = signature(declaration).parameters
    positional: list[Parameter] = []
    by_keyword: list[Parameter] = []
    for declared in fields_of(declaration):
        parameter = by_name[declared.name].replace(annotation=declared.type)
        is_keyword = parameter.kind is Parameter.KEYWORD_ONLY
        (by_keyword if is_keyword else positional).append(parameter)
    return positional + by_keyword


def _arguments_of(declaration: Any) -> str:
    """Return the help of the fields of a dataclass as a section of a docstring."""
    declared = {field.name: field for field in fields_of(declaration)}
    lines = ["Args:"]
    for parameter in _parameters_of(declaration):
        lines.append(f"    {parameter.name}: {_meaning(declared[parameter.name])}.")
    return "\n".join(lines)


def _meaning(declared: Declared) -> str:
    """Return the help of a setting with its choices and unit."""
    setting = declared.setting
    text = setting.help_for(_as_literal)
    choices = choices_of(declared.read_type) if setting.option is not None else ()
    if choices:
        text = f"{_as_text(choices)}; {text}"
    return f"{text}, in {setting.unit}" if setting.unit else text


def _as_literal(name: str) -> str:
    """Return a setting as docstrings name it."""
    return f"``{name}``"


def _as_text(choices: tuple[str, ...]) -> str:
    """Return choices as the text of a docstring, as in "``a``, ``b`` or ``c``"."""
    *first, last = (f"``{choice}``" for choice in choices)
    return f"{', '.join(first)} or {last}"
