"""Measure building and querying statistics databases of growing corpora.

    python -m benchmarks.scale [--sizes 1,3,10,30] [--json OUT]

The corpus is that of the shipped models: the Python source of this environment with their
tokenizer. Each size is built and queried in its own process, so that its memory is measured alone.
There is no size limit: a key is stored when it occurs twice and adds information.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import arguments, command, numbers, write
from hsd_viz.drafting.index.build import build_database
from hsd_viz.drafting.index.count import Pruning
from hsd_viz.drafting.index.read import Index
from hsd_viz.drafting.tree import spell
from hsd_viz.errors import UserError
from hsd_viz.machine import describe
from hsd_viz.terminal import Status, ignore_status, print_line

LOOKUPS = 20_000
#: Tokens of text per lookup.
TAIL = 8
_SAMPLED_EVERY = 0.02


def measure_scale(sizes: list[int], progress: Status = ignore_status) -> dict[str, Any]:
    """Build and query a statistics database of each of ``sizes`` tokens. Raises UserError if the
    corpus is too small.
    """
    from tokenizers import Tokenizer

    from hsd_viz.models.families import CODE
    from training import corpus
    from training.data import EOS_ID

    tokenizer = Tokenizer.from_file(str(CODE.path("target") / "tokenizer.json"))
    vocabulary = max(tokenizer.get_vocab(with_added_tokens=True).values()) + 1
    files = corpus.collect()
    with tempfile.TemporaryDirectory(prefix="hsd-viz-scale-") as folder:
        begin = time.perf_counter()
        progress("tokenizing")
        for name, chosen in (
            ("train", corpus.train_files(files)),
            ("heldout", corpus.heldout_files(files)),
        ):
            np.save(Path(folder) / f"{name}.npy", corpus.tokenize(chosen, tokenizer, EOS_ID))
        seconds = time.perf_counter() - begin
        tokens = len(np.load(Path(folder) / "train.npy", mmap_mode="r"))
        if max(sizes) > tokens:
            raise UserError(f"the corpus of this environment has {tokens} tokens, not {max(sizes)}")
        rows = []
        for size in sizes:
            progress(f"{size} tokens")
            task = {"folder": folder, "tokens": size, "vocabulary": vocabulary, "eos": EOS_ID}
            ran = subprocess.run(
                [sys.executable, "-m", __spec__.name, "--one", json.dumps(task)],
                capture_output=True,
                text=True,
            )
            if ran.returncode:
                raise UserError(
                    f"counting {size} tokens failed: {(ran.stderr.strip() or '-').splitlines()[-1]}"
                )
            rows.append(json.loads(ran.stdout))
    notes = {
        "peak_memory_bytes": (
            "growth of anonymous memory while building, without pages of mapped files, which can "
            "be reclaimed"
        ),
        "peak_resident_bytes": (
            "peak memory of the building process, including mapped files and the interpreter"
        ),
        "lookup_us": (
            "one lookup of the last 8 tokens at random positions of held-out text, including the "
            "clock"
        ),
    }
    return {
        "machine": describe(),
        "notes": notes,
        "corpus": {"tokens": tokens, "tokenizing_seconds": seconds, "vocabulary": vocabulary},
        "sizes": rows,
    }


def measure_one(folder: str, tokens: int, vocabulary: int, eos: int) -> dict[str, Any]:
    """Build and query the database of the first ``tokens`` tokens; its file is written to
    ``folder``.
    """
    text = np.load(Path(folder) / "train.npy", mmap_mode="r")[:tokens]
    path = Path(folder) / f"statistics-{tokens}.hsdb"
    starts = [*np.flatnonzero(text == eos).tolist(), tokens]
    documents = ([text[start:end]] for start, end in pairwise(starts))
    anonymous = _Anonymous()
    before = anonymous.now()
    begin = time.perf_counter()
    with anonymous:
        pruning = Pruning(least=2, max_bytes=2**31)
        build_database(
            documents,
            path,
            kind="statistics",
            vocabulary_size=vocabulary,
            vocabulary_hash="scale",
            pruning=pruning,
        )
    seconds = time.perf_counter() - begin
    resident = _status("VmHWM")
    begin = time.perf_counter()
    index = Index(path)
    opening = time.perf_counter() - begin
    heldout = np.load(Path(folder) / "heldout.npy")
    places = np.random.default_rng(0).integers(TAIL, len(heldout), LOOKUPS)
    tails = [spell(heldout[i - TAIL : i].tolist()) for i in places]
    first = _timed(index, tails)
    again = _timed(index, tails)
    lengths = [match[0] if (match := index.lookup(tail)) else 0 for tail in tails]
    return {
        "tokens": tokens,
        "build_seconds": seconds,
        "tokens_per_second": tokens / seconds,
        "peak_memory_bytes": anonymous.most - before,
        "peak_resident_bytes": resident,
        "file_bytes": index.size,
        "keys": sum(index.header["keys_by_length"].values()),
        "keys_by_length": index.header["keys_by_length"],
        "continuations": index.header["continuations"],
        "opening_ms": 1e3 * opening,
        "read_whole_on_opening": index.verified,
        "mean_key_length": statistics.fmean(lengths),
        "lookup_us": {"first_touch": first, "again": again},
    }


def _timed(index, tails: list[str]) -> dict[str, float]:
    """Return the median, 99th percentile and maximum time of a lookup in microseconds."""
    lookup = index.lookup
    clock = time.perf_counter_ns
    times = np.empty(len(tails))
    for i, tail in enumerate(tails):
        begin = clock()
        lookup(tail)
        times[i] = clock() - begin
    return {
        "median": float(np.median(times)) / 1e3,
        "p99": float(np.percentile(times, 99)) / 1e3,
        "most": float(times.max()) / 1e3,
    }


def _status(name: str) -> int:
    """Return an entry of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise UserError(f"this system does not report {name}: this benchmark needs Linux")


class _Anonymous:
    """Sample the anonymous memory of this process while in use; pages of mapped files can be
    reclaimed.
    """

    def __init__(self) -> None:
        self.most = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def now(self) -> int:
        return _status("RssAnon")

    def _look(self) -> None:
        while not self._over.wait(_SAMPLED_EVERY):
            self.most = max(self.most, self.now())

    def __enter__(self) -> _Anonymous:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the rows, and with ``--json`` write the report."""
    parser = arguments("scale", __doc__)
    parser.add_argument(
        "--sizes", default="1,3,10,30", help="millions of tokens (default 1,3,10,30)"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)

    def work(args) -> None:
        if args.one:
            print(json.dumps(measure_one(**json.loads(args.one))))
            return
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        report = measure_scale(
            [round(1e6 * size) for size in numbers(args.sizes, float, "--sizes")], print_line
        )
        for row in report["sizes"]:
            look = row["lookup_us"]["again"]
            memory = row["peak_memory_bytes"] / 1e6
            size = f"{row['tokens'] / 1e6:5.1f} M tokens"
            built = f"{size}: {row['build_seconds']:.0f} s, {memory:.0f} MB of memory"
            lookup = f"lookup {look['median']:.1f} us (p99 {look['p99']:.1f})"
            print(f"{built}, file {row['file_bytes'] / 1e6:.1f} MB, {lookup}")
        write(args.json, report)

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
