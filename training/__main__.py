"""Train and evaluate the ladder: ``python -m training COMMAND``, run in a checkout.

    python -m training train --profile long --out DIR
    python -m training evaluate --trained DIR

The same command resumes a stopped run. ``python -m tools.rebuild`` makes all that depends on the
models again. Exit codes: 0 done, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated as A
from typing import Any, Literal

from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.terminal import show_share
from training.commands import Command, run_commands
from training.recipe import STAGES, ProfileName

Threads = A[int | None, Setting("CPU threads", CliOption("N"))]
Trained = A[Path, Setting("the folder of the training run", CliOption("DIR"))]


def train(
    *,
    profile: A[
        ProfileName,
        Setting(
            "cpu: two hours on two cores; long: ten hours; gpu: minutes on a large GPU; "
            "tiny: seconds"
        ),
    ] = "cpu",
    out: A[Path, Setting("the folder for checkpoints, data and weights", CliOption("DIR"))],
    stages: A[str, Setting("which of target and drafts", CliOption("A,B"))] = ",".join(STAGES),
    steps: A[
        tuple[str, ...],
        Setting("steps of a stage instead of the profile's", CliOption("STAGE=N")),
    ] = (),
    tokenizer: A[
        Path | None, Setting("use this tokenizer instead of training one", CliOption("DIR"))
    ] = None,
    seed: A[int, Setting("seed of the initial weights and the text order", CliOption("N"))] = 0,
    device: A[Literal["cpu", "cuda"], Setting("where it trains")] = "cpu",
    threads: Threads = None,
    minutes: A[
        float | None, Setting("time limit; the training is shortened to fit", CliOption("N"))
    ] = None,
    fresh: A[bool, Setting("start again instead of resuming")] = False,
    corpus: A[
        Path | None,
        Setting("use this packed corpus instead of this environment's", CliOption("FILE")),
    ] = None,
    parts: A[
        Path | None, Setting("also write the weights as files of at most 15 MiB", CliOption("DIR"))
    ] = None,
) -> list[Any]:
    """Train the target, then both drafts."""
    from training.storage import split_weights, unpack_corpus
    from training.train import train_ladder

    steps_by_stage = dict(map(_stage_steps, steps))
    if corpus is not None:
        unpack_corpus(corpus, out)
    weights = train_ladder(
        profile,
        out,
        stages=stages.split(","),
        seed=seed,
        device=device,
        threads=threads,
        resume=not fresh,
        minutes=minutes,
        steps=steps_by_stage,
        tokenizer=tokenizer,
    )
    return [weights, *(split_weights(out, parts) if parts is not None else ())]


def _stage_steps(text: str) -> tuple[str, int]:
    """Return the stage and the number of ``STAGE=N``.

    Raises:
        ValueError: if it has another form.
    """
    stage, _, number = text.partition("=")
    if not number.isdecimal():
        raise ValueError(f"{text!r} is not STAGE=N, as in target=100")
    return stage, int(number)


def evaluate(
    *,
    trained: Trained,
    weights: A[
        Path | None,
        Setting("the models to measure (default: those trained in DIR)", CliOption("DIR")),
    ] = None,
    windows: A[int, Setting("windows of held-out text", CliOption("N"))] = 48,
    before: A[
        Path | None, Setting("an evaluation.json to print beside the result", CliOption("FILE"))
    ] = None,
    out: A[
        Path | None,
        Setting("write the result here, not beside the models", CliOption("FILE")),
    ] = None,
    threads: Threads = None,
) -> list[Any]:
    """Measure a ladder and print its goals."""
    import torch

    from training.evaluation import evaluate_ladder, suite_prompts, table

    if threads:
        torch.set_num_threads(threads)
    earlier = json.loads(before.read_text()) if before else None
    result = evaluate_ladder(trained, weights, out=out, prompts=suite_prompts(), windows=windows)
    return [table(result, earlier)]


def databases(
    *,
    out: A[
        Path | None,
        Setting("folder for the files (default: that of the shipped ones)", CliOption("DIR")),
    ] = None,
    weights: A[
        Path | None,
        Setting("folder of the ladder's models (default: the shipped ones)", CliOption("DIR")),
    ] = None,
    data: A[
        Path | None,
        Setting(
            "folder with train.npy (default: tokenize this environment's corpus)", CliOption("DIR")
        ),
    ] = None,
    only: A[Literal["model", "statistics"] | None, Setting("build one kind only")] = None,
) -> list[Any]:
    """Build the databases of the ladder."""
    from training.databases import rebuild_databases

    return rebuild_databases(out, weights=weights, data=data, only=only, progress=show_share)


COMMANDS: dict[str, Command] = {"train": train, "evaluate": evaluate, "databases": databases}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    return run_commands("training", (__doc__ or "").partition(":")[0], COMMANDS, argv)


if __name__ == "__main__":
    sys.exit(main())
