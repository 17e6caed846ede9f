"""How options are declared: as fields of a dataclass, or parameters of a command, each annotated
``A[type, Setting(...)]``.

From a declaration come the options of the command line (:mod:`hsd_viz.cli.arguments`), the
parameters and the documentation of a function of Python (:func:`keywords_from`), and the check of
values. A type may be a union, as in ``Path | str | None``: its first member is the type of what is
read from the command line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, wraps
from inspect import Signature, getdoc, signature
from types import UnionType
from typing import (
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from hsd_viz.errors import UserError
from hsd_viz.hints import guided
from hsd_viz.ranges import check_range

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Declaration = TypeVar("Declaration")
#: An option of the command line in a help text.
_OPTION = re.compile(r"--[a-z][a-z-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a setting means, and which values it takes: a setting of a decode, or any option of a
    command.

    Attributes:
        help: the help text of the command line.
        metavar: the value in the help of the command line; "" for a flag or a choice.
        words: what messages call the setting.
        unit: the unit, where the help does not name it.
        low: the smallest value; ``None`` for a text.
        high: the largest value; ``None`` if there is no largest one.
        above_low: whether a value must be above ``low``.
        off: the value that switches the setting off, where messages and the form name it.
        parse_range: whether the command line checks the range while it parses, and shows it.
        without_value: the value of an option that is given without one.
        in_a_row: whether several values follow the name of the option once, in place of the name
            before each value.
        option: the option of the command line, where it is not the name of the field.
        positional: whether the command line takes the value by its place.
        required: whether the command line needs the value, where Python has a default.
        python_only: whether only functions of Python take the value, and no command.
        in_k: whether the command line reads 8k as 8192.
        label: the label in the page's form; "" if the form has no field for it.
        form_low: the smallest value of the form, where it differs from ``low``.
        form_high: the largest value of the form, where it differs from ``high``.
    """

    help: str
    metavar: str = ""
    words: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    above_low: bool = False
    off: float | None = None
    parse_range: bool = True
    without_value: int | None = None
    in_a_row: bool = False
    option: str = ""
    positional: bool = False
    required: bool = False
    python_only: bool = False
    in_k: bool = False
    label: str = ""
    form_low: float | None = None
    form_high: float | None = None

    def check(self, value: Any) -> None:
        """Check a value against the range.

        Raises:
            UserError: if it is out of range.
        """
        if self.low is None:
            return
        if not self.above_low:
            check_range(self.words, value, self.low, self.high)
            return
        is_low_enough = self.high is None or value <= self.high
        if not (self.low < value and is_low_enough):
            wrong = "out of range" if value == value else "not valid"
            raise UserError(f"{self.words} {value:g} is {wrong}: expected {self._allowed()}")

    def _allowed(self) -> str:
        """Return the range of a setting whose values are above ``low``, as text."""
        allowed = f"a number above {self.low:g}"
        if self.high is not None:
            allowed += f" and up to {self.high:g}"
        return f"{allowed}{self._off_words()}"

    def _off_words(self) -> str:
        return "" if self.off is None else f" ({self.off:g}: off)"

    def option_of(self, name: str) -> str:
        """Return the option of the command line for the field or parameter of that name."""
        return "--" + (self.option or name.rstrip("_").replace("_", "-"))

    @property
    def form_label(self) -> str:
        """The label in the page's form, with the value that switches the setting off."""
        return f"{self.label}{self._off_words()}"


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """A field of a dataclass that has a :class:`Setting`.

    Attributes:
        name: of the field.
        type: of its values.
        setting: what they mean.
        default: the default; ``None`` where there is none.
    """

    name: str
    type: Any
    setting: Setting
    default: Any

    @property
    def option(self) -> str:
        """The option of the command line."""
        return self.setting.option_of(self.name)


@cache
def fields_of(declaration: Any) -> tuple[DeclaredField, ...]:
    """Return the fields of a dataclass that have a :class:`Setting`."""
    hints = get_type_hints(declaration, include_extras=True)
    declared = []
    for one in fields(declaration):
        hint = hints[one.name]
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Setting):
                default = None if one.default is MISSING else one.default
                declared.append(DeclaredField(one.name, hint.__origin__, mark, default))
    return tuple(declared)


def read_type(annotated: Any) -> Any:
    """Return the type of what the command line reads: the first member of a union."""
    if isinstance(annotated, UnionType) or get_origin(annotated) is Union:
        return get_args(annotated)[0]
    return annotated


def choices_of(annotated: Any) -> tuple[str, ...]:
    """Return what may be chosen, where the type is a ``Literal``; empty for another."""
    read = read_type(annotated)
    return get_args(read) if get_origin(read) is Literal else ()


def settings_of(declaration: type) -> dict[str, Setting]:
    """Return the settings that a dataclass declares, by name."""
    return {declared.name: declared.setting for declared in fields_of(declaration)}


def check_settings(value: Any) -> None:
    """Check the settings that a dataclass declares, in a value of it.

    Raises:
        UserError: if one of them is out of range.
    """
    declaration: Any = type(value)
    for declared in fields_of(declaration):
        given = getattr(value, declared.name)
        if given is None and declared.default is None:
            continue
        declared.setting.check(given)


@cache
def _types_of(declaration: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields. They are evaluated once: a help text among them
    reads which packages are installed.
    """
    return get_type_hints(declaration)


def from_data(declaration: Callable[..., T], data: Mapping[str, Any]) -> T:
    """Return the dataclass whose fields are the members of a JSON object; an object within is the
    dataclass of its field.

    Raises:
        TypeError: if a field is unknown or missing.
    """
    types_of_fields = _types_of(declaration)
    values: dict[str, Any] = {}
    for name, value in data.items():
        inner: Any = read_type(types_of_fields.get(name))
        if isinstance(value, Mapping) and isinstance(inner, type) and is_dataclass(inner):
            values[name] = from_data(inner, value)
        else:
            values[name] = value
    return declaration(**values)


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
    declared = {one.name: one for one in fields_of(declaration)}
    names: dict[str, str] = {}
    for name, one in declared.items():
        names[one.option] = f"``{name}``"
    lines = ["Args:"]
    for name in signature(declaration).parameters:
        setting = declared[name].setting
        text = _OPTION.sub(lambda option: names.get(option[0], option[0]), setting.help)
        choices = choices_of(declared[name].type)
        if choices:
            text = f"{_as_words(choices)}; {text}"
        unit = f", in {setting.unit}" if setting.unit else ""
        lines.append(f"    {name}: {text}{unit}.")
    return "\n".join(lines)


def _as_words(choices: tuple[str, ...]) -> str:
    """Return choices as the text of a docstring, as in "``a``, ``b`` or ``c``"."""
    *first, last = (f"``{choice}``" for choice in choices)
    return f"{', '.join(first)} or {last}"
