"""Declarations of settings: fields of a dataclass, or parameters of a command.

Each is annotated ``A[type, Setting(...)]``::

    top_k: A[
        int,
        Setting(
            "sample among the K likeliest tokens; 0: all",
            CliOption("K"),
            Range(0, off=0),
            FormField("Top-k", high=1_000_000),
            noun="top-k",
        ),
    ] = 0

One declaration serves four readers. :class:`~hsd_viz.settings.ranges.Range` checks the value,
wherever it comes from. :class:`CliOption` makes an option of the command line
(:mod:`hsd_viz.cli.functions_as_commands`), :class:`FormField` a field of the page's form. Functions
of Python have the fields of a dataclass as keyword arguments (:mod:`hsd_viz.settings.keywords`).
The values of a ``Literal`` are checked, as ranges are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, fields, is_dataclass
from functools import cache
from inspect import Parameter, get_annotations, getmro
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from hsd_viz.errors import UserError
from hsd_viz.names.hints import did_you_mean
from hsd_viz.settings.ranges import Range, plain_numbers
from hsd_viz.settings.spelling import Spelling, fill_in

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CliOption:
    """How the command line takes a setting, in the terms of argparse.

    Attributes:
        metavar: the name of the value in the help; "" for a flag or a choice.
        type: the type that is read from text, where Python takes further types or none that a text
            determines (:mod:`hsd_viz.settings.argument_types`).
        name: the option without its dashes, where it is not the name of the field.
        positional: whether it is a positional argument.
        const: the value of an option that is given without one.
        nargs: ``+``: several values follow the option; "": it is repeated before each value.
        shows_range: whether the range is checked while the command line is parsed, and shown in
            the help.
    """

    metavar: str = ""
    _: KW_ONLY
    type: Any = None
    name: str = ""
    positional: bool = False
    const: int | str | None = None
    nargs: Literal["", "+"] = ""
    shows_range: bool = True

    def __post_init__(self) -> None:
        if self.name and self.positional:
            raise ValueError(f"{self.metavar} is positional: it has no name '{self.name}'")


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the page's form.

    Attributes:
        label: its label.
        low: its smallest number, where it differs from the setting's.
        high: its largest number, where it differs from the setting's.
    """

    label: str
    _: KW_ONLY
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """What a setting means, and who takes which values of it.

    Attributes:
        help: its meaning, in the help of the command line and in docstrings; another setting that
            it names is in braces, as in ``with {gpu}``.
        option: its option; ``None`` if only functions of Python take it.
        range: the numbers that it takes; ``None`` for another type.
        form: its field in the page's form; ``None`` if the form has none.
        noun: what messages call it.
        unit: the unit, where the help does not name it.
    """

    help: str
    option: CliOption | None = CliOption()
    range: Range | None = None
    form: FormField | None = None
    _: KW_ONLY
    noun: str = "the value"
    unit: str = ""

    def __post_init__(self) -> None:
        if self.form is not None and self.range is None:
            raise ValueError(f"the form's field '{self.form.label}' needs a range")

    def help_for(self, front_end: Spelling) -> str:
        """Return the meaning, with other settings as a front end spells them."""
        return fill_in(self.help, front_end)

    def check(self, value: Any) -> None:
        """Check a value against the range.

        Raises:
            UserError: if it is out of range.
        """
        if self.range is not None:
            self.range.check(self.noun, value)


@dataclass(frozen=True, slots=True)
class Declared:
    """A field or parameter that has a :class:`Setting`.

    Attributes:
        name: of the field.
        type: of its values.
        setting: what they mean.
        default: the default; ``Parameter.empty`` where there is none.
    """

    name: str
    type: Any
    setting: Setting
    default: Any

    @property
    def choices(self) -> tuple[str, ...]:
        """What may be chosen, where the type is a ``Literal``; empty for another."""
        return choices_of(without_none(self.type))

    @property
    def read_type(self) -> Any:
        """The type of what the command line reads.

        Raises:
            TypeError: if values have several types, and the option does not state one.
        """
        option = self.setting.option
        if option is not None and option.type is not None:
            return option.type
        kind = without_none(self.type)
        if _is_union(kind):
            raise TypeError(f"{self.name} is one of {kind}: state CliOption(type=...)")
        return kind

    @property
    def option(self) -> str:
        """The option of the command line."""
        option = self.setting.option
        name = "" if option is None else option.name
        return "--" + (name or self.name.rstrip("_").replace("_", "-"))


def declared_in(name: str, hint: Any, default: Any) -> Declared | None:
    """Return what the annotation of a field or parameter declares; ``None`` if it has no
    :class:`Setting`.
    """
    for mark in getattr(hint, "__metadata__", ()):
        if isinstance(mark, Setting):
            return Declared(name, hint.__origin__, mark, default)
    return None


def group_title(declaration: type) -> str | None:
    """Return the title of the group of the help that a dataclass declares as ``OPTION_GROUP``;
    ``None``: the fields that the class itself declares are among the command's own options.
    """
    return vars(declaration).get("OPTION_GROUP")


def groups_of(declaration: Any) -> list[Any]:
    """Return a dataclass and those that it inherits, its own first; none for another type."""
    return [owner for owner in getmro(declaration) if is_dataclass(owner)]


@cache
def fields_of(declaration: Any) -> tuple[Declared, ...]:
    """Return the fields of a dataclass that have a :class:`Setting`, its own before those that it
    inherits.
    """
    hints = get_type_hints(declaration, include_extras=True)
    defaults = {field.name: field.default for field in fields(declaration)}
    declared: dict[str, Declared] = {}
    for owner in groups_of(declaration):
        for name in get_annotations(owner):
            if name in declared or name not in defaults:
                continue
            default = Parameter.empty if defaults[name] is MISSING else defaults[name]
            field = declared_in(name, hints[name], default)
            if field is not None:
                declared[name] = field
    return tuple(declared.values())


def settings_of(declaration: type) -> dict[str, Setting]:
    """Return the settings that a dataclass declares, by name."""
    return {declared.name: declared.setting for declared in fields_of(declaration)}


def check_settings(value: Any) -> None:
    """Check the settings that a dataclass declares, in a value of it that is being made; those
    with numbers of numpy get numbers of Python.

    Raises:
        UserError: if one of them is out of range.
    """
    declaration: Any = type(value)
    for declared in fields_of(declaration):
        given = plain_numbers(getattr(value, declared.name))
        # The dataclass is frozen.
        object.__setattr__(value, declared.name, given)
        if given is None and declared.default is None:
            continue
        _check_choice(declared, given)
        declared.setting.check(given)


def _check_choice(declared: Declared, given: Any) -> None:
    """Check a value against the choices of its field.

    Raises:
        UserError: if it is another.
    """
    choices = declared.choices
    if choices and given not in choices:
        allowed = ", ".join(choices)
        hint = did_you_mean(str(given), choices)
        raise UserError(f"unknown {declared.name} {given!r}: it is one of {allowed}{hint}")


def as_call(value: Any) -> str:
    """Return the call that makes a value of a dataclass: the fields that differ from their
    defaults.
    """
    arguments = []
    declaration: Any = type(value)
    for declared in fields_of(declaration):
        given = getattr(value, declared.name)
        if given != declared.default:
            arguments.append(f"{declared.name}={given!r}")
    return f"{declaration.__name__}({', '.join(arguments)})"


def part_of(value: Any, declaration: Callable[..., T]) -> T:
    """Return the settings that a value shares with another dataclass, as a value of that one; its
    other settings are its defaults.
    """
    given = settings_of(type(value))
    shared: dict[str, Any] = {}
    for declared in fields_of(declaration):
        if declared.name in given:
            shared[declared.name] = getattr(value, declared.name)
    return from_data(declaration, shared)


def _is_union(annotated: Any) -> bool:
    return isinstance(annotated, UnionType) or get_origin(annotated) is Union


def without_none(annotated: Any) -> Any:
    """Return a type without ``None``, where it is one type or ``None``; else as it is."""
    if not _is_union(annotated):
        return annotated
    others = [member for member in get_args(annotated) if member is not NoneType]
    return others[0] if len(others) == 1 else annotated


def choices_of(annotated: Any) -> tuple[str, ...]:
    """Return what may be chosen, where the type is a ``Literal``; empty for another."""
    return get_args(annotated) if get_origin(annotated) is Literal else ()


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
        inner: Any = without_none(types_of_fields.get(name))
        if isinstance(value, Mapping) and isinstance(inner, type) and is_dataclass(inner):
            values[name] = from_data(inner, value)
        else:
            values[name] = value
    return declaration(**values)
