"""Test that models in groups have the same bits in the browser's module as natively."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hsd_viz.engine.tab import WASM
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.native.build import default_build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.packed import packed_weights
from hsd_viz.native.panels import PackedMatrix
from hsd_viz.native.rounding import GROUP
from hsd_viz.native.weights import SLOTS, ArrayTensors, Weights, angles
from tests.native.models import eager, ids, weights_of

pytestmark = pytest.mark.skipif(
    not default_build().wait() or shutil.which("node") is None,
    reason=f"no node, or no native runtime: {default_build().reason}",
)
SCRIPT = Path(__file__).with_name("forward.mjs")
#: Tokens of the passes that follow each other.
PASSES = (40, 1, 7, 16)


def encoded(values) -> str:
    return base64.b64encode(bytes(memoryview(np.ascontiguousarray(values)).cast("B"))).decode()


def described(weights: Weights) -> dict:
    """Return a model and its passes for the script."""
    tensors = []
    for layer, slot, tensor in packed_weights(weights):
        slots = [slot, "head"] if slot == "embedding" and weights.form.tied_head else [slot]
        is_matrix = isinstance(tensor, PackedMatrix)
        content = tensor.content if isinstance(tensor, PackedMatrix) else tensor
        for name in slots:
            tensors.append(
                {
                    "layer": layer,
                    "slot": SLOTS.index(name),
                    "bits": tensor.bits if is_matrix else 0,
                    "content": encoded(content),
                }
            )
    cos, sin = angles(weights.form.rotary, weights.form.head_dim, sum(PASSES), weights.compute)
    described = {
        "shape": base64.b64encode(bytes(weights.shape)).decode(),
        "vocab": weights.vocab_size,
        "tensors": tensors,
        "cos": encoded(cos),
        "sin": encoded(sin),
        "passes": [
            {"count": count, "tokens": encoded(np.array(ids(count, count), np.int32))}
            for count in PASSES
        ],
    }
    if weights.head_tokens is not None:
        described["head_tokens"] = encoded(weights.head_tokens)
        described["head_rows"] = len(weights.head_tokens)
    return described


def of_four_bits() -> Weights:
    """Return a model whose matrices have 4-bit numbers with minima, as Q4_1."""
    source = np.random.default_rng(0)
    module = eager("whole panels").module
    weights = weights_of(module, "int8", arithmetic="groups")
    tensors: dict[str, np.ndarray | GroupedMatrix] = {}
    for name in weights.source.names():
        tensor = weights.source.read(name)
        assert isinstance(tensor, np.ndarray)
        if tensor.ndim == 1:
            tensors[name] = tensor
            continue
        groups = -(-tensor.shape[1] // GROUP)
        halves = source.uniform(0.002, 0.03, (2, len(tensor), groups)).astype(np.float16)
        tensors[name] = GroupedMatrix(
            numbers=source.integers(0, 16, tensor.shape).astype(np.uint8),
            scales=halves[0].astype(np.float32),
            minima=-8 * halves[1].astype(np.float32),
            bits=4,
        )
    return Weights("four", weights.form, ArrayTensors(tensors), "int8", arithmetic="groups")


@pytest.mark.parametrize("kind", ["8 bits", "biases", "reduced head", "4 bits"])
def test_the_module_of_a_tab_gives_the_bits_of_the_native_runtime(tmp_path, kind):
    if kind == "4 bits":
        weights = of_four_bits()
    else:
        name = "qwen2" if kind == "biases" else "llama"
        reduced = kind == "reduced head"
        weights = weights_of(eager(name).module, "int8", arithmetic="groups", reduced=reduced)
    given = tmp_path / "model.json"
    out = tmp_path / "logits.bin"
    given.write_text(json.dumps(described(weights)))

    subprocess.run(["node", SCRIPT, WASM, given, out], check=True, timeout=100)

    session = NativeModel(weights).session()
    expected = [session.forward(ids(count, count), count) for count in PASSES]
    rows = np.fromfile(out, np.float32).reshape(-1, weights.vocab_size)
    assert np.array_equal(rows, np.concatenate(expected))
