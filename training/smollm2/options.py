"""The settings of a training of a draft model for SmolLM2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated as A

from hsd_viz.settings.declare import CliOption, Setting

Model = A[Path, Setting("the target", CliOption("FILE.gguf"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningOptions:
    """Settings of a training.

    Attributes:
        model: the file of the target.
        text: the folder of the target's text.
        rows: the folder of its probabilities.
        out: the folder of the run.
        layers: the layers of the target that those of the draft model begin as; -1: a new one.
        head: the number of tokens of the head.
        steps: the number of updates.
        batch: the largest number of tokens in a step.
        rate: the learning rate of the matrices of layers.
        vector_rate: the learning rate of the head and the norms.
        half: the share of the updates after which the total variation counts.
        threads: the number of CPU threads.
    """

    model: Model
    text: A[Path, Setting("the folder of the target's text", CliOption("DIR"))]
    rows: A[Path, Setting("the folder of its probabilities", CliOption("DIR"))]
    out: A[Path, Setting("the folder of the run", CliOption("DIR"))]
    layers: A[tuple[int, ...], Setting("of the target; -1: new", CliOption("N", nargs="+"))] = (0,)
    head: A[int, Setting("tokens of the head", CliOption("N"))] = 8192
    steps: A[int, Setting("updates", CliOption("N"))] = 400
    batch: A[int, Setting("tokens in a step, at most", CliOption("N"))] = 4096
    rate: A[float, Setting("learning rate of the matrices of layers", CliOption("R"))] = 2e-3
    vector_rate: A[float, Setting("that of the head and norms", CliOption("R"))] = 2e-3
    half: A[float, Setting("total variation from here on", CliOption("SHARE"))] = 0.5
    threads: A[int, Setting("CPU threads", CliOption("N"))] = 1
