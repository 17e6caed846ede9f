"""The tokenizer, which text each step reads, and the two augmentations of it."""

from __future__ import annotations

import numpy as np
import pytest

from hsd_viz.ladder.torch_modules import load_tokenizer
from training import data
from training.data import (
    EOS_ID,
    add_repeats,
    cut,
    heldout_windows,
    line_breaks,
    split_breaks,
    step_chunks,
)

SAMPLE = [
    "def add(a, b):\n    return a + b\n",
    "class Stack:\n    def __init__(self):\n        self.items = []\n",
] * 20
BPE = data.train_tokenizer(SAMPLE, 300)


def test_chunks_are_all_read_once_before_any_twice() -> None:
    tokens = np.arange(1 + 40 * 8, dtype=np.uint16)
    rows = np.concatenate([step_chunks(tokens, s, 4, 8, seed=3) for s in range(10)])
    assert sorted(rows[:, 0].tolist()) == list(range(0, 320, 8))
    assert (rows[:, -1] - rows[:, 0] == 8).all()
    assert np.array_equal(step_chunks(tokens, 2, 4, 8, seed=3), rows[8:12])
    assert not np.array_equal(step_chunks(tokens, 10, 4, 8, seed=3), rows[:4])
    assert len(heldout_windows(tokens, 5, 8)) == 5
    with pytest.raises(ValueError, match="one step needs 41"):
        step_chunks(tokens, 0, 41, 8, seed=0)


def test_cutting_keeps_every_pair_of_neighbours() -> None:
    chunks = np.stack([np.arange(9), np.arange(100, 109)])
    assert cut(chunks, 4).tolist() == [
        [0, 1, 2, 3, 4],
        [100, 101, 102, 103, 104],
        [4, 5, 6, 7, 8],
        [104, 105, 106, 107, 108],
    ]


def test_repeats_contain_a_passage_twice_with_one_substitution() -> None:
    windows = np.arange(3 * 101).reshape(3, 101)
    assert np.array_equal(add_repeats(windows, 0.0, 5, 0), windows)
    changed = add_repeats(windows, 1.0, 5, 0)
    assert changed.shape == windows.shape
    assert np.array_equal(changed, add_repeats(windows, 1.0, 5, 0))
    for before, after in zip(windows, changed, strict=True):
        length = int(np.flatnonzero(after != before)[0])
        passage = slice(length, min(2 * length, 101))
        # The first token may itself be the substituted one.
        again = after[passage]
        assert (again == before[: len(again)]).sum() >= len(again) - 1
        assert (
            np.array_equal(after[2 * length :], before[length : 101 - length]) or 2 * length >= 101
        )


def test_split_line_breaks_decode_to_the_same_text() -> None:
    tokenizer = load_tokenizer()
    table = line_breaks(tokenizer.backend_tokenizer)
    text = "def f(x):\n    if x:\n        return 1\n\n    return 2\n" * 20
    ids = np.array([tokenizer(text).input_ids])
    assert np.array_equal(split_breaks(ids, table, 0.0, 0, 0), ids)
    broken = split_breaks(ids, table, 1.0, 0, 0)
    assert broken.shape == ids.shape
    assert text.startswith(tokenizer.decode(broken[0].tolist()))
    newline = tokenizer.convert_tokens_to_ids("Ċ")
    assert (broken == newline).sum() > (ids == newline).sum()
    assert (table[broken].sum(-1) == 0).all()


def test_every_byte_is_in_the_alphabet() -> None:
    from tokenizers import pre_tokenizers

    vocabulary = BPE.get_vocab()
    assert set(pre_tokenizers.ByteLevel.alphabet()) <= set(vocabulary)
    assert vocabulary[data.EOS] == EOS_ID
    # All code points of two bytes, and so every continuation byte, in one string.
    text = "".join(map(chr, range(0x800))) + "\U0001f600\u20ac\uffff\U0010ffff"
    assert BPE.decode(BPE.encode(text).ids) == text


def test_saved_and_loaded_alike(tmp_path) -> None:
    from transformers import AutoTokenizer

    data.save_tokenizer(BPE, tmp_path, 128)
    text = "def f(x):\n    return 'é' * x  # 日本\n"
    ids = BPE.encode(text).ids
    for loaded in (AutoTokenizer.from_pretrained(str(tmp_path)), load_tokenizer(tmp_path)):
        assert loaded(text).input_ids == ids
        assert loaded.decode(ids) == text
        assert loaded.eos_token_id == EOS_ID
        assert loaded.bos_token_id == EOS_ID


def test_a_vocabulary_below_the_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 257"):
        data.train_tokenizer(SAMPLE, 256)
