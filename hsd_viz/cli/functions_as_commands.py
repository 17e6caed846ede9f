"""Commands of argparse from functions: the parameters of a function are the options, and the first
line of its docstring is the summary.

Typer and click read the options of a command from its function alone; here many are fields of
dataclasses that functions of Python and the page's form take, too.

A parameter is annotated ``A[type, Setting(...)]`` (:mod:`hsd_viz.settings.declare`). Its type makes
it a flag (``bool``), a choice (``Literal``), a repeatable option (``tuple[T, ...]``) or a list with
commas (``Sequence[T]``). One that is not keyword-only is a positional argument. A dataclass makes
an option of each field, those of its base classes and of the dataclasses among its fields included;
``OPTION_GROUP`` of the class is their group of the help. Examples and notes are in ``help.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
from inspect import Parameter, get_annotations, getdoc, signature
from pathlib import Path
from typing import Any, NewType, get_args, get_origin, get_type_hints

from hsd_viz.cli.parser import Parser
from hsd_viz.cli.readers import in_k, reader_of, shown_range
from hsd_viz.settings.argument_types import Tokens
from hsd_viz.settings.declare import (
    CliOption,
    Declared,
    choices_of,
    declared_in,
    fields_of,
    group_title,
    groups_of,
)
from hsd_viz.settings.spelling import as_option

#: Type of a parameter that gets the command line, and is not an option.
CommandLine = NewType("CommandLine", str)


def add_commands(
    parser: Parser,
    title: str,
    commands: Mapping[str, Any],
    words: Sequence[str] | None = None,
) -> None:
    """Add functions, or groups of them (summary, functions), as commands. The parsed arguments have
    the selected one as ``run``.

    Args:
        parser: the parser.
        title: the name of the commands in messages.
        commands: the functions or groups by name.
        words: the words to parse. Only commands among them get their options, because adding
            options takes most of the time (default: all commands).
    """
    added = parser.add_subparsers(
        title=title, metavar=title[:-1].upper(), dest=title[:-1], required=True
    )
    for name, command in commands.items():
        text, actions = (getdoc(command) or "", {}) if callable(command) else command
        summary = text.partition("\n\n")[0].replace("\n", " ")
        # Without a prefix character, all following words are passed to another program.
        passed_on = callable(command) and "rest" in signature(command).parameters
        subparser = added.add_parser(
            name,
            description=summary,
            help=(summary[:1].lower() + summary[1:]).rstrip(".").replace("%", "%%"),
            add_help=not passed_on,
            prefix_chars="\0" if passed_on else "-",
        )
        if words is not None and name not in words:
            continue
        subparser.epilog = notes(subparser.prog.partition(" ")[2])
        if actions:
            add_commands(subparser, "actions", actions, words)
        else:
            _add_parameters(subparser, command)
            subparser.set_defaults(run=partial(_call, command))


def notes(command: str) -> str:
    """Return the examples and notes of a command; "": none."""
    text = Path(__file__).with_name("help.md").read_text(encoding="utf-8")
    body = text.partition(f"\n## {command}\n")[2].partition("\n## ")[0].strip()
    return f"{body}\n" if body else ""


def _call(owner: Callable[..., Any], args: argparse.Namespace) -> Any:
    """Call a function or create a dataclass with its parsed arguments; return the result."""
    hints = get_type_hints(owner)
    values = {}
    for name in signature(owner).parameters:
        if is_dataclass(hints[name]):
            values[name] = _call(hints[name], args)
        elif name in args:
            value = getattr(args, name)
            values[name] = tuple(value) if isinstance(value, list) else value
    return owner(**values)


def _add_parameters(parser: Parser, command: Callable[..., Any]) -> None:
    """Add the parameters of a function to a parser: its own options, then the groups."""
    hints = get_type_hints(command, include_extras=True)
    groups: list[type] = []
    for parameter in signature(command).parameters.values():
        hint = hints[parameter.name]
        declared = declared_in(parameter.name, hint, parameter.default)
        if declared is not None:
            _add_argument(parser, declared, parameter.kind is not Parameter.KEYWORD_ONLY)
        elif is_dataclass(hint):
            owners = groups_of(hint)
            for owner in owners:
                if group_title(owner) is None:
                    _add_group(parser, owner)
                else:
                    groups.append(owner)
    for owner in groups:
        _add_group(parser, owner)


def _add_group(parser: Parser, owner: type) -> None:
    """Add the fields that a dataclass declares, then those of its base classes and fields."""
    own = get_annotations(owner)
    declared = [field for field in fields_of(owner) if field.name in own]
    inner = [field for field in declared if is_dataclass(field.type)]
    title = group_title(owner)
    group = parser if title is None or not declared else parser.group(title)
    for field in declared:
        if field not in inner and field.setting.option is not None:
            positional = field.setting.option.positional
            _add_argument(parser if positional else group, field, positional)
    for field in inner:
        for part in groups_of(field.type):
            _add_group(parser, part)


def _add_argument(where: Any, declared: Declared, positional: bool) -> None:
    """Add a setting to a parser or a group of it."""
    option = declared.setting.option
    assert option is not None
    kind = declared.read_type
    is_many = get_origin(kind) is tuple
    if is_many:
        kind = get_args(kind)[0]
    is_repeatable = is_many and not (option.nargs or positional)
    is_required = declared.default is Parameter.empty
    settings: dict[str, Any] = {
        "help": _help_of(declared, option, is_repeatable).replace("%", "%%"),
        **_reading_of(kind, declared, option),
    }
    if option.const is not None:
        settings["nargs"] = "?"
        settings["const"] = option.const
    if is_repeatable:
        settings["action"] = "append"
    elif is_many:
        settings["nargs"] = "+"
    if not is_required:
        default = declared.default
        settings["default"] = list(default) if isinstance(default, tuple) else default
    if positional:
        if not is_required:
            settings["nargs"] = "*" if is_many else "?"
        name = declared.name
    else:
        settings["dest"] = declared.name
        settings["required"] = is_required
        name = declared.option
    where.add_argument(name, **settings)


def _reading_of(kind: Any, declared: Declared, option: CliOption) -> dict[str, Any]:
    """Return the arguments for argparse that read a type: a flag, a choice or a parsed text."""
    if kind is bool:
        return {"action": "store_true"}
    if choices := choices_of(kind):
        return {"choices": choices}
    reading: dict[str, Any] = {"type": reader_of(kind, declared.setting, option)}
    if option.metavar:
        reading["metavar"] = option.metavar
    return reading


def _help_of(declared: Declared, option: CliOption, is_repeatable: bool) -> str:
    """Return the help of a setting, with its range, repeatability and default."""
    facts = ["repeatable"] if is_repeatable else []
    limits = shown_range(declared.setting, option)
    if limits is not None:
        facts.append(f"{limits.low:g}-{limits.high:g}")
    if option.const is not None:
        facts.append(f"{option.const} when {option.metavar} is left out")
    default = _default_of(declared)
    if default:
        facts.append(f"default {default}")
    help = declared.setting.help_for(as_option)
    return f"{help} ({', '.join(facts)})" if facts else help


def _default_of(declared: Declared) -> str:
    """Format the default of a setting; "" if there is none to show."""
    default = declared.default
    if default is False or default in (None, "", (), Parameter.empty):
        return ""
    if isinstance(default, float):
        return f"{default:g}"
    if declared.read_type in (Tokens, Sequence[Tokens]):
        return in_k(default)
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return str(default)
