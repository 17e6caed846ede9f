"""``cli.md`` from the argument parsers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from itertools import chain

from hsd_viz.cli import build_parser
from tools.reference.markdown import GENERATED


def cli_reference() -> str:
    """Return the reference of all commands as Markdown."""
    parts = [
        "# Command line",
        GENERATED,
        "`python -m hsd_viz` is the same as `hsd-viz`.",
        *_command(build_parser(), 2, {}),
    ]
    return "\n\n".join(parts) + "\n"


def _command(parser: argparse.ArgumentParser, level: int, shared: dict[str, str]) -> Iterator[str]:
    """Yield the reference of a command; ``shared``: rows of option groups -> the command where
    they are listed.
    """
    yield f"{'#' * level} `{parser.prog}`"
    commands: dict[str, argparse.ArgumentParser] = {}
    groups: list[tuple[str, list[argparse.Action]]] = []
    for group in parser._action_groups:
        actions = []
        for action in group._group_actions:
            if action.help == argparse.SUPPRESS or _is_help(action):
                continue
            if isinstance(action, argparse._SubParsersAction):
                commands |= action.choices
            else:
                actions.append(action)
        if actions:
            groups.append((group.title or "", actions))
    if parser.description:
        yield parser.description
    words = [parser.prog]
    if commands:
        words.append("COMMAND")
    every_action = list(chain(*(actions for _, actions in groups)))
    words += [_name(action) for action in every_action if action.required]
    if not all(action.required for action in every_action):
        words.append("[options]")
    usage = " ".join(words)
    yield f"```text\n{usage}\n```"
    for title, actions in groups:
        if title not in ("options", "positional arguments"):
            yield f"**{title.capitalize()}**"
        first = parser.prog
        if title in ("sampling", "models and machine"):
            first = shared.setdefault(title, parser.prog)
        if first == parser.prog:
            yield "\n".join(f"- {_names(action)}: {_help(action)}" for action in actions)
        else:
            options = ", ".join(f"`{action.option_strings[-1]}`" for action in actions)
            yield f"{options}: as for `{first}`."
    # Examples of commands are in their help and in the how-to guides.
    yield from _epilog(parser.epilog or "", examples=level == 2)
    for command in commands.values():
        yield from _command(command, level + 1, shared)


def _is_help(action: argparse.Action) -> bool:
    return isinstance(action, argparse._HelpAction)


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else None
    name = action.metavar or choices or action.dest.upper().replace("-", "_")
    name = " ".join(name) if isinstance(name, tuple) else name
    if action.nargs == "+":
        return f"{name} ..."
    if action.nargs == "?":
        return f"[{name}]"
    return str(name)


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return _value(action)
    return f"{action.option_strings[0]} {_value(action)}".strip()


def _names(action: argparse.Action) -> str:
    names = [f"`{name} {_value(action)}`".replace(" `", "`") for name in action.option_strings]
    return ", ".join(names) or f"`{_value(action)}`"


def _help(action: argparse.Action) -> str:
    text = (action.help or "").replace("%%", "%")
    return f"{text} (required)" if action.required and action.option_strings else text


def _epilog(text: str, examples: bool) -> Iterator[str]:
    """Yield the paragraphs of an epilog; indented lines become code blocks."""
    for block in re.split(r"\n\n+", text.strip()):
        if block.startswith("examples:") and not examples:
            continue
        for indented, lines in _runs(block.split("\n")):
            if indented:
                yield "```text\n" + "\n".join(line[2:] for line in lines) + "\n```"
            elif lines != [""]:
                paragraph = " ".join(lines)
                yield paragraph[:1].upper() + paragraph[1:]


def _runs(lines: list[str]) -> Iterator[tuple[bool, list[str]]]:
    run: list[str] = []
    for line in lines:
        if run and (line.startswith("  ") != run[0].startswith("  ")):
            yield run[0].startswith("  "), run
            run = []
        run.append(line)
    yield run[0].startswith("  "), run
