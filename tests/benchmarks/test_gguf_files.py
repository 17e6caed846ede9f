"""GGUF files contain the weights and the vocabulary of the shipped models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gguf_files import DTYPES, write_gguf
from hsd_viz.ladder.load import model_path

gguf = pytest.importorskip("gguf")


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_file_contains_the_model(tmp_path: Path, dtype: str) -> None:
    from safetensors.numpy import load_file

    read = gguf.GGUFReader(write_gguf("nano", tmp_path / "nano.gguf", dtype))
    weights = {k: v for f in model_path("nano").glob("*.safetensors") for k, v in load_file(f).items()}
    tensors = {t.name: t for t in read.tensors}
    scales = {k.removesuffix(".scale"): v for k, v in weights.items() if k.endswith(".scale")}
    assert scales and len(tensors) == len(weights) - len(scales)
    for name, key in (("blk.1.attn_k.weight", "model.layers.1.self_attn.k_proj.weight"),
                      ("blk.0.ffn_norm.weight", "model.layers.0.post_attention_layernorm.weight"),
                      ("token_embd.weight", "model.embed_tokens.weight")):  # fmt: skip
        tensor = tensors[name]
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        expected = weights[key].astype(np.float32)
        rtol, atol = 0.0, 0.0
        if (scale := scales.get(key.removesuffix(".weight"))) is not None:
            expected *= scale[:, None]
            # Half a unit in the last place of the matrices' type; float16 has no smaller step than 2**-24.
            rtol, atol = {"float16": (2**-11, 2**-25), "bfloat16": (2**-8, 0.0)}.get(dtype, (0.0, 0.0))
            if dtype == "q8_0":  # blocks of 32 numbers have a scale of their own
                atol = float(np.abs(expected).max()) / 250
        np.testing.assert_allclose(values, expected, rtol=rtol, atol=atol)
    tokens = read.fields["tokenizer.ggml.tokens"].contents()
    vocabulary = json.loads((model_path("nano") / "tokenizer.json").read_text())["model"]["vocab"]
    assert dict(zip(tokens, range(4096), strict=True)) == vocabulary
