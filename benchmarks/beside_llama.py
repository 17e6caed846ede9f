"""Compare a model in a GGUF file with llama.cpp: ``python -m benchmarks.beside_llama FILE --binding
PYTHON``.

``--binding`` is the Python of an environment with llama-cpp-python. Both sides read the same
weights: llama.cpp the file as it is, and in Q8_0. Passes of 1 to 16 tokens behind a context and a
prefill are timed in turns, by the clock and by processor time; each figure is the median of its
runs. With ``--prompts``, a JSONL file of Spec-Bench, the rows of probabilities are compared, too:
those after each token of a continuation that float32 writes with greedy decoding. How fast the
machine reads memory with as many threads is measured first: it limits a pass of one token.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.gguf_files import requantize
from benchmarks.harness import arguments, command, positive, write
from benchmarks.memory import read_bandwidth
from hsd_viz import machine
from hsd_viz.errors import UserError
from hsd_viz.models.files import ModelFiles, open_model
from hsd_viz.native.build import default_build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import Weights
from hsd_viz.terminal import print_line

WIDTHS = (1, 2, 4, 8, 16)
PREFILL = 512
#: Runs of a width in one turn; the first ones find another side's data in the caches.
_WARM_RUNS = 2
_RUNS = 4
#: The name of this side.
OURS = "hsd_viz"
#: What the environment of the binding runs: a line of JSON per request and answer.
_WORKER = """
import json, sys, time
import numpy as np
import llama_cpp as l
path, threads = sys.argv[1], int(sys.argv[2])
l.llama_backend_init()
model = l.llama_model_load_from_file(path.encode(), l.llama_model_default_params())
p = l.llama_context_default_params()
p.n_ctx, p.n_batch, p.n_ubatch = 2048, 2048, 512
p.n_threads, p.n_threads_batch = threads, threads
ctx = l.llama_init_from_model(model, p)
memory, batch = l.llama_get_memory(ctx), l.llama_batch_init(2048, 0, 1)
vocab = l.llama_vocab_n_tokens(l.llama_model_get_vocab(model))
def feed(ids, start, rows):
    batch.n_tokens = len(ids)
    for k, token in enumerate(ids):
        batch.token[k], batch.pos[k], batch.n_seq_id[k], batch.seq_id[k][0] = token, start + k, 1, 0
        batch.logits[k] = rows or k == len(ids) - 1
    if l.llama_decode(ctx, batch):
        raise RuntimeError("llama_decode failed")
    l.llama_synchronize(ctx)
print("ready", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    ids, start = request["ids"], request["start"]
    l.llama_memory_seq_rm(memory, 0, start, -1)
    clock, spent = time.perf_counter_ns(), time.process_time_ns()
    feed(ids, start, request["rows"])
    answer = [time.perf_counter_ns() - clock, time.process_time_ns() - spent]
    if "out" in request:
        rows = []
        for k in range(len(ids)):
            rows.append(np.ctypeslib.as_array(l.llama_get_logits_ith(ctx, k), (vocab,)))
        np.save(request["out"], np.stack(rows))
    print(json.dumps(answer), flush=True)
"""

#: Nanoseconds by the clock and of the processor.
Times = tuple[int, int]
#: Feed tokens behind so many cached ones and request all rows or one; returns the times.
Feed = Callable[[Sequence[int], int, bool], Times]


class Binding:
    """llama.cpp on a GGUF file, in a process of its own."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child

    def feed(self, ids: Sequence[int], start: int, rows: bool) -> Times:
        """Feed tokens; returns the times."""
        return self._ask({"ids": [*ids], "start": start, "rows": rows})

    def rows(self, ids: Sequence[int], folder: Path) -> np.ndarray:
        """Return the logits ``[n, V]`` after each token of a text."""
        out = folder / "rows.npy"
        self._ask({"ids": [*ids], "start": 0, "rows": True, "out": str(out)})
        return np.load(out)

    def _ask(self, request: dict[str, Any]) -> Times:
        assert self._child.stdin is not None and self._child.stdout is not None
        self._child.stdin.write(json.dumps(request) + "\n")
        self._child.stdin.flush()
        answer = self._child.stdout.readline()
        if not answer:
            raise UserError("the binding stopped: does its environment have llama-cpp-python?")
        clock, spent = json.loads(answer)
        return clock, spent


@contextmanager
def binding(python: str, gguf: Path, threads: int) -> Iterator[Binding]:
    """Start llama.cpp on a file."""
    with subprocess.Popen(
        [python, "-c", _WORKER, str(gguf), str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as child:
        try:
            assert child.stdout is not None
            if child.stdout.readline().strip() != "ready":
                raise UserError(f"{python} has no llama-cpp-python that reads {gguf}")
            yield Binding(child)
        finally:
            child.kill()


def our_feed(model: NativeModel) -> Feed:
    """Return the native runtime as a side."""
    session = model.session()

    def feed(ids: Sequence[int], start: int, rows: bool) -> Times:
        session.truncate(start)
        clock = time.perf_counter_ns()
        spent = time.process_time_ns()
        session.forward([*ids], len(ids) if rows else 1)
        return time.perf_counter_ns() - clock, time.process_time_ns() - spent

    return feed


def passes(sides: dict[str, Feed], vocabulary: int, context: int, repeats: int) -> list[dict]:
    """Return medians in ms of passes of each width behind a context, and of a prefill, by side."""
    random = np.random.default_rng(0)
    ids = random.integers(0, vocabulary, max(context + max(WIDTHS), PREFILL)).tolist()
    works = [(str(width), ids[:width], context, True) for width in WIDTHS]
    works.append(("prefill", ids[:PREFILL], 0, False))
    runs: dict[tuple[str, str], list[Times]] = {}
    for repeat in range(repeats):
        for name, tokens, start, rows in works:
            for side, feed in sides.items():
                if start:
                    feed(ids[:start], 0, False)
                runs_of_one = 1 if name == "prefill" else _WARM_RUNS + _RUNS
                times = [feed(tokens, start, rows) for _ in range(runs_of_one)]
                runs.setdefault((side, name), []).extend(times[-_RUNS:])
        print_line(f"turn {repeat + 1} of {repeats}")
    rows = []
    for (side, name), times in runs.items():
        row = {
            "side": side,
            "tokens": name,
            "ms": median(clock for clock, _ in times) / 1e6,
            "processor_ms": median(spent for _, spent in times) / 1e6,
        }
        rows.append(row)
    return rows


def log_probabilities(rows: np.ndarray) -> np.ndarray:
    """Return the logarithms of probabilities for logits ``[n, V]``."""
    wide = rows.astype(np.float64)
    wide -= wide.max(-1, keepdims=True)
    return wide - np.log(np.exp(wide).sum(-1, keepdims=True))


class Fidelity:
    """How near the rows of a side are to those of float32."""

    def __init__(self) -> None:
        self.rows = 0
        self.overlap = 0.0
        self.equal = 0
        self.loss = 0.0

    def add(self, expected: np.ndarray, rows: np.ndarray, following: Sequence[int]) -> None:
        """Compare logits ``[n, V]`` with expected ones; ``following`` are the tokens after each."""
        reference = log_probabilities(expected)
        actual = log_probabilities(rows)
        self.rows += len(rows)
        self.overlap += float(np.minimum(np.exp(reference), np.exp(actual)).sum())
        self.equal += int((reference.argmax(-1) == actual.argmax(-1)).sum())
        places = np.arange(len(following))
        difference = reference[places, following] - actual[places, following]
        self.loss += float(difference.sum())

    def figures(self) -> dict[str, float]:
        """Return the means; the loss is in nats, less that of float32."""
        return {
            "rows": self.rows,
            "overlap": self.overlap / self.rows,
            "argmax_equal": self.equal / self.rows,
            "loss_less_float32": self.loss / self.rows,
        }


def fidelity(
    files: ModelFiles,
    texts: Sequence[Sequence[int]],
    new_tokens: int,
    others: dict[str, Binding],
    folder: Path,
) -> dict[str, dict[str, float]]:
    """Return the figures of each side over the rows of the continuations of texts."""
    exact = NativeModel(Weights(files.name, files.form, files.tensors, "float32"))
    ours = NativeModel(Weights(files.name, files.form, files.tensors))
    sides = {name: Fidelity() for name in (OURS, *others)}
    for number, text in enumerate(texts, start=1):
        session = exact.session()
        row = session.forward([*text], 1)[0]
        expected = []
        continuation: list[int] = []
        for _ in range(new_tokens):
            expected.append(row)
            continuation.append(int(row.argmax()))
            row = session.forward(continuation[-1:], 1)[0]
        whole = [*text, *continuation[:-1]]
        wanted = np.stack(expected)
        rows = ours.session().forward(whole, new_tokens)
        sides[OURS].add(wanted, rows, continuation)
        for name, other in others.items():
            sides[name].add(wanted, other.rows(whole, folder)[-new_tokens:], continuation)
        print_line(f"prompt {number} of {len(texts)}")
    return {name: side.figures() for name, side in sides.items()}


def texts_of(path: Path, files: ModelFiles, limit: int) -> list[list[int]]:
    """Return the first turns of prompts spread over a JSONL file, in the form of a chat."""
    lines = path.read_text(encoding="utf-8").splitlines()
    step = max(1, len(lines) // limit)
    tokenizer = files.tokenizer()
    texts = []
    for line in lines[::step][:limit]:
        turn = json.loads(line)["turns"][0]
        text = f"<|im_start|>user\n{turn}<|im_end|>\n<|im_start|>assistant\n"
        texts.append([int(token) for token in tokenizer.encode(text)])
    return texts


def _report(figures: dict[str, Any]) -> str:
    """Return the figures as text."""
    lines = []
    for row in figures["passes"]:
        times = f"{row['ms']:9.2f} ms, {row['processor_ms']:9.2f} ms of processor time"
        lines.append(f"{row['side']:>24} {row['tokens']:>8} {times}")
    for name, row in figures.get("fidelity", {}).items():
        loss = f"loss {row['loss_less_float32']:+.4f}"
        equal = f"arg-max equal {row['argmax_equal']:.4f}"
        lines.append(f"{name:>24} overlap {row['overlap']:.4f}, {equal}, {loss}")
    ms = next(r["ms"] for r in figures["passes"] if (r["side"], r["tokens"]) == (OURS, "1"))
    reads = figures["weight_bytes"] / ms / 1e6
    most = figures["read_bytes_per_second"] / 1e9
    lines.append(f"one token reads {reads:.1f} GB/s of weights, the machine {most:.1f} GB/s")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Measure, print the figures, and with ``--json`` write them."""
    parser = arguments("beside_llama", __doc__, threads=1, context=300, repeats=10)
    parser.add_argument("model", type=Path, metavar="FILE", help="a GGUF file")
    parser.add_argument("--binding", metavar="PYTHON", help="without it, this side alone")
    parser.add_argument("--prompts", type=Path, metavar="FILE", help="compare rows on these")
    parser.add_argument("--limit", type=positive, default=40, metavar="N", help="prompts (40)")
    parser.add_argument("--tokens", type=positive, default=64, metavar="N", help="of each (64)")

    def work(options: Any) -> None:
        machine.set_threads(options.threads)
        files = open_model(options.model)
        ours = NativeModel(Weights(files.name, files.form, files.tensors))
        sides: dict[str, Feed] = {OURS: our_feed(ours)}
        others: dict[str, Binding] = {}
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            if options.binding:
                eight_bits = requantize(options.model, folder / "q8_0.gguf")
                for name, path in (("as it is", options.model), ("Q8_0", eight_bits)):
                    opened = binding(options.binding, path, options.threads)
                    others[f"llama.cpp, {name}"] = stack.enter_context(opened)
            sides |= {name: other.feed for name, other in others.items()}
            figures: dict[str, Any] = {
                "settings": {
                    "model": options.model.name,
                    "kernel": default_build().kernel,
                    "context": options.context,
                },
                "machine": machine.describe(options.threads),
                "weight_bytes": ours.weight_bytes,
                "read_bytes_per_second": read_bandwidth(options.threads),
                "passes": passes(sides, ours.vocab_size, options.context, options.repeats),
            }
            if options.prompts:
                texts = texts_of(options.prompts, files, options.limit)
                figures["fidelity"] = fidelity(files, texts, options.tokens, others, folder)
        print(_report(figures))
        if options.json:
            write(options.json, figures)

    return command(parser, argv, work)


if __name__ == "__main__":
    raise SystemExit(main())
