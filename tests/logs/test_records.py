"""Logs in every accepted form, and hostile ones: each entry is a request or one broken entry with a reason."""

from __future__ import annotations

import gzip
import json

import pytest

from hsd_viz.adapters.entries import EntryReader
from hsd_viz.logs.records import BrokenEntry, Request, requests


def read(path):
    reader = EntryReader(path)
    try:
        return list(requests(reader))
    finally:
        reader.close()


def write(path, *entries):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


USER, ANSWER = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
PARTS = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
#: An entry with a text as its prompt, or (the second ones) a message.
FORMS = {
    "text": {"prompt": "Hi", "output": "Hello"},
    "completion": {"prompt": "Hi", "completion": "Hello", "category": "c"},
    "batch": {"request": {"prompt": "Hi"}, "response": {"body": {"choices": [{"text": "Hello"}]}}},
}
MESSAGES = {
    "chat": {"request": {"messages": [USER]}, "response": {"choices": [{"message": {"content": "Hello"}}]}},
    "parts": {"messages": [PARTS, ANSWER]},
    "sharegpt": {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
}


@pytest.mark.parametrize("form", [*FORMS, *MESSAGES])
def test_every_form_is_read(tmp_path, form):
    entry = (FORMS | MESSAGES)[form]
    (found,) = read(write(tmp_path / "log.jsonl", entry))
    assert (found.prompt, found.output) == ("Hi" if form in FORMS else (("user", "Hi"),), "Hello")
    assert found.category == entry.get("category", "")


def test_ids_and_a_limit_are_read(tmp_path):
    entry = {"prompt_ids": [1, 2], "output_ids": [3], "output": "x", "max_new_tokens": 8}
    (found,) = read(write(tmp_path / "log.jsonl", entry))
    assert found == Request(1, None, "x", (1, 2), (3,), limit=8)


def test_every_answer_of_a_conversation_is_a_request(tmp_path):
    turns = [{"from": who, "value": text} for who, text in [("human", "a"), ("gpt", "b"), ("human", "c"), ("gpt", "d")]]
    one, two = read(write(tmp_path / "log.jsonl", {"conversations": turns}))
    assert (one.output, two.output, two.number) == ("b", "d", 1)
    assert two.prompt == (("user", "a"), ("assistant", "b"), ("user", "c"))


@pytest.mark.parametrize("pack", [False, True])
def test_an_array_is_read_as_lines_are(tmp_path, pack):
    entries = [{"prompt": "p" * k, "output": f'text {k} ["]'} for k in range(1, 2000)]
    data = json.dumps(entries, indent=1).encode()
    path = tmp_path / "log.json"
    path.write_bytes(gzip.compress(data) if pack else data)
    found = read(path)
    assert [(r.prompt, r.output) for r in found] == [(e["prompt"], e["output"]) for e in entries]


BROKEN = {
    b"{": "not JSON",
    b"[1]": "a request must be a JSON object",
    b"3": "a request must be a JSON object",
    b'{"prompt": "x"}': "no output",
    b'{"prompt": [1, "x"], "output": "y"}': "a list of token ids",
    b'{"messages": [{"role": "user", "content": "x"}]}': "no answer of the assistant",
    b'{"messages": 3}': "unexpected form",
    b'{"request": {}, "response": {"choices": []}}': "unexpected form",
    b'{"prompt": "x", "error": {"code": 500}}': "a failed request",
    b"\xff\xfe": "not UTF-8",
    b"[" * 100_000: "nested too deeply",
    b'{"prompt": "%s"}' % (b"x" * 10_000_000): "longer than 8 MiB",
}


def test_broken_lines_are_named_and_the_others_are_read(tmp_path):
    path = tmp_path / "log.jsonl"
    good = b'{"prompt": "a", "output": "b"}'
    path.write_bytes(b"\n".join([good, *BROKEN, b"", good]))
    found = read(path)
    assert [type(item) for item in found] == [Request, *[BrokenEntry] * len(BROKEN), Request]
    for item, why in zip(found[1:-1], BROKEN.values(), strict=True):
        assert why in item.why
    assert found[-1].number == len(BROKEN) + 3


def test_a_damaged_array_ends_with_a_broken_entry(tmp_path, monkeypatch):
    monkeypatch.setattr("hsd_viz.adapters.entries.MOST_BYTES", 100_000)
    path = tmp_path / "log.json"
    path.write_text('[{"prompt": "a", "output": "b"}, {"prompt": ' + "x" * 500_000)
    one, broken = read(path)
    assert one.prompt == "a" and broken == BrokenEntry(2, "the rest of the array is not JSON")


def test_a_cut_gzip_file_keeps_what_can_be_read(tmp_path):
    path = tmp_path / "log.jsonl.gz"
    lines = "".join(json.dumps({"prompt": f"{k * 7919}", "output": "b"}) + "\n" for k in range(5000))
    path.write_bytes(gzip.compress(lines.encode())[:-2000])
    *found, last = read(path)
    assert len(found) > 100 and "cannot be read further" in last.why


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(ValueError, match="cannot read the log"):
        EntryReader(tmp_path / "none.jsonl")
