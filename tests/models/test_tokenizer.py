"""Test that tokenizers read without transformers give the tokens of the written tokenizer."""

from __future__ import annotations

import json

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer

from hsd_viz.errors import BadFile, Unsupported
from hsd_viz.models.gguf_tokenizer import read_ends, read_tokenizer
from hsd_viz.models.tokenizer import load_tokenizer
from tests.models.small_models import save_form

TEXTS = (
    "Why is the sky blue?",
    "  two  spaces, a\ttab\n\n\nthree line ends   ",
    "In 2026, 1234567 people's cats weren't at 3.14 km; they'd 'LL'",
    "Ein Mädchen aß 😀 日本語 e\u0301 \u00e9",
    "def f(x):\n    return x ** 2  # square<|end|>next",
    "",
)
_CONTRACTIONS_AND_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_SIGNS_AND_SPACES = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA_3 = rf"{_CONTRACTIONS_AND_WORDS}|\p{{N}}{{1,3}}|{_SIGNS_AND_SPACES}"
QWEN_2 = rf"{_CONTRACTIONS_AND_WORDS}|\p{{N}}|{_SIGNS_AND_SPACES}"


def by_words(pattern: str) -> pre_tokenizers.PreTokenizer:
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])


def trained(split: str) -> Tokenizer:
    """Return a small tokenizer that splits words by one of the published rules."""
    digits = pre_tokenizers.Digits(individual_digits=True)
    splits = {
        "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False),
        "smollm": pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(False)]),
        "llama-bpe": by_words(LLAMA_3),
        "qwen2": by_words(QWEN_2),
    }
    tokenizer = Tokenizer(models.BPE(ignore_merges=split == "llama-bpe"))
    tokenizer.pre_tokenizer = splits[split]
    tokenizer.decoder = decoders.ByteLevel()
    if split == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    trainer = trainers.BpeTrainer(
        vocab_size=371,
        special_tokens=["<|start|>", "<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS * 3, trainer)
    return tokenizer


def as_metadata(tokenizer: Tokenizer, split: str) -> dict:
    """Return the metadata that the converters of llama.cpp write for a tokenizer."""
    model = json.loads(tokenizer.to_str())["model"]
    vocabulary = sorted(model["vocab"], key=model["vocab"].get)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": split,
        "tokenizer.ggml.tokens": vocabulary,
        "tokenizer.ggml.token_type": [3, 3] + [1] * (len(vocabulary) - 2),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in model["merges"]],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.add_bos_token": False,
    }


@pytest.mark.parametrize("split", ["gpt-2", "smollm", "llama-bpe", "qwen2"])
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:12])
def test_gguf_metadata_give_the_tokens_of_the_original(split, text):
    original = trained(split)
    tokenizer = read_tokenizer("it", as_metadata(original, split))
    assert tokenizer.encode(text) == original.encode(text).ids
    assert tokenizer.decode(tokenizer.encode(text)) == original.decode(
        original.encode(text).ids, skip_special_tokens=False
    )


def test_special_tokens_of_gguf_metadata():
    metadata = as_metadata(trained("smollm"), "smollm")
    tokenizer = read_tokenizer("it", metadata | {"tokenizer.ggml.add_bos_token": True})
    assert tokenizer.encode("<|end|>") == [0, 1]
    assert tokenizer.encode("<|end|>", add_special_tokens=False) == [1]
    assert tokenizer.all_special_ids == [0, 1]
    assert tokenizer.eos_token == "<|end|>"
    assert tokenizer.decode([1], skip_special_tokens=True) == ""


def test_stop_tokens_of_gguf_metadata():
    keys = {"eos_token_id": 1, "eot_token_id": 7, "eom_token_id": 9, "bos_token_id": 0}
    metadata = {f"tokenizer.ggml.{key}": value for key, value in keys.items()}
    assert read_ends(metadata) == {1, 7, 9}


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"model": "llama"}, Unsupported, "type 'llama': byte-level BPE is read"),
        ({"pre": "unheard-of"}, Unsupported, "rule 'unheard-of': these are read: default, gpt-2"),
        ({"tokens": 7}, BadFile, "tokens is not a list of texts"),
        ({"merges": ["ab"]}, BadFile, "'ab' is not a merge of two tokens"),
        ({"merges": ["no such"]}, BadFile, "its tokenizer is not valid"),
        ({"token_type": [1]}, BadFile, "token_type is not a list of 371 numbers"),
        ({"eos_token_id": 10**6}, BadFile, "eos_token_id is 1000000, expected a number below 371"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_other_metadata_are_refused_in_one_line(changes, kind, words):
    metadata = as_metadata(trained("smollm"), "smollm")
    metadata |= {f"tokenizer.ggml.{key}": value for key, value in changes.items()}
    with pytest.raises(kind, match=words) as error:
        read_tokenizer("it", metadata)
    assert "\n" not in str(error.value)


def test_a_folder_gives_the_tokens_of_transformers(tmp_path):
    save_form(tmp_path, "llama")
    ours = load_tokenizer(tmp_path)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        assert ours.encode(text) == theirs.encode(text)
        assert ours.decode(ours.encode(text)) == theirs.decode(theirs.encode(text))
    assert ours.eos_token_id == theirs.eos_token_id
    assert ours.bos_token_id == theirs.bos_token_id
    assert set(ours.all_special_ids) >= set(theirs.all_special_ids)
    assert ours.get_vocab() == theirs.get_vocab()


def test_padding_and_truncation_in_a_file_are_off(tmp_path):
    save_form(tmp_path, "llama")
    path = tmp_path / "tokenizer.json"
    backend = Tokenizer.from_file(str(path))
    backend.enable_padding(length=64)
    backend.enable_truncation(2)
    backend.save(str(path))
    assert len(load_tokenizer(tmp_path).encode("abcdef")) == 7


def test_a_tokenizer_without_bytes_is_left_to_transformers(tmp_path):
    words = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    words.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(Unsupported, match="not a byte-level BPE tokenizer"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("content", ["", "{}", "[" * 10_000, '{"version": "1.0", "model": {}}'])
def test_files_that_are_no_tokenizer_are_refused_in_one_line(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(BadFile, match="is not a valid tokenizer") as error:
        load_tokenizer(tmp_path)
    assert "\n" not in str(error.value)
