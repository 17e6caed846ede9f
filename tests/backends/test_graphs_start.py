"""The start of a model on static buffers: which forward runs and why, captures before a decode, faults that pass."""

from __future__ import annotations

import threading

import pytest
import torch
from tape import TapeCapturer
from test_graphs import close, eager
from transformers import LlamaConfig, LlamaForCausalLM

from hsd_viz.backends.choose import Runtimes, open_session
from hsd_viz.backends.cuda_graphs import GraphModel, slot
from hsd_viz.backends.cuda_graphs.forward import WIDTHS
from hsd_viz.backends.cuda_graphs.slot import CudaCapturer
from hsd_viz.backends.device import settle_arithmetic
from hsd_viz.decoding.backend import Notes
from hsd_viz.decoding.model import HFModel
from hsd_viz.decoding.settings import Sampling
from hsd_viz.decoding.suitable import allowed_error, row_error
from hsd_viz.machine import attention


def deep(layers: int) -> HFModel:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=500, hidden_size=64, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=96
    )
    config.initializer_range = 0.2
    return HFModel("deep", LlamaForCausalLM(config).to(torch.bfloat16))


@pytest.mark.parametrize("layers", [32, 80])
def test_a_deep_model_in_bfloat16_is_not_refused(layers):
    """Its worst logit differs by more than a fifth of the logits' spread, its rows by a few per cent."""
    model = deep(layers)
    graphs = GraphModel(model, capturer=TapeCapturer())
    assert graphs.runtime == "cuda-graphs" and graphs.path == "lean, Triton: none"
    text = list(range(1, 60, 5))
    rows = graphs.session().forward(text, len(text))
    with torch.inference_mode():
        exact = model.module(torch.tensor([text]), use_cache=False).logits[0]
    assert row_error(rows, exact) < allowed_error(torch.bfloat16)
    assert float((rows - exact).abs().max()) > 0.2 * float(exact.float().std()), "rounding is visible here"


def test_the_error_of_rows_is_relative_and_a_mean():
    own = torch.randn(8, 1000, generator=torch.Generator().manual_seed(0))
    other = torch.randn(8, 1000, generator=torch.Generator().manual_seed(1))
    assert row_error(own, own) == 0 and 1.2 < row_error(other, own) < 1.6
    assert row_error(100 * (own + 0.01 * other), 100 * own) == pytest.approx(0.01, rel=0.1)


def test_the_path_names_the_forward_and_the_reason():
    assert GraphModel(eager("llama"), lean=False).path == (
        "the module's own forward over static buffers (it was not requested)"
    )
    assert "GPT2LMHeadModel is not one of" in GraphModel(eager("gpt2")).path


def test_one_choice_of_attention_for_all():
    before = torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    try:
        torch.backends.cuda.enable_cudnn_sdp(True)
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True
        settle_arithmetic(torch.device("cpu"))
        assert "cudnn" in attention()
        settle_arithmetic(torch.device("cuda"))
        assert attention() == "flash, efficient, math"
        assert not torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before[0])
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = before[1]


def test_a_failed_capture_ends_its_allocations_and_takes_a_fresh_pool(monkeypatch):
    """The calls to torch, on a stand-in for CUDA; tests/gpu makes a real capture fail."""
    ended, pools = [], iter(range(10))

    class Stream:
        def wait_stream(self, other):
            pass

    class Capturing:
        def __init__(self, graph, pool, stream, capture_error_mode):
            captures.append(pool)

        def __enter__(self):
            pass

        def __exit__(self, *args):
            if len(captures) == 1:
                raise RuntimeError("operation failed due to a previous error during capture")

    captures: list[int] = []
    for name, value in {
        "graph_pool_handle": lambda: next(pools), "Stream": lambda device: Stream(), "CUDAGraph": object,
        "current_stream": Stream, "current_device": lambda: 0, "set_stream": lambda stream: None, "graph": Capturing,
        "stream": lambda stream: slot.suppress(), "device": lambda device: slot.suppress(),
    }.items():  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, value)
    monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", lambda *args: ended.append(args), raising=False)
    capturer = CudaCapturer(torch.device("cuda"))
    with pytest.raises(RuntimeError, match="previous error"):
        capturer.capture(lambda: ())
    capturer.capture(lambda: ())
    assert ended == [(0, 0)] and captures == [0, 1]


def test_a_session_that_is_collected_within_the_lock_does_not_block():
    graphs = GraphModel(eager("llama"))
    session = graphs.session()
    done = threading.Event()

    def collect():
        with graphs._lock:
            session.close()
        done.set()

    threading.Thread(target=collect, daemon=True).start()
    assert done.wait(20), "the finalizer waits for a lock of its own thread"


def test_no_replay_runs_beside_a_capture():
    held = []

    class Watching(TapeCapturer):
        def capture(self, work):
            held.append(graphs._replays.lock.locked())
            return super().capture(work)

    graphs = GraphModel(eager("llama"), capturer=Watching())
    graphs.session().forward([1], 1)
    assert held == [True]


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.7)], ids=str)
def test_a_warm_model_captures_nothing_while_it_decodes(sampling):
    capturer, model = TapeCapturer(), eager("llama")
    graphs, plain = GraphModel(model, capturer=capturer), model.session()
    session = open_session(graphs, 530)
    session.warm(500, 530, 8, [4], sampling)
    before = graphs.captures
    assert before == 2 * (len([w for w in WIDTHS if w <= 8]) + 1), "two buckets, each with its widths and a draft"
    text = [k % 50 for k in range(500)]
    for start in range(0, 500, 100):
        session.forward(text[start : start + 100], 1), plain.forward(text[start : start + 100], 1)
    for width in (1, 3, 5, 2, 8, 1):
        assert close(session.forward([7] * width, width), plain.forward([7] * width, width))
    session.sample([7], 4, sampling, [] if sampling.greedy else [0.5] * 4, frozenset())
    assert graphs.captures == before
    # All of it fits into what was reserved: nothing was dropped.
    assert session._slot.cache.capacity == 1024


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.7)], ids=str)
def test_a_warm_model_captures_nothing_while_it_verifies(sampling):
    graphs, notes = GraphModel(eager("llama"), capturer=TapeCapturer()), Notes(True)
    session = open_session(graphs, 100)
    session.warm(9, 100, 4, [], sampling, [(tree, False, notes) for tree in (False, True)])
    before = graphs.captures
    session.forward([1, 2, 3, 4, 5, 6, 7, 8], 1)
    for parents in (None, [-1, 0, 0]):
        chances = [] if sampling.greedy else [0.5] * 3
        assert session.forward_verified([7, 8, 9], 3, parents, sampling, chances, notes=Notes(True)).verdict is not None
    assert graphs.captures == before == 1 + 2 * len([w for w in WIDTHS if w <= 4])


def test_room_is_reserved_once():
    graphs = GraphModel(eager("llama"), capturer=TapeCapturer())
    session = open_session(graphs, 900)
    session.forward([1], 1)
    first = session._slot.cache.blocks[0].data_ptr()
    session.forward([2] * 700, 1)
    assert session._slot.cache.blocks[0].data_ptr() == first and session._slot.cache.capacity == 1024


def test_strict_is_a_runtime_and_the_native_one_on_a_cpu():
    with pytest.raises(ValueError, match="unknown runtime 'fast': it is one of auto, eager, strict"):
        Runtimes(torch.device("cpu"), "fast")
    assert Runtimes(torch.device("cpu"), "strict").compiling in (True, False)
