"""Test the translation between two tokenizers whose tokens are single bytes."""

from __future__ import annotations

import pytest

from hsd_viz.decoding.bridges.lexicon import Lexicon
from hsd_viz.decoding.bridges.translator import Translator
from hsd_viz.decoding.text import BYTES, TokenText

LETTERS = {byte: letter for letter, byte in BYTES.items()}


class ByteTokenizer:
    """A tokenizer with a token per byte, and a special token that ends a text."""

    all_special_ids = (256,)
    bos_token_id = None
    eos_token_id = 256

    def encode(self, text, add_special_tokens=True, verbose=False):
        return [*text.encode()]

    def convert_ids_to_tokens(self, token):
        return "<end>" if token == 256 else LETTERS[token]

    def get_vocab(self):
        return {self.convert_ids_to_tokens(token): token for token in range(257)}


class ByteText(TokenText):
    def content(self, token):
        return None if token == 256 else bytes([token])


@pytest.fixture
def translator() -> Translator:
    lexicon = Lexicon(ByteText(ByteTokenizer()), 257)
    return Translator(lexicon, lexicon)


FACE = "\U0001f642".encode()


@pytest.mark.parametrize(
    ("text", "data", "expected"),
    [
        pytest.param(b"a", b"bc", b"bc", id="whole characters"),
        pytest.param(b"a", b"b" + FACE[:2], b"b", id="the draft ends in a character"),
        pytest.param(FACE[:1], FACE[1:], FACE[1:], id="the draft ends the text's character"),
        pytest.param(FACE[:1], FACE[1:3], b"", id="the draft is within the text's character"),
    ],
)
def test_a_draft_has_whole_characters_only(translator, text, data, expected):
    assert translator.to_target([*text], data) == [*expected]


def test_a_special_token_separates_what_is_encoded(translator):
    assert translator.to_draft([97, 256, 98]) == [97, 256, 98]
    assert translator.special == {256: 256}
