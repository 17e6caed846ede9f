"""Compare the native forward pass with transformers, and its bits for all ways to feed tokens.

The second half runs once for every vector width that can be built here.
"""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest
import torch

from hsd_viz.errors import UserError
from hsd_viz.models.config import form_of
from hsd_viz.native import model as model_module
from hsd_viz.native import weights as weights_module
from hsd_viz.native.build import Build, default_build, kernels
from hsd_viz.native.model import NativeBatch, NativeModel
from hsd_viz.native.rounding import rounded_rows
from hsd_viz.native.weights import SLOTS, ArrayTensors, Weights
from tests.native.models import (
    CONFIGS,
    FORMS,
    HEAD_TOKENS,
    INTEGERS,
    REDUCED,
    eager,
    ids,
    native,
    path_to,
    random_tree,
    weights_of,
)
from tests.rows import column

pytestmark = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)

TYPES = [torch.float32, torch.float64, torch.bfloat16]
#: Relative to the largest logit. transformers rounds norms and angles to float32 in float64 too,
#: and all to bfloat16 in it.
CLOSE = {torch.float32: 1e-4, torch.float64: 1e-4, torch.bfloat16: 0.1}

#: What the forward is compiled for, and its threads.
SETTINGS = {}
for threads in (1, 2, 5):
    SETTINGS[f"{threads} threads"] = (default_build(), threads)
for number, name in enumerate(list(kernels())[1:]):
    SETTINGS[f"kernel {name}"] = (Build(kernel=name), 1 + number % 2)


@pytest.fixture(params=SETTINGS)
def build(request, monkeypatch):
    """Return the build of a setting, whose threads serve every forward pass of any model."""
    build, threads = SETTINGS[request.param]
    if not build.wait():
        pytest.skip(f"the compiler has no such flags: {build.reason}")
    monkeypatch.setattr(model_module, "BYTES_A_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    return build


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_it_is_the_function_of_the_module(name, dtype):
    """Feed a chain, a tree after it, and a chain after the accepted path of the tree."""
    parents = random_tree(17, seed=3)
    path = path_to(parents, 16)
    logits = []
    for model in (native(name, dtype), eager(name, dtype)):
        session = model.session()
        rows = [session.forward(ids(33), 33), session.forward(ids(17, 1), 17, parents)]
        session.keep(33, path)
        assert session.length == 33 + len(path)
        rows.append(session.forward(ids(5, 2), 5))
        logits.append(np.concatenate([row.astype(np.float64) for row in rows]))
    mine, its = logits
    assert np.abs(mine - its).max() / np.abs(its).max() < CLOSE[dtype]


def one_by_one(model: NativeModel, tokens: list[int], session=None) -> np.ndarray:
    session = session or model.session()
    return np.concatenate([session.forward([token], 1) for token in tokens])


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
        assert np.array_equal(rows, expected[fed : fed + width]), width
        fed += width
    assert np.array_equal(session.forward(text[fed:], 1), expected[-1:])
    assert np.array_equal(model.session().forward(text, len(text)), expected), (
        "a prefill of everything"
    )


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", CONFIGS)
def test_any_tree_gives_the_bits_of_its_paths(name, dtype, build):
    """The row of each node, and all rows after a path is accepted, equal those of plain decoding
    along the path.
    """
    model = native(name, dtype, build)
    for seed, (cached, nodes) in enumerate([(0, 9), (1, 17), (20, 5), (63, 16), (64, 40)]):
        text = ids(cached, seed)
        drafted = ids(nodes, seed + 50)
        parents = random_tree(nodes, seed)
        tree = model.session()
        if cached:
            tree.forward(text, 1)
        rows = tree.forward(drafted, nodes, parents)
        for leaf in range(nodes):
            path = path_to(parents, leaf)
            plain = model.session()
            if cached:
                plain.forward(text, 1)
            assert np.array_equal(
                rows[path], one_by_one(model, [drafted[node] for node in path], plain)
            )
        tree.keep(cached, path)
        assert tree.length == plain.length == cached + len(path)
        after = ids(12, seed + 100)
        assert np.array_equal(tree.forward(after, 12), one_by_one(model, after, plain))


@pytest.mark.parametrize("dtype", [torch.float32, *INTEGERS], ids=str)
@pytest.mark.parametrize("name", ["odd", "qwen2", "smollm3"])
def test_texts_fed_together_get_the_bits_they_would_get_alone(name, dtype, build):
    """The texts differ in length; some end and others begin between passes. Two texts fill their
    caches of 256 and then 512 positions.
    """
    model = native(name, dtype, build)
    batch = NativeBatch(model)
    alone = [model.session() for _ in range(7)]
    beside = [model.session() for _ in range(7)]
    for number, length in enumerate((1, 48, 95, 142, 256, 255, 283)):
        prompt = ids(length, number)
        for session in (alone[number], beside[number]):
            session.forward(prompt, 1)
    for step, members in enumerate([(0, 1, 2, 3, 4, 5, 6), (6, 2, 0), (3,), (1, 5, 6, 4)]):
        tokens = ids(len(members), 100 + step)
        rows = batch.forward([beside[member] for member in members], tokens)
        for member, token, row in zip(members, tokens, rows, strict=True):
            assert np.array_equal(row, alone[member].forward([token], 1)[0])
            assert beside[member].length == alone[member].length


def test_a_batch_refuses_a_text_twice_and_tokens_that_do_not_exist():
    model = native("odd")
    sessions = [model.session(), model.session()]
    batch = NativeBatch(model)
    with pytest.raises(ValueError, match="vocabulary"):
        batch.forward(sessions, [1, 150])
    assert column(sessions, "length") == [0, 0]
    with pytest.raises(AssertionError):
        batch.forward([sessions[0], sessions[0]], [1, 2])
    with pytest.raises(AssertionError):
        batch.forward([sessions[0], native("qwen2").session()], [1, 2])


@pytest.mark.parametrize("slot", ["q", "input_norm", "v_bias"])
def test_a_slot_of_a_layer_needs_a_layer(slot):
    model = native("odd")
    values = np.zeros(4096, np.float32)
    with pytest.raises(UserError, match="of a layer"):
        model.library.hsd_model_set(model.handle, -1, SLOTS.index(slot), values.ctypes.data, None)


def test_truncating_to_more_than_there_is_changes_nothing():
    session = native("odd").session()
    session.feed(ids(5))
    session.truncate(9)
    assert session.length == 5


def test_sessions_of_one_model_in_several_threads(monkeypatch):
    """Sessions share weights, angles and the pool, which serves one at a time; the bits must equal
    those of a session alone.
    """
    monkeypatch.setattr(model_module, "BYTES_A_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    fresh = NativeModel(weights_of(eager("odd").module, "float32"))
    texts = [ids(900, seed) for seed in range(4)]
    expected = [native("odd").session().forward(text, 900) for text in texts]
    got: list[np.ndarray | None] = [None] * 4

    def decode(k: int) -> None:
        session = fresh.session()
        got[k] = np.concatenate(
            [session.forward(texts[k][at : at + 9], 9) for at in range(0, 900, 9)]
        )

    workers = [threading.Thread(target=decode, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for a, b in zip(got, expected, strict=True):
        assert np.array_equal(a, b)


def test_a_session_keeps_the_angles_that_the_library_reads(monkeypatch):
    """Another thread may replace the shared angles, and the exit of the interpreter frees them."""
    made = []
    session = native("odd").session()

    def make(*given):
        return weights_module._doubled.__wrapped__(*given[:2], given[2].bit_length(), given[3])

    monkeypatch.setattr(
        model_module, "angles", lambda *given: made.append(make(*given)) or made[-1]
    )
    for use in (lambda: session.forward(ids(300), 1), lambda: session.settings(600, 4, 0)):
        use()
        kept = list(map(weakref.ref, made.pop()))
        for table in kept:
            assert table() is not None


def test_scales_of_another_type_are_converted():
    """Otherwise the library would read them as floats."""
    module = eager("odd").module
    tensors = {}
    for name, tensor in module.state_dict().items():
        tensors[name] = tensor.numpy()
        if tensor.dim() == 2:
            matrix = rounded_rows(tensors[name])
            tensors[name] = matrix.numbers
            scales = matrix.scales[:, 0].astype(np.float64)
            tensors[f"{name.removesuffix('weight')}scale"] = scales
    form = form_of("random", module.config.to_dict())
    stored = Weights("random", form, ArrayTensors(tensors))
    assert stored.arithmetic == "rows"
    models = stored, weights_of(module, "int8", arithmetic="rows")
    assert np.array_equal(
        *(NativeModel(weights).session().forward(ids(9), 9) for weights in models)
    )


def test_rows_beyond_the_tokenizer_are_cut_off():
    cut = NativeModel(weights_of(eager("odd").module, "float32", tokens=131))
    assert cut.vocab_size == 131
    assert np.array_equal(
        cut.session().forward([1, 2, 3], 3), native("odd").session().forward([1, 2, 3], 3)[:, :131]
    )


@pytest.mark.parametrize("dtype", [*TYPES, *INTEGERS], ids=str)
def test_a_reduced_head_has_the_logits_of_its_tokens_alone(dtype, build):
    """They equal those of the full head bit for bit; others are -inf."""
    whole = native("llama", dtype, build).session()
    reduced = native(REDUCED, dtype, build).session()
    for tokens in (ids(40), ids(7, 1), ids(1, 2)):
        expected = whole.forward(tokens, len(tokens))
        rows = reduced.forward(tokens, len(tokens))
        assert np.array_equal(rows[:, HEAD_TOKENS], expected[:, HEAD_TOKENS])
        assert np.isneginf(np.delete(rows, HEAD_TOKENS, axis=1)).all()


def test_bad_input_gets_a_sentence():
    session = native("odd").session()
    for tokens, parents, said in [
        ([150], None, "vocabulary"),
        ([-1], None, "vocabulary"),
        ([1, 2], [-1, 1], "parent"),
    ]:
        with pytest.raises(ValueError, match=said):
            session.forward(tokens, 1, parents)
    assert session.length == 0
