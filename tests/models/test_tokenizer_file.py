"""Test untrusted tokenizer files: allowed contents, and the limits of their process."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from hsd_viz.errors import BadFile, Unsupported, UserError, no_panics
from hsd_viz.models import tokenizer_process
from hsd_viz.models.families import CODE
from hsd_viz.models.tokenizer_file import open_tokenizer, read_tokenizer_file
from hsd_viz.models.tokenizer_process import TokenizerProcess

SHIPPED = CODE.path("target") / "tokenizer.json"
PADDING = {"pad_id": 0, "pad_type_id": 0, "pad_token": "x", "direction": "Right"}


def replace(pattern: str, content: str, way: str = "String") -> dict:
    return {"type": "Replace", "pattern": {way: pattern}, "content": content}


def split(expression: str) -> dict:
    pattern = {"Regex": expression}
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


def sequence(*steps: dict) -> dict:
    return {"type": "Sequence", "normalizers": list(steps)}


def template(pieces: int) -> dict:
    text = {"Sequence": {"id": "A", "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [text] * pieces,
        "pair": [],
        "special_tokens": {},
    }


@pytest.fixture
def written(tmp_path):
    """Write the shipped tokenizer with other parts; return the path."""

    def write(parts: dict | None = None) -> Path:
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(json.loads(SHIPPED.read_text()) | (parts or {})))
        return path

    return write


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"normalizer": sequence(*[replace("a", "a" * 10)] * 9)}, "1,000,000,000 times as long"),
        ({"normalizer": sequence(*[replace("a", "aa")] * 5)}, "32 times as long"),
        ({"normalizer": replace("", "x")}, "has the pattern ''"),
        ({"normalizer": replace("a?", "x" * 16, "Regex")}, "17 times as long"),
        ({"normalizer": {"type": "Prepend", "prepend": "x" * 65}}, "prepend has 65 characters"),
        ({"normalizer": {"type": "Custom"}}, "its normalizer is 'Custom'"),
        ({"pre_tokenizer": {"type": "FixedLength", "length": 0}}, "is 'FixedLength'"),
        ({"pre_tokenizer": {"type": "FixedLength", "length": 5}}, "is 'FixedLength'"),
        ({"pre_tokenizer": split("a" * 5000)}, "expected 1 to 4096 characters"),
        ({"post_processor": template(2)}, "its template repeats the text"),
        ({"post_processor": template(65)}, "more than 64 parts"),
        ({"added_tokens": [{"id": 2**31, "content": "x"}]}, "has the number 2147483648"),
        ({"added_tokens": [{"id": 5, "content": ""}]}, "its token 5 is empty"),
        ({"model": {"type": "Other", "vocab": {}}}, "its model is 'Other'"),
        ({"model": {"type": "WordLevel", "vocab": {"a": -1}}}, "has the number -1"),
        ({"normalizer": sequence(*[{"type": "NFC"}] * 65)}, "has 66 steps"),
    ],
)
def test_what_a_file_may_not_ask_for_is_refused(written, parts, message):
    with pytest.raises(Unsupported, match=message):
        read_tokenizer_file(written(parts))


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{}", b"[]", b"null", b"[" * 100_000, b"9" * 5000, b"\xff"),
        *(b'{"model": 1}', b'{"model": {"vocab": 7}}', b'{"model": {"vocab": {}}, "decoder": 1}'),
        b'{"model": {"vocab": {"a": 0}, "type": "BPE"}, "added_tokens": [7]}',
    ],
)
def test_what_is_no_tokenizer_is_one_line(content, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        open_tokenizer(path)
    assert "\n" not in str(error.value)


def test_padding_truncation_and_dropout_are_off(written):
    model = json.loads(SHIPPED.read_text())["model"]
    parts = {
        "padding": PADDING | {"strategy": {"Fixed": 10_000}, "pad_to_multiple_of": None},
        "truncation": {
            "direction": "Right",
            "max_length": 2,
            "strategy": "LongestFirst",
            "stride": 1,
        },
        "model": model | {"dropout": 0.9},
    }
    path = written(parts)
    text = "def main():\n    return 1\n" * 20
    assert open_tokenizer(path).encode(text).ids == open_tokenizer(SHIPPED).encode(text).ids


@pytest.mark.parametrize(
    "normalizer",
    [
        # Of Llama 2, T5 and BERT.
        sequence({"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")),
        sequence({"type": "NFKC"}, replace(" {2,}", "▁", "Regex")),
        {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
    ],
)
def test_the_steps_of_published_tokenizers_are_allowed(written, normalizer):
    assert open_tokenizer(written({"normalizer": normalizer})).encode("a b  c").ids


def test_a_process_encodes_as_the_library_does():
    process = TokenizerProcess(SHIPPED)
    own = open_tokenizer(SHIPPED)
    try:
        assert process.vocabulary == own.get_vocab(with_added_tokens=True)
        for text in ("", "def main():", "é🙂\0\n", "x" * 100_000):
            assert process.encode(text) == own.encode(text, add_special_tokens=False).ids
        with pytest.raises(UserError, match="not valid Unicode"):
            process.encode("\ud800")
        with pytest.raises(UserError, match="is too long"):
            process.encode("x" * (tokenizer_process.MAX_CHARACTERS + 1))
        assert process.encode("x") == own.encode("x").ids
    finally:
        process.close()


def test_expressions_that_backtrack_end_in_one_line(written):
    process = TokenizerProcess(written({"pre_tokenizer": split("(a+)+b")}))
    begun = time.monotonic()
    try:
        with pytest.raises(UserError) as error:
            process.encode("a" * 4000)
        assert "\n" not in str(error.value)
    finally:
        process.close()
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize(("name", "value"), [("MAX_MEMORY", 40 * 2**20), ("MAX_SECONDS", 0)])
def test_a_process_beyond_its_limits_is_one_line(name, value, written, monkeypatch, tmp_path):
    """The limits are so low that the process cannot finish."""
    package = tmp_path / "package"
    module = "hsd_viz.models.tokenizer_process"
    (package / "low").mkdir(parents=True)
    (package / "low" / "__main__.py").write_text(
        f"import sys\nfrom {module} import main\nimport {module} as it\n"
        f"it.{name} = {value}\nmain(sys.argv[1])\n"
    )
    start = tokenizer_process.subprocess.Popen
    monkeypatch.setattr(
        tokenizer_process.subprocess,
        "Popen",
        lambda words, **options: start([words[0], str(package / "low"), words[-1]], **options),
    )
    with pytest.raises(BadFile, match=r"memory|seconds"):
        TokenizerProcess(written()).encode("def x, y " * 400_000)


def test_a_panic_is_an_error_of_the_file():
    class PanicException(BaseException):
        pass

    with pytest.raises(BadFile, match=r"^it failed: a line$"), no_panics("it failed"):
        raise PanicException("a line\nanother")
    with pytest.raises(KeyboardInterrupt), no_panics("it failed"):
        raise KeyboardInterrupt
