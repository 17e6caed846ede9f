"""Options shared by several commands, files that they write, and messages."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from typing import Annotated as A

from hsd_viz.cli.options import Out
from hsd_viz.disk import write_whole, writing

if TYPE_CHECKING:
    from hsd_viz.decoding.sampling import Sampling

DType = Literal["int8", "float32", "bfloat16", "float64"]
#: Options of several commands.
Rule = A[Literal["token", "block", "branch"], "verification of drafts that a model sampled; all are lossless"]
Json = A[Out | None, "OUT", "write the report as JSON"]
Html = A[Out | None, "OUT", "write the report as a page that opens offline"]
Stacks = A[tuple[str, ...], "S", "a stack (lookahead 1-64); may be given several times"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """Sampling."""

    max_new_tokens: A[int, (1, 100_000), "N", "token limit"] = 128
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
    threads: A[int | None, "N", "CPU threads (default: one for each core; 1 in what measures and in serve)"] = None

    def as_json(self, threads: int | None = None) -> dict[str, Any]:
        """Return the arguments of :func:`hsd_viz.engine.local.load_engine` as JSON data; the default ``threads``."""
        databases = None if self.databases is None else str(self.databases)
        return asdict(self) | {"databases": databases, "threads": threads if self.threads is None else self.threads}

    def engine(self, threads: int | None = None) -> Any:
        """Return the engine; the default ``threads``."""
        from hsd_viz.engine.local import load_engine

        return load_engine(**self.as_json(threads))


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
