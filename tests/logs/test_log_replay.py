"""Replay of logs: counts equal those of a decode, bad input is counted and named."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hsd_viz.engine.local import load_engine
from hsd_viz.ladder.load import weights_dir
from hsd_viz.logs.records import LogTokenizer, Request
from hsd_viz.logs.replay import DRAFTERS, GROUPS, PRESETS, candidates, open_databases, parse_cost, replay
from hsd_viz.prompts.suites import load_suite

ALL = (*DRAFTERS, "db[model,statistics]", "lookup[original]", "retrieval")


@pytest.fixture(scope="module")
def engine():
    return load_engine(device="cpu", threads=1)


@pytest.fixture(scope="module")
def log(engine, tmp_path_factory):
    """Four outputs of the shipped target, as ids."""
    path = tmp_path_factory.mktemp("logs") / "own.jsonl"
    with path.open("w") as file:
        for prompt in load_suite("python").limited(4).prompts:
            ids = engine.tokenizer(prompt.text, add_special_tokens=False)["input_ids"]
            trace = engine.run(ids, "target", max_new_tokens=40, record=False)
            row = {"prompt_ids": ids, "output_ids": trace.token_ids, "max_new_tokens": 40, "category": prompt.category}
            file.write(json.dumps(row) + "\n")
    return path


def write(path, *entries):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def test_counts_equal_those_of_the_decodes(engine, log):
    report = replay(log, drafters=ALL, tokenizer="target", budget=9)
    assert not report.refused and [row.name for row in report.drafters] == list(ALL)
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    for row in report.drafters:
        totals = [0, 0, 0, 0]
        for entry in entries:
            trace = engine.run(entry["prompt_ids"], f"{row.name} > target", max_new_tokens=40, record=False, budget=9)
            assert trace.token_ids == entry["output_ids"]
            found = trace.metrics()
            for k, name in enumerate(("tokens", "target_forwards", "drafted", "accepted")):
                totals[k] += found[name]
        assert [row.tokens, row.rounds, row.drafted, row.accepted] == totals, row.name
        assert row.mean_acceptance_length.value == row.tokens / row.rounds
        assert sum(row.accepted_by_position) == row.accepted
        assert sum(c.tokens for c in row.by_category.values()) == row.tokens


def test_what_needs_the_targets_rows_is_refused_with_the_reason(log):
    names = ("lookup", "recycling", "db[context,logits]", "nano:4", "nonsense")
    report = replay(log, drafters=names, tokenizer="target")
    assert [row.name for row in report.drafters] == ["lookup"]
    assert all("which a log does not have" in report.refused[name] for name in names[1:3])
    assert "draft model" in report.refused["nano:4"]
    assert "Not replayed: recycling" in str(report)
    with pytest.raises(ValueError, match="'recycling' cannot be replayed"):
        replay(log, drafters=("recycling",), tokenizer="target")


def test_warm_rows_are_named_and_learn_from_earlier_requests(tmp_path):
    entries = [{"prompt_ids": [900 + k], "output_ids": [5, 6, 7, 8, 9, 10, 11, 12]} for k in range(4)]
    report = replay(write(tmp_path / "log.jsonl", *entries), drafters=("suffix", "lookup"), state="both")
    rows = {row.name: row for row in report.drafters}
    assert list(rows) == ["suffix", "suffix, warm", "lookup"]
    assert rows["suffix"].rounds == 32 > rows["suffix, warm"].rounds


def test_a_cost_curve_says_where_drafting_pays(tmp_path):
    path = write(tmp_path / "log.jsonl", {"prompt_ids": [1, 2, 3, 4, 5, 6], "output_ids": [1, 2, 3, 4, 5, 6, 9]})
    free = replay(path, drafters=("lookup",), verify_cost="free16").drafters[0]
    expensive = replay(path, drafters=("lookup",), verify_cost=[1, 8, 16]).drafters[0]
    assert free.speedup.value == free.tokens / free.rounds > 1 > expensive.speedup.value
    assert parse_cost("cpu").relative == PRESETS["cpu"] and parse_cost("0.5").relative == (1.0, 1.5)
    with pytest.raises(ValueError, match="did you mean 'free16'"):
        parse_cost("free-16")


def test_the_settings_are_those_of_the_best_drafter_or_off(tmp_path):
    entries = [{"prompt_ids": [1, 2, 3, 4], "output_ids": [1, 2, 3, 4] * 5} for _ in range(12)]
    path = write(tmp_path / "log.jsonl", *entries)
    report = replay(path, drafters=("lookup", "suffix"), verify_cost="free16", budget=5)
    best = max(report.drafters, key=lambda row: row.speedup.value)
    flags = report.flags()
    given = json.loads(flags["vllm 0.32.0"].split("'")[1])
    assert (
        given["method"] == {"lookup": "ngram", "suffix": "suffix"}[best.name] and given["num_speculative_tokens"] == 5
    )
    assert flags["vllm 0.32.0"] in str(report)
    assert "leave out" in replay(path, drafters=("lookup",), verify_cost=[1, 8, 16]).flags()["vllm 0.32.0"]
    assert replay(path, drafters=("db",)).flags() == {}


def test_without_the_ladders_tokenizer_there_are_no_shipped_databases(tmp_path):
    path = write(tmp_path / "log.jsonl", {"prompt_ids": [1, 2], "output_ids": [1, 2, 1, 2]})
    rows, _ = candidates(DRAFTERS, open_databases(LogTokenizer()), "cold")
    assert [str(row.source) for row in rows if row.name == "db"] == ["db[context]"]
    assert replay(path, drafters=("db",)).drafters[0].tokens == 4
    with pytest.raises(ValueError, match="without a tokenizer there are no databases"):
        replay(path, drafters=("retrieval",))


def test_broken_records_are_counted_and_named(tmp_path):
    good = {"prompt_ids": [1, 2], "output_ids": [1, 2]}
    bad = [
        {"prompt_ids": [1], "output_ids": [10**9]},
        {"prompt": "text", "output": "text"},
        {"prompt_ids": [1], "output_ids": []},
    ]
    path = write(tmp_path / "log.jsonl", good, *bad, good)
    report = replay(path, drafters=("lookup",))
    assert (report.log["requests"], report.log["broken"]) == (2, 3)
    whys = dict(report.log["examples"])
    assert "outside the vocabulary" in whys[2] and "give the tokenizer" in whys[3] and "no output" in whys[4]
    assert "3 broken records skipped" in str(report)
    with pytest.raises(ValueError, match="no usable request"):
        replay(write(tmp_path / "none.jsonl", bad[1]), drafters=("lookup",))


def test_a_file_that_is_not_a_log_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("hsd_viz.logs.replay.MOST_BROKEN", 50)
    good = {"prompt_ids": [1, 2], "output_ids": [1, 2]}
    for start in ([], [good]):
        path = write(tmp_path / "log.jsonl", *start, *[0] * 60)
        with pytest.raises(ValueError, match="50 records in a row cannot be used"):
            replay(path, drafters=("lookup",))
    assert replay(write(path, *([0] * 40 + [good]) * 3), drafters=("lookup",)).log["broken"] == 120


def test_a_wrong_tokenizer_is_noticed(tmp_path):
    right = LogTokenizer("target")
    ids = right.tokenize_text("def main(argv):\n    return 0\n")
    rows = [{"prompt_ids": ids[:2], "output_ids": ids, "output": "def main(argv):\n    return 0\n"}]
    rows += [{"prompt_ids": ids[:2], "output_ids": [t + 7 for t in ids], "output": "something else"}]
    report = replay(write(tmp_path / "log.jsonl", *rows), drafters=("lookup",), tokenizer="target")
    assert (report.log["compared"], report.log["disagreeing"]) == (2, 1)
    assert "Ids and text disagree in 1 of 2 outputs" in str(report)


def test_a_surrogate_or_an_overlong_request_does_no_harm(tmp_path, monkeypatch):
    monkeypatch.setattr("hsd_viz.logs.records.MOST_TOKENS", 50)
    path = write(
        tmp_path / "log.jsonl", {"prompt": "a\ud800", "output": "b"}, {"prompt": "x " * 500, "output": "y " * 40}
    )
    report = replay(path, drafters=("lookup",), tokenizer="target")
    assert report.log["broken"] == 1 and "not valid Unicode" in report.log["examples"][0][1]
    assert report.log["cut"] == 1 and report.log["prompt_tokens"] + report.log["output_tokens"] == 50


def test_reports_hold_no_text(tmp_path):
    path = write(tmp_path / "log.jsonl", {"prompt": "SECRET question", "output": "SECRET answer"})
    options = {"drafters": ("lookup",), "tokenizer": "target"}
    assert "SECRET" not in json.dumps(replay(path, **options).to_dict())


def test_an_interrupted_replay_has_whole_requests(tmp_path):
    turns = [{"from": "human", "value": "a b c"}, {"from": "gpt", "value": "a b c d e f"}] * 3
    path = write(tmp_path / "log.jsonl", *[{"conversations": turns}, {"prompt": "x y", "output": "x y z x y z"}] * 3)
    options = {"drafters": ("suffix", "lookup"), "tokenizer": "target", "state": "both"}
    polls = iter([False, True])
    part = replay(path, cancelled=lambda: next(polls), **options)
    assert not part.complete and part.log["requests"] == 2 and "Interrupted" in str(part)
    limited = replay(path, limit=2, **options)
    assert limited.complete and [row.rounds for row in part.drafters] == [row.rounds for row in limited.drafters]


def test_more_requests_than_groups_have_an_interval(tmp_path):
    entries = [{"prompt_ids": [1, 2, k % 5], "output_ids": [1, 2, k % 5, 3]} for k in range(GROUPS + 50)]
    report = replay(write(tmp_path / "log.jsonl", *entries), drafters=("lookup",))
    row = report.drafters[0]
    low, high = row.mean_acceptance_length.interval
    assert row.requests == GROUPS + 50 and low <= row.tokens / row.rounds <= high
    assert report.frame.loc["lookup", "tokens"] == 4 * (GROUPS + 50)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_the_memory_does_not_grow_with_the_file(tmp_path):
    """A file of 60 MB, most of it in long prompts and broken lines, needs hardly more memory than one of 1 MB."""
    script = """
import re, sys
from hsd_viz.logs.replay import replay
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
        done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
        requests, broken, peak = map(int, done.stdout.split())
        assert requests == broken == blocks
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 40 < 500


def test_messages_are_written_with_the_tokenizers_chat_template(tmp_path):
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    shutil.copy(weights_dir() / "target" / "tokenizer.json", folder)
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>"
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>", "chat_template": template}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    messages = (("system", "Be brief."), ("user", "Hi"))
    found = LogTokenizer(folder)
    text = found.tokenize(Request(1, messages, "Hello")).text
    assert list(text.prompt) == found.tokenize_text("<system>Be brief.\n<user>Hi\n<assistant>")
    assert found.eos == {0} and list(text.output) == found.tokenize_text("Hello")
    plain = LogTokenizer("target").tokenize(Request(1, messages, "Hello")).text
    assert list(plain.prompt) == found.tokenize_text("Be brief.\n\nHi\n\n")
