"""The tokenizer of the ladder: byte-level BPE over all 256 bytes, without normalization; decoding inverts encoding."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

EOS = "<|endoftext|>"
EOS_ID = 0


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Tokenizer:
    """Train byte-level BPE on ``texts``.

    ``vocabulary`` is the number of tokens, at least 257: 256 bytes and the end-of-text token.
    """
    if vocabulary < 257:
        raise ValueError(f"a byte-level vocabulary needs at least 257 tokens, not {vocabulary}")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[EOS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def wrap(tokenizer: Tokenizer, context: int) -> PreTrainedTokenizerFast:
    """Return the tokenizer as a transformers object.

    It adds no special tokens; ``<|endoftext|>`` begins and ends a file.
    """
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=EOS,
        eos_token=EOS,
        pad_token=EOS,
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )


def save(tokenizer: Tokenizer, directory: Path, context: int = 2048) -> None:
    """Write tokenizer.json and tokenizer_config.json, readable by ``tokenizers`` and by ``AutoTokenizer``."""
    directory.mkdir(parents=True, exist_ok=True)
    wrap(tokenizer, context).save_pretrained(str(directory))
