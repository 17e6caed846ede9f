"""Static buffers, masks, buckets and replays give the rows of the model itself, whatever is fed, rolled back and walked."""

from __future__ import annotations

import threading

import pytest
import torch
from fuzz import compare
from tape import TapeCapturer
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    Gemma2Config,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    OPTConfig,
    PhiConfig,
    Qwen2Config,
    Qwen3Config,
)

from hsd_viz.backends.cuda_graphs import GraphModel
from hsd_viz.backends.cuda_graphs.buffers import bucket_of
from hsd_viz.backends.cuda_graphs.forward import WIDTHS, width_of
from hsd_viz.decoding.model import HFModel
from hsd_viz.decoding.settings import Sampling

V = 50
COMMON = {
    "vocab_size": V,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 1024,
    "initializer_range": 0.2,
}
GROUPED = {**COMMON, "num_key_value_heads": 2}
CONFIGS = {
    "llama": LlamaConfig(**COMMON),
    "llama, biases": LlamaConfig(**GROUPED, attention_bias=True, mlp_bias=True),
    "qwen2": Qwen2Config(**GROUPED, use_sliding_window=False),
    "qwen2, one windowed layer": Qwen2Config(**GROUPED, use_sliding_window=True, sliding_window=5, max_window_layers=1),
    "qwen3": Qwen3Config(**GROUPED, head_dim=16),
    "mistral, window of 5": MistralConfig(**GROUPED, sliding_window=5),
    "gemma2": Gemma2Config(**GROUPED, head_dim=8, sliding_window=5),
    "gpt2": GPT2Config(
        vocab_size=V,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=1024,
        initializer_range=0.2,
        bos_token_id=0,
        eos_token_id=0,
    ),
    "neox": GPTNeoXConfig(**COMMON),
    "opt": OPTConfig(
        vocab_size=V,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        ffn_dim=48,
        word_embed_proj_dim=32,
        max_position_embeddings=1024,
        init_std=0.2,
    ),
    "phi": PhiConfig(**COMMON),
}
LEAN = {name for name in CONFIGS if name.startswith(("llama", "qwen", "mistral"))}
CASES = [*((name, True) for name in sorted(LEAN)), *((name, False) for name in CONFIGS)]


def eager(name: str) -> HFModel:
    torch.manual_seed(0)
    return HFModel(name, AutoModelForCausalLM.from_config(CONFIGS[name]).double())


def close(a, b):
    return torch.allclose(a, b, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("name", "lean"), CASES)
def test_any_sequence_of_calls_gives_the_rows_of_an_eager_session(name, lean):
    model, capturer = eager(name), TapeCapturer()
    graphs = GraphModel(model, lean=lean, capturer=capturer)
    assert graphs.runtime == "cuda-graphs" and (graphs.not_lean is None) == (lean and name in LEAN)
    for seed in range(2):  # the second text runs in the buffers of the first
        compare(graphs.session(), model.session(), V, 36, seed, close)
    assert capturer.played > 20 and graphs.reason is None


def test_a_text_that_outgrows_its_buffers_goes_on_in_larger_ones():
    model, capturer = eager("llama"), TapeCapturer()
    graphs = GraphModel(model, capturer=capturer)
    session, plain = graphs.session(), model.session()
    text = [k % V for k in range(530)]
    assert close(session.forward(text[:500], 1), plain.forward(text[:500], 1))
    for token in text[500:]:
        assert close(session.forward([token], 1), plain.forward([token], 1))
    assert {tape.outputs[0].shape[0] for tape in capturer.tapes} == {1} and len(capturer.tapes) == 2, (
        "one graph per bucket"
    )
    # Back in the first bucket: what was captured there wrote into buffers that are gone.
    session.truncate(400), plain.truncate(400)
    for token in (9, 8, 7):
        assert close(session.forward([token], 1), plain.forward([token], 1))


def test_to_the_last_position_of_the_model():
    """Padding and a longer launch than wanted may not ask a table for positions that it does not have."""
    model = eager("gpt2")
    graphs = GraphModel(model, capturer=TapeCapturer())
    session, plain = graphs.session(), model.session()
    text = [k % V for k in range(1020)]
    session.forward(text, 1), plain.forward(text, 1)
    for _ in range(3):
        session.sample([1], 3, Sampling(), [], frozenset())
        session.truncate(1020)
    assert close(session.forward([1, 2, 3], 3), plain.forward([1, 2, 3], 3))
    ids, _ = session.sample([4], 1, Sampling(), [], frozenset())
    assert ids.tolist() == [int(plain.forward([4], 1).argmax(-1))]
    session.truncate(1022)
    ids, _ = session.sample([3, 4], 1, Sampling(), [], frozenset())
    assert len(ids) == 1 and session.length == 1024


def test_a_shorter_draft_at_the_end_of_a_text_needs_no_graph_of_its_own():
    capturer = TapeCapturer()
    session = GraphModel(eager("llama"), capturer=capturer).session()
    wanted = []
    for n in (6, 6, 6, 4):
        wanted.append(session.sample([7], n, Sampling(), [], frozenset())[0].tolist())
        session.truncate(0)
    assert wanted[3] == wanted[0][:4] and len(capturer.tapes) == 1


def test_widths_and_buckets():
    assert [width_of(n) for n in (1, 5, 7, 13, 32, 33, 62, 63, 500)] == [1, 6, 8, 16, 32, 48, 62, 63, 500]
    assert list(WIDTHS) == sorted(WIDTHS)
    assert [bucket_of(n) for n in (1, 512, 513, 768, 769, 1500, 2049)] == [512, 512, 768, 768, 1024, 1536, 3072]


# --- what cannot be done this way --------------------------------------------------------------------------------------


def test_a_model_of_another_mind_runs_eagerly_and_says_why():
    torch.manual_seed(0)
    bloom = HFModel(
        "bloom", AutoModelForCausalLM.from_config(BloomConfig(vocab_size=V, hidden_size=32, n_layer=2, n_head=4))
    )
    graphs = GraphModel(bloom, capturer=TapeCapturer())
    assert graphs.runtime == "eager" and graphs.reason
    assert type(graphs.session()) is type(bloom.session())


def test_rows_that_differ_are_found_at_the_start(monkeypatch):
    """The mutant: a forward that lets every token see the padding and the stale places behind it."""
    from hsd_viz.backends.cuda_graphs import forward

    honest = forward.ModuleForward.__call__

    def blind(self, ids, positions, seen, cache, rows):
        return honest(self, ids, positions, {kind: torch.zeros_like(mask) for kind, mask in seen.items()}, cache, rows)

    monkeypatch.setattr(forward.ModuleForward, "__call__", blind)
    graphs = GraphModel(eager("neox"))
    assert graphs.runtime == "eager" and "more than rounding explains" in graphs.reason


def test_a_model_that_reads_from_the_device_is_not_captured():
    torch.manual_seed(0)
    config = LlamaConfig(**COMMON, rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4})
    graphs = GraphModel(HFModel("dynamic", AutoModelForCausalLM.from_config(config)))
    assert "reads a number back" in graphs.reason


def test_a_failed_capture_is_survived_and_told():
    class Failing(TapeCapturer):
        def capture(self, work):
            raise RuntimeError("operation not permitted when stream is capturing\nmore lines")

    model = eager("llama")
    graphs = GraphModel(model, capturer=Failing())
    session, plain = graphs.session(), model.session()
    for _ in range(3):
        assert close(session.forward([1, 2], 2), plain.forward([1, 2], 2))
    assert "cannot be captured: operation not permitted when stream is capturing" in graphs.reason
    assert "\n" not in graphs.reason


# --- memory ------------------------------------------------------------------------------------------------------------


def test_buffers_and_graphs_pass_from_one_decode_to_the_next():
    capturer = TapeCapturer()
    graphs = GraphModel(eager("llama"), capturer=capturer)
    seen = set()
    for k in range(20):
        session = graphs.session()
        seen.add(session._slot.cache.blocks[0].data_ptr())
        for _ in range(4):
            session.forward([k], 1)
        del session
    assert len(seen) == 1 and len(capturer.tapes) == 1
    both = graphs.session(), graphs.session()
    assert both[0]._slot is not both[1]._slot


def test_nothing_of_a_text_reaches_the_next():
    """A row of NaN in the old buffers would turn every later row into NaN, though its place is masked."""
    model = eager("llama")
    graphs = GraphModel(model)
    session = graphs.session()
    session.forward([1] * 30, 1)
    with torch.inference_mode():
        session._slot.cache.blocks[0].fill_(torch.nan)
    session.close()
    assert close(graphs.session().forward([3, 4], 2), model.session().forward([3, 4], 2))


def test_out_of_memory_gives_all_back_and_says_so(monkeypatch):
    from hsd_viz.backends.cuda_graphs.buffers import StaticCache

    model = eager("llama")
    graphs = GraphModel(model)
    session = graphs.session()
    session.forward([1] * 500, 1)

    def full(self, capacity):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(StaticCache, "grow", full)
    with pytest.raises(torch.OutOfMemoryError, match=r"llama ran out of memory on cpu at 620 tokens of text: use"):
        session.forward([1] * 120, 1)
    slot = session._slot
    assert slot.dropped and not slot.cache.blocks
    session.close()
    assert close(graphs.session().forward([3, 4], 2), model.session().forward([3, 4], 2))


def test_threads_have_buffers_of_their_own():
    model = eager("llama")
    graphs = GraphModel(model, capturer=TapeCapturer())
    plain = model.session()
    expected = [plain.forward([k % V], 1) for k in range(40)]
    wrong = []

    def decode():
        session = graphs.session()
        rows = [session.forward([k % V], 1) for k in range(40)]
        wrong.extend(k for k, (a, b) in enumerate(zip(rows, expected, strict=True)) if not close(a, b))

    threads = [threading.Thread(target=decode) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- the lean forward --------------------------------------------------------------------------------------------------


def test_joint_weights_are_held_once_and_the_module_still_works():
    model = eager("qwen2")
    before = model.session().forward([1, 2, 3], 3)
    held = sum(
        {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes() for p in model.module.parameters()}.values()
    )
    GraphModel(model), GraphModel(model)
    after = sum(
        {p.untyped_storage().data_ptr(): p.untyped_storage().nbytes() for p in model.module.parameters()}.values()
    )
    assert after == held
    assert torch.equal(model.session().forward([1, 2, 3], 3), before)
