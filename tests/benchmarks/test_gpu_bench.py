"""The GPU scripts: their parts run here on tiny models; what fails, crashes or takes too long is
named, and resumed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest
import torch

import benchmarks.gpu
from benchmarks.gpu.parts import compilation, processor_seconds
from benchmarks.gpu.scripts import SECONDS, parts_of, summary
from benchmarks.gpu.shell import STACKS, stacks_with
from benchmarks.gpu.steps import Steps
from benchmarks.gpu.tools import SMALL, random_llama, read_bytes
from hsd_viz.ladder.torch_modules import load_model
from hsd_viz.torch_models.compiled import WIDTHS, CompiledModel
from hsd_viz.torch_models.graphs import Graph
from tests.rows import column

PARTS = """
import os, sys, time
from pathlib import Path
import benchmarks.gpu.parts as parts
from benchmarks.gpu.parts import ScriptPart, ScriptReport, supervise, work_off

parts.describe = lambda: {"gpu": None, "cpu": "x", "torch": "y"}
out, script = Path(sys.argv[1]), sys.argv[2]


def count(data):
    with open(out / "runs", "a") as file:
        file.write("x")
    return len((out / "runs").read_text())


def needs_file(data):
    return (out / "there").read_text()


parts = [
    ScriptPart("first", count),
    ScriptPart("raises", needs_file),
    ScriptPart("crashes", lambda data: os._exit(7)),
    ScriptPart("sleeps", lambda data: time.sleep(60), 1),
    ScriptPart("last", lambda data: data["parts"]["first"]),
]
report = ScriptReport(out / "x.json", {"tiny": True})
if script == "work":
    work_off(parts, report)
else:
    supervise(parts, report, [sys.executable, __file__, str(out), "work"], 60)
"""


def test_parts_fail_alone_and_are_resumed(tmp_path):
    script = tmp_path / "parts.py"
    script.write_text(PARTS)
    command = [sys.executable, str(script), str(tmp_path), "start"]
    for attempt in range(2):
        subprocess.run(command, check=True, env={"PYTHONPATH": ".", "PATH": ""}, timeout=120)
        data = json.loads((tmp_path / "x.json").read_text())
        assert data["parts"]["first"] == data["parts"]["last"] == 1, "what is done is not repeated"
        assert data["failed"]["crashes"] == "exit code 7"
        assert data["failed"]["sleeps"] == "took too long"
        assert ("raises" in data["failed"]) == (attempt == 0)
        (tmp_path / "there").write_text("now")
    assert data["parts"]["raises"] == "now"
    assert data["running"] is None
    assert data["processor_seconds"].keys() == data["seconds"].keys() == data["compiled"].keys()


def test_processor_time_has_that_of_commands():
    """A part is slow because of a compiler, or because of what else the machine does: only this
    shows which.
    """
    before = processor_seconds()
    busy = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert processor_seconds() - before >= 0.3


def test_what_is_compiled_is_counted():
    before = compilation()
    torch.compile(torch.special.entr, backend="eager", dynamic=False)(torch.ones(3))
    after = compilation()
    assert after.graphs == before.graphs + 1
    assert after.seconds > before.seconds


@pytest.mark.parametrize(
    ("models", "stacks"),
    [
        (("nano", "small", "target"), list(STACKS)),
        (("nano", "target"), ["target", "db > target", "auto > target", "nano:4 > target"]),
        (("target",), ["target", "db > target"]),
    ],
    ids=["a ladder", "one draft model", "a target alone"],
)
def test_a_family_is_measured_with_the_models_that_it_has(models, stacks):
    assert stacks_with(models) == stacks


def test_steps_and_rounds_of_tiny_models():
    """Eager sessions take the place of compiled ones, which test_compiled compiles."""
    bench = Steps(torch.device("cpu"), SMALL)
    bench.fastest = "eager"
    speed = bench.bandwidth()["bytes_per_second"]
    lone = {name: bench.steps(name, "eager", speed) for name in ("68M", "1B")}
    for row in lone.values():
        for ms in row["width_ms"].values():
            assert ms > 0
        assert len(row["width_ms"]) == 7
        assert row["ratio_to_bound"] == pytest.approx(row["width_ms"]["1"] / row["bound_ms"])
    for row in bench.rounds("68M", "1B", lone).values():
        assert row["overhead"] > 0
        assert row["draft_ms"] > 0
    assert len(bench.memory()["bytes_after_runs"]) == 3


def test_the_graphs_of_a_shape_are_as_many_as_stated(monkeypatch):
    """Their compilation decides how much of the script fits into its time."""
    compiled: list[object] = []

    def counting(function):
        compiled.append(function)
        return Graph(function)

    uncompiled = partial(CompiledModel, compiler=counting)
    monkeypatch.setattr("benchmarks.gpu.tools.CompiledModel", uncompiled)
    bench = Steps(torch.device("cpu"), replace(SMALL, widths=WIDTHS, rounds=8))
    lone = {name: bench.steps(name, "compiled", 1e9) for name in ("1B", "68M")}
    stated = " ".join(benchmarks.gpu.__doc__.split())
    assert f"{len(compiled) // 2} graphs with a forward pass" in stated
    bench.rounds("68M", "1B", lone)
    assert len(compiled) == 24, "rounds compile nothing"


@pytest.mark.slow
def test_strict_rows_of_a_tiny_model():
    assert Steps(torch.device("cpu"), SMALL).strict_rows("68M")["strict"] is True


def test_every_script_has_its_parts(tmp_path):
    for script in SECONDS:
        names = column(parts_of(script, True, "cpu", tmp_path), "name")
        assert names
        assert len(names) == len(set(names))
    data = {
        "machine": {"gpu": None, "cpu": "x", "torch": "y"},
        "parts": {"bandwidth": 1},
        "failed": {"memory": "why"},
    }
    assert summary(data).splitlines() == ["x, torch y", "bandwidth: 1", "FAILED memory: why"]


def test_a_table_of_embeddings_is_read_by_the_row_unless_it_is_the_head():
    tied = load_model("nano")
    assert read_bytes(tied) == sum(column(tied.parameters(), "nbytes"))
    free = random_llama((32, 1, 2, 2, 48), 100, torch.device("cpu"), torch.float32)
    assert read_bytes(free) == sum(column(free.parameters(), "nbytes")) - 100 * 32 * 4
