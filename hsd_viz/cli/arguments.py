"""A function as a command: its parameters are the options, the first line of its docstring is the summary.

A parameter is annotated ``A[type, "METAVAR", "help"]``, a flag or a choice without a metavar. ``bool`` is a flag,
``Literal`` a choice, ``tuple[T, ...]`` an option that may be repeated; a parameter that is not keyword-only is
positional. More marks: ``(low, high)``, the limits of a number; a number, the value of an option that is given without
one; ``...``, an option with several values. A dataclass is a group of options. Examples and notes are in ``help.md``.

This is a thin layer over argparse because ``hsd-viz --help`` has 0.3 s: all of it takes 0.14 s, where cyclopts 5.5 takes
0.23 s for a program of one command (medians of 15 on one machine). Limits, and one-line errors that suggest a word, are
a few lines here.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass
from functools import partial
from importlib.metadata import entry_points
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NewType,
    NoReturn,
    get_args,
    get_origin,
    get_type_hints,
)
from typing import Annotated as A

from hsd_viz.disk import check_writable, write_whole, writing
from hsd_viz.dtypes import DType
from hsd_viz.errors import UserError
from hsd_viz.words import check_range, did_you_mean

if TYPE_CHECKING:
    from hsd_viz.decoding.sampling import Sampling

BAD_INPUT = 2
#: The command as it was given (not an option), numbers separated by commas, a file to write, a trace to write.
CommandLine, Numbers = NewType("CommandLine", str), NewType("Numbers", tuple)
Out, Save = NewType("Out", Path), NewType("Save", Path)


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
            kinds = {int: f"{text!r} is not a whole number", float: f"{text!r} is not a number"}
            raise argparse.ArgumentError(action, kinds.get(action.type, str(error))) from None

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {' '.join(message.split())} (see {self.prog} --help)\n")


def add_commands(parser: Parser, title: str, commands: Mapping[str, Any]) -> None:
    """Add functions, or groups of them (summary, functions), as commands; parsed arguments carry one as ``run``."""
    added = parser.add_subparsers(
        title=title, metavar=title[:-1].upper(), dest=title[:-1], required=True
    )
    for name, command in commands.items():
        text, actions = (getdoc(command) or "", {}) if callable(command) else command
        summary = text.partition("\n\n")[0].replace("\n", " ")
        # No prefix character: everything that follows belongs to another program.
        passed_on = callable(command) and "rest" in signature(command).parameters
        options: dict[str, Any] = {"add_help": False, "prefix_chars": "\0"} if passed_on else {}
        options["help"] = (summary[:1].lower() + summary[1:]).rstrip(".").replace("%", "%%")
        one = added.add_parser(name, description=summary, **options)
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
    hints, values = get_type_hints(owner), {}
    for name in signature(owner).parameters:
        value = _call(hints[name], args) if is_dataclass(hints[name]) else getattr(args, name)
        values[name] = tuple(value) if isinstance(value, list) else value
    return owner(**values)


def _add_options(where: Any, owner: Any) -> None:
    """Add the parameters of a function, or the fields of a dataclass, to a parser."""
    hints = get_type_hints(owner, include_extras=True)
    for parameter in signature(owner).parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint):
            _add_options(where.add_argument_group((getdoc(hint) or "").rstrip(".").lower()), hint)
        elif hint is not CommandLine:
            _add(where, parameter, *get_args(hint))


def _add(where: Any, parameter: Parameter, kind: Any, *marks: Any) -> None:
    name, default, is_option = (
        parameter.name,
        parameter.default,
        parameter.kind is Parameter.KEYWORD_ONLY,
    )
    if type(None) in get_args(kind):  # T | None
        kind = get_args(kind)[0]
    many = get_origin(kind) is tuple
    base = get_args(kind)[0] if many else kind
    *metavar, text = [mark for mark in marks if isinstance(mark, str)]
    options: dict[str, Any] = {"type": READERS.get(base, base)} | (
        {"metavar": metavar[0]} if metavar else {}
    )
    if base is bool:
        options = {"action": "store_true"}
    elif get_origin(base) is Literal:
        options = {"choices": get_args(base)}
    facts = []
    for mark in marks:
        if isinstance(mark, tuple):
            options["type"] = partial(_number, base, *mark)
            facts.append("{:g}-{:g}".format(*mark))
        elif isinstance(mark, int):
            options |= {"nargs": "?", "const": mark}
    if many:
        options |= {"nargs": "+"} if ... in marks or not is_option else {"action": "append"}
    if default is not Parameter.empty:
        options["default"] = list(default) if isinstance(default, tuple) else default
        if default is not False and default not in (None, "", ()):
            facts.append(
                f"default {default:g}" if isinstance(default, float) else f"default {default}"
            )
    if is_option:
        options |= {"dest": name, "required": default is Parameter.empty}
        name = "--" + name.rstrip("_").replace("_", "-")
    elif default is not Parameter.empty:
        options["nargs"] = "*" if many else "?"
    text += f" ({', '.join(facts)})" if facts else ""
    where.add_argument(name, help=text.replace("%", "%%"), **options)


def _number(kind: type, low: float, high: float, text: str) -> Any:
    value: Any = text
    with suppress(ValueError):
        value = kind(text)
    check_range("the value", value, kind(low), kind(high))
    return value


def _numbers(text: str) -> tuple[float, ...]:
    """Read numbers separated by commas; k is 1024 of a whole number."""
    try:
        parts = [part.lower() for part in text.split(",")]
        numbers = [int(part[:-1]) * 1024 if part.endswith("k") else float(part) for part in parts]
        return tuple(
            int(n) if part.strip("+- ").isdecimal() else n
            for n, part in zip(numbers, parts, strict=True)
        )
    except ValueError:
        raise UserError(f"{text!r} is not readable: use numbers, as in 1,8,32 or 2k,32k") from None


def _path(text: str, *checks: Callable[[Path], Any]) -> Path:
    if not text:  # would mean the current folder
        raise UserError("the file name is empty")
    for check in checks:
        check(Path(text))
    return Path(text)


def _save(text: str) -> Path:
    from hsd_viz.trace.trace import checked_name

    return _path(text, check_writable, checked_name)


#: What reads a value, where it is not the type itself.
READERS = {
    Path: _path,
    Out: lambda text: _path(text, check_writable),
    Save: _save,
    Numbers: _numbers,
}


def _rule_help() -> str:
    """Return the help of ``--rule``. Rules of other packages are named; nothing here has checked them."""
    others = sorted(point.name for point in entry_points(group="hsd_viz.rules"))
    named = f"; of other packages, unchecked: {', '.join(others)}" if others else ""
    return (
        "verification of drafts that a model sampled: token, block or branch, which are lossless"
        + named
    )


#: Options of several commands.
Rule = A[
    str,
    "RULE",
    _rule_help(),
]
Json = A[Out | None, "OUT", "write the report as JSON"]
Html = A[Out | None, "OUT", "write the report as a page that opens offline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """Sampling."""

    max_new_tokens: A[int, (1, 100_000), "N", "token limit"] = 128
    temperature: A[
        float, "T", "0-100; 0 is greedy decoding, with which small models repeat themselves"
    ] = 0.0
    top_k: A[int, "K", "sample among the K likeliest tokens; 0: all"] = 0
    top_p: A[
        float, "P", "sample among the likeliest tokens with total probability P, 0 < P <= 1"
    ] = 1.0
    seed: A[int, "N", "0 to 2^63-1; the same seed gives the same text"] = 0
    rule: Rule = "block"

    def sampling(self) -> Sampling:
        """Return the checked settings. Raises: ValueError: if one is out of range."""
        from hsd_viz.decoding.sampling import Sampling

        return Sampling(self.temperature, self.top_k, self.top_p, self.seed, self.rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOptions:
    """Models and machine."""

    family: A[str, "NAME", "the family whose models have short names: code or smollm2"] = "code"
    target: A[
        str, "M", "the model 'target': a name of the family, a hub id (owner/name) or a path"
    ] = "target"
    databases: A[Path | None, "DIR", "use the databases in this folder (default: the family's)"] = (
        None
    )
    device: A[Literal["cpu", "cuda"] | None, "default: cuda, else cpu"] = None
    dtype: A[
        DType | None,
        "default: int8 for the shipped models on the CPU, else float32, bfloat16 on a GPU",
    ] = None
    runtime: A[
        Literal["auto", "eager", "compiled", "strict"],
        "what runs forward passes; auto: the fastest",
    ] = "auto"
    bridge: A[Literal["slem", "tli"] | None, "how a draft model with another tokenizer drafts"] = (
        None
    )
    costs: A[str, "SOURCE", "what db sizes its drafts by: shipped, measured or a JSON file"] = (
        "shipped"
    )
    threads: A[
        int | None, "N", "CPU threads (default: one for each core; 1 in what measures and in serve)"
    ] = None

    def as_json(self, threads: int | None = None) -> dict[str, Any]:
        """Return the arguments of :func:`hsd_viz.engine.local.load_engine` as JSON data; the default ``threads``."""
        own = {"databases": self.databases and str(self.databases), "threads": self.threads}
        return asdict(self) | own | ({"threads": threads} if self.threads is None else {})

    def engine(self, threads: int | None = None) -> Any:
        """Return the engine; the default ``threads``."""
        from hsd_viz.engine.local import load_engine

        return load_engine(**self.as_json(threads))


def write_json(path: Path | None, data: Any) -> None:
    """Write JSON atomically, where there is a path."""
    write_text(path, json.dumps(data, indent=1) + "\n")


def write_text(path: Path | None, text: str) -> None:
    """Write UTF-8 text atomically, where there is a path."""
    if path is not None:
        with writing(path):
            write_whole(path, text)


def status(text: str = "") -> None:
    """Replace the terminal's last line by ``text``; does nothing if stderr is not a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def say(text: str) -> None:
    """Print a one-line message to stderr, below any :func:`status`."""
    status()
    print(f"hsd-viz: {' '.join(text.split())}", file=sys.stderr)


def drop_stdout() -> None:
    """Redirect a closed standard output to the null device: Python would report it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
