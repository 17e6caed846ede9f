"""Sessions on a device: any calls, trees, roll-backs; captures that fail; memory that runs out; what the host waits for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from decodes import RUNTIMES, STACKS, in_runtime, loop_of, model, run
from fuzz import compare
from transformers import AutoModelForCausalLM, Gemma2Config, GPT2Config, LlamaConfig, Qwen2Config

from hsd_viz.backends.cuda_graphs import GraphModel
from hsd_viz.decoding.model import HFModel
from hsd_viz.decoding.settings import Sampling

COMMON = {
    "vocab_size": 50,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 1024,
    "initializer_range": 0.2,
}
CONFIGS = {
    "llama": LlamaConfig(**COMMON),
    "qwen2, one windowed layer": Qwen2Config(**COMMON, use_sliding_window=True, sliding_window=5, max_window_layers=1),
    "gemma2": Gemma2Config(**COMMON, head_dim=16, sliding_window=5),
    "gpt2": GPT2Config(
        vocab_size=50,
        n_embd=64,
        n_layer=2,
        n_head=4,
        n_positions=1024,
        initializer_range=0.2,
        bos_token_id=0,
        eos_token_id=0,
    ),
}
CLOSE = {torch.float64: 2e-5, torch.float32: 2e-3}


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("runtime", ["graphs", "lean", "fused"])
@pytest.mark.parametrize("name", CONFIGS)
def test_roll_back_fuzz_against_an_eager_session(name, runtime, dtype, device):
    if device == "cpu" and dtype == torch.float32:
        pytest.skip("float64 says more where it is cheap")
    if runtime == "fused" and (device == "cpu" or dtype == torch.float64):
        pytest.skip("the kernels do not run here")
    if runtime != "graphs" and name in ("gemma2", "gpt2"):
        pytest.skip("the lean forward does not know this family")
    torch.manual_seed(0)
    eager = HFModel(name, AutoModelForCausalLM.from_config(CONFIGS[name]).to(device, dtype))
    graphs = in_runtime(runtime, eager)
    close = lambda a, b: torch.allclose(a, b, rtol=CLOSE[dtype], atol=CLOSE[dtype])
    seeds = range(6 if device == "cuda" and dtype == torch.float64 else 1)
    for seed in seeds:
        compare(graphs.session(), eager.session(), 50, 40, seed, close)
    assert graphs.reason is None and graphs.captures > 5


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_roll_back_and_trees(runtime, device):
    m = model(0.0, device, torch.float64, runtime)
    text, drafted, parents = list(range(12)), [20, 21, 22, 23], [-1, 0, 0, 2]
    for _ in range(3):  # called, captured, replayed
        session = m.session()
        session.forward(text, 1)
        rows = session.forward(drafted, 4, parents)
        session.keep(12, [12, 14, 15])
        after = session.forward([30], 1)
        with torch.inference_mode():
            exact = m.module(torch.tensor([[*text, 20, 22, 23, 30]], device=device), use_cache=False).logits[0]
        assert torch.allclose(rows[3], exact[14], atol=1e-5) and torch.allclose(after[0], exact[15], atol=1e-5)


def test_decodes_in_several_threads(device):
    """Captures of one decode stand beside the launches of others."""
    models = [model(0.1, device, torch.float64, "lean"), model(0.0, device, torch.float64, "lean")]
    prompts = [[k, 2, 3] for k in range(6 if device == "cuda" else 3)]
    one = lambda prompt: run(models, [3], None, prompt, 60 if device == "cuda" else 12, Sampling())
    expected = [one(prompt) for prompt in prompts]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(one, prompts)) == expected
    assert {m.reason for m in models} == {None}


def test_out_of_memory_is_one_sentence_and_not_the_end(cuda):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64, hidden_size=1024, num_hidden_layers=8, num_attention_heads=16, intermediate_size=512
    )
    m = GraphModel(HFModel("large", AutoModelForCausalLM.from_config(config, dtype=torch.float32).to(cuda)))
    session = m.session()
    before = session.forward([1, 2, 3], 1).cpu()
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + (64 << 20)) / total)
    try:
        with pytest.raises(
            torch.OutOfMemoryError, match=r"^large ran out of memory on cuda:0 at \d+ tokens of text: use"
        ):
            for _ in range(7):
                session.forward([5] * 512, 1)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    del session
    assert torch.allclose(m.session().forward([1, 2, 3], 1).cpu(), before, atol=1e-4)


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0), Sampling(0.8, 20, 0.95)], ids=str)
def test_the_host_waits_once_a_verification(stack, sampling, cuda, monkeypatch):
    """Anything else that made it wait would raise: a copy from ordinary memory, an index that is a number on the device."""
    lookaheads, bottom = STACKS[stack]
    models = [model(0.1, cuda, torch.float32, "lean") for _ in lookaheads] + [model(0.0, cuda, torch.float32, "lean")]
    looks, honest = [], torch.Tensor.tolist

    def look(self):
        torch.cuda.set_sync_debug_mode("default")
        looks.append(1)
        try:
            return honest(self)
        finally:
            torch.cuda.set_sync_debug_mode("error")

    for attempt in range(3):  # the first two capture
        loop = loop_of(models, lookaheads, bottom, [1, 2, 3] * 4, 60, sampling)
        if attempt < 2:
            list(loop.rounds())
            continue
        monkeypatch.setattr(torch.Tensor, "tolist", look)
        torch.cuda.set_sync_debug_mode("error")
        try:
            rounds = list(loop.rounds())
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert sum(len(v.draft) for v in rounds) and len(looks) == len(loop.log.rounds)


def test_launches_are_timed_by_the_device(cuda):
    models = [model(0.1, cuda, torch.float32, "lean"), model(0.0, cuda, torch.float32, "lean")]
    for _ in range(2):
        loop = loop_of(models, [8], None, [1, 2, 3], 100, Sampling())
        start = loop.log.now()
        list(loop.rounds())
        wall = loop.log.now() - start
    calls = [c for c in loop.log.calls if c.kind != "prefill"]
    assert sum(c.duration_ns for c in calls) <= wall
    drafts = sorted(c.duration_ns for c in calls if c.kind == "draft" and c.steps == 8)
    # Eight steps of a model take longer than launching one graph does.
    assert drafts[len(drafts) // 2] > 50_000


def test_memory_is_steady(device):
    runs = 1000 if device == "cuda" else 24
    models = [model(0.1, device, torch.float32, "lean"), model(0.0, device, torch.float32, "lean")]
    held, buffers = [], set()
    for k in range(runs):
        loop = loop_of(models, [3], None, [1 + k % 50, 2, 3], 8, Sampling(temperature=float(k % 2), seed=k))
        list(loop.rounds())
        buffers |= {level.model._slot.cache.blocks[0].data_ptr() for level in loop.levels}
        del loop
        if device == "cuda" and k % 100 == 99:
            held.append(torch.cuda.memory_allocated())
    assert len(buffers) == 2
    # Within the second hundred every graph has been captured.
    assert len(set(held[2:])) <= 1 or max(held[2:]) - min(held[2:]) < 1 << 20, held
