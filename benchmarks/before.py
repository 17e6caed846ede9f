"""Compare forward passes with a former version: ``python -m benchmarks.before --tree DIR``.

``--tree`` is a checkout of a former commit with its own weights. Each version runs in a process of
its own, with one thread; they take turns. The first runs of a turn are discarded, because they find
the other version's data in the processor caches. Each figure is the median of its runs.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import arguments, command, write
from hsd_viz.errors import UserError
from hsd_viz.machine import describe
from hsd_viz.models.families import CODE
from hsd_viz.native.build import find_compiler
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import load
from hsd_viz.terminal import print_line

WIDTHS = (1, 4, 5, 8, 16)
#: The first is next to nothing: what longer ones take more is attention.
CONTEXTS = (1, 300, 1500)
#: What each version runs: a line of JSON per request and answer. The former one has its runtime
#: elsewhere.
_WORKER = """
import json, sys, time
import torch
torch.set_num_threads(1)
try:
    from hsd_viz.models.families import CODE
    from hsd_viz.native.model import NativeModel
    from hsd_viz.native.weights import load
    make = lambda name: NativeModel(load(CODE.path(name)))
except ImportError:
    from hsd_viz.backends.native.model import NativeModel
    from hsd_viz.decoding.model import HFModel
    from hsd_viz.ladder.torch_modules import load_model
    make = lambda name: NativeModel(HFModel(name, load_model(name)))
ids = torch.randint(0, 4096, (2048,), generator=torch.Generator().manual_seed(0)).tolist()
sessions = {}
for line in sys.stdin:
    name, context, width = json.loads(line)
    if (name, context) not in sessions:
        session = sessions[name, context] = make(name).session()
        for start in range(0, context, 100):
            session.forward(ids[start : min(start + 100, context)], 1)
    session, times = sessions[name, context], []
    for turn in range(6):
        start = time.perf_counter_ns()
        session.forward(ids[:width], width)
        times.append(time.perf_counter_ns() - start)
        session.truncate(context)
    print(json.dumps(times[2:]), flush=True)
"""
#: Multiply-adds of `vpdpbusd` between registers, and reading memory: seconds of each.
_PEAK = r"""
#include <immintrin.h>
#include <chrono>
#include <cstdint>
typedef std::chrono::steady_clock Clock;
static double now() {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}
extern "C" double products(long rounds) {
    __m512i sum[12], a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
    for (auto& s : sum) s = _mm512_setzero_si512();
    const double start = now();
    for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
        for (int k = 0; k < 12; ++k) sum[k] = _mm512_dpbusd_epi32(sum[k], a, b);
        asm volatile("" : "+v"(a), "+v"(b));
    }
    const double seconds = now() - start;
    for (auto& s : sum) asm volatile("" : : "v"(s));
    return seconds;
}
extern "C" double reads(const char* from, long bytes, long rounds) {
    const double start = now();
    for (long i = 0; i < rounds; ++i)
        for (long k = 0; k < bytes; k += 512) {
#pragma GCC unroll 8
            for (int j = 0; j < 8; ++j) {
                __m512i v = _mm512_loadu_si512(from + k + 64 * j);
                asm volatile("" : : "v"(v));
            }
        }
    return now() - start;
}
"""
_READ_BYTES = 12 << 20


def peak(repeats: int) -> dict[str, Any]:
    """Return what one core can do at most: products in registers, and reading as many bytes as
    the target has.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "peak.cpp"
        library = Path(folder) / "peak.so"
        source.write_text(_PEAK)
        flags = ["-std=c++17", "-O2", "-mavx512f", "-mavx512vnni", "-fPIC", "-shared"]
        words = [*find_compiler(), *flags, str(source), "-o", str(library)]
        subprocess.run(words, check=True, timeout=60)
        loaded = ctypes.CDLL(str(library))
    for function in (loaded.products, loaded.reads):
        function.restype = ctypes.c_double
    loaded.products.argtypes = [ctypes.c_long]
    loaded.reads.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_long]
    data = os.urandom(_READ_BYTES)
    rounds = 1_000_000
    products = median(loaded.products(rounds) for _ in range(repeats))
    reads = median(loaded.reads(data, _READ_BYTES, 10) for _ in range(repeats))
    return {
        "instruction": "vpdpbusd",
        "gmac_per_second": rounds * 12 * 64 / products / 1e9,
        "megabytes": _READ_BYTES >> 20,
        "gb_per_second": _READ_BYTES * 10 / reads / 1e9,
    }


@contextmanager
def version(tree: Path) -> Iterator[Callable[[str, int, int], list[int]]]:
    """Start a version; the result measures a model behind a context: nanoseconds of forward
    passes of a width.
    """
    words = [sys.executable, "-c", _WORKER]
    env = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        words, cwd=tree, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:

        def ask(*what: str | int) -> list[int]:
            child.stdin.write(json.dumps(what) + "\n")
            child.stdin.flush()
            if not (answer := child.stdout.readline()):
                raise UserError(f"the version in {tree} stopped")
            return json.loads(answer)

        try:
            yield ask
        finally:
            child.kill()


def rows(before: Path, repeats: int) -> list[dict[str, Any]]:
    """Return medians of both versions for every model, context and width."""
    rows_of_models = []
    with ExitStack() as stack:
        sides = {
            "before": stack.enter_context(version(before)),
            "now": stack.enter_context(version(Path.cwd())),
        }
        for name in reversed(CODE.names):
            weights = load(CODE.path(name))
            model = NativeModel(weights)
            wide = weights.heads * weights.head_dim
            short: dict[int, float] = {}
            for context in CONTEXTS:
                print_line(f"{name} behind {context} tokens")
                runs: dict[tuple[str, int], list[int]] = {}
                for _ in range(repeats):
                    for width in WIDTHS:
                        for side, ask in sides.items():
                            runs.setdefault((side, width), []).extend(ask(name, context, width))
                one_token = median(runs["now", 1])
                for width in WIDTHS:
                    old, new = (median(runs[side, width]) for side in ("before", "now"))
                    short.setdefault(width, new)
                    products = model.weight_bytes + 2 * model.layers * wide * (context + width / 2)
                    bytes_read = model.weight_bytes + model.cache_bytes_per_token * context
                    rows_of_models.append(
                        {
                            "model": name,
                            "context": context,
                            "tokens": width,
                            "before_ms": old / 1e6,
                            "now_ms": new / 1e6,
                            "over_one": new / one_token,
                            "attention": 1 - short[width] / new,
                            "gb_per_second": bytes_read / new,
                            "gmac_per_second": products * width / new,
                        }
                    )
    return rows_of_models


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the figures, and with ``--json`` write them."""
    parser = arguments("before", __doc__, repeats=40)
    parser.add_argument(
        "--tree", type=Path, required=True, metavar="DIR", help="checkout of the former version"
    )

    def work(options: Any) -> None:
        report = {
            "machine": describe(1),
            "peak": peak(9),
            "rows": rows(options.tree.absolute(), options.repeats),
        }
        print(*(f"{key} {value}" for key, value in report["peak"].items()))
        for row in report["rows"]:
            print(
                *(f"{value:.3f}" if isinstance(value, float) else value for value in row.values())
            )
        write(options.json, report)

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
