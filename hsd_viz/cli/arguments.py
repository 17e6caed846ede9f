"""Options shared by several commands, checks that run before anything expensive, and messages."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from typing import Annotated as A

from hsd_viz.cli.options import Range
from hsd_viz.disk import check_writable, write_whole, writing

if TYPE_CHECKING:
    from hsd_viz.decoding.sampling import Sampling

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
DType = Literal["int8", "float32", "bfloat16", "float64"]
#: Options of several commands.
Rule = A[Literal["token", "block", "branch"], "verification of drafts that a model sampled; all are lossless"]
Json = A[Path | None, "OUT", "write the report as JSON"]
Html = A[Path | None, "OUT", "write the report as a page that opens offline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """Sampling."""

    max_new_tokens: A[int, Range(1, 100_000), "N", "token limit"] = 128
    temperature: A[float, "T", "0-100; 0 is greedy decoding, with which small models repeat themselves"] = 0.0
    top_k: A[int, "K", "sample among the K likeliest tokens; 0: all"] = 0
    top_p: A[float, "P", "sample among the likeliest tokens with total probability P, 0 < P <= 1"] = 1.0
    seed: A[int, "N", "0 to 2^63-1; the same seed gives the same text"] = 0
    rule: Rule = "block"

    def sampling(self) -> Sampling:
        """Return the checked settings. Raises: ValueError: if one is out of range."""
        from hsd_viz.decoding.sampling import Sampling

        return Sampling(self.temperature, self.top_k, self.top_p, self.seed, self.rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOptions:
    """Models and machine."""

    target: A[str, "M", "the model 'target': a ladder name, a hub id (owner/name) or a path"] = "target"
    databases: A[Path | None, "DIR", "use the databases in this folder (default: the shipped ones)"] = None
    device: A[Literal["cpu", "cuda"] | None, "default: cuda, else cpu"] = None
    dtype: A[DType | None, "default: int8 for the ladder on the CPU, else float32, bfloat16 on a GPU"] = None
    runtime: A[Literal["auto", "eager", "compiled", "strict"], "what runs forward passes; auto: the fastest"] = "auto"
    bridge: A[Literal["slem", "tli"] | None, "how a draft model with another tokenizer drafts"] = None
    costs: A[str, "SOURCE", "what db sizes its drafts by: shipped, measured or a JSON file"] = "shipped"
    threads: A[int | None, "N", "CPU threads (default: one for each core)"] = None

    def as_json(self) -> dict[str, Any]:
        """Return the arguments of :func:`hsd_viz.engine.local.load_engine` as JSON data."""
        return asdict(self) | {"databases": None if self.databases is None else str(self.databases)}

    def engine(self) -> Any:
        """Return the engine."""
        from hsd_viz.engine.local import load_engine

        return load_engine(**self.as_json())


@dataclass(frozen=True, slots=True, kw_only=True)
class OneThread(MachineOptions):
    """Models and machine."""

    threads: A[int | None, "N", "CPU threads; one has the most stable timings"] = 1


def names(text: str) -> list[str]:
    """Split names at commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def numbers(text: str | None, option: str, kind: Callable[[str], T], form: str, count: int = 0) -> tuple[T, ...]:
    """Read numbers separated by commas, ``count`` of them if it is given. Raises: ValueError: if they are not
    readable.
    """
    try:
        found = tuple(kind(part) for part in text.split(",")) if text is not None else ()
        if count and found and len(found) != count:
            raise ValueError
        return found
    except ValueError:
        raise ValueError(f"{option} {text!r} is not readable: {form}") from None


def whole_numbers(text: str, option: str, count: int = 0) -> tuple[int, ...]:
    """Read whole numbers, with k for 1024, as :func:`numbers`."""
    kind = lambda part: int(part[:-1]) * 1024 if part.lower().endswith("k") else int(part)
    return numbers(text, option, kind, "use whole numbers, as in 1,8,32 or 2k,32k", count)


def check_outputs(*paths: Path | None) -> None:
    """Raise ValueError if a file cannot be written to one of the paths: before a long run instead of after it."""
    for path in filter(None, paths):
        check_writable(path)


@contextmanager
def reading(path: Path | str) -> Iterator[None]:
    """Convert errors that only the content of ``path`` can cause to a ValueError with a one-line message."""
    try:
        yield
    except (TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        raise ValueError(f"{path} is not valid: its parts are inconsistent") from None


def write_json(path: Path | None, data: Any) -> None:
    """Write JSON atomically, where there is a path."""
    write_text(path, json.dumps(data, indent=1) + "\n")


def write_text(path: Path | None, text: str) -> None:
    """Write UTF-8 text atomically, where there is a path."""
    if path is not None:
        with writing(path):
            write_whole(path, text)


def checkout(module: str) -> ModuleType:
    """Import a module of the checkout that contains this package. Raises: ValueError: if there is none."""
    from importlib import import_module

    folder = ROOT / module.partition(".")[0]
    if not folder.is_dir():
        raise ValueError(f"this needs a checkout of the project: {folder} does not exist")
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return import_module(module)


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
