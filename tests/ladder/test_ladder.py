"""The shipped models."""

from __future__ import annotations

import pytest
import torch

from hsd_viz import ladder
from hsd_viz.ladder.load import info, load_model, model_path, names


def test_bad_names() -> None:
    with pytest.raises(ValueError, match="unknown model"):
        model_path("big")
    with pytest.raises(ValueError, match="neither a shipped model"):
        load_model("/nowhere")


@pytest.mark.parametrize("name", names())
def test_shipped_models_load_and_are_small(name) -> None:
    from safetensors import safe_open

    path = model_path(name)
    shards = list(path.glob("*.safetensors"))
    assert all(s.stat().st_size < 15_000_000 for s in shards)
    for shard in shards:
        with safe_open(str(shard), "pt") as f:
            assert {f.get_tensor(k).dtype for k in f.keys()} == {torch.float32, torch.int8}  # noqa: SIM118
    model = load_model(name)
    assert sum(p.numel() for p in model.parameters()) == info()["models"][name]["parameters"]
    assert torch.isfinite(model(torch.tensor([[0, 5, 9]])).logits).all()


def test_shipped_models_share_one_tokenizer_and_are_small_together() -> None:
    assert sum(f.stat().st_size for n in names() for f in model_path(n).glob("*.safetensors")) < 18_000_000
    texts = {(model_path(n) / "tokenizer.json").read_text() for n in names()}
    assert len(texts) == 1
    tokenizer = ladder.load_tokenizer()
    assert len(tokenizer) == 4096
    text = "".join(map(chr, range(0x300))) + "\n\tdef f():\r\n  return '🙂'  \n"
    assert tokenizer.decode(tokenizer(text).input_ids) == text
