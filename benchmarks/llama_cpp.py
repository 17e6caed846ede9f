"""Compare with llama.cpp on the same weights: ``python -m benchmarks.llama_cpp --bin DIR --binding
PYTHON``.

``--bin`` is the folder of a built ``llama-server``, ``--binding`` the Python of an environment with
llama-cpp-python. Forward passes of 1 to 16 tokens behind a context go through the binding, decodes
through the server: plain, and with its own n-gram speculation. Both sides take turns, with one
thread each, timed by the clock and by processor time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.gguf_files import DTYPES, write_gguf
from benchmarks.harness import arguments, command, cpu_engine, prompts_of, write
from hsd_viz.errors import UserError
from hsd_viz.machine import describe, free_port
from hsd_viz.models.families import CODE
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import load
from hsd_viz.terminal import print_line

WIDTHS = (1, 2, 4, 8, 12, 16)
SPECULATION = ("none", "ngram-simple", "ngram-mod")
STACKS = ("target", "db > target", "lookup > target")
_RUNS = 6
#: What the environment of the binding runs: a line of JSON per request and answer.
_WORKER = """
import ctypes, json, sys, time
import llama_cpp as l
path, context, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
l.llama_backend_init()
model = l.llama_model_load_from_file(path.encode(), l.llama_model_default_params())
p = l.llama_context_default_params()
p.n_ctx, p.n_batch, p.n_ubatch, p.n_threads, p.n_threads_batch = 1024, 512, 512, threads, threads
p.flash_attn_type = l.LLAMA_FLASH_ATTN_TYPE_DISABLED  # slower on a CPU
ctx = l.llama_init_from_model(model, p)
memory, batch = l.llama_get_memory(ctx), l.llama_batch_init(512, 0, 1)
def feed(ids, start, rows):
    batch.n_tokens = len(ids)
    for k, token in enumerate(ids):
        batch.token[k], batch.pos[k], batch.n_seq_id[k], batch.seq_id[k][0] = token, start + k, 1, 0
        batch.logits[k] = rows
    if l.llama_decode(ctx, batch):
        raise RuntimeError("llama_decode failed")
ids = json.loads(sys.stdin.readline())
feed(ids[:context], 0, 0)
print("ready", flush=True)
for line in sys.stdin:
    width = int(line)
    clock, spent = time.perf_counter_ns(), time.process_time_ns()
    feed(ids[:width], context, 1)
    l.llama_synchronize(ctx)
    print(json.dumps([time.perf_counter_ns() - clock, time.process_time_ns() - spent]), flush=True)
    l.llama_memory_seq_rm(memory, 0, context, -1)
"""

Times = tuple[int, int]


def timed(work: Callable[[], Any]) -> Times:
    """Return nanoseconds by the clock and of the processor."""
    clock = time.perf_counter_ns()
    spent = time.process_time_ns()
    work()
    return time.perf_counter_ns() - clock, time.process_time_ns() - spent


@contextmanager
def worker(
    python: str, gguf: Path, ids: Sequence[int], context: int
) -> Iterator[Callable[[int], Times]]:
    """Start the binding on a file; the result measures one forward pass of a width."""
    words = [python, "-c", _WORKER, str(gguf), str(context), "1"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:

        def ask(text: str) -> str:
            child.stdin.write(text + "\n")
            child.stdin.flush()
            if not (answer := child.stdout.readline()):
                raise UserError(f"the binding of {python} stopped: does it have llama-cpp-python?")
            return answer

        try:
            ask(json.dumps(list(ids)))
            yield lambda width: tuple(json.loads(ask(str(width))))
        finally:
            child.kill()


@contextmanager
def server(folder: Path, gguf: Path, kind: str) -> Iterator[Callable[[Sequence[int], int], dict]]:
    """Start ``llama-server`` on a file with a kind of speculation; the result decodes at
    temperature 0.
    """
    port = free_port()
    words = [
        str(folder / "llama-server"),
        "-m",
        str(gguf),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    words += [
        "-t",
        "1",
        "-tb",
        "1",
        "-c",
        "1024",
        "-np",
        "1",
        "--spec-type",
        kind,
        "--no-webui",
        "-fa",
        "off",
    ]
    libraries = {"LD_LIBRARY_PATH": str(folder)}
    address = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **libraries}
    ) as child:

        def spent() -> float:
            fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        def decode(ids: Sequence[int], tokens: int) -> dict:
            body = {"prompt": list(ids), "n_predict": tokens, "temperature": 0}
            body |= {"cache_prompt": False, "return_tokens": True}
            before = spent()
            request = urllib.request.Request(
                f"{address}/completion",
                json.dumps(body).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=600) as answer:
                answer_data = json.loads(answer.read())
            return {
                "tokens": answer_data["tokens"],
                "seconds": answer_data["timings"]["predicted_ms"] / 1e3,
                "processor": spent() - before,
            }

        try:
            for _ in range(600):
                if child.poll() is not None:
                    raise UserError(f"{words[0]} stopped with exit code {child.returncode}")
                try:
                    urllib.request.urlopen(f"{address}/health", timeout=1).close()
                    break
                except (urllib.error.URLError, OSError):
                    time.sleep(0.1)
            yield decode
        finally:
            child.terminate()


def forward_passes(engine: Any, files: dict[str, Path], options: Any) -> list[dict]:
    """Return medians in ms per width, ours and of each type."""
    long_text = prompts_of("heldout").prompts[0].text * 8
    longest = options.context + max(WIDTHS)
    ids = list(map(int, engine.tokenizer.encode(long_text)[:longest]))
    ours = NativeModel(load(CODE.path("target"))).session()
    ours.forward(ids[: options.context], 1)
    with ExitStack() as open_workers:

        def own(width: int) -> Times:
            times = timed(lambda: ours.forward(ids[:width], width))
            ours.truncate(options.context)
            return times

        sides: dict[str, Callable[[int], Times]] = {"hsd_viz": own}
        for kind, path in files.items():
            opened = worker(options.binding, path, ids, options.context)
            sides[kind] = open_workers.enter_context(opened)
        runs: dict[tuple[str, int], list[Times]] = {}
        for _ in range(options.repeats):
            for width in WIDTHS:
                for name, run in sides.items():
                    times = [run(width) for _ in range(_RUNS)]
                    # The first runs find another model's data in the caches.
                    runs.setdefault((name, width), []).extend(times[2:])
    rows = []
    for (name, width), times in runs.items():
        row = {
            "side": name,
            "tokens": width,
            "ms": median(clock for clock, _ in times) / 1e6,
            "processor_ms": median(spent for _, spent in times) / 1e6,
        }
        rows.append(row)
    return rows


def decodes(engine: Any, files: dict[str, Path], options: Any) -> list[dict]:
    """Return ms per token of greedy decodes by both sides, and how many texts are those of our
    plain decoding.
    """
    texts = []
    for prompt in prompts_of("heldout", options.prompts).prompts:
        texts.append(list(map(int, engine.tokenizer.encode(prompt.text))))
    runs_by_name: dict[str, list[dict]] = {}
    with ExitStack() as servers:
        theirs = {}
        for kind, path in files.items():
            for speculation in SPECULATION:
                opened = server(options.bin, path, speculation)
                theirs[f"llama.cpp {kind} {speculation}"] = servers.enter_context(opened)
        for number, ids in enumerate(texts * options.repeats):
            print_line(f"decode {number + 1} of {len(texts) * options.repeats}")
            for stack in STACKS:
                before = time.process_time()
                trace = engine.run(ids, stack, max_new_tokens=options.tokens, temperature=0.0)
                spent = time.process_time() - before
                seconds = (trace.meta["wall_ns"] - trace.meta["prefill_ns"]) / 1e9
                runs_by_name.setdefault(f"hsd_viz {stack}", []).append(
                    {"tokens": trace.token_ids, "seconds": seconds, "processor": spent}
                )
            for name, decode in theirs.items():
                runs_by_name.setdefault(name, []).append(decode(ids, options.tokens))
    plain = [run["tokens"] for run in runs_by_name["hsd_viz target"]]
    rows = []
    for name, runs in runs_by_name.items():
        tokens = 0
        seconds = 0.0
        processor = 0.0
        same = 0
        for run, text in zip(runs, plain, strict=True):
            tokens += len(run["tokens"])
            seconds += run["seconds"]
            processor += run["processor"]
            same += run["tokens"] == text
        row = {
            "side": name,
            "ms_per_token": 1e3 * seconds / tokens,
            "processor_ms_per_token": 1e3 * processor / tokens,
            "same_text": [same, len(runs)],
        }
        rows.append(row)
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the figures, and with ``--json`` write them."""
    parser = arguments("llama_cpp", __doc__, prompts=12, tokens=96, context=300, repeats=3)
    parser.add_argument(
        "--bin",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of llama-server and its libraries",
    )
    parser.add_argument(
        "--types",
        nargs="+",
        choices=DTYPES,
        default=DTYPES,
        help="types of the matrices (default all)",
    )
    parser.add_argument(
        "--binding", required=True, metavar="PYTHON", help="a Python with llama-cpp-python"
    )

    def work(options: Any) -> None:
        engine = cpu_engine()
        with tempfile.TemporaryDirectory() as folder:
            files = {
                kind: write_gguf("target", Path(folder) / f"{kind}.gguf", kind)
                for kind in options.types
            }
            report: dict[str, Any] = {
                "machine": describe(1),
                "forward_passes": forward_passes(engine, files, options),
                "decodes": decodes(engine, files, options),
            }
        for row in (*report["forward_passes"], *report["decodes"]):
            print(
                *(f"{value:.3f}" if isinstance(value, float) else value for value in row.values())
            )
        write(options.json, report)

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
