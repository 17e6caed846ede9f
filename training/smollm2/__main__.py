"""Make the draft model and the databases for SmolLM2: ``python -m training.smollm2 COMMAND``.

The same command resumes a stopped run. ``docs/how-to/ladder.md`` has the commands in their order.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated as A
from typing import Any, Literal

from hsd_viz.settings.declare import CliOption, Setting
from training.commands import Command, run_commands
from training.smollm2.options import LearningOptions, Model
from training.smollm2.text import FOLDER


def write(
    *,
    model: Model,
    out: A[Path, Setting("the folder of the text", CliOption("DIR"))] = FOLDER,
    shards: A[int, Setting("shards in all", CliOption("N"))] = 400,
    worker: A[int, Setting("number of this worker", CliOption("K"))] = 0,
    workers: A[int, Setting("workers in all", CliOption("N"))] = 1,
    threads: A[int, Setting("CPU threads", CliOption("N"))] = 1,
    rows: A[Path | None, Setting("keep the probabilities there", CliOption("DIR"))] = None,
    texts: A[int, Setting("texts written at a time", CliOption("N"))] = 24,
) -> list[Any]:
    """Let SmolLM2 write until there are enough shards."""
    from training.smollm2.write import write_shards

    mine = range(worker, shards, workers)
    return write_shards(model, out, mine, threads=threads, rows_folder=rows, texts=texts)


def learn(
    name: A[str, Setting("nano or small, or a name of an experiment", CliOption("NAME"))],
    *,
    options: LearningOptions,
) -> list[Any]:
    """Train a draft model."""
    from training.smollm2.learn import train

    train(name, options)
    return []


def export(
    run: A[Path, Setting("the checkpoint of a training", CliOption("RUN.pt"))],
    *,
    model: Model,
    out: A[Path, Setting("the folder of the draft model", CliOption("DIR"))],
) -> list[Any]:
    """Write the checkpoint of a trained draft model."""
    from training.smollm2.export import export_run

    return [export_run(run, model, out)]


def databases(
    *,
    model: Model,
    text: A[Path, Setting("the folder of the target's text", CliOption("DIR"))] = FOLDER,
    out: A[Path, Setting("the folder of the databases", CliOption("DIR"))],
    only: A[Literal["model", "statistics"] | None, Setting("build one kind only")] = None,
) -> list[Any]:
    """Build the databases."""
    from training.smollm2.databases import build

    build(model, text, out, only)
    return []


def card() -> list[Any]:
    """Write the model card."""
    from training.smollm2.card import write_card

    return [write_card()]


def designs(
    *,
    options: LearningOptions,
    seconds: A[float, Setting("processor time of a design", CliOption("S"))] = 240.0,
    json: A[Path, Setting("the file of the comparison", CliOption("FILE"))],
) -> list[Any]:
    """Compare designs of a draft model, each trained for the same time."""
    from training.smollm2.designs import compare, lines_of, save

    comparison = compare(options, seconds, json)
    save(comparison, json)
    return lines_of(comparison)


COMMANDS: dict[str, Command] = {
    "write": write,
    "learn": learn,
    "export": export,
    "databases": databases,
    "card": card,
    "designs": designs,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    description = (__doc__ or "").partition(":")[0]
    return run_commands("training.smollm2", description, COMMANDS, argv)


if __name__ == "__main__":
    sys.exit(main())
