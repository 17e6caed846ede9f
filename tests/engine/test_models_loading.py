"""Checkpoints of several files, broken ones, and memory: its lack is reported, and decodes keep none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from checkpoints import save_model
from transformers import AutoModelForCausalLM

from hsd_viz.engine import load_engine


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("model"), layers=3)


def test_a_lack_of_memory_is_reported_in_one_line(path, monkeypatch):
    def full(*args, **options):
        raise torch.OutOfMemoryError("no memory left")

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", full)
    with pytest.raises(ValueError, match="does not fit on cpu: the device has too little free memory"):
        load_engine(path, device="cpu", runtime="eager").run("ab")


# --- no growth ----------------------------------------------------------------------------------------------------------


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize("runs", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_decodes_leave_nothing_behind(path, tmp_path, runs):
    """The cache of one text takes about 100 kB here: were it kept, 60 decodes would hold at least 6 MB more."""
    draft = save_model(tmp_path, layers=3, noise=0.1)
    engine = load_engine(path, device="cpu", runtime="eager")
    stacks = ["target", f"{draft}:3 > target", "db[context] > target", f"db[context] > {draft}:4 > target"]

    def decode(n):
        for k in range(n):
            engine.run(f"{'ab ' * 66}{k}", stacks[k % 4], max_new_tokens=10, temperature=k % 2, seed=k)

    decode(40)
    before = resident()
    decode(runs)
    assert resident() - before < 3_000_000
