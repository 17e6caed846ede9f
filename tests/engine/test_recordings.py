"""Test that the bundled traces are valid, and recorded by the command from the shipped weights."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import subprocess
import sys

import pytest

from hsd_viz.engine.local import load_engine
from hsd_viz.engine.recordings import (
    ANSWERS,
    TEMPERATURE,
    TRACES,
    bundled,
    load_bundled,
)
from hsd_viz.models.families import CODE, find_family
from hsd_viz.models.files import folder_hash, open_model, weights_hash
from hsd_viz.native.build import kernels
from hsd_viz.stack import split_copy
from hsd_viz.trace import Trace
from hsd_viz.trace.identities import check
from tests.rows import column, find, keyed
from tools.record import answers, recipes
from tools.record import traces as record
from tools.record.selection import FASTER, facts, opening, speedup

NAMES = column(bundled(), "name")
SELECTED = keyed((recipes.MIXED, *recipes.PARTS), "name")


def test_all_recipes_were_recorded():
    assert sorted([*SELECTED, *column(recipes.RECIPES, "name")]) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_bundled_trace(name):
    trace = load_bundled(name)
    if name in SELECTED:
        stacks = SELECTED[name].stacks
        prompts = [recipes.PRESETS[p] for p in SELECTED[name].prompts]
        assert trace.meta["sampling"]["temperature"] == TEMPERATURE
    else:
        recipe = find(recipes.RECIPES, name=name)
        stacks = [recipe.stack]
        prompts = [recipe.prompt]
    assert trace.meta["stack"] in stacks
    assert trace.meta["prompt"] in prompts
    # The reference: plain decoding of the same prompt, interleaved with it.
    assert ("plain" in trace.meta) == (trace.meta["stack"] != "target")
    recording = find(bundled(), name=name)
    assert recording.stack == trace.meta["stack"]
    assert recording.speedup == (
        None if recording.stack == "target" else pytest.approx(speedup(trace), abs=1e-3)
    )


def test_the_race_of_the_page_is_its_first_answer_by_every_stack():
    first = load_bundled(answers.ANSWERS_OF[0].name, ANSWERS)
    folder = answers.RACE
    recorded = [(recording.name, recording.stack) for recording in bundled(folder)]
    assert recorded == [(name, stack) for name, _, _, stack in answers.RACERS]
    for name, _ in recorded:
        meta = load_bundled(name, folder).meta
        assert meta["prompt"] == first.prompt
        assert meta["sampling"]["seed"] == first.meta["sampling"]["seed"]
    assert load_bundled("databases", folder).meta == first.meta, "one run has one speed-up"


@pytest.fixture(scope="module")
def engine_of():
    """Return the engine of a family and a number type; each engine is opened once."""
    opened = {}

    def find(family, dtype):
        key = family, dtype
        if key not in opened:
            opened[key] = load_engine(family=family, device="cpu", dtype=dtype, threads=1)
            opened[key].wait_ready()
        return opened[key]

    yield find
    for engine in opened.values():
        engine.close()


@functools.cache
def weights_of(family, model):
    """Return the hash of the weights that a recording names; the target's may have any name."""
    if family == "code":
        return folder_hash(CODE.path(model))
    of_family = find_family(family)
    model, _ = split_copy(model)
    name = model if model in of_family.names else "target"
    return weights_hash(open_model(of_family.path(name)).tensors.files)


@pytest.mark.parametrize(
    "path", sorted(TRACES.rglob("*.json.gz")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_replayed_token_for_token(path, engine_of):
    """The prompt, stack, sampling and seed of a recording reproduce its tokens, drafts and verdicts
    on any machine.
    """
    trace = Trace.load(path)
    meta = trace.meta
    check(trace)
    family = meta.get("family", "code")
    if not find_family(family).is_installed:
        pytest.skip(f"the family {family} is not installed: hsd-viz models install {family}")
    # A padded target writes the text of the target.
    own = [model for model in meta["models"] if model["model"] != "target+24"]
    assert column(own, "weights") == [weights_of(family, model["model"]) for model in own], (
        "recorded with other weights: run `python -m tools.rebuild recordings`"
    )
    again = engine_of(family, meta["dtype"]).run(
        meta["prompt"],
        meta["stack"],
        chat=meta.get("chat", False),
        max_new_tokens=meta["max_new_tokens"],
        **meta["sampling"],
    )
    assert again.token_ids == trace.token_ids
    assert again.drafts[["token_id", "source", "verdict"]].equals(
        trace.drafts[["token_id", "source", "verdict"]]
    )


@pytest.mark.slow
@pytest.mark.parametrize("kernel", kernels())
def test_replayed_on_every_kernel(kernel):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        __file__,
        "-k",
        "replayed_token",
    ]
    env = {**os.environ, "HSD_VIZ_KERNEL": kernel}
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout
    assert f"{len(list(TRACES.rglob('*.json.gz')))} passed" in ran.stdout, ran.stdout


def test_the_answers_that_the_page_opens_with_are_readable_and_were_recorded_by_the_rule():
    assert column(bundled(ANSWERS), "name") == column(answers.ANSWERS_OF, "name")
    for recording in bundled(ANSWERS):
        trace = load_bundled(recording.name, ANSWERS)
        assert answers.is_readable(trace), recording.name
        assert trace.meta["sampling"]["temperature"] == TEMPERATURE
        assert trace.meta["models"][-1]["model"] == answers.MODEL
    first, *_ = bundled(ANSWERS)
    assert first.speedup > FASTER, "the page opens on a run that is clearly faster"


def test_the_first_recording_shows_the_point():
    shown = {name: facts(load_bundled(name)) for name in NAMES}
    assert opening(shown.items()) == NAMES[0]
    assert not shown[NAMES[0]].missing
    assert load_bundled(NAMES[0]).meta["sampling"]["temperature"] == TEMPERATURE


def test_a_hierarchy_is_said_to_pay_only_where_the_benchmark_finds_it():
    """Compare with the best single draft model, by the row of the target in docs/results.md."""
    results = (TRACES.parents[1] / "docs" / "results.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| T = 0\.7 \| `target\+24` .*$", results, re.M)
    low = float(re.findall(r"\[([\d.]+), [\d.]+\]", row)[0])
    padded = find(bundled(), name="padded")
    assert load_bundled("padded").meta["models"][-1]["model"] == "target+24"
    assert ("pays" in padded.title) == (low > 1)
    assert ("no faster than one draft model" in padded.blurb) == (low <= 1)


def test_slower_runs_are_labelled():
    timed = [r for r in bundled() if r.speedup is not None]
    for recording in timed:
        assert ("slower than plain decoding" in recording.label) == (recording.speedup < 1)
        assert "slower than plain decoding" in dataclasses.replace(recording, speedup=0.5).label


def test_the_recordings_show_what_each_database_proposes():
    copied = facts(load_bundled("copied"))
    idioms = facts(load_bundled("idioms"))
    new = facts(load_bundled("new"))

    def context(f):
        return f.shares.get("context", 0.0)

    def stored(f):
        return f.shares.get("model", 0.0) + f.shares.get("statistics", 0.0)

    assert context(copied) > max(context(idioms), context(new))
    assert stored(idioms) > max(stored(copied), stored(new))
    assert new.own > copied.own


def test_recording_writes_checked_traces_and_an_index(tmp_path):
    lines = []
    paths = record.record_traces(tmp_path, tokens=6, repeats=1, seeds=[1], progress=lines.append)
    assert set(os.listdir(tmp_path)) == set(column(paths, "name"))
    assert {p.name.split(".")[0] for p in paths} == {*NAMES, "index"}
    assert lines
    index = json.loads((tmp_path / "index.json").read_text())
    for entry in index:
        trace = Trace.load(tmp_path / entry["file"])
        assert len(trace) == 6
        assert trace.meta["threads"] == 1
