"""The native forward is transformers' function, and the same to the last bit however tokens are fed.

The second half runs once for every width of vector that can be built here.
"""

from __future__ import annotations

import copy
import platform
import subprocess
import sys
import threading

import pytest
import torch
from models import CONFIGS, eager, ids, native, path_to, random_tree

from hsd_viz.backends import Build, NativeModel, default_build
from hsd_viz.backends.native import session as session_module
from hsd_viz.backends.native import weights as weights_module
from hsd_viz.decoding.model import HFModel
from hsd_viz.ladder.variants import rounded

pytestmark = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")

TYPES = [torch.float32, torch.float64, torch.bfloat16]
#: Relative to the largest logit. transformers rounds norms to float32 in float64 too, and everything to bfloat16 in bfloat16.
CLOSE = {torch.float32: 1e-4, torch.float64: 1e-5, torch.bfloat16: 0.1}

#: What the forward is compiled for, and its threads.
SETTINGS = {f"{n} threads": (default_build(), n) for n in (1, 2, 5)}
if platform.machine() in ("x86_64", "AMD64"):
    SETTINGS["32-byte vectors"] = Build(native_flags=(("-march=native", "-mno-avx512f"),)), 1
    SETTINGS["16-byte vectors, no FMA"] = Build(native_flags=(("-march=x86-64",),)), 2


@pytest.fixture(params=SETTINGS)
def build(request, monkeypatch):
    """The build of a setting; its threads serve every forward, however small the model."""
    build, threads = SETTINGS[request.param]
    if not build.wait():
        pytest.skip(f"the compiler has no such flags: {build.reason}")
    monkeypatch.setattr(session_module, "BYTES_A_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    return build


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", CONFIGS)
def test_it_is_the_function_of_the_module(name, dtype):
    """Over a chain, a tree behind it, a chain behind the path kept of the tree."""
    parents = random_tree(17, seed=3)
    path = path_to(parents, 16)
    logits = []
    for model in (native(name, dtype), eager(name, dtype)):
        session = model.session()
        rows = [session.forward(ids(33), 33), session.forward(ids(17, 1), 17, parents)]
        session.keep(33, [33 + node for node in path])
        assert session.length == 33 + len(path)
        rows.append(session.forward(ids(5, 2), 5))
        logits.append(torch.cat([row.to(native(name, dtype).compute) for row in rows]))
    mine, its = logits
    assert (mine - its).abs().max() / its.abs().max() < CLOSE[dtype]


def one_by_one(model: NativeModel, tokens: list[int], session=None) -> torch.Tensor:
    session = session or model.session()
    return torch.cat([session.forward([token], 1) for token in tokens])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", CONFIGS)
def test_any_width_gives_the_bits_of_one_token_at_a_time(name, dtype, build):
    model = native(name, dtype, build)
    text = ids(170)
    expected = one_by_one(model, text)
    session = model.session()
    fed = 0
    for width in range(1, 18):
        rows = session.forward(text[fed : fed + width], width)
        assert torch.equal(rows, expected[fed : fed + width]), width
        fed += width
    assert torch.equal(session.forward(text[fed:], 1), expected[-1:])
    assert torch.equal(model.session().forward(text, len(text)), expected), "a prefill of everything"


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", CONFIGS)
def test_any_tree_gives_the_bits_of_its_paths(name, dtype, build):
    """Each node's row, and all that follows once a path is kept, is that of plain decoding along the path."""
    model = native(name, dtype, build)
    for seed, (cached, nodes) in enumerate([(0, 9), (1, 17), (20, 5), (63, 16), (64, 40)]):
        text, drafted, parents = ids(cached, seed), ids(nodes, seed + 50), random_tree(nodes, seed)
        tree = model.session()
        if cached:
            tree.forward(text, 1)
        rows = tree.forward(drafted, nodes, parents)
        for leaf in range(nodes):
            path = path_to(parents, leaf)
            plain = model.session()
            if cached:
                plain.forward(text, 1)
            assert torch.equal(rows[path], one_by_one(model, [drafted[node] for node in path], plain))
        tree.keep(cached, [cached + node for node in path])
        assert tree.length == plain.length == cached + len(path)
        after = ids(12, seed + 100)
        assert torch.equal(tree.forward(after, 12), one_by_one(model, after, plain))


@pytest.mark.parametrize("name", ["llama", "mistral, window of 7", "qwen3"])
def test_a_session_rolled_back_at_random_is_as_a_fresh_one(name):
    """Thirty runs of feeding, trees, keeping and truncating; now and then everything is compared with a fresh session."""
    model, random = native(name), torch.Generator().manual_seed(0)
    pick = lambda low, high: int(torch.randint(low, high, (), generator=random))
    for run in range(30):
        session, text = model.session(), []
        for step in range(pick(3, 14)):
            fed = ids(pick(1, 40 if step % 5 else 300), seed=1000 * run + step)
            if text and pick(0, 2):
                parents = random_tree(len(fed), seed=1000 * run + step)
                session.forward(fed, pick(1, len(fed) + 1), parents)
                path = path_to(parents, pick(0, len(fed)))
                session.keep(len(text), [len(text) + node for node in path])
                text += [fed[node] for node in path]
            else:
                session.forward(fed, pick(1, len(fed) + 1))
                text += fed
            if pick(0, 3) == 0:
                del text[pick(0, len(text) + 1) :]
                session.truncate(len(text))
            assert session.length == len(text)
        probe = ids(3, seed=run)
        fresh = model.session().forward(text + probe, 3)
        assert torch.equal(session.forward(probe, 3), fresh)


def test_a_tail_that_only_a_tensor_holds():
    model, text = native("llama"), ids(20)
    whole, parts = model.session(), model.session()
    expected = whole.forward(text, 6)
    assert torch.equal(parts.forward(text[:14], 6, tail=torch.tensor(text[14:])), expected)
    assert parts.length == 20


def test_sessions_of_one_model_in_several_threads(monkeypatch):
    """They share weights, angles and the pool, which serves one at a time; each gets the bits it would get alone."""
    monkeypatch.setattr(session_module, "BYTES_A_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    fresh = NativeModel(eager("llama"))
    texts = [ids(900, seed) for seed in range(4)]
    expected = [native("llama").session().forward(text, 900) for text in texts]
    got: list[torch.Tensor | None] = [None] * 4

    def decode(k: int) -> None:
        session = fresh.session()
        got[k] = torch.cat([session.forward(texts[k][at : at + 9], 9) for at in range(0, 900, 9)])

    workers = [threading.Thread(target=decode, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))


_FORKING = """
import os, sys, torch
sys.path.insert(0, {tests!r})
from models import native, ids
from hsd_viz.backends.native import session
session.BYTES_A_THREAD = 1
torch.set_num_threads(2)
model = native("llama")
expected = model.session().forward(ids(50), 50)
child = os.fork()
if child == 0:
    same = torch.equal(model.session().forward(ids(50), 50), expected)
    os._exit(0 if same else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(sys, "getdlopenflags"), reason="there is no fork here")
def test_the_pool_outlives_neither_a_fork_nor_the_interpreter():
    """A forked child has no helpers and starts its own; a process whose helpers sleep or spin ends at once."""
    script = _FORKING.format(tests=str(__import__("pathlib").Path(__file__).parent))
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", script], timeout=120, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_bytes_are_told():
    model = native("llama, whole panels")
    assert model.weight_bytes >= sum(p.numel() * 4 for p in model.module.parameters() if p.dim() == 2) - 256 * 128 * 4
    heads, dim = model.module.config.num_key_value_heads, model.module.model.layers[0].self_attn.head_dim
    assert model.cache_bytes_per_token >= 2 * model.layers * heads * dim * 4


def test_bad_input_gets_a_sentence():
    session = native("llama").session()
    for tokens, parents, said in [([150], None, "vocabulary"), ([-1], None, "vocabulary"), ([1, 2], [-1, 1], "parent")]:
        with pytest.raises(ValueError, match=said):
            session.forward(tokens, 1, parents)
    assert session.length == 0


def of_16_bits(module: torch.nn.Module, half: torch.dtype) -> torch.nn.Module:
    module = copy.deepcopy(module).to(half).float()
    parameter = next(module.parameters())
    with torch.no_grad():  # the extremes of the type: its largest number, subnormal numbers, zeros of both signs
        tiny = torch.finfo(half).smallest_normal
        parameter[0, :5] = torch.tensor([torch.finfo(half).tiny, tiny / 4, -tiny / 2, 0.0, -0.0])
        parameter[1, 0] = torch.finfo(half).max if half == torch.float16 else 3.0
    return module


@pytest.mark.parametrize("type", [torch.float16, torch.bfloat16, torch.int8], ids=str)
@pytest.mark.parametrize("name", ["llama", "llama, biases, long heads", "llama, whole panels", "qwen3"])
def test_weights_stored_in_fewer_bits_give_the_same_bits(build, monkeypatch, name, type):
    """A float32 module with the values of a 16-bit checkpoint, or rounded to 8 bits, stored as such and in 32 bits."""
    whole = eager(name, torch.float32).module
    module = rounded(whole) if type == torch.int8 else of_16_bits(whole, type)
    stored = NativeModel(HFModel("stored", module), build)
    assert stored.storage == type
    monkeypatch.setattr(weights_module, "_storage", lambda tensors: torch.float32)
    wide = NativeModel(HFModel("wide", module), build)
    assert wide.storage == torch.float32 and wide.weight_bytes == (4 // type.itemsize) * stored.weight_bytes
    parents = random_tree(9, seed=5)
    pairs = []
    for one in (stored, wide):
        session = one.session()
        rows = [session.forward([0, 1, *ids(31)], 33)]
        rows += [session.forward(ids(n, n), n) for n in (1, 2, 3, 4, 5, 6, 7, 13)]
        rows.append(session.forward(ids(9, 1), 9, parents))
        pairs.append(torch.cat(rows))
    assert torch.equal(*pairs)


def test_weights_that_no_16_bit_type_holds_stay_as_they_are(build):
    module = copy.deepcopy(eager("llama", torch.float32).module).half().float()
    with torch.no_grad():
        next(module.parameters())[0, 0] = 0.1
    assert NativeModel(HFModel("mixed", module), build).storage == torch.float32
