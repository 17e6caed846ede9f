"""Logs in every accepted form, and hostile ones; their replay: counts equal those of a decode."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from hsd_viz.drafting.costs import PRESETS, parse_cost
from hsd_viz.measure.replay.api import replay
from hsd_viz.measure.replay.drafters import (
    DRAFTERS,
    open_databases,
    replayable,
)
from hsd_viz.measure.replay.requests import LoggedRequest, LogTokenizer, requests
from hsd_viz.measure.replay.tally import GROUPS
from hsd_viz.models.families import LADDER, SMOLLM2
from hsd_viz.prompts.suites import load_suite
from hsd_viz.records.entries import BrokenEntry, EntryReader
from tests.rows import column

TOKENIZER = LogTokenizer(LADDER / "target" / "tokenizer.json")
ALL = (*DRAFTERS, "db[model,statistics]", "lookup[original]", "retrieval")


@pytest.fixture(scope="module")
def log(engine, tmp_path_factory):
    """Four outputs of the shipped target, as ids."""
    path = tmp_path_factory.mktemp("logs") / "own.jsonl"
    with path.open("w") as file:
        for prompt in load_suite("python").limited(4).prompts:
            ids = engine.tokenizer(prompt.text, add_special_tokens=False)["input_ids"]
            trace = engine.run(ids, "target", max_new_tokens=40, record=False)
            row = {
                "prompt_ids": ids,
                "output_ids": trace.token_ids,
                "max_new_tokens": 40,
                "category": prompt.category,
            }
            file.write(json.dumps(row) + "\n")
    return path


def write(path, *entries):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def test_counts_equal_those_of_the_decodes(engine, log):
    report = replay(log, drafters=ALL, tokenizer="target", budget=9)
    assert not report.refused
    assert set(column(report.drafters, "name")) == set(ALL)
    entries = list(map(json.loads, log.read_text().splitlines()))
    for row in report.drafters:
        totals = [0, 0, 0, 0]
        for entry in entries:
            trace = engine.run(
                entry["prompt_ids"],
                f"{row['name']} > target",
                max_new_tokens=40,
                record=False,
                budget=9,
            )
            assert trace.token_ids == entry["output_ids"]
            found = trace.metrics()
            for k, name in enumerate(("tokens", "target_forwards", "drafted", "accepted")):
                totals[k] += found[name]
        assert [row[name] for name in ("tokens", "rounds", "drafted", "accepted")] == totals, row[
            "name"
        ]
        assert row["mean_acceptance_length"] == row["tokens"] / row["rounds"]
        assert sum(row["accepted_by_position"]) == row["accepted"]


def test_what_needs_the_targets_rows_is_refused_with_the_reason(log):
    names = ("lookup", "recycling", "db[context,logits]", "nano:4", "nonsense")
    report = replay(log, drafters=names, tokenizer="target")
    assert column(report.drafters, "name") == ["lookup"]
    for name in names[1:3]:
        assert "which a log does not have" in report.refused[name]
    assert "draft model" in report.refused["nano:4"]
    assert "Not replayed: recycling" in str(report)
    with pytest.raises(ValueError, match="'recycling' cannot be replayed"):
        replay(log, drafters=("recycling",), tokenizer="target")


def test_a_cost_curve_says_where_drafting_pays(tmp_path):
    path = write(
        tmp_path / "log.jsonl",
        {"prompt_ids": [1, 2, 3, 4, 5, 6], "output_ids": [1, 2, 3, 4, 5, 6, 9]},
    )
    free = replay(path, drafters=("lookup",), verify_cost="free16").drafters[0]
    expensive = replay(path, drafters=("lookup",), verify_cost=[1, 8, 16]).drafters[0]
    assert free["speedup"] == free["tokens"] / free["rounds"] > 1 > expensive["speedup"]
    assert expensive["pays"] == "no"
    assert parse_cost("cpu").relative == PRESETS["cpu"]
    assert parse_cost("0.5").relative == (1.0, 1.5)
    for text, words in (
        ("free-16", "did you mean 'free16'"),
        ("1,nan", "a cost nan"),
        ("101", "a cost 101"),
        ("2,1", "none below"),
    ):
        with pytest.raises(ValueError, match=words):
            parse_cost(text)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_the_memory_does_not_grow_with_the_file(tmp_path):
    """A file of 60 MB, most of it in long prompts and broken lines, needs hardly more memory
    than one of 1 MB.
    """
    script = """
import re, sys
from hsd_viz.drafting.costs import PRESETS, parse_cost
from hsd_viz.measure.replay.api import replay
report = replay(sys.argv[1], drafters=("lookup", "suffix"), budget=4)
# Not getrusage, whose peak includes that of the parent before exec.
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
print(report.log["requests"], report.log["broken"], peak // 1024)
"""
    good = json.dumps({"prompt_ids": [1, 2, 3], "output_ids": [1, 2, 3, 4]}) + "\n"
    long = json.dumps({"prompt": "x" * 100_000}) + "\n"
    peaks = []
    for blocks in (10, 600):
        path = tmp_path / f"{blocks}.jsonl"
        with path.open("w") as file:
            for _ in range(blocks):
                file.write(good + long)
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
        )
        requests, broken, peak = map(int, done.stdout.split())
        assert requests == broken == blocks
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 40 < 500


def test_without_the_ladders_tokenizer_there_are_no_shipped_databases(tmp_path):
    path = write(tmp_path / "log.jsonl", {"prompt_ids": [1, 2], "output_ids": [1, 2, 1, 2]})
    assert str(replayable(DRAFTERS, open_databases(LogTokenizer()))[0]["db"]) == "db[context]"
    assert replay(path, drafters=("db",)).drafters[0]["tokens"] == 4
    with pytest.raises(ValueError, match="without a tokenizer there are no databases"):
        replay(path, drafters=("retrieval",))


def test_broken_records_are_counted_and_reports_hold_no_text(tmp_path):
    good = {"prompt_ids": [1, 2], "output_ids": [1, 2]}
    text = {"prompt": "SECRET", "output": "SECRET answer"}
    report = replay(write(tmp_path / "log.jsonl", good, text, 0, good), drafters=("lookup",))
    assert (report.log["requests"], report.log["broken"]) == (2, 2)
    assert "give the tokenizer" in dict(report.log["examples"])[2]
    assert "2 broken records skipped" in str(report)
    assert "SECRET" not in json.dumps(report.to_dict())
    with pytest.raises(ValueError, match="no usable request"):
        replay(write(tmp_path / "none.jsonl", text), drafters=("lookup",))
    read = replay(write(tmp_path / "log.jsonl", text), drafters=("lookup",), tokenizer="target")
    assert read.log["requests"] == 1
    assert "SECRET" not in json.dumps(read.to_dict())


def test_a_file_of_many_records_without_a_request_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("hsd_viz.measure.replay.api.MOST_BROKEN", 3)
    good = {"prompt_ids": [1, 2], "output_ids": [1, 2]}
    late = write(tmp_path / "late.jsonl", 0, 0, 0, good)
    with pytest.raises(ValueError, match="no usable request in its first 3 records; record 1: "):
        replay(late, drafters=("lookup",))
    early = write(tmp_path / "early.jsonl", good, 0, 0, 0, good)
    assert replay(early, drafters=("lookup",)).log["requests"] == 2


def test_few_requests_are_said_to_have_no_interval(tmp_path):
    good = {"prompt_ids": [1, 2, 3, 1, 2], "output_ids": [3, 1, 2, 3]}
    few = replay(write(tmp_path / "few.jsonl", *[good] * 4), drafters=("lookup",))
    assert few.headline().endswith("(4 requests: too few for an interval)")
    enough = replay(write(tmp_path / "enough.jsonl", *[good] * 5), drafters=("lookup",))
    assert "too few" not in enough.headline()
    # The name of a drafter is not the first word, which a page writes with a capital.
    assert ": lookup, with " in enough.headline()


def test_an_interrupted_replay_has_whole_requests(tmp_path, monkeypatch):
    monkeypatch.setattr("hsd_viz.measure.replay.api.SHOW", -1.0)
    path = write(tmp_path / "log.jsonl", *[{"prompt": "x y", "output": "x y z x y z"}] * 9)
    replay_both = partial(replay, path, drafters=("suffix", "lookup"), tokenizer="target")
    done = []

    def interrupt(at, size, about):
        done.append(about)
        if len(done) == 2:
            raise KeyboardInterrupt

    part = replay_both(progress=interrupt)
    assert not part.complete
    assert part.log["requests"] == 2
    assert "Interrupted" in str(part)
    limited = replay_both(limit=2)
    assert limited.complete
    assert part.drafters == limited.drafters


def test_more_requests_than_groups_have_an_interval(tmp_path):
    entries = []
    for k in range(GROUPS + 50):
        entries.append({"prompt_ids": [1, 2, k % 5], "output_ids": [1, 2, k % 5, 3]})
    report = replay(write(tmp_path / "log.jsonl", *entries), drafters=("lookup",))
    (row,) = report.drafters
    low, high = row["mean_acceptance_length_ci"]
    assert low <= row["tokens"] / row["rounds"] <= high
    assert report.frame.loc["lookup", "tokens"] == 4 * (GROUPS + 50)


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
    (found,) = read(write(tmp_path / "log.jsonl", entry))
    written = output[0] if output else "Hello"
    assert (*found.text.prompt,) == (*TOKENIZER.ids(prompt),)
    assert (*found.text.output,) == (*TOKENIZER.ids(written),)
    assert found.encoded == (form != "ids")
    assert found.limit == len(found.text.output)
    assert not found.cut


def test_limits_ends_and_long_requests(tmp_path, monkeypatch):
    (end,) = TOKENIZER.eos
    entries = [{"prompt_ids": [9] * 30, "output_ids": [5] * 30, "max_new_tokens": 40}]
    entries += [{"prompt_ids": [9], "output_ids": [5, end]}]
    monkeypatch.setattr("hsd_viz.measure.replay.requests.MOST_TOKENS", 50)
    one, two = read(write(tmp_path / "log.jsonl", *entries))
    assert (len(one.text.prompt), len(one.text.output), one.limit, one.cut) == (20, 30, 40, True)
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
    assert report.log["parts"] == {"tool calls": 1, "reasoning": 1, "text": 2}
    assert "1 output with tool calls, which the engine decoded, too" in text
    assert "3 outputs encoded again from text" in text
    assert "not exactly" in text


def test_a_sampled_log_is_replayed_as_its_decode_counts(engine, tmp_path):
    """``db`` makes other trees for sampled text: the temperature of the log, not 0."""
    prompt = load_suite("python").limited(1).prompts[0]
    ids = engine.tokenizer(prompt.text, add_special_tokens=False)["input_ids"]
    run = partial(engine.run, ids, max_new_tokens=60, record=False, temperature=1.0, seed=3)
    text = run("target").token_ids
    row = {"prompt_ids": ids, "output_ids": text, "max_new_tokens": 60, "temperature": 1.0}
    path = write(tmp_path / "log.jsonl", row)
    decoded = run("db[context] > target", budget=9)
    assert decoded.token_ids == text
    replay_log = partial(replay, path, drafters=("db[context]",), tokenizer="target", budget=9)
    report = replay_log()
    (found,) = report.drafters
    figures = decoded.metrics()
    assert (found["rounds"], found["drafted"]) == (figures["rounds"], figures["drafted"])
    assert "1 request sampled" in str(report)
    assert replay_log(temperature=0.0).drafters[0]["drafted"] != found["drafted"]


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
    b'{"messages": 3}': "unexpected form",
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
    found = read(path)
    assert list(map(type, found)) == [
        LoggedRequest,
        *[BrokenEntry] * len(BROKEN),
        LoggedRequest,
    ]
    for number, (item, why) in enumerate(zip(found[1:-1], BROKEN.values(), strict=True), 2):
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
    *found, last = read(path)
    assert len(found) > 100
    assert "cannot be read further" in last.why
    monkeypatch.setattr("hsd_viz.records.entries.MOST_BYTES", 100_000)
    path.write_text('[{"prompt": "a", "output": "b"}, {"prompt": ' + "x" * 500_000)
    one, broken = read(path)
    assert type(one) is LoggedRequest
    assert broken == BrokenEntry(2, "the rest of the array is not JSON")
    with pytest.raises(ValueError, match="cannot read the log"):
        EntryReader(tmp_path / "none.jsonl")


@pytest.mark.skipif(not SMOLLM2.is_installed, reason="SmolLM2 is not installed")
@pytest.mark.parametrize("name", ["smollm2", "file"])
def test_a_log_of_a_family_is_replayed_with_its_tokenizer_and_databases(name, tmp_path):
    tokenizer = name if name == "smollm2" else SMOLLM2.path("target")
    path = tmp_path / "log.jsonl"
    write(path, {"prompt": "Name the days of the week.", "output": "Monday, Tuesday, Wednesday"})
    report = replay(path, tokenizer=tokenizer, drafters=["db[model]"])
    (row,) = report.drafters
    assert row["accepted"] > 0, row
