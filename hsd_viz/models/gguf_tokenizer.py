"""Read tokenizers from the metadata of GGUF files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hsd_viz.errors import BadFile, Unsupported, first_line
from hsd_viz.models.tokenizer import FileTokenizer, TokenizerFacts

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.pre_tokenizers import PreTokenizer

#: The types of special tokens in ``tokenizer.ggml.token_type``.
CONTROL = 3
USER_DEFINED = 4

_LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN_2 = _LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
#: Rules by which words are split before BPE: the names in llama.cpp of each rule.
_GPT_2_NAMES = ("default", "gpt-2", "phi-2", "jina-es", "jina-de", "mpt", "olmo", "gigachat")
_SMOLLM_NAMES = ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b")
_LLAMA_3_NAMES = ("llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "smaug-bpe", "dbrx")
_QWEN_2_NAMES = ("qwen2", "stablelm2", "deepseek-r1-qwen", "megrez", "hunyuan")
SPLITS = (*_GPT_2_NAMES, *_SMOLLM_NAMES, *_LLAMA_3_NAMES, *_QWEN_2_NAMES)
#: Rules whose models begin a text with a special token, unless the file states otherwise.
_BEGINS_WITH_TOKEN = ("llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral")
#: The keys of the tokens that end an answer.
_END_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id")


def read_tokenizer(name: str, metadata: Mapping[str, Any]) -> FileTokenizer:
    """Return the tokenizer in the metadata of a GGUF file.

    Args:
        name: the name of the file, for error messages.
        metadata: the metadata of the file.

    Raises:
        Unsupported: if it is not a byte-level BPE, or if it splits words by an unknown rule.
        BadFile: if a part of it is missing or not valid.
    """
    keys = _Keys(name, metadata)
    model = keys.get("model")
    if model != "gpt2":
        raise Unsupported(
            f"{name} has a tokenizer of the type {model!r:.40}: byte-level BPE is read"
        )
    tokens = keys.texts("tokens")
    merges = keys.texts("merges")
    kinds = keys.integers("token_type", len(tokens))
    backend = _build(name, keys.get("pre", "default"), tokens, merges)
    numbers = [number for number, kind in enumerate(kinds) if kind in (CONTROL, USER_DEFINED)]
    _add_special(backend, tokens, kinds, numbers)
    bos_token = keys.token("bos_token_id", tokens)
    begins = keys.get("add_bos_token", keys.get("pre") in _BEGINS_WITH_TOKEN)
    if begins is True and bos_token is not None:
        _begin_with(backend, bos_token)
    template = metadata.get("tokenizer.chat_template")
    facts = TokenizerFacts(
        bos_token=bos_token,
        eos_token=keys.token("eos_token_id", tokens),
        special=[number for number, kind in enumerate(kinds) if kind == CONTROL],
        chat_template=template if isinstance(template, str) else None,
    )
    return FileTokenizer(backend, facts)


def read_ends(metadata: Mapping[str, Any]) -> frozenset[int]:
    """Return the tokens that end an answer."""
    ends = [metadata.get(f"tokenizer.ggml.{key}") for key in _END_KEYS]
    return frozenset(end for end in ends if type(end) is int)


def _build(name: str, split: Any, tokens: list[str], merges: list[str]) -> Tokenizer:
    """Return a tokenizer without special tokens."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    pairs = []
    for merge in merges:
        first, space, second = merge.partition(" ")
        if not space:
            raise BadFile(f"{name}: {merge!r:.40} is not a merge of two tokens")
        pairs.append((first, second))
    vocabulary = {token: number for number, token in enumerate(tokens)}
    whole_words = split in _LLAMA_3_NAMES
    try:
        model = models.BPE(vocabulary, pairs, ignore_merges=whole_words)
        backend = Tokenizer(model)
    except BaseException as error:  # a panic of the library is a BaseException
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise BadFile(f"{name}: its tokenizer is not valid: {first_line(error)}") from None
    backend.pre_tokenizer = _splitting(name, split)
    backend.decoder = decoders.ByteLevel()
    if split in _QWEN_2_NAMES:
        backend.normalizer = normalizers.NFC()
    return backend


def _splitting(name: str, split: Any) -> PreTokenizer:
    """Return the pre-tokenizer of a rule, which splits texts into words."""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence, Split

    if split in _GPT_2_NAMES:
        return ByteLevel(add_prefix_space=False, use_regex=True)
    if split in _SMOLLM_NAMES:
        digits = Digits(individual_digits=True)
        return Sequence([digits, ByteLevel(add_prefix_space=False, use_regex=True)])
    patterns = {
        **dict.fromkeys(_LLAMA_3_NAMES, _LLAMA_3),
        **dict.fromkeys(_QWEN_2_NAMES, _QWEN_2),
    }
    if split not in patterns:
        raise Unsupported(
            f"{name} splits words by the rule {split!r:.40}: these are read: {', '.join(SPLITS)}"
        )
    words = Split(Regex(patterns[split]), "isolated")
    return Sequence([words, ByteLevel(add_prefix_space=False, use_regex=False)])


def _add_special(
    backend: Tokenizer, tokens: list[str], kinds: list[int], numbers: list[int]
) -> None:
    """Add the tokens that are found in texts before words are split, given by their numbers."""
    from tokenizers import AddedToken

    added = []
    for number in numbers:
        control = kinds[number] == CONTROL
        added.append(AddedToken(tokens[number], special=control, normalized=False))
    if added:
        backend.add_tokens(added)


def _begin_with(backend: Tokenizer, token: str) -> None:
    from tokenizers.processors import TemplateProcessing

    number = backend.token_to_id(token)
    backend.post_processor = TemplateProcessing(
        single=[token, "$A"], special_tokens=[(token, number)]
    )


class _Keys:
    """The metadata of a tokenizer."""

    def __init__(self, name: str, metadata: Mapping[str, Any]) -> None:
        self._name = name
        self._metadata = metadata

    def get(self, key: str, default: Any = None) -> Any:
        return self._metadata.get(f"tokenizer.ggml.{key}", default)

    def texts(self, key: str) -> list[str]:
        values = self.get(key)
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise BadFile(f"{self._name}: tokenizer.ggml.{key} is not a list of texts")
        return values

    def integers(self, key: str, count: int) -> list[int]:
        """Return a list of ``count`` integers; all are 1 if the key is missing."""
        values = self.get(key, [1] * count)
        if not isinstance(values, list) or len(values) != count:
            raise BadFile(f"{self._name}: tokenizer.ggml.{key} is not a list of {count} numbers")
        return values

    def token(self, key: str, tokens: list[str]) -> str | None:
        """Return the token whose number is the value of a key; ``None`` without the key."""
        number = self.get(key)
        if number is None:
            return None
        if type(number) is not int or not 0 <= number < len(tokens):
            raise BadFile(
                f"{self._name}: tokenizer.ggml.{key} is {number!r:.40}, "
                f"expected a number below {len(tokens)}"
            )
        return tokens[number]
