"""GGUF files, read back and computed with llama.cpp's arithmetic: the rotation of neighbouring pairs."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

from hsd_viz.cli import main
from hsd_viz.ladder.gguf import DTYPES, write_gguf
from hsd_viz.ladder.load import load_model, model_path

PROMPTS = ((11, 402, 37, 1900, 5), (260, 261, 262), tuple(range(300, 330)))


def unpack(file: BinaryIO, form: str) -> Any:
    return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))[0]


def text(file: BinaryIO) -> str:
    return file.read(unpack(file, "Q")).decode()


def value(file: BinaryIO, kind: int) -> Any:
    if kind == 9:
        of, size = unpack(file, "I"), unpack(file, "Q")
        return [value(file, of) for _ in range(size)]
    return text(file) if kind == 8 else unpack(file, {4: "I", 5: "i", 6: "f", 7: "?"}[kind])


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A reader after the specification, independent of the writer."""
    with path.open("rb") as file:
        assert (file.read(4), unpack(file, "I")) == (b"GGUF", 3)
        n, pairs = unpack(file, "Q"), unpack(file, "Q")
        values = {text(file): value(file, unpack(file, "I")) for _ in range(pairs)}
        rows = []
        for _ in range(n):
            name = text(file)
            shape = [unpack(file, "Q") for _ in range(unpack(file, "I"))]
            rows.append((name, shape[::-1], {0: "<f4", 1: "<f2", 30: "<u2"}[unpack(file, "I")], unpack(file, "Q")))
        start = -(-file.tell() // 32) * 32
        data = path.read_bytes()
    assert all(offset % 32 == 0 for *_, offset in rows)
    tensors = {
        name: np.frombuffer(data, kind, int(np.prod(shape)), start + offset).reshape(shape)
        for name, shape, kind, offset in rows
    }
    widened = lambda bits: (bits.astype(np.uint32) << 16).view(np.float32)  # bfloat16: the upper half of a float32
    return values, {name: widened(t) if t.dtype == np.uint16 else t for name, t in tensors.items()}


def logits(values: dict[str, Any], tensors: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """A Llama's or a Qwen3's forward pass, in float64."""
    family = values["general.architecture"]
    weight = lambda name: tensors[f"{name}.weight"].astype(np.float64)
    at = lambda key: values[f"{family}.{key}"]
    n, size, heads = len(ids), at("rope.dimension_count"), at("attention.head_count")
    eps = at("attention.layer_norm_rms_epsilon")
    norm = lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w
    angle = np.arange(n)[:, None] * at("rope.freq_base") ** (-np.arange(0, size, 2) / size)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]

    def rotated(x: np.ndarray) -> np.ndarray:
        if family == "qwen3":
            a, b = np.split(x, 2, -1)
            return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
        even, odd = x[..., ::2], x[..., 1::2]
        return np.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)

    x = weight("token_embd")[ids]
    for layer in range(at("block_count")):
        part = lambda name, layer=layer: weight(f"blk.{layer}.{name}")
        h = norm(x, part("attn_norm"))
        q, k, v = ((h @ part(f"attn_{name}").T).reshape(n, -1, size) for name in "qkv")
        if family == "qwen3":
            q, k = norm(q, part("attn_q_norm")), norm(k, part("attn_k_norm"))
        k, v = (np.repeat(x, heads // x.shape[1], 1) for x in (k, v))
        scores = np.einsum("qhd,khd->hqk", rotated(q), rotated(k)) / np.sqrt(size)
        scores = np.where(np.tri(n, dtype=bool), scores, -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        x = x + np.einsum("hqk,khd->qhd", p, v).reshape(n, -1) @ part("attn_output").T
        h = norm(x, part("ffn_norm"))
        gate = h @ part("ffn_gate").T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ part("ffn_up").T)) @ part("ffn_down").T
    return norm(x, weight("output_norm")) @ weight("token_embd").T


def save(folder: Path, family: str) -> Path:
    """A small random model whose norms are no ones, with the ladder's tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        family,
        vocab_size=4096,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2 if family == "qwen3" else 4,
        head_dim=8,
        max_position_embeddings=128,
        bos_token_id=0,
        eos_token_id=0,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for weights in model.parameters():
            weights.normal_(1 if weights.ndim == 1 else 0, 0.3)
    model.to(torch.float16).save_pretrained(folder)
    (folder / "tokenizer.json").symlink_to(model_path("nano") / "tokenizer.json")
    return folder


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_the_file_computes_the_same_greedy_tokens(tmp_path: Path, family: str, dtype: str) -> None:
    import torch

    folder = save(tmp_path, family)
    values, tensors = read(write_gguf(folder, tmp_path / "x.gguf", dtype))
    assert tensors["blk.0.attn_norm.weight"].dtype == "float32"
    engine = load_model(folder, dtype="float64")
    if dtype == "bfloat16":
        matrices = [w for w in engine.parameters() if w.ndim > 1]
        with torch.no_grad():
            for weights in matrices:
                weights.copy_(weights.to(torch.bfloat16))
    for prompt in PROMPTS:
        with torch.inference_mode():
            ids = engine.generate(torch.tensor([prompt]), max_new_tokens=24, do_sample=False)
            ours = engine(ids).logits[0].numpy()
        row = logits(values, tensors, ids[0].tolist())
        np.testing.assert_allclose(row, ours, rtol=0, atol=1e-4)
        assert (row.argmax(-1)[len(prompt) - 1 : -1] == ids[0, len(prompt) :].numpy()).all()


def test_the_vocabulary_is_that_of_the_tokenizer(tmp_path: Path) -> None:
    values, _ = read(write_gguf("nano", tmp_path / "nano.gguf"))
    data = json.loads((model_path("nano") / "tokenizer.json").read_text())
    assert dict(zip(values["tokenizer.ggml.tokens"], range(4096), strict=True)) == data["model"]["vocab"]
    assert values["tokenizer.ggml.merges"][:2] == [" ".join(pair) for pair in data["model"]["merges"][:2]]
    kinds = values["tokenizer.ggml.token_type"]
    assert kinds[0] == 3 and set(kinds[1:]) == {1} and values["tokenizer.ggml.eos_token_id"] == 0


def test_the_command_writes_the_ladder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ladder", "export", "nano", "--gguf", str(tmp_path / "out")]) == 0
    path = tmp_path / "out" / "nano.gguf"
    assert capsys.readouterr().out.strip() == str(path) and read(path)[0]["general.name"] == "hsd_viz nano"


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("config.json", {"model_type": "gemma3"}, "not a plain Llama"),
        ("config.json", {"attention_bias": True}, "not a plain Llama"),
        ("tokenizer.json", {"normalizer": {"type": "NFC"}}, "not byte-level BPE"),
        ("config.json", None, "cannot read"),
    ],
)
def test_other_models_are_refused(tmp_path: Path, file: str, change: dict | None, message: str) -> None:
    for path in model_path("nano").iterdir():
        (tmp_path / path.name).symlink_to(path)
    content = json.loads((tmp_path / file).read_text())
    (tmp_path / file).unlink()
    (tmp_path / file).write_text("{" if change is None else json.dumps(content | change))
    with pytest.raises(ValueError, match=message):
        write_gguf(tmp_path, tmp_path / "x.gguf")
    assert not (tmp_path / "x.gguf").exists()
