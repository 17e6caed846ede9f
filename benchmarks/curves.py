"""Measure the cost of a forward pass by the number of tokens: ``python -m benchmarks.curves --model
target --threads 1``.

Native and eager runs are interleaved. The first runs of a turn are discarded, because they find the
other model's data in the processor caches. Each figure is the median of its runs. ``prefill`` feeds
its tokens to an empty cache and needs no row; every other width is fed behind ``--context`` tokens
and requests all rows, as a verification does. ``step`` is the time per token of a greedy draft.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.harness import arguments, command, write
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.session import Model
from hsd_viz.errors import UserError
from hsd_viz.ladder.torch_modules import load_model
from hsd_viz.models.families import CODE, FAMILIES, find_family
from hsd_viz.models.files import GGUF, open_model
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import STORAGE, Weights, load
from hsd_viz.torch_models.eager import HFModel

WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16)
_DRAFT = 8
_WARM_RUNS = 2
_RUNS = 4


def measure(
    models: dict[str, Model],
    widths: Sequence[int] = WIDTHS,
    context: int = 300,
    prefill: int = 512,
    repeats: int = 10,
) -> dict[str, dict[str, float]]:
    """Return medians in ms, ``{runtime: {"1": ms, ..., "step": ms, "prefill": ms}}``; the models
    share a vocabulary.
    """
    vocab = min(model.vocab_size for model in models.values())
    longest = max(context, prefill, *widths)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, vocab, (longest,), generator=generator).tolist()
    sessions = {name: model.session() for name, model in models.items()}
    for session in sessions.values():
        session.feed(ids[:context])
    times: dict[str, dict[str, list[float]]] = {name: {} for name in models}

    def take(name: str, key: str, run: Callable[[], Any], share: int = 1) -> None:
        for turn in range(_WARM_RUNS + _RUNS):
            ms = _ms(run) / share
            sessions[name].truncate(context)
            if turn >= _WARM_RUNS:
                times[name].setdefault(key, []).append(ms)

    for repeat in range(repeats):
        for width in widths:
            for name, session in sessions.items():
                take(name, str(width), lambda s=session, w=width: s.forward(ids[:w], w))
        for name, session in sessions.items():
            take(
                name,
                "step",
                lambda s=session: s.sample(ids[:1], _DRAFT, Sampling(), None, frozenset()),
                _DRAFT,
            )
        if prefill and repeat % 10 == 0:
            for name, model in models.items():
                take(name, "prefill", lambda m=model: m.session().feed(ids[:prefill]))
    medians: dict[str, dict[str, float]] = {name: {} for name in times}
    for name, by_key in times.items():
        for key, runs in by_key.items():
            medians[name][key] = median(runs)
    return medians


def _ms(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def native_model(name: str, dtype: str) -> NativeModel:
    """Return a model of the ladder, or the one in a folder or GGUF file, in the native runtime."""
    if name in CODE.names:
        return NativeModel(load(CODE.path(name), dtype))
    files = open_model(name, Path(name).name)
    return NativeModel(Weights(name, files.form, files.tensors, dtype))


def _native_table(native: dict[str, float]) -> str:
    """Return the table of a model that is measured in the native runtime alone."""
    lines = [f"{'tokens':>8} {'native ms':>10} {'of one':>7}"]
    for width, ms in native.items():
        of_one = _of_one(native, width) if width.isdigit() else ""
        lines.append(f"{width:>8} {ms:10.3f} {of_one}")
    return "\n".join(lines)


def _table(measured: dict[str, dict[str, float]]) -> str:
    if "eager" not in measured:
        return _native_table(measured["native"])
    native = measured["native"]
    eager = measured["eager"]
    heads = f"{'native ms':>10} {'of one':>7} {'eager ms':>10} {'of one':>7} {'eager/native':>13}"
    lines = [f"{'tokens':>8} {heads}"]
    for width, ms in native.items():
        columns = f"{ms:10.3f} {_of_one(native, width)} {eager[width]:10.3f}"
        ratio = f"{eager[width] / ms:13.1f}"
        lines.append(f"{width:>8} {columns} {_of_one(eager, width)} {ratio}")
    return "\n".join(lines)


def _of_one(times: dict[str, float], width: str) -> str:
    """Return the time over that of one token; nothing for a step and a prefill."""
    return f"{times[width] / times['1']:7.2f}" if width.isdigit() else " " * 7


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, and with ``--json`` write the figures."""
    parser = arguments("curves", __doc__, threads=1, context=300, repeats=10)
    parser.add_argument(
        "--family",
        default=CODE.name,
        choices=tuple(FAMILIES),
        help=f"whose names --model may be (default {CODE.name})",
    )
    parser.add_argument(
        "--model",
        default="target",
        help="a ladder name, a checkpoint's folder, or a GGUF file, which has no eager side "
        "(default target)",
    )
    parser.add_argument(
        "--dtype",
        default="int8",
        choices=tuple(STORAGE),
        help="of the native runtime (default int8)",
    )
    parser.add_argument(
        "--prefill", type=int, default=512, help="tokens of the prefill, 0 skips it (default 512)"
    )

    def work(args) -> None:
        torch.set_num_threads(args.threads)
        family = find_family(args.family)
        place = args.model
        if family is not CODE and args.model in family.names:
            place = str(family.path(args.model))
        native = native_model(place, args.dtype)
        longest = max(args.context + max(*WIDTHS, _DRAFT), args.prefill)
        if longest > native.positions:
            raise UserError(
                f"{args.model} has a context of {native.positions} tokens, but {longest} are needed"
            )
        models: dict[str, Model] = {"native": native}
        if not place.endswith(GGUF):
            wide = "float32" if args.dtype == "int8" else args.dtype
            models["eager"] = HFModel(args.model, load_model(args.model, dtype=wide))
        measured = measure(
            models,
            context=args.context,
            prefill=args.prefill,
            repeats=args.repeats,
        )
        threads = f"{args.threads} thread{'s' * (args.threads > 1)}"
        size = f"{native.weight_bytes / 1e6:.1f} MB of weights"
        print(f"{args.model}, {args.dtype}, {threads}, {args.context} tokens cached, {size}")
        print(_table(measured))
        report = {
            "family": args.family,
            "model": args.model,
            "dtype": args.dtype,
            "threads": args.threads,
            "context": args.context,
            "prefill": args.prefill,
            "weight_bytes": native.weight_bytes,
            "cache_bytes_per_token": native.cache_bytes_per_token,
            "repeats": args.repeats,
            "milliseconds": measured,
        }
        write(args.json, report)

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
