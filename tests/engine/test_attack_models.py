"""Test that hostile model folders run no code, and are refused with a one-line message."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from hsd_viz.engine import load_engine
from tests.engine.checkpoints import save_model


class Bomb:
    """An object that runs code when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (Path.write_text, (self.mark, "ran"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    save_model(path)
    return path


@pytest.fixture
def model(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "model"))


def refused(model: Path, stack: str = "target") -> str:
    """Decode, and return the line of the error."""
    with pytest.raises(ValueError) as error:
        load_engine(str(model), device="cpu", runtime="eager").run("ab", stack, max_new_tokens=4)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "training_args.bin", "optimizer.pt"])
def test_a_pickle_is_never_unpickled(model, name, tmp_path):
    mark = tmp_path / "ran"
    if name == "pytorch_model.bin":
        (model / "model.safetensors").unlink()
    (model / name).write_bytes(pickle.dumps(Bomb(mark)))
    if name == "pytorch_model.bin":
        assert "pickled weights are never loaded" in refused(model)
    else:
        load_engine(str(model), device="cpu", runtime="eager").run("ab", max_new_tokens=4)
    assert not mark.exists()


@pytest.mark.parametrize("part", ["config.json", "tokenizer_config.json"])
def test_code_beside_the_weights_is_not_run(model, part, tmp_path):
    mark = tmp_path / "ran"
    (model / "mine.py").write_text(f"open({str(mark)!r}, 'w').write('ran')\nclass Mine: pass\n")
    data = json.loads((model / part).read_text())
    data["auto_map"] = {
        "AutoConfig": "mine.Mine",
        "AutoModelForCausalLM": "mine.Mine",
        "AutoTokenizer": ["mine.Mine", None],
    }
    (model / part).write_text(
        json.dumps(data | ({"model_type": "mine"} if part == "config.json" else {}))
    )
    try:
        load_engine(str(model), device="cpu", runtime="eager").run("ab", max_new_tokens=4)
    except ValueError as error:
        assert "\n" not in str(error)
    assert not mark.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_size": 10**12},
        {"num_hidden_layers": 10**9},
        {"vocab_size": 10**12},
        {"hidden_size": -1},
        {"num_attention_heads": 7},
        {"num_key_value_heads": 10**4},
        {"num_hidden_layers": "two"},
        {"max_position_embeddings": -5},
        {"rms_norm_eps": float("nan")},
        {"dtype": "nix"},
        {"model_type": "nix"},
        {"hidden_act": "__import__"},
    ],
    ids=str,
)
def test_absurd_configs(model, changes):
    data = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(data | changes))
    try:
        load_engine(str(model), device="cpu", runtime="eager").run("ab", max_new_tokens=4)
    except ValueError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"{}", b"[]", b"null", b'{"a":' * 100_000, b"\xff\xfe"]
)
def test_configs_that_are_none(model, content):
    (model / "config.json").write_bytes(content)
    assert not refused(model).endswith(":")


def test_weights_that_are_not_finite(model):
    weights = load_file(model / "model.safetensors")
    weights["lm_head.weight"][3] = torch.nan
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    assert "not finite" in refused(model)


@pytest.mark.parametrize("share", [0, 0.001, 0.5, 0.99])
def test_truncated_weights(model, share):
    file = model / "model.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    words = refused(model)
    assert "is not a valid safetensors file" in words or "cannot be read" in words
