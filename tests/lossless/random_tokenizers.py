"""Tokenizers that disagree in every way: alphabets, merges, spaces, bytes, parts of characters,
special tokens, ids.
"""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from hsd_viz.decoding.bridges.lexicon import Lexicon
from hsd_viz.decoding.bridges.model import BridgedModel
from hsd_viz.decoding.bridges.translator import Translator
from hsd_viz.decoding.text import BYTES, TokenText
from hsd_viz.measure.audit.stacks import ToySession

#: What pieces are made of: letters, a space, a character of two bytes and its halves.
ALPHABET = [b"a", b"b", b"A", b" ", b"\xc3", b"\xa9"]
JOINED = [b"ab", b"ba", b" a", b"\xc3\xa9", b"a ", b"b\xc3", b"aab", b" \xc3\xa9"]
KINDS = ("bytes", "metaspace", "unigram", "lowercase")


def make_tokenizer(kind: str, size: int, seed: int, special: str | None) -> PreTrainedTokenizerFast:
    """A tokenizer of ``size`` tokens in random order; with ``special``, one of them is its end
    token.
    """
    rng = random.Random(seed)
    plain = size - (special is not None)
    single = rng.sample(ALPHABET, min(len(ALPHABET), max(1, plain - rng.randint(0, 2))))
    pieces = single + rng.sample(JOINED, plain - len(single))
    rng.shuffle(pieces)
    if kind == "bytes":
        letters = {b: c for c, b in BYTES.items()}
        tokens = ["".join(map(letters.__getitem__, piece)) for piece in pieces]
    else:
        tokens = [_text(piece, k) for k, piece in enumerate(pieces)]
    vocabulary = {t: k for k, t in enumerate(tokens)}
    if kind == "unigram":
        # A token <unk> is required: the first one serves.
        made = Tokenizer(
            models.Unigram([(t, -float(1 + k)) for k, t in enumerate(tokens)], unk_id=0)
        )
    else:
        merges = []
        for token in tokens:
            for cut in range(1, len(token)):
                if token[:cut] in vocabulary and token[cut:] in vocabulary:
                    merges.append((token[:cut], token[cut:]))
        made = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=kind == "metaspace"))
    if kind == "bytes":
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
    elif kind == "metaspace":
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        made.decoder = decoders.Metaspace()
    elif kind == "lowercase":
        made.normalizer = normalizers.Lowercase()
    if special is not None:
        made.add_special_tokens([special])
    if special:
        return PreTrainedTokenizerFast(tokenizer_object=made, eos_token=special)
    return PreTrainedTokenizerFast(tokenizer_object=made)


def _text(piece: bytes, k: int) -> str:
    """A piece as text: bytes that form no character as byte tokens, alone."""
    try:
        return piece.decode().replace(" ", "\u2581")
    except UnicodeDecodeError:
        return f"<0x{piece[0]:02X}>" if len(piece) == 1 else f"{chr(0x3B1 + k)}"


def make_translator(seed: int, target_size: int) -> tuple[Translator, int]:
    """A random pair, and the size of the draft's vocabulary."""
    rng = random.Random(seed)
    size = rng.randint(3, 6)
    kinds = KINDS[seed % len(KINDS)], KINDS[(seed // len(KINDS)) % len(KINDS)]
    ends = rng.choice(
        [(None, None), ("<end>", "<end>"), ("<stop>", "<end>"), ("<stop>", None), (None, "<end>")]
    )
    sides = zip(kinds, (size, target_size), (seed, seed + 1000), ends, strict=True)
    made = [(make_tokenizer(kind, n, s, end), n) for kind, n, s, end in sides]
    draft, target = (Lexicon(TokenText(tokenizer), n) for tokenizer, n in made)
    return Translator(draft, target), size


def make_draft(
    seed: int, target_size: int, kind: str, positions: int | None = None
) -> BridgedModel:
    """A toy draft model with another tokenizer: a random table over its own tokens."""
    translator, size = make_translator(seed, target_size)
    table = 1.5 * np.random.default_rng(seed).normal(size=(size,) * 3)
    model = SimpleNamespace(
        name="draft",
        dtype="float64",
        runtime="eager",
        parameters=1,
        vocab_size=size,
        positions=positions,
        session=lambda room: ToySession(table),
    )
    return BridgedModel(model, translator, kind, target_size)
