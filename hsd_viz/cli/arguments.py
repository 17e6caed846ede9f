"""Options shared by several commands, and checks that run before anything expensive."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from hsd_viz.decoding.settings import BRIDGES, DEFAULT_RULE, Sampling
from hsd_viz.disk import check_writable, write_whole, writing
from hsd_viz.trace.tables import RULES
from hsd_viz.words import check_range

DTYPES = ("int8", "float32", "bfloat16", "float64")


def add_command(
    commands: Any, name: str, text: str, run: Callable | None = None, *, about: str | None = None, epilog: str = ""
) -> argparse.ArgumentParser:
    """Add a command: ``text`` is its line in a list, ``about`` its description (default: ``text`` as a sentence)."""
    about = about or f"{text[0].upper()}{text[1:]}."
    parser = commands.add_parser(name, help=text, description=about, epilog=epilog)
    if run is not None:
        parser.set_defaults(run=run)
    return parser


def option(where: Any, spec: str, text: str, kind: Callable[[str], Any] | None = None, **options: Any) -> None:
    """Add an option to a parser or a group: ``spec`` as in a help text, ``--name VALUE``, its help, and its type."""
    names, _, metavar = spec.partition(" ")
    options |= ({"metavar": metavar} if metavar else {}) | ({"type": kind} if kind else {})
    where.add_argument(*names.split("/"), help=text, **options)


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """Add ``--max-new-tokens``, ``--temperature``, ``--top-k``, ``--top-p``, ``--seed`` and ``--rule``."""
    add = partial(option, parser.add_argument_group("sampling"))
    limit = number(1, 100_000)
    add("--max-new-tokens N", "token limit, 1-100000 (default 128)", limit, default=128)
    add(
        "--temperature T",
        "0-100; 0 is greedy decoding, with which small models repeat themselves (default 0)",
        float,
        default=0.0,
    )
    add("--top-k K", "sample among the K likeliest tokens; 0: all (default 0)", int, default=0)
    text = "sample among the likeliest tokens with total probability P, 0 < P <= 1 (default 1)"
    add("--top-p P", text, float, default=1.0)
    add("--seed N", "0 to 2^63-1; the same seed gives the same text (default 0)", int, default=0)
    text = (
        "how drafts that a model sampled are verified: token by token, or as a block, which accepts more; branch "
        "(arXiv 2601.05724) gives the verdicts of block. All are lossless, and at temperature 0 they are the same "
        f"(default {DEFAULT_RULE})"
    )
    add("--rule", text, choices=RULES, default=DEFAULT_RULE)


def add_machine(parser: argparse.ArgumentParser, threads: int | None = None) -> None:
    """Add the options of models, device and runtime; ``threads`` is the default of ``--threads`` (None: torch's)."""
    add = partial(option, parser.add_argument_group("models and machine"))
    text = "the model 'target': a ladder name (nano, small, target), a hub id (owner/name) or a path (default target)"
    add("--target M", text, default="target")
    text = "use the databases in this folder, made by `hsd-viz databases build` (default: the shipped ones)"
    add("--databases DIR", text, folder_name)
    text = "auto spreads a large model over devices, memory and disk (needs accelerate); default: cuda, else cpu"
    add("--device", text, choices=("cpu", "cuda", "auto"))
    add("--dtype", "default: int8 for the ladder on the CPU, else float32, bfloat16 on a GPU", choices=DTYPES)
    text = (
        "auto: the fastest available for each model (native on a CPU with a C++ compiler, torch.compile on a GPU); "
        "eager: transformers' own forward passes; compiled: by torch.compile; strict: rows that do not depend on what "
        "else is fed, so that greedy text is plain decoding's in bfloat16, too, at a lower speed (default auto)"
    )
    add("--runtime", text, choices=("auto", "eager", "compiled", "strict"), default="auto")
    text = (
        "how a draft model with another tokenizer drafts: slem (its text, cut again into the target's tokens) or tli "
        "(the tokens that both have); default: slem at temperature 0, else tli if they share enough tokens"
    )
    add("--bridge", text, choices=BRIDGES)
    text = (
        "what db sizes its drafts by: shipped (a table: the same command gives the same text), measured (timed before "
        "the decode) or a JSON file of `python -m benchmarks.costs` (default shipped)"
    )
    add("--costs SOURCE", text, default="shipped")
    default = "torch's choice" if threads is None else f"{threads}: the most stable timings"
    add("--threads N", f"CPU threads (default {default})", int, default=threads)


def add_ray(parser: argparse.ArgumentParser, part: str) -> None:
    """Add ``--ray``; ``part`` is what one of its tasks does."""
    text = f"divide the work over the Ray cluster at ADDRESS (left out: Ray on this machine), {part} a task"
    option(parser, "--ray ADDRESS", text, nargs="?", const="local")


def sampling(args: argparse.Namespace) -> Sampling:
    """Return the sampling settings. Raises ValueError if one is out of range."""
    return Sampling(args.temperature, args.top_k, args.top_p, args.seed, args.rule)


def engine(args: argparse.Namespace) -> Any:
    """Return an engine for the options of :func:`add_machine`; imports torch."""
    from hsd_viz.engine.local import load_engine

    return load_engine(**engine_options(args))


def engine_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of :func:`add_machine` as JSON arguments of :func:`hsd_viz.engine.local.load_engine`."""
    names = ("target", "device", "dtype", "threads", "runtime", "bridge", "costs")
    databases = None if args.databases is None else str(args.databases)
    return {name: getattr(args, name) for name in names} | {"databases": databases}


def number(low: float, high: float, kind: type = int) -> Callable[[str], Any]:
    """Return an option type for numbers of a ``kind`` from ``low`` to ``high``."""

    def parse(text: str) -> Any:
        value: Any = text
        try:
            with suppress(ValueError):
                value = kind(text)
            check_range("the value", value, low, high)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return value

    return parse


def _path_type(what: str) -> Callable[[str], Path]:
    """Return an option type for paths that rejects an empty text, which would mean the current folder."""

    def parse(text: str) -> Path:
        if not text:
            raise argparse.ArgumentTypeError(f"the {what} name is empty")
        return Path(text)

    return parse


file_name, folder_name = _path_type("file"), _path_type("folder")


def check_outputs(*paths: Path | None) -> None:
    """Raise ValueError if a file cannot be written to one of the paths: before a long run instead of after it."""
    for path in filter(None, paths):
        check_writable(path)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert errors that only the content of ``path`` can cause to a ValueError with a one-line message."""
    try:
        yield
    except (TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        raise ValueError(f"{path} is not valid: its parts are inconsistent") from None


def write_json(path: Path, data: Any) -> None:
    """Write JSON atomically."""
    write_text(path, json.dumps(data, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
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
