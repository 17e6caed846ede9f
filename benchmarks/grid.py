"""Where a hierarchy pays: ``python -m benchmarks.grid --json OUT`` measures a grid of (cost, acceptance) of the target.

The targets are cost-padded models (:mod:`hsd_viz.ladder.pad`): the shipped target with more residual layers, real cost and real, lossless
decoding, and with noise in these layers, which lowers the agreement with the draft models. ``--noise`` is the noise of all padding layers
together: each of N has it divided by the root of N, as independent errors add up by their squares, and so a column of the grid has
about the same acceptance at every cost. ``base`` among the draft models is the target's own checkpoint, as it is: a draft
model that agrees with the padded target to any degree wanted (without noise always).

At each point the law picks, from a calibration on prompts of their own, the best single draft of each model, the best hierarchies and the
best over databases; they are measured on other prompts, taking turns with plain decoding. With one thread, times are the thread's
own processor time, which other work on the machine disturbs less; wall times stand beside them. --json is written after every
point, and --resume goes on from there. Ctrl-C keeps the points that are done. Exit codes: 0 done, 2 bad usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import hsd_viz
from benchmarks.grid_point import measure_point
from benchmarks.grid_text import COMPARED, table
from hsd_viz.bench.plan import split
from hsd_viz.calibration.calibrate import TARGET
from hsd_viz.decoding.settings import Sampling
from hsd_viz.disk import write_whole
from hsd_viz.ladder.load import model_path
from hsd_viz.ladder.pad import check_padding
from hsd_viz.machine import describe
from hsd_viz.progress import Progress
from hsd_viz.prompts.suites import Suite, load_suite

FORMAT, SCHEMA = "hsd_viz grid", 1
BASE = "base"
#: The gain of a hierarchy over the best single draft that a point is said to reach or not.
WANTED = 1.2


def points(layers: Sequence[int], noises: Sequence[float]) -> tuple[tuple[int, float], ...]:
    """(padding layers, noise in each), cheapest target first; without padding there is no noise.

    >>> points((0, 4), (0, 1))
    ((0, 0.0), (4, 0.0), (4, 0.5))
    """
    found = ((n, round(e / n**0.5, 6) if n else 0.0) for n in sorted(layers) for e in sorted(noises))
    return tuple(dict.fromkeys(found))


def drafts_for(wished: Sequence[str], target: str, layers: int) -> tuple[str, ...]:
    """The draft models of one point as stacks name them. ``base`` takes part where the target is padded and so is another model."""
    # In a stack the word target means the padded one.
    base = str(model_path(target)) if target == TARGET else target
    return tuple(base if name == BASE else name for name in wished if name != BASE or layers)


def run(
    settings: dict[str, Any],
    done: Sequence[dict[str, Any]] = (),
    *,
    keep: Callable[[dict[str, Any]], None] = lambda report: None,
    progress: Callable[[str, Progress], None] = lambda point, p: None,
) -> dict[str, Any]:
    """The report. ``settings`` are those of :func:`settings_of`; points in ``done`` are not measured again; ``keep`` gets each state.

    Interrupted, it has the points that were finished, and ``complete`` is False. Raises ``ValueError`` with one sentence.
    """
    sampling = Sampling(settings["temperature"], seed=settings["seed"])
    texts, others = split(load_suite(settings["suite"]), settings["prompts"])
    texts = texts.limited(settings["calibration_prompts"])
    texts, others = (_shortened(suite, settings["characters"]) for suite in (texts, others))
    found, begun = list(done), time.time()
    known = {(p["pad_layers"], p["pad_noise"]) for p in found}
    wanted = points(settings["layers"], settings["noise"])
    report: dict[str, Any] = {}

    def state(complete: bool) -> dict[str, Any]:
        at = sorted(found, key=lambda p: (p["pad_layers"], p["pad_noise"]))
        return {
            "format": FORMAT,
            "schema": SCHEMA,
            "machine": machine,
            "settings": settings,
            "complete": complete,
            "seconds": time.time() - begun,
            "reached": reached(at),
            "points": at,
        }

    machine = describe(settings["threads"])
    for k, (layers, noise) in enumerate(wanted):
        if (layers, noise) in known:
            continue
        try:
            engine = hsd_viz.load_engine(
                settings["target"],
                device="cpu",
                threads=settings["threads"],
                runtime=settings["runtime"],
                pad_layers=layers,
                pad_noise=noise,
            )
            drafts = drafts_for(settings["drafts"], settings["target"], layers)
            label = f"point {k + 1} of {len(wanted)}, {engine.models.target}"
            point = measure_point(
                engine,
                drafts,
                texts,
                others,
                sampling,
                tokens=settings["tokens"],
                calibration_tokens=settings["calibration_tokens"],
                repeats=settings["repeats"],
                clock=settings["clock"],
                progress=lambda p, label=label: progress(label, p),
            )
        except KeyboardInterrupt:
            point = None
        if point is None:
            return state(False)
        found.append(_renamed(point) if settings["target"] == TARGET else point)
        report = state(len(found) == len(wanted))
        keep(report)
    return report or state(True)


def _shortened(suite: Suite, characters: int) -> Suite:
    """The ends of the prompts, from a line's start where there is one: a grid is about decoding, and prefill takes its time too."""
    ends = [p.text[-characters:] for p in suite.prompts]
    whole = [
        end if len(p.text) <= characters else end.partition("\n")[2] or end
        for end, p in zip(ends, suite.prompts, strict=True)
    ]
    return replace(suite, prompts=tuple(replace(p, text=text) for p, text in zip(suite.prompts, whole, strict=True)))


def reached(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """At which points a hierarchy is how much faster than the best single draft.

    ``reached``: by :data:`WANTED`; ``surely``: its whole interval lies above that; ``faster``: above 1; ``slower``: below 1. Points
    are named by their targets. For databases under models the same over databases alone.
    """
    out: dict[str, Any] = {"wanted": WANTED}
    for name in COMPARED:
        rows = [(p["target"], p[name]) for p in found if p[name] is not None]
        best = max(rows, key=lambda r: r[1]["speedup"], default=None)
        out[name] = {
            "best": None if best is None else {"target": best[0], **best[1]},
            "reached": [t for t, r in rows if r["speedup"] >= WANTED],
            "surely": [t for t, r in rows if r["speedup_ci"] and r["speedup_ci"][0] >= WANTED],
            "faster": [t for t, r in rows if r["speedup_ci"] and r["speedup_ci"][0] > 1],
            "slower": [t for t, r in rows if r["speedup_ci"] and r["speedup_ci"][1] < 1],
        }
    same = [row["same_as_plain"] for p in found for row in p["rows"] if row["same_as_plain"]]
    out["outputs_same_as_plain"] = [sum(k for k, _ in same), sum(n for _, n in same)] if same else None
    return out


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    """The settings of a grid, checked. Raises ``ValueError`` with one sentence."""
    layers, noise = _numbers(args.pad_layers, int, "--pad-layers"), _numbers(args.noise, float, "--noise")
    for n in layers:
        check_padding(n)
    for n, e in points(layers, noise):
        check_padding(n, e)
    drafts = tuple(name.strip() for name in args.drafts.split(",") if name.strip())
    if not drafts or len(set(drafts)) < len(drafts):
        raise ValueError("--drafts names one draft model or more, smallest first, each once: such as nano,small,base")
    for what in ("prompts", "calibration_prompts", "tokens", "calibration_tokens", "characters", "repeats", "threads"):
        if getattr(args, what) < 1:
            raise ValueError(
                f"--{what.replace('_', '-')} {getattr(args, what)} is out of range: it is a whole number from 1"
            )
    Sampling(args.temperature, seed=args.seed)
    load_suite(args.suite)
    texts = ("suite", "prompts", "calibration_prompts", "tokens", "calibration_tokens", "characters", "repeats")
    return {
        **{name: getattr(args, name) for name in ("target", "temperature", "seed", *texts)},
        "layers": list(layers),
        "noise": list(noise),
        "drafts": list(drafts),
        "threads": args.threads,
        "runtime": args.runtime,
        "clock": "cpu" if args.threads == 1 else "wall",
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the grid, write the JSON after each point, print the table."""
    try:
        args = _parser().parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    try:
        settings = settings_of(args)
        done = _done(args.json, settings) if args.resume else []
        keep = lambda report: write_whole(args.json, json.dumps(report, indent=1) + "\n")
        if not args.json.absolute().parent.is_dir() or args.json.is_dir():
            raise ValueError(f"cannot write {args.json}: give the name of a file in a folder that is there")
        report = run(settings, done, keep=keep, progress=_show)
        keep(report)
    except KeyboardInterrupt:
        _clear()
        return 130
    except (ValueError, OSError) as error:
        _clear()
        print(f"hsd-viz: {error}", file=sys.stderr)
        return 2
    _clear()
    print(table(report))
    if not report["complete"]:
        print(f"hsd-viz: interrupted; {args.json} has the points that were done, --resume goes on", file=sys.stderr)
    return 0 if report["complete"] else 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.grid", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--json", type=Path, required=True, metavar="OUT", help="write the report there, after every point"
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep the points that OUT has already, if its settings are these"
    )
    parser.add_argument("--target", default="target", metavar="M", help="the model that is padded (default target)")
    parser.add_argument(
        "--drafts",
        default="nano,small,base",
        metavar="A,B,C",
        help="draft models, smallest first (default nano,small,base)",
    )
    parser.add_argument(
        "--pad-layers", default="0,6,12,24,48", metavar="N,...", help="the grid's costs (default 0,6,12,24,48)"
    )
    parser.add_argument(
        "--noise",
        default="0,0.5,1.5",
        metavar="E,...",
        help="the grid's noises, of all layers together (default 0,0.5,1.5)",
    )
    parser.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0: greedy (default 0)")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--suite", default="heldout", metavar="NAME|PATH", help="prompts (default heldout)")
    parser.add_argument("--prompts", type=int, default=12, metavar="N", help="prompts to measure on (default 12)")
    parser.add_argument(
        "--calibration-prompts", type=int, default=6, metavar="N", help="other prompts to calibrate on (default 6)"
    )
    parser.add_argument("--tokens", type=int, default=64, metavar="N", help="tokens of each prompt (default 64)")
    parser.add_argument(
        "--calibration-tokens", type=int, default=48, metavar="N", help="the same in calibration (default 48)"
    )
    parser.add_argument(
        "--characters", type=int, default=400, metavar="N", help="of each prompt, its last ones (default 400)"
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=1,
        metavar="N",
        help="runs of each prompt and stack; times are medians (default 1)",
    )
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="CPU threads (default 1)")
    parser.add_argument("--runtime", choices=("auto", "eager"), default="auto")
    return parser


def _numbers(text: str, kind: type, option: str) -> tuple:
    try:
        return tuple(sorted({kind(part) for part in text.split(",")}))
    except ValueError:
        raise ValueError(
            f"{option} '{text}' is not readable: it is numbers with commas between them, such as 0,12,48"
        ) from None


def _done(path: Path, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """The points of an earlier, interrupted run."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        cpu, found, kept = data["machine"]["cpu"], data["points"], dict(data["settings"])
        # Other points may join or leave the grid; how each is measured may not change.
        kept |= {name: settings[name] for name in ("layers", "noise")}
        same = data["format"] == FORMAT and data["schema"] == SCHEMA and kept == settings
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is no report of a grid: leave --resume out to write it anew") from None
    if not same or cpu != describe(settings["threads"])["cpu"]:
        raise ValueError(
            f"{path} was measured with other settings or on another machine: leave --resume out to write it anew"
        )
    wanted = set(points(settings["layers"], settings["noise"]))
    return [p for p in found if (p["pad_layers"], p["pad_noise"]) in wanted]


def _renamed(value: Any) -> Any:
    """The same data with the ladder's own target, as a draft model, called ``base``: its path is this machine's business."""
    if isinstance(value, dict):
        return {_renamed(k): _renamed(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(v) for v in value]
    path = str(model_path(TARGET))
    return value.replace(f'"{path}"', BASE).replace(path, BASE) if isinstance(value, str) else value


def _show(label: str, p: Progress) -> None:
    """One line of progress on a terminal, else a line per point."""
    if sys.stderr.isatty():
        _clear()
        print(f"{label}: {p.done}/{p.total} {p.note or p.stack} {p.prompt}"[:160], end="", file=sys.stderr, flush=True)
    elif p.done == 0 and p.prompt and p.stack == "target":
        print(f"{label}: {p.total} decodes", file=sys.stderr, flush=True)


def _clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
