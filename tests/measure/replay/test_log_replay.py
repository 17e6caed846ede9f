"""The replay of a log: its counts equal those of a decode."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from hsd_viz.drafting.costs import PRESETS, parse_cost
from hsd_viz.measure.replay.api import replay, run
from hsd_viz.measure.replay.drafters import (
    DRAFTERS,
    open_databases,
    replayable,
)
from hsd_viz.measure.replay.figures import Pays
from hsd_viz.measure.replay.log_tokenizer import LogTokenizer
from hsd_viz.measure.replay.options import ReplayOptions
from hsd_viz.measure.replay.tally import GROUPS
from hsd_viz.models.families import SMOLLM2
from hsd_viz.prompts.suites import load_suite
from tests.measure.replay.logs import write

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


def test_counts_equal_those_of_the_decodes(engine, log):
    report = replay(log, drafters=ALL, tokenizer="target", budget=9)
    assert not report.refused
    assert {drafter.name for drafter in report.drafters} == set(ALL)
    entries = list(map(json.loads, log.read_text().splitlines()))
    for row in report.drafters:
        totals = [0, 0, 0, 0]
        for entry in entries:
            trace = engine.run(
                entry["prompt_ids"],
                f"{row.name} > target",
                max_new_tokens=40,
                record=False,
                budget=9,
            )
            assert trace.token_ids == entry["output_ids"]
            figures = trace.metrics()
            for k, name in enumerate(("tokens", "target_forwards", "drafted", "accepted")):
                totals[k] += figures[name]
        assert [row.tokens, row.rounds, row.drafted, row.accepted] == totals, row.name
        assert row.mean_acceptance_length.value == row.tokens / row.rounds
        assert sum(row.accepted_by_position) == row.accepted


def test_what_needs_the_targets_rows_is_refused_with_the_reason(log):
    names = ("lookup", "recycling", "db[context,logits]", "nano:4", "nonsense")
    report = replay(log, drafters=names, tokenizer="target")
    assert [drafter.name for drafter in report.drafters] == ["lookup"]
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
    assert free.speedup.value == free.tokens / free.rounds > 1 > expensive.speedup.value
    assert expensive.pays is Pays.NO
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
print(report.log.requests, report.log.broken, peak // 1024)
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
    assert replay(path, drafters=("db",)).drafters[0].tokens == 4
    with pytest.raises(ValueError, match="without a tokenizer there are no databases"):
        replay(path, drafters=("retrieval",))


def test_broken_records_are_counted_and_reports_hold_no_text(tmp_path):
    good = {"prompt_ids": [1, 2], "output_ids": [1, 2]}
    text = {"prompt": "SECRET", "output": "SECRET answer"}
    report = replay(write(tmp_path / "log.jsonl", good, text, 0, good), drafters=("lookup",))
    assert report.log.requests == 2
    assert report.log.broken == 2
    assert "give the tokenizer" in dict(report.log.examples)[2]
    assert "2 broken records skipped" in str(report)
    assert "SECRET" not in json.dumps(report.to_dict())
    with pytest.raises(ValueError, match="no usable request"):
        replay(write(tmp_path / "none.jsonl", text), drafters=("lookup",))
    read = replay(write(tmp_path / "log.jsonl", text), drafters=("lookup",), tokenizer="target")
    assert read.log.requests == 1
    assert "SECRET" not in json.dumps(read.to_dict())


def test_a_file_of_many_records_without_a_request_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("hsd_viz.measure.replay.api.MAX_BROKEN", 3)
    good = {"prompt_ids": [1, 2], "output_ids": [1, 2]}
    late = write(tmp_path / "late.jsonl", 0, 0, 0, good)
    with pytest.raises(ValueError, match="no usable request in its first 3 records; record 1: "):
        replay(late, drafters=("lookup",))
    early = write(tmp_path / "early.jsonl", good, 0, 0, 0, good)
    assert replay(early, drafters=("lookup",)).log.requests == 2


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
    options = ReplayOptions(path, drafters=("suffix", "lookup"), tokenizer="target")
    done = []

    def interrupt(at, size, about):
        done.append(about)
        if len(done) == 2:
            raise KeyboardInterrupt

    part = run(options, interrupt)
    assert not part.complete
    assert part.log.requests == 2
    assert "Interrupted" in str(part)
    limited = run(replace(options, limit=2))
    assert limited.complete
    assert part.drafters == limited.drafters


def test_more_requests_than_groups_have_an_interval(tmp_path):
    entries = []
    for k in range(GROUPS + 50):
        entries.append({"prompt_ids": [1, 2, k % 5], "output_ids": [1, 2, k % 5, 3]})
    report = replay(write(tmp_path / "log.jsonl", *entries), drafters=("lookup",))
    (row,) = report.drafters
    low, high = row.mean_acceptance_length.ends
    assert low <= row.tokens / row.rounds <= high
    assert report.frame.loc["lookup", "tokens"] == 4 * (GROUPS + 50)


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
    (replayed,) = report.drafters
    figures = decoded.metrics()
    assert replayed.rounds == figures["rounds"]
    assert replayed.drafted == figures["drafted"]
    assert "1 request sampled" in str(report)
    assert replay_log(temperature=0.0).drafters[0].drafted != replayed.drafted


@pytest.mark.skipif(not SMOLLM2.is_installed, reason="SmolLM2 is not installed")
@pytest.mark.parametrize("name", ["smollm2", "file"])
def test_a_log_of_a_family_is_replayed_with_its_tokenizer_and_databases(name, tmp_path):
    tokenizer = name if name == "smollm2" else SMOLLM2.path("target")
    path = tmp_path / "log.jsonl"
    write(path, {"prompt": "Name the days of the week.", "output": "Monday, Tuesday, Wednesday"})
    report = replay(path, tokenizer=tokenizer, drafters=["db[model]"])
    (row,) = report.drafters
    assert row.accepted > 0, row
