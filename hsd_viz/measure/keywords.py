"""A public function whose keyword arguments are declared as a dataclass.

The command line makes its options of the same dataclass, so that names, ranges and help are stated
once (:class:`hsd_viz.options.Setting`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from inspect import Signature, getdoc, signature
from typing import Any, ParamSpec, TypeVar

from hsd_viz.options import settings_of
from hsd_viz.words import guided

P = ParamSpec("P")
R = TypeVar("R")
Declaration = TypeVar("Declaration")
#: An option of the command line in a help text.
_OPTION = re.compile(r"--([a-z][a-z-]*)")


def keywords_from(
    declaration: Callable[P, Declaration],
) -> Callable[[Callable[[Declaration], R]], Callable[P, R]]:
    """Make a function of one dataclass value a function of the fields of the dataclass.

    The fields become its parameters, and the help of their settings the ``Args`` section of its
    docstring.

    Args:
        declaration: a dataclass each of whose fields has a :class:`Setting`.
    """

    def with_fields(function: Callable[[Declaration], R]) -> Callable[P, R]:
        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(declaration(*args, **kwargs))

        called.__signature__ = _signature_of(declaration, function)  # type: ignore[attr-defined]
        summary, errors, rest = (getdoc(function) or "").partition("\n\nRaises:")
        called.__doc__ = f"{summary}\n\n{_arguments_of(declaration)}{errors}{rest}"
        return guided(called)

    return with_fields


def _signature_of(declaration: Any, function: Callable[..., Any]) -> Signature:
    """Return the fields of a dataclass as parameters, typed without their settings."""
    types_of_fields = {one.name: _type_as_written(str(one.type)) for one in fields(declaration)}
    parameters = []
    for name, parameter in signature(declaration).parameters.items():
        parameters.append(parameter.replace(annotation=types_of_fields[name]))
    return Signature(parameters, return_annotation=signature(function).return_annotation)


def _type_as_written(annotation: str) -> str:
    """Return the type of ``A[type, Setting(...)]``, both as source text."""
    annotated = ast.parse(annotation, mode="eval").body
    assert isinstance(annotated, ast.Subscript) and isinstance(annotated.slice, ast.Tuple)
    return ast.unparse(annotated.slice.elts[0])


def _arguments_of(declaration: Any) -> str:
    """Return the help of the fields of a dataclass as a section of a docstring."""
    lines = ["Args:"]
    for name, setting in settings_of(declaration).items():
        unit = f", in {setting.unit}" if setting.unit else ""
        lines.append(f"    {name}: {_OPTION.sub(_as_parameter, setting.help)}{unit}.")
    return "\n".join(lines)


def _as_parameter(option: re.Match[str]) -> str:
    """Return an option of the command line, as in ``--plain-speed``, as a name of Python."""
    return f"``{option[1].replace('-', '_')}``"
