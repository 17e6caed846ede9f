"""Check a ``tokenizer.json`` before the package ``tokenizers`` opens it.

A ``tokenizer.json`` describes a program of normalizers, pre-tokenizers and a model. The package
runs any such program, so a file of a few lines can fill the memory, loop, or end the process. This
module allows only listed kinds of steps, limits how much they lengthen a text, and disables
padding, truncation and dropout. Other dangers, such as regular expressions that backtrack, are
limited by :mod:`hsd_viz.models.tokenizer_process`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.disk import parse_json, read_text
from hsd_viz.errors import MALFORMED, BadFile, Unsupported, no_panics
from hsd_viz.settings.ranges import MAX_IDS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: The largest file in bytes; files of the largest vocabularies (256 000 tokens) have 35 MB.
MAX_BYTES = 64 * 2**20
#: The largest number of tokens.
MAX_TOKENS = 2**20
#: The largest number of characters in an inserted text.
MAX_INSERTED = 64
#: The largest number of characters in a pattern.
MAX_PATTERN = 4096
#: The largest factor by which the steps of a part may lengthen a text.
MAX_GROWTH = 16
#: The largest number of steps in a part, including nested ones, and of parts in a template.
MAX_STEPS = 64
#: The allowed models.
MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")
#: The allowed steps by part of the file.
STEPS = {
    "normalizer": (
        *("BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt"),
        *("Precompiled", "Prepend", "Replace", "Sequence", "Strip", "StripAccents"),
    ),
    "pre_tokenizer": (
        *("BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace"),
        *("Punctuation", "Sequence", "Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit"),
    ),
    "post_processor": (
        *("BertProcessing", "ByteLevel", "RobertaProcessing", "Sequence", "TemplateProcessing"),
    ),
    "decoder": (
        *("BPEDecoder", "ByteFallback", "ByteLevel", "CTC", "Fuse", "Metaspace", "Replace"),
        *("Sequence", "Strip", "WordPiece"),
    ),
}
#: The keys under which a sequence has its steps.
_PARTS = ("normalizers", "pretokenizers", "processors", "decoders")


def read_tokenizer_file(path: Path) -> dict[str, Any]:
    """Return the checked data of a ``tokenizer.json``, without padding, truncation and dropout.

    Raises:
        BadFile: if the file cannot be read or is not a tokenizer.
        Unsupported: if it contains a step or a value that is not allowed.
    """
    text = read_text(path, "tokenizer", MAX_BYTES)
    data = parse_json(text, f"{path} is not a valid tokenizer: it")
    try:
        return _checked(data)
    except Unsupported as error:
        raise Unsupported(f"the tokenizer {path} cannot be used: {error}") from None
    except MALFORMED:
        reason = "its parts are not those of a tokenizer.json"
        raise BadFile(f"{path} is not a valid tokenizer: {reason}") from None


def open_tokenizer(path: Path) -> Tokenizer:
    """Open the tokenizer of a ``tokenizer.json``.

    Raises:
        BadFile: if the file cannot be read or is not a valid tokenizer.
        Unsupported: if it contains a step or a value that is not allowed.
    """
    from tokenizers import Tokenizer

    data = read_tokenizer_file(path)
    with no_panics(f"{path} is not a valid tokenizer"):
        return Tokenizer.from_str(json.dumps(data))


def without_padding(tokenizer: Any) -> Any:
    """Disable padding and truncation in a tokenizer of transformers, and return it.

    A decode needs exactly the tokens of the prompt.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        backend.no_padding()
        backend.no_truncation()
    return tokenizer


def _checked(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TypeError("not an object")
    _check_model(data["model"])
    _check_added(data.get("added_tokens") or [])
    for part in STEPS:
        steps = [*_steps(part, data.get(part))]
        if len(steps) > MAX_STEPS:
            raise Unsupported(f"its {part} has {len(steps)} steps: at most {MAX_STEPS} are")
        growth = 1
        for step in steps:
            growth *= _check_step(part, step)
        if growth > MAX_GROWTH:
            raise Unsupported(
                f"its {part} may make a text {growth:,} times as long: at most {MAX_GROWTH} times"
            )
    model = {**data["model"], "dropout": None} if "dropout" in data["model"] else data["model"]
    return {**data, "model": model, "padding": None, "truncation": None}


def _check_model(model: Mapping[str, Any]) -> None:
    kind = model.get("type") or "BPE"
    if kind not in MODELS:
        raise Unsupported(f"its model is {kind!r:.40}: expected {', '.join(MODELS)}")
    vocabulary = model["vocab"]
    if len(vocabulary) > MAX_TOKENS:
        raise Unsupported(f"it has {len(vocabulary):,} tokens: the maximum is {MAX_TOKENS:,}")
    if isinstance(vocabulary, dict):
        for token, number in vocabulary.items():
            _check_id(token, number)
    for name in ("continuing_subword_prefix", "end_of_word_suffix", "unk_token"):
        _check_inserted(name, model.get(name) or "")


def _check_added(tokens: list[Mapping[str, Any]]) -> None:
    if len(tokens) > MAX_TOKENS:
        raise Unsupported(f"it adds {len(tokens):,} tokens: the maximum is {MAX_TOKENS:,}")
    for token in tokens:
        _check_id(token["content"], token["id"])
        if not token["content"]:
            raise Unsupported(f"its token {token['id']} is empty")


def _check_id(token: str, number: Any) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MAX_IDS:
        raise Unsupported(f"its token {token!r:.40} has the number {number!r:.40}")


def _steps(part: str, step: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield a step and the steps nested in it."""
    if step is None:
        return
    if depth > MAX_STEPS:
        raise Unsupported(f"its {part} is nested too deeply")
    kind = step["type"]
    if kind not in STEPS[part]:
        allowed = ", ".join(STEPS[part])
        raise Unsupported(f"its {part} is {kind!r:.40}: allowed are {allowed}")
    yield step
    if kind == "Sequence":
        for name in _PARTS:
            for inner in step.get(name) or ():
                yield from _steps(part, inner, depth + 1)


def _check_step(part: str, step: Mapping[str, Any]) -> int:
    """Check the values of a step, and return the largest factor by which it lengthens a text."""
    kind = step["type"]
    pattern: Any = step.get("pattern")
    if kind in ("Replace", "Split") and isinstance(pattern, dict):
        _check_pattern(part, *pattern.items())
    for name in ("content", "prepend", "prefix", "suffix", "replacement"):
        _check_inserted(f"{part}: {name}", step.get(name) or "")
    if kind == "TemplateProcessing":
        _check_template(step)
    if kind == "Strip":
        for name in ("start", "stop"):
            if not -1 < int(step.get(name) or 0) <= MAX_INSERTED:
                raise Unsupported(f"its {part} strips {step[name]!r:.40} characters")
    if kind != "Replace":
        return 1
    inserted = len(step["content"].encode())
    ((way, matched),) = pattern.items()
    # A regular expression may match the empty text between all characters.
    return max(1, -(-inserted // len(matched.encode())) if way == "String" else 1 + inserted)


def _check_pattern(part: str, *items: tuple[str, str]) -> None:
    ((way, pattern),) = items
    if way not in ("String", "Regex") or not pattern or len(pattern) > MAX_PATTERN:
        raise Unsupported(
            f"its {part} has the pattern {pattern!r:.40}: expected 1 to {MAX_PATTERN} characters"
        )


def _check_inserted(what: str, text: Any) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{what} is not a text")
    if len(text) > MAX_INSERTED:
        raise Unsupported(f"{what} has {len(text):,} characters: at most {MAX_INSERTED}")


def _check_template(step: Mapping[str, Any]) -> None:
    special = sum(len(token["ids"]) for token in step["special_tokens"].values())
    if max(len(step["single"]), len(step["pair"]), special) > MAX_STEPS:
        raise Unsupported(f"its template has more than {MAX_STEPS} parts")
    if sum("Sequence" in piece for piece in step["single"]) > 1:
        raise Unsupported("its template repeats the text")
