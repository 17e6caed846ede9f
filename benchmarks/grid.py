"""Measure where a hierarchy pays: a grid of (cost, acceptance) of the target.

    python -m benchmarks.grid --json OUT [--resume]

The targets are cost-padded models (:mod:`benchmarks.padding`): the shipped target with additional
residual layers (real cost, the same output), and with noise in these layers, which lowers the
agreement with the draft models. ``--noise`` is the noise of all padding layers together: each of N
layers gets it divided by the square root of N, so a column of the grid has about the same
acceptance at every cost. ``base`` among the draft models is the unpadded target: a draft model with
any agreement (full agreement without noise).

At each point the law selects, from a calibration on separate prompts, the best single draft of each
model, the best hierarchies and the best over databases. These are measured on other prompts,
interleaved with plain decoding. With one thread, times are CPU times of the thread, which other
load disturbs less; wall times are stored, too. The report is written after every point;
``--resume`` continues it. Exit codes: 0 done, 2 bad usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import hsd_viz
from benchmarks.cluster import FinishedPart, sweep
from benchmarks.grid_point import measure_point
from benchmarks.grid_text import COMPARED, table
from benchmarks.harness import arguments, command, numbers, resumed, write
from benchmarks.padding import check_padding, padded_name, save_padded
from hsd_viz.decoding.options import Sampling
from hsd_viz.errors import INTERRUPTED, UserError
from hsd_viz.machine import describe
from hsd_viz.measure.plan.search import split
from hsd_viz.models.families import CODE
from hsd_viz.prompts.suites import Suite, load_suite
from hsd_viz.stack import TARGET
from hsd_viz.terminal import Progress, ignore_progress, print_line

FORMAT = "hsd_viz grid"
SCHEMA = 1
BASE = "base"
#: The speed-up of a hierarchy over the best single draft that counts as reached.
WANTED = 1.2


def points(layers: Sequence[int], noises: Sequence[float]) -> tuple[tuple[int, float], ...]:
    """Return (padding layers, noise per layer), cheapest target first; without padding there is no
    noise.

    >>> points((0, 4), (0, 1))
    ((0, 0.0), (4, 0.0), (4, 0.5))
    """
    pairs = []
    for padding in sorted(layers):
        for noise in sorted(noises):
            per_layer = round(noise / padding**0.5, 6) if padding else 0.0
            pairs.append((padding, per_layer))
    return tuple(dict.fromkeys(pairs))


def drafts_for(requested: Sequence[str], target: str, layers: int) -> tuple[str, ...]:
    """The draft models of one point as stacks name them. ``base`` takes part where the target is
    padded and so is another model.
    """
    # In a stack the word target means the padded one.
    base = str(CODE.path(target)) if target == TARGET else target
    return tuple(base if name == BASE else name for name in requested if name != BASE or layers)


def run(
    settings: dict[str, Any],
    done: Sequence[dict[str, Any]] = (),
    *,
    save: Callable[[dict[str, Any]], None] = lambda report: None,
    progress: Progress = ignore_progress,
    ray: str | None = None,
) -> dict[str, Any]:
    """Return the report for ``settings`` (:func:`settings_of`). Points in ``done`` are reused;
    ``save`` gets each intermediate report.

    After an interrupt it contains the finished points, and ``complete`` is False. Raises UserError
    for unusable settings.
    """
    texts, other_texts = split(load_suite(settings["suite"]), settings["prompts"])
    texts = texts.limited(settings["calibration_prompts"])
    texts = _shortened(texts, settings["characters"])
    other_texts = _shortened(other_texts, settings["characters"])
    finished = list(done)
    begun = time.time()
    machine = describe(settings["threads"])
    requested = points(settings["layers"], settings["noise"])

    def state() -> dict[str, Any]:
        sorted_points = sorted(finished, key=_place)
        return {
            "format": FORMAT,
            "schema": SCHEMA,
            "machine": machine,
            "settings": settings,
            "complete": len(finished) == len(requested),
            "seconds": time.time() - begun,
            "reached": reached(sorted_points),
            "points": sorted_points,
        }

    finished_places = set(map(_place, finished))
    missing = [
        (settings, point, texts, other_texts) for point in requested if point not in finished_places
    ]
    address = None if ray == "local" else ray
    if ray:
        results = sweep(_point, missing, address, cpus=settings["threads"])
    else:
        results = _one_by_one(missing, progress)
    with suppress(KeyboardInterrupt), closing(results):
        for part in results:
            where = {"node": part.node, "processor": part.processor} if ray else {}
            finished.append(part.result | where)
            save(state())
    return state()


def _place(point: dict[str, Any]) -> tuple[int, float]:
    """Return the place of a measured point in the grid: its layers and their noise."""
    return point["pad_layers"], point["pad_noise"]


def _one_by_one(missing: Sequence[tuple], progress: Progress) -> Iterator[FinishedPart]:
    """Yield the points measured here; ends at the first that is interrupted."""
    for number, work in enumerate(missing):
        label = f"point {number + 1} of {len(missing)}, {work[1][0]} layers, noise {work[1][1]}"
        try:
            point = _point(work, lambda done, total, _, label=label: progress(done, total, label))
        except KeyboardInterrupt:
            return
        yield FinishedPart(number, point, "", None)


def _point(work: tuple, progress: Progress = ignore_progress) -> dict[str, Any]:
    """Measure one point of the grid."""
    settings, (layers, noise), texts, others = work
    sampling = Sampling(temperature=settings["temperature"], seed=settings["seed"])
    drafts = drafts_for(settings["drafts"], settings["target"], layers)
    with tempfile.TemporaryDirectory() as folder:
        engine = hsd_viz.load_engine(
            save_padded(settings["target"], layers, noise, folder),
            device="cpu",
            dtype="int8",
            threads=settings["threads"],
            runtime=settings["runtime"],
        )
        point = measure_point(
            engine,
            drafts,
            texts,
            others,
            sampling,
            tokens=settings["tokens"],
            calibration_tokens=settings["calibration_tokens"],
            repeats=settings["repeats"],
            progress=progress,
        )
    about = {
        "target": padded_name(settings["target"], layers, noise),
        "pad_layers": layers,
        "pad_noise": noise,
    }
    return about | (_renamed(point) if settings["target"] == TARGET else point)


def _shortened(suite: Suite, characters: int) -> Suite:
    """Return the ends of the prompts, from the start of a line if possible, to shorten prefill."""
    shortened = []
    for prompt in suite.prompts:
        text = prompt.text[-characters:]
        if len(prompt.text) > characters:
            text = text.partition("\n")[2] or text
        shortened.append(replace(prompt, text=text))
    return replace(suite, prompts=tuple(shortened))


def reached(points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the points, named by their targets, at which a hierarchy is faster than the best
    single draft.

    ``reached``: by :data:`WANTED`; ``surely``: with its whole interval; ``faster``: interval above
    1; ``slower``: below 1.
    """
    out: dict[str, Any] = {"wanted": WANTED}
    for name in COMPARED:
        out[name] = _compared(points, name)
    out["outputs_same_as_plain"] = _same_as_plain(points)
    return out


def _compared(points: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the best point of a comparison, and those at which its speed-up reaches a limit."""
    best = None
    reached = []
    surely = []
    faster = []
    slower = []
    for point in points:
        row = point[name]
        if row is None:
            continue
        target = point["target"]
        if best is None or row["speedup"] > best["speedup"]:
            best = {"target": target, **row}
        if row["speedup"] >= WANTED:
            reached.append(target)
        if row["speedup_ci"]:
            low, high = row["speedup_ci"]
            if low >= WANTED:
                surely.append(target)
            if low > 1:
                faster.append(target)
            if high < 1:
                slower.append(target)
    return {
        "best": best,
        "reached": reached,
        "surely": surely,
        "faster": faster,
        "slower": slower,
    }


def _same_as_plain(points: Sequence[dict[str, Any]]) -> list[int] | None:
    """Return how many outputs are those of plain decoding, and of how many; ``None`` if that was
    not compared.
    """
    same = 0
    compared = 0
    for point in points:
        for row in point["rows"]:
            if row["same_as_plain"]:
                same += row["same_as_plain"][0]
                compared += row["same_as_plain"][1]
    return [same, compared] if compared else None


#: Options of the grid with their defaults; all are stored in the report.
_SIZES = {
    "prompts": 12,
    "calibration_prompts": 6,
    "tokens": 64,
    "calibration_tokens": 48,
    "characters": 400,
    "repeats": 1,
}


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the checked settings of a grid. Raises UserError if one is out of range."""
    layers = numbers(args.pad_layers, int, "--pad-layers")
    noise = numbers(args.noise, float, "--noise")
    for padding in layers:
        check_padding(padding)
    for padding, per_layer in points(layers, noise):
        check_padding(padding, per_layer)
    drafts = list(filter(None, map(str.strip, args.drafts.split(","))))
    if not drafts or len(set(drafts)) < len(drafts):
        raise UserError(
            "--drafts lists one or more draft models, smallest first, each once: "
            "such as nano,small,base"
        )
    Sampling(temperature=args.temperature, seed=args.seed)
    load_suite(args.suite)
    names = ("target", "temperature", "seed", "suite", *_SIZES, "threads", "runtime")
    settings = {name: getattr(args, name) for name in names}
    return settings | {"layers": list(layers), "noise": list(noise), "drafts": drafts}


def _parser() -> argparse.ArgumentParser:
    parser = arguments("grid", __doc__, suite="heldout", **_SIZES, threads=1)
    parser.add_argument(
        "--ray",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help=(
            "divide the work over the Ray cluster at ADDRESS (left out: Ray on this machine), "
            "one point a task"
        ),
    )
    parser.add_argument("--resume", action="store_true", help="reuse the points in the --json file")
    parser.add_argument(
        "--target", default="target", metavar="M", help="the model to pad (default target)"
    )
    parser.add_argument(
        "--drafts",
        default="nano,small,base",
        metavar="A,B,C",
        help="draft models, smallest first (default nano,small,base)",
    )
    parser.add_argument(
        "--pad-layers",
        default="0,6,12,24,48",
        metavar="N,...",
        help="the costs of the grid (default 0,6,12,24,48)",
    )
    parser.add_argument(
        "--noise",
        default="0,0.5,1.5",
        metavar="E,...",
        help="the noise of all padding layers together (default 0,0.5,1.5)",
    )
    parser.add_argument(
        "--temperature", type=float, default=0.0, metavar="T", help="0 is greedy (default 0)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--runtime", choices=("auto", "eager"), default="auto")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the grid, write the report after each point, and print the table."""

    def work(args) -> int:
        settings = settings_of(args)
        done = []
        if args.json is None:
            raise UserError("--json is required: the report is written after every point")
        earlier = None
        if args.resume:
            earlier = resumed(args.json, FORMAT, settings, free=("layers", "noise"))
        if earlier:
            wanted = set(points(settings["layers"], settings["noise"]))
            done = [point for point in earlier["points"] if _place(point) in wanted]
        report = run(
            settings,
            done,
            save=lambda report: write(args.json, report),
            progress=_show,
            ray=args.ray,
        )
        write(args.json, report)
        print(table(report))
        if not report["complete"]:
            print_line(f"interrupted: {args.json} contains the finished points; --resume continues")
        return 0 if report["complete"] else INTERRUPTED

    return command(_parser(), argv, work)


def _renamed(value: Any) -> Any:
    """Return the data with the path of the shipped target, as a draft model, replaced by
    ``base``.
    """
    if isinstance(value, dict):
        return {_renamed(k): _renamed(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(v) for v in value]
    if not isinstance(value, str):
        return value
    path = str(CODE.path(TARGET))
    return value.replace(f'"{path}"', BASE).replace(path, BASE)


def _show(done: int, total: int, label: str) -> None:
    """Print one line per point."""
    if done == 1:
        print_line(f"{label}: {total} decodes")


if __name__ == "__main__":
    sys.exit(main())
