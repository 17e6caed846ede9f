"""Loading tells how far it is and can be stopped; what a decode needs is said first, and refused where it is not there."""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
import torch
from checkpoints import save_model
from transformers import AutoConfig

from hsd_viz.decoding.model import HFModel
from hsd_viz.engine import load_engine, memory
from hsd_viz.engine.loading import with_progress
from hsd_viz.engine.models import Models
from hsd_viz.trace import Stage


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("model"), layers=3)


def test_a_sharded_checkpoint_tells_its_share(path, tmp_path):
    sharded = save_model(tmp_path, layers=3, max_shard_size="20KB")
    assert len(list(Path(sharded).glob("*.safetensors"))) > 3
    told: list[tuple[int, int]] = []
    model = Models(sharded, "cpu", "float32", True).get(sharded, lambda done, total: told.append((done, total)))
    tensors = sum(1 for _ in model.module.parameters())
    assert told == [(k, tensors) for k in range(tensors + 1)]
    whole, parts = (
        load_engine(p, device="cpu", runtime="eager").run("ab", max_new_tokens=20).token_ids for p in (path, sharded)
    )
    assert whole == parts


def test_the_share_comes_as_stages(path, monkeypatch):
    """With a disk that takes its time for each tensor, the stages between the first and the last tensor are seen."""
    slow = Models._load

    def load(self, name, where, tell):
        def slowly(done, total):
            tell(done, total)
            time.sleep(0.02)

        return slow(self, name, where, slowly)

    monkeypatch.setattr(Models, "_load", load)
    events = list(load_engine(path, device="cpu", runtime="eager").decode("ab", max_new_tokens=2))
    shares = [
        (e.done, e.total)
        for e in events
        if isinstance(e, Stage) and e.text.startswith("loading") and e.done is not None
    ]
    assert len(shares) >= 3 and shares == sorted(shares) and {total for _, total in shares} == {30}
    assert events[1].text.startswith("needs about ") and events[1].text.endswith(" MB of memory")


def test_closing_stops_the_loading():
    steps = []

    def work(tell):
        for k in range(1000):
            tell(k, 1000)
            steps.append(k)
            time.sleep(0.01)

    with closing(with_progress(work)) as shares:
        done, total = next(shares)
        assert total == 1000 and done >= 1
    threads = [t for t in threading.enumerate() if t.name == "loading"]
    for thread in threads:
        thread.join(2)
    assert len(steps) < 100


def test_what_loading_raises_is_raised(tmp_path):
    def work(tell):
        raise ValueError("it went wrong")

    with pytest.raises(ValueError, match="it went wrong"):
        list(with_progress(work))
    broken = save_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"no tensors")
    engine = load_engine(broken, device="cpu", runtime="eager")
    with pytest.raises(ValueError, match="cannot be loaded as a causal language model") as error:
        engine.run("ab")
    assert "\n" not in str(error.value)


# --- memory -------------------------------------------------------------------------------------------------------------


def test_weights_and_caches_are_counted_as_they_are(path):
    config = AutoConfig.from_pretrained(path)
    model = Models(path, "cpu", "float64", True).get(path)
    assert memory.parameter_bytes(config, torch.float64, path) == sum(p.numel() * 8 for p in model.module.parameters())
    session = HFModel("it", model.module).session()
    session.forward(list(range(200)), 1)
    buffers = [b for layer in session._cache.layers for b in (layer.keys, layer.values)]
    allocated = sum(b.numel() * b.element_size() for b in buffers)
    assert memory.need(config, 0, torch.float64, 200, 200, grown=True).cache == allocated
    assert memory.need(config, 0, torch.float64, 200, 200, grown=False).cache == allocated * 200 // 512


def test_what_is_not_there_is_refused_and_what_fits_is_not(path, monkeypatch):
    engine = load_engine(path, device="cpu", dtype="float32", runtime="eager")
    monkeypatch.setattr(memory, "free_bytes", lambda device: 100_000)
    with pytest.raises(ValueError, match="this needs about 1 MB more and cpu has 1 MB of memory free") as error:
        engine.run("ab", max_new_tokens=100)
    assert "\n" not in str(error.value) and not engine.models.loaded(path)
    monkeypatch.setattr(memory, "free_bytes", lambda device: 10_000_000)
    assert engine.run("ab", max_new_tokens=4).token_ids
    # Weights that are there need no room any more.
    monkeypatch.setattr(
        memory,
        "free_bytes",
        lambda device: memory.need(engine.model().config, 0, torch.float32, 3, 7, False).work + 10_000,
    )
    assert engine.run("ab", max_new_tokens=4).token_ids


def test_free_memory_of_this_machine_is_plausible(tmp_path, monkeypatch):
    free = memory.free_bytes(torch.device("cpu"))
    assert free is None or 10_000_000 < free < 1 << 46
    for name, value in (
        ("memory.max", "1000000\n"),
        ("memory.current", "700000\n"),
        ("memory.stat", "anon 5\ninactive_file 200000\n"),
    ):
        (tmp_path / name).write_text(value)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert memory.free_bytes(torch.device("cpu")) == 500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.free_bytes(torch.device("cpu")) != 500_000


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
