"""Options that several commands share, and the checks that come before anything expensive."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hsd_viz.decoding.settings import Sampling
from hsd_viz.disk import replacing

DTYPES = ("float32", "bfloat16", "float64")


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """``--max-new-tokens``, ``--temperature``, ``--top-k``, ``--top-p``, ``--seed``."""
    group = parser.add_argument_group("sampling")
    group.add_argument(
        "--max-new-tokens", type=int, default=128, metavar="N", help="most tokens to write, 1-100000 (default 128)"
    )
    group.add_argument(
        "--temperature",
        type=float,
        default=0.0,
        metavar="T",
        help="0-100; 0 takes the likeliest token each time (default 0)",
    )
    group.add_argument(
        "--top-k", type=int, default=0, metavar="K", help="draw among the K likeliest tokens; 0: among all (default 0)"
    )
    group.add_argument(
        "--top-p",
        type=float,
        default=1.0,
        metavar="P",
        help="draw among the likeliest that hold P of the mass, 0 < P <= 1 (default 1)",
    )
    group.add_argument(
        "--seed", type=int, default=0, metavar="N", help="0 to 2^63-1; the same seed gives the same text (default 0)"
    )


def add_machine(parser: argparse.ArgumentParser, threads: int | None = None) -> None:
    """``--target``, padding, ``--device``, ``--dtype``, ``--runtime``, ``--threads``; ``threads``: the default, None leaves it to torch."""
    group = parser.add_argument_group("models and machine")
    group.add_argument(
        "--target",
        default="target",
        metavar="M",
        help="what 'target' means: a ladder name (nano, small, target), a hub id (owner/name) or a path such as ./folder (default target)",
    )
    group.add_argument(
        "--databases",
        type=folder_name,
        metavar="DIR",
        help="the folder with the databases that stacks use, as `hsd-viz databases build` makes it (default: the shipped ones, for models "
        "of the shipped tokenizer)",
    )
    group.add_argument(
        "--pad-layers",
        type=int,
        default=0,
        metavar="N",
        help="add N residual layers to the target alone, 0-10000: real runs at a higher cost, the outputs unchanged (default 0)",
    )
    group.add_argument(
        "--pad-noise",
        type=float,
        default=0.0,
        metavar="E",
        help="noise in these layers, 0-10 of a layer's own scale: the more, the less the target agrees with the drafts (default 0)",
    )
    group.add_argument(
        "--device",
        choices=("cpu", "cuda", "auto"),
        help="auto spreads a large model over devices, memory and disk (needs accelerate); default: cuda where there is one, else cpu",
    )
    group.add_argument("--dtype", choices=DTYPES, help="default: float32 on the CPU, bfloat16 on a GPU")
    group.add_argument(
        "--runtime",
        choices=("auto", "eager"),
        default="auto",
        help="auto: the fastest there is for each model (native on a CPU with a C++ compiler, CUDA graphs on a GPU); "
        "eager: transformers' own forwards (default auto)",
    )
    default = "torch's own choice" if threads is None else f"{threads}: the steadiest timings"
    group.add_argument("--threads", type=int, default=threads, metavar="N", help=f"CPU threads (default {default})")


def sampling(args: argparse.Namespace) -> Sampling:
    """The sampling settings, checked."""
    return Sampling(args.temperature, args.top_k, args.top_p, args.seed)


def engine(args: argparse.Namespace) -> Any:
    """An engine for the options of :func:`add_machine`; imports torch."""
    from hsd_viz.engine.local import load_engine

    return load_engine(**engine_options(args))


def engine_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of :func:`add_machine` as arguments of :func:`hsd_viz.engine.local.load_engine`."""
    return {
        "target": args.target,
        "device": args.device,
        "dtype": args.dtype,
        "threads": args.threads,
        "runtime": args.runtime,
        "pad_layers": args.pad_layers,
        "pad_noise": args.pad_noise,
        "databases": None if args.databases is None else str(args.databases),
    }


def file_name(text: str) -> Path:
    """The type of an option that names a file: an empty name would silently mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty")
    return Path(text)


def folder_name(text: str) -> Path:
    """The type of an option that names a folder."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the folder is empty")
    return Path(text)


def check_output(path: Path) -> None:
    """Raise ``ValueError`` when a file could not be written there: better before a long run than after it."""
    folder = path.absolute().parent
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder, give the name of a file")
    if not folder.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {folder}")
    with writing(path), tempfile.TemporaryFile(dir=folder):
        pass


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says against writing ``path`` into ``ValueError`` with one sentence."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror or error}") from None


def write_json(path: Path, data: Any) -> None:
    """Write JSON; the file appears whole or not at all."""
    write_text(path, json.dumps(data, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write text in UTF-8; the file appears whole or not at all."""
    with writing(path), replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def status(text: str = "") -> None:
    """Show ``text`` on the terminal's last line, in place of the one before; nothing where stderr is no terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def drop_stdout() -> None:
    """Let go of a standard output that nobody reads any more; Python would complain again when it flushes it on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
