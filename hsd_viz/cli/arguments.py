"""A function as a command: its parameters are the options, the first line of its docstring is the
summary.

A parameter is annotated ``A[type, Setting(...)]`` (:class:`hsd_viz.declare.Setting`). ``bool`` is a
flag, ``Literal`` a choice, ``tuple[T, ...]`` an option that may be repeated, ``Sequence[T]`` a list
with commas; a parameter that is not keyword-only is positional. A dataclass is a group of options,
and a dataclass that inherits fields is a group per class. Examples and notes are in ``help.md``.

This is a thin layer over argparse because ``hsd-viz --help`` has 0.3 s: all of it takes 0.14 s,
where cyclopts 5.5 takes 0.23 s for a program of one command (medians of 15 on one machine). Limits,
and one-line errors that suggest a word, are a few lines here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from functools import partial
from inspect import Parameter, getdoc, getmro, signature
from pathlib import Path
from typing import (
    Any,
    NewType,
    NoReturn,
    get_args,
    get_origin,
    get_type_hints,
)

from hsd_viz.declare import Setting, choices_of, read_type
from hsd_viz.disk import check_writable
from hsd_viz.errors import UserError
from hsd_viz.ranges import check_range
from hsd_viz.words import did_you_mean

BAD_INPUT = 2
#: The first line of a dataclass whose fields are among the command's own options.
OWN_GROUP = "options"
#: What k means after a number.
_K = 1024
#: The command as it was given (not an option), a file to write, a trace to write.
CommandLine = NewType("CommandLine", str)
Out = NewType("Out", Path)
Save = NewType("Save", Path)


class Parser(argparse.ArgumentParser):
    """An argument parser with one-line errors, and suggestions for misspelled words."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        options: dict[str, Any] = {
            "formatter_class": argparse.RawDescriptionHelpFormatter,
            "allow_abbrev": False,
        }
        super().__init__(*args, **options | kwargs)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            hint = did_you_mean(unknown[0].partition("=")[0], self._option_string_actions)
            hint = hint or self._list_hint(unknown[0], args or [])
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return known, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if (known := action.choices) is not None and value not in known:
            message = (
                f"invalid choice: {value!r} (use {', '.join(known)}){did_you_mean(value, known)}"
            )
            raise argparse.ArgumentError(action, message)

    def _get_value(self, action: argparse.Action, text: str) -> Any:
        try:
            return action.type(text) if callable(action.type) else text
        except ValueError as error:
            message = str(error)
            if action.type is int:
                message = f"{text!r} is not a whole number"
            elif action.type is float:
                message = f"{text!r} is not a number"
            raise argparse.ArgumentError(action, message) from None

    def _list_hint(self, word: str, args: Sequence[str]) -> str:
        """Return that a list takes commas, where a word follows the first of one; else nothing."""
        if word.startswith("-"):
            return ""
        for name in args:
            action = self._option_string_actions.get(name)
            if action is not None and "," in str(action.metavar):
                return f"; {name} takes a list with commas, as in {action.metavar}"
        return ""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {' '.join(message.split())} (see {self.prog} --help)\n")


def add_commands(
    parser: Parser, title: str, commands: Mapping[str, Any], only: str | None = None
) -> None:
    """Add functions, or groups of them (summary, functions), as commands; parsed arguments carry
    one as ``run``.

    Args:
        parser: takes the commands.
        title: what they are called together.
        commands: the functions and groups by name.
        only: the name of the only one with its options; by default all have them.
    """
    added = parser.add_subparsers(
        title=title, metavar=title[:-1].upper(), dest=title[:-1], required=True
    )
    for name, command in commands.items():
        text, actions = (getdoc(command) or "", {}) if callable(command) else command
        summary = text.partition("\n\n")[0].replace("\n", " ")
        # No prefix character: everything that follows belongs to another program.
        passed_on = callable(command) and "rest" in signature(command).parameters
        one = added.add_parser(
            name,
            description=summary,
            help=(summary[:1].lower() + summary[1:]).rstrip(".").replace("%", "%%"),
            add_help=not passed_on,
            prefix_chars="\0" if passed_on else "-",
        )
        if only not in (None, name):
            continue
        one.epilog = notes(one.prog.partition(" ")[2])
        if actions:
            add_commands(one, "actions", actions)
        else:
            _add_options(one, command)
            one.set_defaults(run=partial(_call, command))


def notes(command: str) -> str:
    """Return the examples and notes of a command, "" where there are none."""
    text = Path(__file__).with_name("help.md").read_text(encoding="utf-8")
    body = text.partition(f"\n## {command}\n")[2].partition("\n## ")[0].strip()
    return f"{body}\n" if body else ""


def _call(owner: Callable[..., Any], args: argparse.Namespace) -> Any:
    """Call a function, or make a dataclass, with its parsed arguments and return its result."""
    hints = get_type_hints(owner)
    values = {}
    for name in signature(owner).parameters:
        if is_dataclass(hints[name]):
            values[name] = _call(hints[name], args)
        elif name in args:
            value = getattr(args, name)
            values[name] = tuple(value) if isinstance(value, list) else value
    return owner(**values)


def _add_options(parser: Parser, command: Callable[..., Any]) -> None:
    """Add the parameters of a function to a parser: its own options, then the groups."""
    hints = get_type_hints(command, include_extras=True)
    groups: list[type] = []
    for parameter in signature(command).parameters.values():
        hint = hints[parameter.name]
        owners = _dataclasses_of(hint)
        for owner in owners:
            if _title_of(owner) == OWN_GROUP:
                _add_fields(parser, parser, owner)
            else:
                groups.append(owner)
        if not owners and hint is not CommandLine:
            is_option = parameter.kind is Parameter.KEYWORD_ONLY
            _add_option(parser, _Declared.of(parameter, hint, is_option))
    for owner in groups:
        _add_fields(parser, parser, owner)


def _title_of(owner: type) -> str:
    """Return the title of the group of a dataclass: the first line of its docstring."""
    return (getdoc(owner) or "").partition("\n")[0].rstrip(".").lower()


def _dataclasses_of(hint: Any) -> list[type]:
    """Return a dataclass and those that it inherits, these first; none for another type."""
    if not isinstance(hint, type):
        return []
    return [owner for owner in reversed(getmro(hint)) if is_dataclass(owner)]


def _add_fields(parser: Parser, where: Any, owner: Any) -> None:
    """Add the fields that a dataclass itself declares.

    Args:
        parser: takes what is positional.
        where: takes the options: a parser, to which a group is added, or the group of a dataclass
            that has this one as a field.
        owner: the dataclass.
    """
    hints = get_type_hints(owner, include_extras=True)
    parameters = signature(owner).parameters
    own = [name for name in vars(owner).get("__annotations__", ()) if name in parameters]
    title = _title_of(owner)
    if own and where is parser and title != OWN_GROUP:
        where = parser.add_argument_group(title)
    for name in own:
        if is_dataclass(hints[name]):
            _add_fields(parser, where, hints[name])
            continue
        declared = _Declared.of(parameters[name], hints[name], is_option=True)
        if not declared.setting.python_only:
            _add_option(where if declared.is_option else parser, declared)


@dataclass(frozen=True, slots=True)
class _Declared:
    """A parameter of a command, as its annotation declares it.

    Attributes:
        name: of the parameter.
        default: ``Parameter.empty`` if it is required.
        base: the type of one value.
        many: whether there may be several values.
        is_option: whether it is given by name.
        setting: what its values mean.
    """

    name: str
    default: Any
    base: Any
    many: bool
    is_option: bool
    setting: Setting

    @classmethod
    def of(cls, parameter: Parameter, hint: Any, is_option: bool) -> _Declared:
        """Read an annotation."""
        kind, setting = get_args(hint)
        kind = read_type(kind)
        many = get_origin(kind) is tuple
        return cls(
            name=parameter.name,
            default=parameter.default,
            base=get_args(kind)[0] if many else kind,
            many=many,
            is_option=is_option and not setting.positional,
            setting=setting,
        )

    @property
    def is_required(self) -> bool:
        """Whether the command line has no default."""
        return self.default is Parameter.empty or self.setting.required

    @property
    def limits(self) -> tuple[float, float] | None:
        """The smallest and the largest number that the command line reads."""
        low = self.setting.low
        high = self.setting.high
        if low is None or high is None or not self.setting.parse_range:
            return None
        return low, high

    @property
    def help(self) -> str:
        """The help with the limits and the default."""
        facts = []
        if self.limits is not None:
            facts.append("{:g}-{:g}".format(*self.limits))
        if not self.is_required and self.default is not False:
            if isinstance(self.default, float):
                facts.append(f"default {self.default:g}")
            elif self.setting.in_k:
                facts.append(f"default {_in_k(self.default)}")
            elif isinstance(self.default, tuple) and self.default:
                facts.append(f"default {','.join(map(str, self.default))}")
            elif self.default not in (None, "", ()):
                facts.append(f"default {self.default}")
        if not facts:
            return self.setting.help
        return f"{self.setting.help} ({', '.join(facts)})"

    @property
    def option(self) -> str:
        """The name on the command line."""
        return self.setting.option_of(self.name)


def _add_option(where: Any, declared: _Declared) -> None:
    """Add one parameter to a parser or a group."""
    setting = declared.setting
    options: dict[str, Any] = {"help": declared.help.replace("%", "%%")}
    if declared.base is bool:
        options["action"] = "store_true"
    elif choices := choices_of(declared.base):
        options["choices"] = choices
    else:
        options["type"] = READERS.get(declared.base, declared.base)
        if setting.metavar:
            options["metavar"] = setting.metavar
    if declared.limits is not None:
        options["type"] = partial(_number, declared.base, *declared.limits)
    elif setting.in_k and declared.base is int:
        options["type"] = _whole_number
    if setting.without_value is not None:
        options["nargs"] = "?"
        options["const"] = setting.without_value
    if declared.many and (setting.in_a_row or not declared.is_option):
        options["nargs"] = "+"
    elif declared.many:
        options["action"] = "append"
    if not declared.is_required:
        is_tuple = isinstance(declared.default, tuple)
        options["default"] = list(declared.default) if is_tuple else declared.default
    written = declared.name
    if declared.is_option:
        options["dest"] = declared.name
        options["required"] = declared.is_required
        written = declared.option
    elif not declared.is_required:
        options["nargs"] = "*" if declared.many else "?"
    where.add_argument(written, **options)


def _number(kind: type, low: float, high: float, text: str) -> Any:
    value: Any = text
    with suppress(ValueError):
        value = kind(text)
    check_range("the value", value, kind(low), kind(high))
    return value


def _in_k(value: int | tuple[int, ...]) -> str:
    """Return whole numbers as they are written with k."""
    numbers = value if isinstance(value, tuple) else (value,)
    return ",".join(f"{number // _K}k" for number in numbers)


def _number_of(text: str) -> float:
    """Return a number as it is written: a whole one, 2k or 0.5."""
    if text.endswith("k"):
        return int(text[:-1]) * _K
    value = float(text)
    return int(value) if text.strip("+- ").isdecimal() else value


def _numbers(text: str) -> tuple[float, ...]:
    """Read numbers separated by commas; k is 1024 of a whole number."""
    try:
        return tuple(map(_number_of, text.lower().split(",")))
    except ValueError:
        raise UserError(f"{text!r} is not readable: use numbers, as in 1,8,32 or 2k,32k") from None


def _whole_number(text: str) -> int:
    """Read a whole number; k is 1024."""
    with suppress(ValueError):
        value = _number_of(text.lower())
        if isinstance(value, int):
            return value
    raise UserError(f"{text!r} is not readable: use a whole number, as in 2048 or 8k")


def _names(text: str) -> tuple[str, ...]:
    """Read names separated by commas."""
    return tuple(name.strip() for name in text.split(",")) if text else ()


def _path(text: str, *checks: Callable[[Path], Any]) -> Path:
    if not text:  # would mean the current folder
        raise UserError("the file name is empty")
    for check in checks:
        check(Path(text))
    return Path(text)


def _save(text: str) -> Path:
    from hsd_viz.trace.file import checked_name

    return _path(text, check_writable, checked_name)


#: What reads a value, where it is not the type itself.
READERS: dict[Any, Callable[[str], Any]] = {
    Path: _path,
    Out: lambda text: _path(text, check_writable),
    Save: _save,
    Sequence[float]: _numbers,
    # What uses the numbers checks that they are whole.
    Sequence[int]: _numbers,
    Sequence[str]: _names,
}
