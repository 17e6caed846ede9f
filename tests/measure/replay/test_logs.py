"""Logs in every accepted form, and hostile ones."""

from __future__ import annotations

import gzip
import json

import pytest

from hsd_viz.measure.replay.api import replay
from hsd_viz.measure.replay.log_tokenizer import LogTokenizer
from hsd_viz.measure.replay.requests import LoggedRequest, requests
from hsd_viz.models.families import LADDER
from hsd_viz.records.entries import BrokenEntry, EntryReader
from tests.measure.replay.logs import write

TOKENIZER = LogTokenizer(LADDER / "target" / "tokenizer.json")


def read(path, tokenizer=TOKENIZER):
    reader = EntryReader(path)
    try:
        return list(requests(reader, tokenizer))
    finally:
        reader.close()


USER = {"role": "user", "content": "Hi"}


ANSWER = {"role": "assistant", "content": "Hello"}


PARTS = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}


#: A form -> an entry, and its prompt.
FORMS = {
    "text": ({"prompt": "Hi", "output": "Hello"}, "Hi"),
    "batch": (
        {"request": {"prompt": "Hi"}, "response": {"body": {"choices": [{"text": "Hello"}]}}},
        "Hi",
    ),
    "chat": (
        {
            "request": {"messages": [USER]},
            "response": {"choices": [{"message": {"content": "Hello"}}]},
        },
        "Hi\n\n",
    ),
    "parts": ({"messages": [PARTS, ANSWER]}, "Hi\n\n"),
    "sharegpt": (
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
        "Hi\n\n",
    ),
    "tool": (
        {
            "messages": [
                USER,
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"function": {"name": "edit", "arguments": '{"k": 5}'}}],
                },
            ]
        },
        "Hi\n\n",
        '{"name": "edit", "arguments": {"k": 5}}',
    ),
    "reasoning": (
        {
            "request": {"messages": [USER]},
            "response": {"choices": [{"message": {"reasoning_content": "Hm", "content": "Hello"}}]},
        },
        "Hi\n\n",
        "Hm\n\nHello",
    ),
    "ids": (
        {
            "prompt_ids": TOKENIZER.ids("Hi"),
            "output_ids": TOKENIZER.ids("Hello"),
            "output": "not this",
        },
        "Hi",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read(tmp_path, form):
    entry, prompt, *output = FORMS[form]
    (request,) = read(write(tmp_path / "log.jsonl", entry))
    written = output[0] if output else "Hello"
    assert (*request.text.prompt,) == (*TOKENIZER.ids(prompt),)
    assert (*request.text.output,) == (*TOKENIZER.ids(written),)
    assert request.encoded == (form != "ids")
    assert request.limit == len(request.text.output)
    assert not request.cut


def test_limits_ends_and_long_requests(tmp_path, monkeypatch):
    (end,) = TOKENIZER.eos
    entries = [{"prompt_ids": [9] * 30, "output_ids": [5] * 30, "max_new_tokens": 40}]
    entries += [{"prompt_ids": [9], "output_ids": [5, end]}]
    monkeypatch.setattr("hsd_viz.measure.replay.requests.MAX_TOKENS", 50)
    one, two = read(write(tmp_path / "log.jsonl", *entries))
    assert len(one.text.prompt) == 20
    assert len(one.text.output) == 30
    assert one.limit == 40
    assert one.cut
    assert two.limit > 10**9
    assert not two.cut


def test_every_answer_of_a_conversation_is_a_request(tmp_path):
    turns = []
    for who, text in [("human", "a"), ("gpt", "b"), ("human", "c"), ("gpt", "d")]:
        turns.append({"from": who, "value": text})
    one, two = read(write(tmp_path / "log.jsonl", {"conversations": turns}))
    assert [[*r.text.output] for r in (one, two)] == [TOKENIZER.ids("b"), TOKENIZER.ids("d")]
    assert [*two.text.prompt] == TOKENIZER.ids("a\n\nb\n\nc\n\n")


def test_tool_calls_and_reasoning_are_reported(tmp_path):
    entries = [FORMS["tool"][0], FORMS["reasoning"][0], FORMS["text"][0]]
    report = replay(
        write(tmp_path / "log.jsonl", *entries), drafters=("lookup",), tokenizer="target"
    )
    text = str(report)
    assert report.log.parts == {"tool calls": 1, "reasoning": 1, "text": 2}
    assert "1 output with tool calls, which the engine decoded, too" in text
    assert "3 outputs encoded again from text" in text
    assert "not exactly" in text


@pytest.mark.parametrize("pack", [False, True])
def test_an_array_is_read_as_lines_are(tmp_path, pack):
    entries = [{"prompt": "p" * k, "output": f'text {k} ["]'} for k in range(1, 900, 3)]
    data = json.dumps(entries, indent=1).encode()
    path = tmp_path / "log.json"
    path.write_bytes(gzip.compress(data) if pack else data)
    assert read(path) == read(write(tmp_path / "log.jsonl", *entries))


BROKEN = {
    b"{": "not JSON",
    b"[1]": "a request must be a JSON object",
    b"3": "a request must be a JSON object",
    b'{"prompt": "x"}': "no output",
    b'{"prompt": "x", "output_ids": []}': "no output",
    b'{"prompt": "x", "output": ""}': "the output is empty",
    b'{"prompt": [1, "x"], "output": "y"}': "a list of token ids",
    b'{"prompt_ids": [1], "output_ids": [1000000000]}': "outside the vocabulary",
    b'{"prompt": "a\\ud800", "output": "b"}': "not valid Unicode",
    b'{"messages": [{"role": "user", "content": "x"}]}': "no answer of the assistant",
    b'{"messages": [{"role": "user", "content": {}}]}': "must be text",
    b'{"messages": 3}': "damaged: messages is 3, which is not valid",
    b'{"messages": [{"role": "user", "content": [3]}]}': "must be text",
    b'{"conversations": [3]}': "damaged: conversations is [3]",
    b'{"prompt": "x", "response": {"choices": 3}}': "damaged: choices is 3",
    b'{"prompt": "x", "response": {"output_ids": ["y"]}}': "damaged: output_ids is ['y']",
    b'{"request": {"input_ids": "x"}, "response": {"text": "y"}}': "a list of token ids",
    b'{"request": {}, "response": {"choices": []}}': "no prompt",
    b'{"prompt": "x", "error": {"code": 500}}': "a failed request",
    b"\xff\xfe": "not UTF-8",
    b"[" * 100_000: "nested too deeply",
    b'{"prompt": "%s"}' % (b"x" * 10_000_000): "longer than 8 MiB",
}


def test_broken_lines_are_named_and_the_others_are_read(tmp_path):
    path = tmp_path / "log.jsonl"
    good = b'{"prompt": "a", "output": "b"}'
    path.write_bytes(b"\n".join([good, *BROKEN, b"", good]))
    items = read(path)
    assert list(map(type, items)) == [
        LoggedRequest,
        *[BrokenEntry] * len(BROKEN),
        LoggedRequest,
    ]
    for number, (item, why) in enumerate(zip(items[1:-1], BROKEN.values(), strict=True), 2):
        assert why in item.why
        assert item.number == number
    (text,) = read(write(path, {"prompt": "text", "output": "text"}), LogTokenizer())
    assert "give the tokenizer" in text.why


def test_a_damaged_file_keeps_what_can_be_read(tmp_path, monkeypatch):
    path = tmp_path / "log.jsonl.gz"
    lines = "".join(
        json.dumps({"prompt": f"{k * 7919}", "output": "b"}) + "\n" for k in range(1000)
    )
    path.write_bytes(gzip.compress(lines.encode())[:-2000])
    *items, last = read(path)
    assert len(items) > 100
    assert "cannot be read further" in last.why
    monkeypatch.setattr("hsd_viz.records.entries.MAX_BYTES", 100_000)
    path.write_text('[{"prompt": "a", "output": "b"}, {"prompt": ' + "x" * 500_000)
    one, broken = read(path)
    assert type(one) is LoggedRequest
    assert broken == BrokenEntry(2, "the rest of the array is not JSON")
    with pytest.raises(ValueError, match="cannot read the log"):
        EntryReader(tmp_path / "none.jsonl")
