"""Decoding undoes encoding, whatever the bytes."""

from __future__ import annotations

import pytest

from hsd_viz.ladder.load import load_tokenizer
from training.data import EOS, EOS_ID, save_tokenizer, train_tokenizer

SAMPLE = ["def add(a, b):\n    return a + b\n", "class Stack:\n    def __init__(self):\n        self.items = []\n"] * 20
BPE = train_tokenizer(SAMPLE, 300)


def test_every_byte_is_in_the_alphabet() -> None:
    from tokenizers import pre_tokenizers

    vocabulary = BPE.get_vocab()
    assert set(pre_tokenizers.ByteLevel.alphabet()) <= set(vocabulary)
    assert vocabulary[EOS] == EOS_ID
    # All code points of two bytes, and so every continuation byte, in one string.
    text = "".join(map(chr, range(0x800))) + "\U0001f600\u20ac\uffff\U0010ffff"
    assert BPE.decode(BPE.encode(text).ids) == text


def test_saved_and_loaded_alike(tmp_path) -> None:
    from transformers import AutoTokenizer

    save_tokenizer(BPE, tmp_path, 128)
    text = "def f(x):\n    return 'é' * x  # 日本\n"
    ids = BPE.encode(text).ids
    for loaded in (AutoTokenizer.from_pretrained(str(tmp_path)), load_tokenizer(tmp_path)):
        assert loaded(text).input_ids == ids
        assert loaded.decode(ids) == text
        assert (loaded.eos_token_id, loaded.bos_token_id) == (EOS_ID, EOS_ID)


def test_a_vocabulary_below_the_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 257"):
        train_tokenizer(SAMPLE, 256)
