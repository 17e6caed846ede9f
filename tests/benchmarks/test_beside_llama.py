"""The comparison with llama.cpp, by this side alone, and what the machine's memory gives."""

from __future__ import annotations

import json

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks import beside_llama, memory
from hsd_viz.native.build import default_build
from tests.models.make_gguf import write_gguf
from tests.rows import column, select


@pytest.mark.skipif(not default_build().wait(), reason="no native runtime")
def test_one_side_alone_is_measured_beside_what_memory_gives(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(memory, "READ_BYTES", 4_000_000)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=96,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=1,
        num_attention_heads=4,
    )
    module = LlamaForCausalLM(config).eval()
    write_gguf(tmp_path / "tiny.gguf", module)
    out = tmp_path / "out.json"
    few = ["--context", "20", "--repeats", "1", "--json", str(out)]
    assert beside_llama.main([str(tmp_path / "tiny.gguf"), *few]) == 0

    figures = json.loads(out.read_text())
    assert set(column(figures["passes"], "side")) == {beside_llama.OURS}
    [one] = select(figures["passes"], tokens="1")
    reads = figures["weight_bytes"] / one["ms"] / 1e6
    most = figures["read_bytes_per_second"] / 1e9
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"one token reads {reads:.1f} GB/s of weights, the machine {most:.1f} GB/s"


def test_the_rate_is_that_of_all_threads_together(monkeypatch):
    """Two runs of .5 and .25 seconds: their median with one more of .25 is .25."""
    clock = iter([0.0, 0.5, 1.0, 1.25, 2.0, 2.25])
    monkeypatch.setattr(memory.time, "perf_counter", lambda: next(clock))
    assert memory.read_bandwidth(2, read_bytes=4000, runs=3) == 16_000
