"""Test the conversion of tokens to text and back: incomplete characters stay bytes, and nothing is
lost.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from hsd_viz.decoding.text import TokenText, differing_tokens


def bytes_tokenizer(*extra: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer with a token per byte, then the tokens ``extra``, then an end token."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {c: i for i, c in enumerate([*alphabet, *extra])}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")


TEXT = TokenText(bytes_tokenizer())


@given(st.text(max_size=20))
def test_pieces_give_the_text_back(text):
    ids = TEXT.encode(text)
    raw = b"".join(
        bytes.fromhex(r) if r is not None else t.encode() for t, r in map(TEXT.piece, ids)
    )
    assert raw == text.encode()


def test_half_a_character_is_escaped_and_kept():
    first = TEXT.encode("\u2713")[0]
    assert TEXT.piece(first) == ("\\xe2", "e2")


def test_special_and_unknown_tokens_have_a_text():
    assert TEXT.piece(TEXT.tokenizer.eos_token_id) == ("<|end|>", None)
    assert TEXT.piece(100_000) == ("<100000>", None)


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [((), ("ab",), "257 and 258"), ((), (), None), (("ab",), ("cd",), "'ab'")],
)
def test_tokenizers_are_compared_by_content(one, other, says):
    difference = differing_tokens(bytes_tokenizer(*one), bytes_tokenizer(*other))
    assert difference is None if says is None else says in difference


class Pieces:
    """A tokenizer of SentencePiece tokens, with a mark for a space and tokens for bytes."""

    bos_token_id = None
    eos_token_id = 0
    all_special_ids = (0,)
    tokens = ("</s>", "\u2581a", "<0xE2>", "b")

    def convert_ids_to_tokens(self, ids: int) -> str | None:
        return self.tokens[ids] if ids < len(self.tokens) else None


@pytest.mark.parametrize(
    ("token", "piece", "content"),
    [
        pytest.param(0, ("</s>", None), None, id="special"),
        pytest.param(1, (" a", None), b" a", id="a space"),
        pytest.param(2, ("\\xe2", "e2"), b"\xe2", id="a byte"),
        pytest.param(3, ("b", None), b"b", id="as it is"),
        pytest.param(9, ("<9>", None), None, id="no token"),
    ],
)
def test_tokens_of_sentencepiece(token, piece, content):
    text = TokenText(Pieces())
    assert text.piece(token) == piece
    assert text.content(token) == content
