"""Replay of logs: counts equal those of a decode, bad input is counted and named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hsd_viz.engine.local import load_engine
from hsd_viz.logs.records import LogTokenizer
from hsd_viz.logs.replay import DRAFTERS, GROUPS, PRESETS, open_databases, parse_cost, replay, replayable
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
    assert not report.refused and {row["name"] for row in report.drafters} == set(ALL)
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    for row in report.drafters:
        totals = [0, 0, 0, 0]
        for entry in entries:
            trace = engine.run(
                entry["prompt_ids"], f"{row['name']} > target", max_new_tokens=40, record=False, budget=9
            )
            assert trace.token_ids == entry["output_ids"]
            found = trace.metrics()
            for k, name in enumerate(("tokens", "target_forwards", "drafted", "accepted")):
                totals[k] += found[name]
        assert [row[name] for name in ("tokens", "rounds", "drafted", "accepted")] == totals, row["name"]
        assert row["mean_acceptance_length"] == row["tokens"] / row["rounds"]
        assert sum(row["accepted_by_position"]) == row["accepted"]


def test_what_needs_the_targets_rows_is_refused_with_the_reason(log):
    names = ("lookup", "recycling", "db[context,logits]", "nano:4", "nonsense")
    report = replay(log, drafters=names, tokenizer="target")
    assert [row["name"] for row in report.drafters] == ["lookup"]
    assert all("which a log does not have" in report.refused[name] for name in names[1:3])
    assert "draft model" in report.refused["nano:4"]
    assert "Not replayed: recycling" in str(report)
    with pytest.raises(ValueError, match="'recycling' cannot be replayed"):
        replay(log, drafters=("recycling",), tokenizer="target")


def test_a_cost_curve_says_where_drafting_pays(tmp_path):
    path = write(tmp_path / "log.jsonl", {"prompt_ids": [1, 2, 3, 4, 5, 6], "output_ids": [1, 2, 3, 4, 5, 6, 9]})
    free = replay(path, drafters=("lookup",), verify_cost="free16").drafters[0]
    expensive = replay(path, drafters=("lookup",), verify_cost=[1, 8, 16]).drafters[0]
    assert free["speedup"] == free["tokens"] / free["rounds"] > 1 > expensive["speedup"]
    assert expensive["pays"] == "no"
    assert parse_cost("cpu").relative == PRESETS["cpu"] and parse_cost("0.5").relative == (1.0, 1.5)
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


def test_without_the_ladders_tokenizer_there_are_no_shipped_databases(tmp_path):
    path = write(tmp_path / "log.jsonl", {"prompt_ids": [1, 2], "output_ids": [1, 2, 1, 2]})
    assert str(replayable(DRAFTERS, open_databases(LogTokenizer()))[0]["db"]) == "db[context]"
    assert replay(path, drafters=("db",)).drafters[0]["tokens"] == 4
    with pytest.raises(ValueError, match="without a tokenizer there are no databases"):
        replay(path, drafters=("retrieval",))


def test_broken_records_are_counted_and_reports_hold_no_text(tmp_path):
    good, text = {"prompt_ids": [1, 2], "output_ids": [1, 2]}, {"prompt": "SECRET", "output": "SECRET answer"}
    report = replay(write(tmp_path / "log.jsonl", good, text, 0, good), drafters=("lookup",))
    assert (report.log["requests"], report.log["broken"]) == (2, 2)
    assert "give the tokenizer" in dict(report.log["examples"])[2]
    assert "2 broken records skipped" in str(report) and "SECRET" not in json.dumps(report.to_dict())
    with pytest.raises(ValueError, match="no usable request"):
        replay(write(tmp_path / "none.jsonl", text), drafters=("lookup",))
    read = replay(write(tmp_path / "log.jsonl", text), drafters=("lookup",), tokenizer="target")
    assert read.log["requests"] == 1 and "SECRET" not in json.dumps(read.to_dict())


def test_an_interrupted_replay_has_whole_requests(tmp_path, monkeypatch):
    monkeypatch.setattr("hsd_viz.logs.replay.SHOW", -1.0)
    path = write(tmp_path / "log.jsonl", *[{"prompt": "x y", "output": "x y z x y z"}] * 9)
    options = {"drafters": ("suffix", "lookup"), "tokenizer": "target"}
    done = []

    def interrupt(at, size, about):
        done.append(about)
        if len(done) == 2:
            raise KeyboardInterrupt

    part = replay(path, progress=interrupt, **options)
    assert not part.complete and part.log["requests"] == 2 and "Interrupted" in str(part)
    limited = replay(path, limit=2, **options)
    assert limited.complete and part.drafters == limited.drafters


def test_more_requests_than_groups_have_an_interval(tmp_path):
    entries = [{"prompt_ids": [1, 2, k % 5], "output_ids": [1, 2, k % 5, 3]} for k in range(GROUPS + 50)]
    report = replay(write(tmp_path / "log.jsonl", *entries), drafters=("lookup",))
    (row,) = report.drafters
    low, high = row["mean_acceptance_length_ci"]
    assert low <= row["tokens"] / row["rounds"] <= high and report.frame.loc["lookup", "tokens"] == 4 * (GROUPS + 50)
