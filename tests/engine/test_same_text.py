"""Test that a command gives the same text with any cache and number of threads, and under load."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import product

import pytest
import torch

from hsd_viz.decoding.options import Sampling
from hsd_viz.engine import load_engine
from hsd_viz.latency import stored as store
from hsd_viz.measure.plan.calibrate import Workload, calibrate
from hsd_viz.native.build import default_build
from hsd_viz.prompts.suites import Prompt, Suite

PROMPT = "def mean(values):\n    total = 0\n    for value in values:\n"
STACKS = (
    "target",
    "db > target",
    "db[context] > target",
    "db[context,logits] > target",
    "hd > target",
    "lookup > target",
    "suffix > target",
    "recycling > target",
    "nano > target",
    "nano:8 > target",
    "nano:2 > small > target",
    "db > nano > target",
    "db > nano:4 > small:6 > target",
)
#: (stack, temperature, top-p, seed): 40 commands.
COMMANDS = [(s, t, p, 3) for s, (t, p) in product(STACKS, ((0.0, 1.0), (0.7, 1.0), (1.0, 0.9)))]
COMMANDS.append(("db > small > target", 0.7, 1.0, 4))


def texts(folder, monkeypatch, threads=1):
    monkeypatch.setenv("HSD_VIZ_CACHE", str(folder))
    with load_engine(device="cpu", threads=threads) as engine:
        engine.wait_ready()
        token_ids = []
        for stack, temperature, top_p, seed in COMMANDS:
            trace = engine.run(
                PROMPT, stack, temperature=temperature, top_p=top_p, seed=seed, max_new_tokens=12
            )
            assert trace.meta["costs"] == "shipped"
            token_ids.append(trace.token_ids)
        return token_ids


@pytest.fixture(autouse=True)
def compiled():
    """Compile the library once, for all caches."""
    default_build().wait()
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_a_command_gives_the_same_text_whatever_is_in_the_cache_and_on_any_threads(
    tmp_path, monkeypatch
):
    plain = texts(tmp_path / "empty", monkeypatch)
    assert len(set(map(tuple, plain))) > 5
    # A calibration by which other lookaheads are the fastest.
    monkeypatch.setenv("HSD_VIZ_CACHE", str(tmp_path / "full"))
    with load_engine(device="cpu", threads=1) as engine:
        suite = Suite("one", {}, (Prompt("1", "all", PROMPT),))
        work = Workload(suite, ("nano", "small"), sampling=Sampling(), max_new_tokens=8)
        stored = calibrate(engine, work)
        for temperature in (0.0, 0.7, 1.0):
            sampling = {**stored.identity["sampling"], "temperature": temperature}
            store.save(replace(stored, identity={**stored.identity, "sampling": sampling}))
    assert texts(tmp_path / "full", monkeypatch) == plain
    assert texts(tmp_path / "empty", monkeypatch, threads=2) == plain


@pytest.mark.slow
def test_a_command_gives_the_same_text_beside_three_busy_processes(tmp_path, monkeypatch):
    alone = texts(tmp_path, monkeypatch, threads=2)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        assert texts(tmp_path, monkeypatch, threads=2) == alone
        assert all(process.poll() is None for process in busy)
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_other_costs_are_asked_for_and_named_in_the_trace(tmp_path):
    """Costs decide the size of a tree: if draft tokens cost as much as steps, fewer are drafted."""
    path = tmp_path / "costs.json"
    expensive = {"format": "hsd_viz costs", "models": {}, "others": {"cpu": 1.0, "cuda": 1.0}}
    path.write_text(json.dumps(expensive))
    shipped = load_engine(device="cpu", costs="shipped")
    other = load_engine(device="cpu", costs=path)
    runs = [engine.run(PROMPT, "db > target", max_new_tokens=48) for engine in (shipped, other)]
    assert runs[0].token_ids == runs[1].token_ids
    assert runs[0].metrics()["drafted"] > runs[1].metrics()["drafted"]
    assert [run.meta["costs"] for run in runs] == ["shipped", str(path)]
    with load_engine("nano", device="cpu", costs="measured") as timed:
        assert timed.run(PROMPT, "db > target", max_new_tokens=8).meta["costs"] == "measured"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read the costs file .*: No such file"),
        ("[]", "is not a table of costs"),
        ('{"format": "hsd_viz costs", "models": {}, "others": {"cpu": 0.1}}', "field `cuda`"),
        (
            '{"format": "hsd_viz costs", "models": {"nano": {"float32": [2, 1]}}, '
            '"others": {"cpu": 0, "cuda": 0}}',
            "a cost curve needs",
        ),
    ],
)
def test_costs_that_cannot_be_used_are_refused_in_one_line(tmp_path, content, words):
    path = tmp_path / "costs.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=words) as error:
        load_engine(costs=path)
    assert "\n" not in str(error.value)


def test_a_lookahead_left_to_the_selector_needs_a_calibration(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_VIZ_CACHE", str(tmp_path))
    with load_engine(device="cpu") as engine:
        assert (
            engine.run(PROMPT, "nano > target", max_new_tokens=4).meta["stack_resolved"]
            == "nano:4 > target"
        )
        with pytest.raises(
            ValueError, match="needs a calibration of this machine: run `hsd-viz plan --models nano"
        ):
            engine.run(PROMPT, "nano:auto > target", max_new_tokens=4)
        suite = Suite("one", {}, (Prompt("1", "all", PROMPT),))
        store.save(calibrate(engine, Workload(suite, ("nano",), (), max_new_tokens=8)))
        resolved = engine.run(PROMPT, "nano:auto > target", max_new_tokens=4).meta["stack_resolved"]
        assert resolved.startswith("nano:")
        assert resolved.split(":")[1].split()[0].isdigit()
