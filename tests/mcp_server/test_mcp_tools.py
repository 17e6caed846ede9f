"""The messages of the server, and what its tools may do."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from hsd_viz.mcp.protocol import MAX_LINE, VERSIONS
from hsd_viz.mcp.tools import is_log_of_texts, make_server
from hsd_viz.version import __version__
from tests.rows import column

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a log of one request and a recorded run."""
    made = tmp_path_factory.mktemp("logs")
    text = "def read(path):\n    return path\n"
    request = {"prompt": text, "output": text * 8}
    (made / "log.jsonl").write_text(json.dumps(request) + "\n")
    shutil.copy(ROOT / "hsd_viz/traces/mixed.json.gz", made / "run.json.gz")
    return made


@pytest.fixture(scope="module")
def server(folder):
    return make_server(folder)


def ask(server, method, **parameters):
    """Return the answer to a request."""
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": parameters}
    answer = server.answer(json.dumps(message))
    assert answer["jsonrpc"] == "2.0"
    assert answer["id"] == 7
    # JSON has neither NaN nor infinity.
    json.dumps(answer, allow_nan=False)
    return answer


def call(server, name, **arguments):
    """Return the result of a tool."""
    return call_with(server, name, arguments)


def call_with(server, name, arguments: dict):
    """Return the result of a tool whose arguments are known by their names only."""
    return ask(server, "tools/call", name=name, arguments=arguments)["result"]


def test_a_session_begins_with_the_version_of_the_client(server):
    session = ask(server, "initialize", protocolVersion="2025-03-26")["result"]
    assert session["protocolVersion"] == "2025-03-26"
    assert session["serverInfo"]["version"] == __version__
    assert "tools" in session["capabilities"]
    unknown = ask(server, "initialize", protocolVersion="1999-01-01")["result"]
    assert unknown["protocolVersion"] == VERSIONS[0]


def test_every_tool_is_read_only_and_describes_its_arguments(server):
    tools = ask(server, "tools/list")["result"]["tools"]
    assert column(tools, "name") == [
        "list_files",
        "doctor",
        "predict",
        "replay",
        "decode",
    ]
    for tool in tools:
        assert tool["annotations"]["readOnlyHint"] is True
        assert tool["inputSchema"]["additionalProperties"] is False
        for parameter in tool["inputSchema"]["properties"].values():
            assert parameter["description"]


def test_decode_gives_the_text_of_the_command(server, cli):
    answer = call(server, "decode", prompt="def main(", stack="db > target", max_new_tokens=12)
    command = ("decode", "--stack", "db > target", "--prompt", "def main(")
    text = json.loads(cli(*command, "--max-new-tokens", "12", "--json"))
    assert not answer["isError"]
    assert answer["structuredContent"]["token_ids"] == text["token_ids"]
    assert text["text"] in answer["content"][0]["text"]


def test_doctor_reads_a_run_of_the_folder(server):
    answer = call(server, "doctor", file="run.json.gz")
    assert not answer["isError"], answer
    assert answer["structuredContent"]


def test_doctor_reads_figures(server):
    answer = call(server, "doctor", acceptance=[0.6], lookahead=5, gpu="H100", models=["llama-8b"])
    assert not answer["isError"] or "models" in answer["content"][0]["text"]


def test_predict_gives_rows(server):
    answer = call(server, "predict", gpu="H100", models=["llama-70b", "llama-8b"], batch=[1, 32])
    assert set(column(answer["structuredContent"]["rows"], "batch")) == {1, 32}


def test_replay_counts_on_a_log_of_the_folder(server):
    answer = call(server, "replay", file="log.jsonl", drafters=["lookup"])
    assert column(answer["structuredContent"]["drafters"], "name") == ["lookup"]


@pytest.mark.parametrize(
    ("entry", "is_text"),
    [
        ({"prompt": "a", "output": "b"}, True),
        ({"id": 1, "prompt_ids": [1], "output_ids": [2]}, True),
        ({"prompt": "a", "output": "b", "meta_info": {}}, False),
        ({"prompt": "a"}, False),
        (["prompt", "output"], False),
    ],
)
def test_a_log_of_texts_may_have_other_fields_but_no_figures(entry, is_text, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(entry))
    assert is_log_of_texts(path) is is_text


def test_the_files_are_listed(server):
    assert call(server, "list_files")["structuredContent"]["files"] == ["log.jsonl", "run.json.gz"]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("decode", {"prompt": "x", "stack": "./model > target"}, "not a shipped model"),
        ("decode", {"prompt": "x", "stack": "owner/model"}, "not a shipped model"),
        ("decode", {"prompt": "x", "stack": "db >"}, "part 2"),
        ("doctor", {"file": "../outside.json"}, "folder of this server"),
        ("doctor", {}, "one of file and acceptance"),
        ("doctor", {"file": "log.jsonl"}, "is a log of texts, without counts of draft tokens: `re"),
        ("list_files", {"file": "x"}, "has no argument 'file': they are none"),
        ("replay", {"file": "/etc/passwd"}, "folder of this server"),
        ("replay", {"file": "log.jsonl", "tokenizer": "../t.json"}, "folder of this server"),
        ("predict", {"gpu": "H100", "models": ["/etc/config.json"]}, "paths are not read"),
        ("predict", {"gpu": "H100", "models": ["hsd_viz/ladder"]}, "paths are not read"),
        ("predict", {"gpu": "H100", "models": ["~/config.json"]}, "paths are not read"),
        ("predict", {"gpu": "no-such-card", "models": ["llama-8b"]}, "no-such-card"),
    ],
)
def test_bad_input_is_an_answer_of_one_line(server, name, arguments, words, monkeypatch):
    monkeypatch.chdir(ROOT)
    answer = call_with(server, name, arguments)
    message = answer["content"][0]["text"]
    assert answer["isError"]
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "needs the argument 'prompt'"),
        ({"prompt": "x", "path": "y"}, "has no argument 'path'"),
        ({"prompt": 3}, "expected a text"),
        ({"prompt": "x", "max_new_tokens": 257}, "257 is outside 1 to 256"),
        ({"prompt": "x", "max_new_tokens": True}, "expected a whole number"),
        ({"prompt": "x", "temperature": -1}, "-1 is outside 0 to 2"),
        ({"prompt": "x", "family": "other"}, "'other' is not one of code, smollm2"),
        ({"prompt": "x" * 20_001}, "at most 20000 characters"),
    ],
)
def test_arguments_that_are_not_as_declared_are_an_answer_that_a_model_can_correct(
    server, arguments, words
):
    answer = call_with(server, "decode", arguments)
    assert answer["isError"]
    assert words in answer["content"][0]["text"]


def test_answers_name_arguments_where_the_command_line_has_options(server):
    missing = call(server, "doctor", acceptance=[2.4])
    assert missing["content"][0]["text"].endswith("needs the number of draft tokens: `lookahead`")
    undecided = call(server, "doctor", acceptance=[2.4], lookahead=5)
    assert "(`speed`, `plain_speed`)" in undecided["content"][0]["text"]
    # Options of engines stay as they are pasted.
    pays = call(server, "predict", gpu="H100", models=["llama-8b", "eagle3"])
    assert "--speculative-config" in pays["content"][0]["text"]


def test_the_advice_of_the_doctor_names_its_arguments(server):
    """A diagnosis may ask for each of these."""
    [doctor] = [tool for tool in server.tools if tool.name == "doctor"]
    asked_for = {"lookahead", "model", "engine", "tp", "weights", "verify_ms", "draft_ms"}
    assert asked_for | {"speed", "plain_speed"} <= doctor.properties.keys()
    figures = {"acceptance": [5.5], "lookahead": 5, "speed": 90, "plain_speed": 80}
    undivided = call_with(server, "doctor", figures)["content"][0]["text"]
    assert "give `verify_ms` and `draft_ms` to divide it" in undivided


def test_what_a_decode_brought_is_said_without_a_form_of_python(server):
    answer = call(server, "decode", prompt="def main(", max_new_tokens=8)
    text = answer["content"][0]["text"]
    assert "Trace(" not in text
    assert "Figures of 'db > target': 8 tokens, " in text


def session_of_the_page() -> list[tuple[str, list[str]]]:
    """Return the calls of the page, each with the first lines of its answer."""
    page = (ROOT / "docs" / "how-to" / "chat.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^## A session$.*?^```\n(.*?)^```", page, re.M | re.S)
    turns = []
    for turn in block.split("> {")[1:]:
        request, *lines = turn.splitlines()
        turns.append(("{" + request, lines))
    return turns


@pytest.mark.parametrize(("request_", "lines"), session_of_the_page())
def test_the_session_of_the_page_is_as_it_says(server, request_, lines):
    asked = json.loads(request_)
    result = call_with(server, asked["name"], asked["arguments"])
    answer = [line.rstrip() for line in result["content"][0]["text"].splitlines()]
    assert lines
    assert answer[: len(lines)] == lines


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("not json", -32700),
        ("[" * 100_000, -32700),
        ("[]", -32600),
        ('{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/run"}', -32601),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}', None),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "rm"}}', -32602),
        (" " * (MAX_LINE + 1), -32600),
    ],
)
def test_a_message_that_is_not_a_request_is_an_error(server, line, code):
    error = server.answer(line)["error"]
    assert error["code"] == code if code else error["code"] < 0


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 3, "result": {}}',
    ],
)
def test_a_notification_has_no_answer(server, line):
    assert server.answer(line) is None
