"""A function as a command: its parameters are the options, the first line of its docstring is the summary.

A parameter is annotated ``A[type, "METAVAR", "help"]``, a flag or a choice without a metavar. ``bool`` is a flag,
``Literal`` a choice, ``tuple[T, ...]`` an option that may be repeated, ``tuple[T, T]`` one with two values; a parameter
that is not keyword-only is positional. A dataclass is a group of options shared by several commands. Limits and
defaults are added to the help text. Examples and notes are in ``help.md``.
"""

import argparse
import types
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from functools import partial
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import Any, Literal, NewType, NoReturn, Union, get_args, get_origin, get_type_hints

from hsd_viz.words import check_range, did_you_mean

BAD_INPUT = 2
#: The command as it was given; a parameter of this type is not an option.
CommandLine = NewType("CommandLine", str)
#: An option with this mark has one or more values.
MANY = object()


@dataclass(frozen=True, slots=True)
class Range:
    """The limits of a number."""

    low: float
    high: float

    def parse(self, kind: type, text: str) -> Any:
        value: Any = text
        with suppress(ValueError):
            value = kind(text)
        try:
            check_range("the value", value, kind(self.low), kind(self.high))
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return value


@dataclass(frozen=True, slots=True)
class Bare:
    """The value of an option that is given without one."""

    value: Any


class Parser(argparse.ArgumentParser):
    """An argument parser with one-line errors, and suggestions for misspelled words."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        options: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
        super().__init__(*args, **options | kwargs)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            hint = did_you_mean(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return known, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            hint = did_you_mean(str(value), choices)
            raise argparse.ArgumentError(action, f"invalid choice: {value!r} (use {', '.join(choices)}){hint}")

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {' '.join(message.split())} (see {self.prog} --help)\n")


def add_command(commands: Any, name: str, function: Callable[..., int | None], complete: bool) -> None:
    """Add a function as a command, with its options if ``complete``; parsed arguments carry it as ``run(args)``."""
    summary = (getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")
    text = (summary[:1].lower() + summary[1:]).rstrip(".").replace("%", "%%")
    if any(one.kind is Parameter.VAR_POSITIONAL for one in signature(function).parameters.values()):
        # No prefix character: everything that follows belongs to another program.
        parser = commands.add_parser(name, help=text, add_help=False, prefix_chars="\0")
        parser.add_argument("rest", nargs="*", metavar="OPTION")
    else:
        parser = commands.add_parser(name, help=text, description=summary)
        if complete:
            parser.epilog = notes(parser.prog.partition(" ")[2])
            add_options(parser, function)
    parser.set_defaults(run=partial(call, function))


def notes(command: str) -> str:
    """Return the examples and notes of a command, "" where there are none."""
    text = Path(__file__).with_name("help.md").read_text(encoding="utf-8")
    body = text.partition(f"\n## {command}\n")[2].partition("\n## ")[0].strip()
    return f"{body}\n" if body else ""


def call(function: Callable[..., Any], args: argparse.Namespace) -> Any:
    """Call a function, or make a dataclass, with its parsed arguments and return its result."""
    hints, positional, options = get_type_hints(function), [], {}
    for one in signature(function).parameters.values():
        if one.kind is Parameter.VAR_POSITIONAL:
            return function(*args.rest)
        hint = hints.get(one.name)
        if is_dataclass(hint):
            value = call(hint, args)  # type: ignore[arg-type]
        elif (value := getattr(args, one.name)) is None:
            value = None if one.default is Parameter.empty else one.default
        elif isinstance(value, list):
            value = tuple(value)
        if one.kind is Parameter.KEYWORD_ONLY:
            options[one.name] = value
        else:
            positional.append(value)
    return function(*positional, **options)


def add_options(where: Any, owner: Any) -> None:
    """Add the parameters of a function, or the fields of a dataclass, to a parser."""
    hints = get_type_hints(owner, include_extras=True)
    for parameter in signature(owner).parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint):
            add_options(where.add_argument_group((getdoc(hint) or "").rstrip(".").lower()), hint)
        elif hint is not CommandLine:
            _add(where, parameter, *get_args(hint))


def _add(where: Any, parameter: Parameter, kind: Any, *marks: Any) -> None:
    union = get_origin(kind) in (Union, types.UnionType)
    kinds = [part for part in get_args(kind) if part is not type(None)] if union else [kind]
    many, is_option = get_origin(kinds[0]) is tuple, parameter.kind is Parameter.KEYWORD_ONLY
    base, *others = get_args(kinds[0]) if many else kinds
    *metavar, text = [mark for mark in marks if isinstance(mark, str)]
    default, facts = parameter.default, []
    options: dict[str, Any] = {"metavar": metavar[0]} if metavar else {}
    for mark in marks:
        if isinstance(mark, Range):
            options["type"] = partial(mark.parse, base)
            facts.append(f"{mark.low:g}-{mark.high:g}")
        elif isinstance(mark, Bare):
            options |= {"nargs": "?", "const": mark.value}
    if base is bool:
        options = {"action": "store_true", "default": None}
    elif get_origin(base) is Literal:
        options["choices"] = get_args(base)
    elif "type" not in options and base is not str:
        options["type"] = _path if base is Path else base
    if many and others[0] is not Ellipsis:
        options |= {"nargs": 1 + len(others), "metavar": tuple(metavar[0].split())}
    elif many:
        options |= {"action": "append"} if is_option and MANY not in marks else {"nargs": "+"}
    if default is not False and default not in (Parameter.empty, None, "", ()):
        facts.append(f"default {default:g}" if isinstance(default, float) else f"default {default}")
    name = parameter.name
    if is_option:
        name = "--" + name.rstrip("_").replace("_", "-")
        options |= {"dest": parameter.name, "required": default is Parameter.empty}
    elif default is not Parameter.empty:
        options["nargs"] = "*" if many else "?"
    text += f" ({', '.join(facts)})" if facts else ""
    where.add_argument(name, help=text.replace("%", "%%"), **options)


def _path(text: str) -> Path:
    """Read a path; an empty text would mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the file name is empty")
    return Path(text)
