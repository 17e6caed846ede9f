"""A bench that was stopped resumes from the decodes that had ended."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from unittest.mock import patch

import pytest

from hsd_viz.errors import BadFile, UserError
from hsd_viz.measure.bench.api import run
from hsd_viz.measure.bench.options import BenchOptions
from hsd_viz.measure.bench.settings import BenchSettings
from tests.measure.bench.test_bench_runner import SUITE, FakeEngine

STACKS = ["db > target", "target"]
SETTINGS = BenchSettings(max_new_tokens=4, repeats=2)
#: Decodes of the warm-up: one for each stack.
WARM_UP = len(STACKS)
ALL = [("first", "db > target"), ("first", "target"), ("second", "db > target")]
ALL += [("second", "target")]


def measure(engine, path, stacks=STACKS, settings=SETTINGS, suite=SUITE):
    options = BenchOptions(
        suite=suite.name,
        stacks=stacks,
        resume=path,
        engine=engine,
        max_new_tokens=settings.max_new_tokens,
        repeats=settings.repeats,
        temperature=settings.temperature,
        state=settings.state,
    )
    with patch("hsd_viz.measure.bench.api.load_suite", return_value=suite):
        return run(options).report


def stopped_at(path, decode: int) -> FakeEngine:
    """Return an engine that was interrupted in a decode that counts, the first being 1."""
    engine = FakeEngine(stop_at=WARM_UP + decode)
    assert not measure(engine, path).complete
    return engine


@pytest.mark.parametrize("decode", range(1, 9))
def test_a_stopped_bench_decodes_what_is_missing_and_no_more(tmp_path, decode):
    path = tmp_path / "decodes"
    stopped_at(path, decode)
    engine = FakeEngine()
    report = measure(engine, path)
    assert report.complete
    assert engine.asked[WARM_UP:] == (ALL * 2)[decode - 1 :]


def test_its_figures_are_those_of_all_its_decodes(tmp_path):
    """The n-th decode of an engine takes n seconds, the warm-up's two included.

    A stop in decode 5 leaves the 4th and 6th of the first engine to plain decoding, and gives it
    the 4th and 6th of the second one: the medians of its two prompts are 4 and 6.
    """
    path = tmp_path / "decodes"
    stopped_at(path, 5)
    resumed = measure(FakeEngine(), path)
    plain = next(stack for stack in resumed.stacks if stack.stack == "target")
    assert plain.whole.tokens_per_second.value == pytest.approx(8 / (4 + 6))
    # What is complete is read without a decode that counts.
    again = measure(FakeEngine(stop_at=WARM_UP + 1), path)
    assert again.to_dict()["stacks"] == resumed.to_dict()["stacks"]


def test_a_file_that_cannot_be_written_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"\Acannot write .*: No such file or directory\Z"):
        measure(FakeEngine(), tmp_path / "missing" / "decodes")


def test_a_line_that_was_cut_off_is_decoded_again(tmp_path):
    path = tmp_path / "decodes"
    stopped_at(path, 4)
    path.write_bytes(path.read_bytes()[:-5])
    engine = FakeEngine()
    assert measure(engine, path).complete
    assert engine.asked[WARM_UP:] == (ALL * 2)[2:]
    assert measure(FakeEngine(stop_at=WARM_UP + 1), path).complete


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            partial(measure, FakeEngine(), settings=replace(SETTINGS, max_new_tokens=5)),
            "its max_new_tokens is 4, not 5",
        ),
        (
            partial(
                measure,
                FakeEngine(),
                settings=replace(SETTINGS, temperature=0.7),
            ),
            "its temperature is 0.0, not 0.7",
        ),
        (partial(measure, FakeEngine(), stacks=["target"]), "its stacks is"),
        (
            partial(measure, FakeEngine(), suite=replace(SUITE, prompts=SUITE.prompts[:1])),
            "its prompts is",
        ),
    ],
)
def test_the_decodes_of_another_bench_are_refused(tmp_path, change, named):
    path = tmp_path / "decodes"
    stopped_at(path, 4)
    before = path.read_bytes()
    with pytest.raises(UserError, match="has decodes of another bench") as refused:
        change(path)
    assert named in str(refused.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"a report\n", b"{}\n", b'{"format": "x", "facts": {}}\n'])
def test_another_file_is_refused_and_kept(tmp_path, content):
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(BadFile, match="is not a file of `resume`"):
        measure(FakeEngine(), path)
    assert path.read_bytes() == content


def test_a_file_without_a_line_end_is_refused_and_kept(tmp_path):
    path = tmp_path / "notes"
    path.write_bytes(b"my thesis")
    with pytest.raises(BadFile, match="is not a file of `resume`"):
        measure(FakeEngine(), path)
    assert path.read_bytes() == b"my thesis"


def test_what_a_warm_drafter_remembers_is_not_kept(tmp_path):
    with pytest.raises(UserError, match="cannot resume: what drafters remember is not kept"):
        measure(FakeEngine(), tmp_path / "decodes", settings=replace(SETTINGS, state="warm"))
    assert not (tmp_path / "decodes").exists()
