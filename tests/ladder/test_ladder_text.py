"""The shipped models, and their text without transformers, which is that of transformers."""

import json
import random
import shutil

import pytest
import torch
from transformers import AutoModelForCausalLM, Qwen3ForCausalLM

from hsd_viz.decoding.text import TokenText
from hsd_viz.ladder.torch_modules import info, load_model, load_tokenizer
from hsd_viz.models.config import ROW_SCALES
from hsd_viz.models.families import CODE
from hsd_viz.models.files import folder_hash
from hsd_viz.models.tokenizer import load_tokenizer as load_from_file
from hsd_viz.prompts.suites import load_suite
from tests.rows import column
from tools import int8


def texts() -> list[str]:
    rng = random.Random(1)
    samples = column(load_suite("heldout").prompts, "text")
    samples += [rng.randbytes(60).decode(errors="replace") for _ in range(100)]
    for _ in range(100):
        samples.append("".join(chr(rng.randrange(1, 0xD800)) for _ in range(30)))
    return [*samples, "", " ", "<|endoftext|>", "a<|endoftext|> b", "don't  stop .", "\r\n\t x"]


@pytest.mark.parametrize("name", CODE.names)
def test_texts_and_tokens_are_those_of_transformers(name):
    ours = load_from_file(CODE.path(name))
    theirs = load_tokenizer(CODE.path(name))
    assert len(ours) == len(theirs)
    assert ours.get_vocab() == theirs.get_vocab()
    assert ours.eos_token_id == theirs.eos_token_id
    assert ours.bos_token_id == theirs.bos_token_id
    assert ours.all_special_ids == theirs.all_special_ids
    assert ours.eos_token == theirs.eos_token
    for text in texts():
        ids = theirs.encode(text)
        assert ours.encode(text) == ids == ours(text)["input_ids"]
        assert ours.encode(text, add_special_tokens=False) == theirs.encode(
            text, add_special_tokens=False
        )
        for skip in (False, True):
            assert ours.decode(ids, skip_special_tokens=skip) == theirs.decode(
                ids, skip_special_tokens=skip
            )
    rng = random.Random(2)
    for _ in range(100):
        ids = [rng.randrange(len(ours)) for _ in range(20)]
        assert ours.decode(ids) == theirs.decode(ids)
    a = TokenText(ours)
    b = TokenText(theirs)
    every = range(len(ours) + 2)
    assert list(map(a.piece, every)) == list(map(b.piece, every))
    assert list(map(a.content, every)) == list(map(b.content, every))
    assert a.size == b.size
    assert a.read("") == b.read("")
    with pytest.raises(ValueError, match="no chat template"):
        a.read("hi", chat=True)


def test_bad_names() -> None:
    with pytest.raises(ValueError, match="unknown model"):
        CODE.path("big")
    with pytest.raises(ValueError, match="neither a shipped model"):
        load_model("/nowhere")


@pytest.mark.parametrize("name", CODE.names)
def test_shipped_models_load_and_are_small(name) -> None:
    from safetensors import safe_open

    path = CODE.path(name)
    shards = list(path.glob("*.safetensors"))
    for s in shards:
        assert s.stat().st_size < 15_000_000
    for shard in shards:
        with safe_open(str(shard), "pt") as f:
            names = f.keys()
            assert {f.get_tensor(name).dtype for name in names} == {torch.float32, torch.int8}
    model = load_model(name)
    assert sum(p.numel() for p in model.parameters()) == info()["models"][name]["parameters"]
    assert torch.isfinite(model(torch.tensor([[0, 5, 9]])).logits).all()


def test_shipped_models_share_one_tokenizer_and_are_small_together() -> None:
    size = 0
    for name in CODE.names:
        size += sum(file.stat().st_size for file in CODE.path(name).glob("*.safetensors"))
    assert size < 18_000_000
    texts = {(CODE.path(n) / "tokenizer.json").read_text() for n in CODE.names}
    assert len(texts) == 1
    tokenizer = load_tokenizer()
    assert len(tokenizer) == 4096
    text = "".join(map(chr, range(0x300))) + "\n\tdef f():\r\n  return '🙂'  \n"
    assert tokenizer.decode(tokenizer(text).input_ids) == text


@pytest.mark.parametrize("kind", [AutoModelForCausalLM, Qwen3ForCausalLM])
def test_transformers_refuses_integers_that_it_would_read_as_floats(kind) -> None:
    with pytest.raises(ValueError, match="quantization config"):
        kind.from_pretrained(CODE.path("nano"))


def test_rounding_a_checkpoint_marks_it(tmp_path) -> None:
    shutil.copytree(CODE.path("nano"), tmp_path / "nano")
    folder = tmp_path / "nano"
    config = json.loads((folder / "config.json").read_text())
    del config["quantization_config"]
    (folder / "config.json").write_text(json.dumps(config))
    before = folder_hash(folder)
    int8.convert(folder)
    assert folder_hash(folder) == before, "rounding what is rounded changes nothing"
    assert json.loads((folder / "config.json").read_text())["quantization_config"] == ROW_SCALES
    assert info(tmp_path)["models"]["nano"]["parameters"] == 951_168
