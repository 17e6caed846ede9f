"""The training loop: models learn, a killed run repeats the uninterrupted one, the export is the
trained network.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from hsd_viz.ladder.torch_modules import load_model
from tests.rows import column, select
from training.__main__ import main
from training.data import Data, prepare
from training.recipe import STAGES, StageSettings, profile
from training.storage import LOG, exclusive, load_checkpoint, save_checkpoint
from training.train import TrainingStage, train_ladder

train_quietly = partial(train_ladder, threads=1, progress=lambda _: None)


def entries_of(log):
    """Return the entries of a log; a kill may have cut off the last one."""
    lines = log.read_text().splitlines(keepends=True)
    entries = []
    for line in lines:
        if line.endswith("}\n"):
            entries.append(json.loads(line))
    return entries


def losses(folder: Path) -> dict[tuple[str, int], dict[str, float]]:
    by_step = {}
    for e in entries_of(folder / LOG):
        if e["event"] == "step":
            by_step[(e["stage"], e["step"])] = e["loss"]
    return by_step


@pytest.fixture
def prepared(tiny: Path, tmp_path: Path) -> Path:
    """A training folder with the corpus of ``tiny`` and nothing trained."""
    for part in ("data", "tokenizer"):
        shutil.copytree(tiny / part, tmp_path / part)
    return tmp_path


#: Starts a training for each line that it reads, in a process whose number it prints, and then
#: prints how that ended. All of them share one import of torch.
STARTER = """
import os, sys, time
from pathlib import Path
from training.train import train_ladder

for _ in sys.stdin:
    process = os.fork()
    if not process:
        train_ladder("tiny", Path(sys.argv[1]), threads=1, progress=lambda _: time.sleep(0.04))
        os._exit(0)
    print(process, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


def test_training_lowers_the_loss(tiny) -> None:
    held = select(entries_of(tiny / LOG), event="heldout")
    for stage, names in STAGES.items():
        course = []
        for e in held:
            if e["stage"] == stage:
                course.append(e["heldout"])
        for name in names:
            assert course[-1][name]["last"] < course[0][name]["last"] - 0.1, name


def test_a_killed_run_repeats_the_uninterrupted_losses(tiny, prepared) -> None:
    expected = losses(tiny)
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(prepared)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with starter:
        for stop_after in (4, 15):  # entries of the log: within the target, within the drafts
            print("start", file=starter.stdin, flush=True)
            process = int(starter.stdout.readline())
            deadline = time.monotonic() + 120
            while not (prepared / LOG).exists() or len(losses(prepared)) < stop_after:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            os.kill(process, signal.SIGKILL)
            assert starter.stdout.readline() == f"{-signal.SIGKILL}\n"
            assert len(losses(prepared)) < len(expected)
    train_quietly("tiny", prepared)
    repeated = losses(prepared)
    assert repeated.keys() == expected.keys()
    for key, row in expected.items():
        assert row == pytest.approx(repeated[key], abs=1e-6), key
    starts = select(entries_of(prepared / LOG), event="start")
    assert column(starts, "stage") == ["target", "target", "drafts", "target", "drafts"]
    assert starts[1]["step"] > 0
    assert starts[4]["step"] > 0


def test_a_time_limit_shortens_the_run(prepared) -> None:
    plan = profile("tiny")
    runs = {name: replace(run, steps=100_000) for name, run in plan.runs.items()}
    started = time.monotonic()
    train_quietly(replace(plan, runs=runs), prepared, minutes=0.02)
    assert time.monotonic() - started < 30
    for stage in STAGES:
        state = load_checkpoint(prepared / f"{stage}.pt")
        assert 0 < state["step"] == state["steps"] < 100_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (partial(train_ladder, "huge"), "unknown profile"),
        (partial(train_ladder, "tiny", stages=["big"]), "unknown stage"),
        (partial(train_ladder, "tiny", steps={"big": 1}), "unknown stage"),
        (partial(train_ladder, "tiny", device="abacus"), "not available"),
    ],
)
def test_invalid_arguments(tmp_path, arguments, message) -> None:
    train = arguments
    with pytest.raises(ValueError, match=message):
        train(out=tmp_path)


def test_a_checkpoint_of_another_seed_is_rejected(tiny, tmp_path) -> None:
    shutil.copytree(tiny, tmp_path / "run")
    with pytest.raises(ValueError, match="seed 0"):
        train_quietly("tiny", tmp_path / "run", stages=["target"], seed=1)


def test_drafts_need_the_final_target(prepared) -> None:
    with pytest.raises(ValueError, match="finish the target"):
        train_quietly("tiny", prepared, stages=["drafts"])
    train_quietly("tiny", prepared, stages=["target"], stop_at=5)
    with pytest.raises(ValueError, match="finish the target"):
        train_quietly("tiny", prepared, stages=["drafts"])


def test_exported_weights_are_the_trained_ones(tiny) -> None:
    state = load_checkpoint(tiny / "drafts.pt")["models"]["small"]
    held = state["heldout"]
    loaded = load_model(str(tiny / "weights" / "small")).state_dict()
    names = [n for n in state["network"] if n != "lm_head.weight"]  # tied
    values = (
        state["average"] if held["average"] < held["last"] else [state["network"][n] for n in names]
    )
    for name, value in zip(names, values, strict=True):
        assert torch.equal(loaded[name], value.half().float()), name


@pytest.mark.parametrize("steps", ["target", "target=", "target=x"])
def test_steps_of_another_form_are_refused_in_one_line(steps, tmp_path, capsys) -> None:
    assert main(["train", "--out", str(tmp_path), "--steps", steps]) == 2
    assert capsys.readouterr().err == (
        f"python -m training: '{steps}' is not STAGE=N, as in target=100\n"
    )


def test_the_learning_rate_rises_stays_and_falls() -> None:
    run = StageSettings(steps=100, rates={}, warmup=10, decay=0.3, floor=0.05)
    rates = [run.rate_at(step, 100) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[20] == rates[69] == 1.0
    assert rates[70:] == sorted(rates[70:], reverse=True)
    assert rates[-1] < 0.1


def test_the_time_of_a_stage_is_measured_by_window(tiny) -> None:
    plan = profile("tiny")
    stage = TrainingStage("target", plan, prepare(plan, tiny), tiny, 0, "cpu")
    before = [p.clone() for p in stage.learners[0].network.parameters()]
    seconds = stage.compile()
    assert 0 < seconds < 60
    assert math.isfinite(seconds)
    after = list(stage.learners[0].network.parameters())
    for a, b in zip(before, after, strict=True):
        assert torch.equal(a, b)
        assert b.grad is None


def test_a_step_depends_on_its_number_only(tiny) -> None:
    plan = profile("tiny")
    data: Data = prepare(plan, tiny)
    one = TrainingStage("target", plan, data, tiny, 0, "cpu").batch_at(7)
    other = TrainingStage("target", plan, data, tiny, 0, "cpu").batch_at(7)
    for a, b in zip(one, other, strict=True):
        assert torch.equal(a, b)
    assert torch.equal(one[0][:, 1:], one[1][:, :-1])


def test_checkpoints_keep_the_previous_one(tmp_path) -> None:
    for step in (1, 2, 3):
        save_checkpoint(tmp_path / "a.pt", {"step": step})
    assert load_checkpoint(tmp_path / "a.pt") == {"step": 3}
    assert load_checkpoint(tmp_path / "a.previous.pt") == {"step": 2}
    assert sorted(os.listdir(tmp_path)) == ["a.previous.pt", "a.pt"]


def test_one_process_trains_in_a_folder(tmp_path) -> None:
    with exclusive(tmp_path):
        assert int((tmp_path / "pid").read_text()) == os.getpgrp()
        with pytest.raises(ValueError, match="another process"), exclusive(tmp_path):
            pass
    assert not (tmp_path / "pid").exists()
