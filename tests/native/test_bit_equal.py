"""Test that int8 logits equal those of numpy, bit for bit, on every kernel of this processor.

The widths of passes and the number of threads do not matter.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from hsd_viz.models.config import form_of
from hsd_viz.models.families import CODE
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.native import model as model_module
from hsd_viz.native.build import Build, default_build, kernels
from hsd_viz.native.model import NativeModel
from hsd_viz.native.reference import ReferenceModel
from hsd_viz.native.weights import ArrayTensors, Weights, load
from tests.native.models import HEAD_TOKENS, eager, weights_of

pytestmark = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)

WIDTHS = (1, 2, 3, 5, 8, 16)
#: A text is fed up to each of these places, and from there with every width.
CONTEXTS = (0, 1, 63, 300)
LONG = (700, 1470)


def text(seed: int, n: int, vocab: int) -> list[int]:
    return np.random.default_rng(seed).integers(0, vocab, n).tolist()


def feed(session, ids: Sequence[int], contexts: Sequence[int], step: int) -> list[np.ndarray]:
    """Return all logits after feeding ``ids`` to each context in steps of ``step`` tokens, for each
    width.
    """
    rows = []
    fed = 0
    for context in contexts:
        while fed < context:
            n = min(step, context - fed)
            session.forward(ids[fed : fed + n], 1)
            fed += n
        for width in WIDTHS:
            rows.append(np.asarray(session.forward(ids[fed : fed + width], width)).copy())
            session.truncate(fed)
        tree = [-1, 0, -1, 1, 1, 2, 5]
        rows.append(np.asarray(session.forward(ids[fed : fed + 7], 7, tree)).copy())
        session.keep(fed, [0, 1, 4])
        rows.append(np.asarray(session.forward(ids[fed + 7 : fed + 10], 3)).copy())
        session.truncate(fed)
    return rows


def differing(
    weights: Weights, builds: dict[str, tuple[Build, int]], contexts, seeds, monkeypatch
) -> list[str]:
    """Return the settings whose bits differ from those of the forward pass in numpy."""
    monkeypatch.setattr(model_module, "BYTES_A_THREAD", 1)
    reference = ReferenceModel(weights)
    wrong = []
    models = {
        name: (NativeModel(weights, build), threads) for name, (build, threads) in builds.items()
    }
    for seed in seeds:
        ids = text(seed, max(contexts) + 32, weights.vocab_size)
        expected = feed(reference.session(), ids, contexts, 128)
        for name, (model, threads) in models.items():
            monkeypatch.setattr(torch, "get_num_threads", lambda n=threads: n)
            got = feed(model.session(), ids, contexts, 37 + seed)
            wrong += [name for a, b in zip(got, expected, strict=True) if not np.array_equal(a, b)]
    return sorted(set(wrong))


def everything() -> dict[str, tuple[Build, int]]:
    settings = {name: (Build(kernel=name), 1) for name in kernels()}
    for name, (build, _) in settings.items():
        assert build.wait(), f"{name}: {build.reason}"
    return settings | {f"{name}, 2 threads": (build, 2) for name, (build, _) in settings.items()}


def test_every_kernel_has_the_bits_of_the_numpy_pass(monkeypatch):
    assert differing(load(CODE.path("nano")), everything(), CONTEXTS, range(2), monkeypatch) == []


@pytest.mark.parametrize(
    ("name", "arithmetic"),
    [
        ("odd", "rows"),
        ("llama", "rows"),
        ("long heads", "groups"),
        ("llama", "groups"),
        ("qwen2", "groups"),
        ("smollm3", "groups"),
    ],
)
def test_models_of_odd_shapes(name, arithmetic, monkeypatch):
    """No width, head or vocabulary is a multiple of a vector or a panel; floats are rounded on
    loading.
    """
    weights = weights_of(eager(name).module, "int8", arithmetic=arithmetic)
    assert differing(weights, everything(), (0, 1, 70), [3], monkeypatch) == []


def test_the_4_bit_numbers_of_a_file(monkeypatch):
    """The numbers have minima. The model also has 8-bit numbers in groups and a matrix by rows,
    which is rounded again.
    """
    module = eager("whole panels").module
    random = np.random.default_rng(0)
    tensors = {}
    for number, (name, tensor) in enumerate(module.state_dict().items()):
        tensors[name] = tensor.numpy(force=True)
        if tensor.dim() == 2 and number % 3:
            halves = random.normal(size=(2, len(tensor), tensor.shape[1] // 32), scale=0.02)
            scales, minima = halves.astype(np.float16).astype(np.float32)
            numbers = random.integers(0, 16, tuple(tensor.shape)).astype(np.uint8)
            tensors[name] = GroupedMatrix(numbers, scales, minima, bits=4)
    form = form_of("random", module.config.to_dict())
    weights = Weights("random", form, ArrayTensors(tensors))
    assert weights.in_groups
    assert differing(weights, everything(), (0, 1, 70), [3], monkeypatch) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nano", "small", "target"])
def test_long_contexts(name, monkeypatch):
    assert (
        differing(load(CODE.path(name)), everything(), (*CONTEXTS, *LONG), range(4), monkeypatch)
        == []
    )


def test_the_library_holds_no_instruction_of_another_kernel():
    """The plain library must run on any processor of its family."""
    if "avx2" not in kernels() or not shutil.which("objdump"):
        pytest.skip("this is for x86-64 with objdump")
    build = Build(kernel="plain")
    assert build.wait(), build.reason
    code = subprocess.run(
        ["objdump", "-d", build.path], capture_output=True, text=True, check=True
    ).stdout
    assert "%xmm0" in code
    assert "%ymm" not in code
    assert "%zmm" not in code


@pytest.mark.parametrize("arithmetic", ["rows", "groups"])
def test_a_reduced_head_is_that_of_numpy(arithmetic):
    weights = weights_of(eager("llama").module, "int8", arithmetic=arithmetic, reduced=True)
    ids = text(3, 20, weights.vocab_size)

    rows = NativeModel(weights).session().forward(ids, 20)
    expected = ReferenceModel(weights).session().forward(ids, 20)

    assert np.array_equal(rows, expected)
    assert np.isfinite(rows[:, HEAD_TOKENS]).all()
